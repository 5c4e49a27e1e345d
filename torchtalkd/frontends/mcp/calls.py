"""A call of a tool as it is written in an answer, for a model to repeat."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import NamedTuple

from torchtalkd.frontends.mcp.tools import OLDER, SETS

Value = str | int | bool


class Call(NamedTuple):
    """A tool with arguments."""

    tool: str
    arguments: Mapping[str, Value]

    def __str__(self) -> str:
        said = ", ".join(f"{n}={json.dumps(v, ensure_ascii=False)}" for n, v in self.arguments.items())
        return f"{self.tool}({said})"

    def with_page(self, page: int) -> Call:
        """The same call for another page."""
        return Call(self.tool, {**self.arguments, "page": page})


class Way(NamedTuple):
    """What to ask next, and what it answers."""

    what: str
    call: Call


def to(what: str, tool: str, **arguments: Value) -> Way:
    """A way on."""
    return Way(what, Call(tool, arguments))


def served(call: Call, tools: Collection[str] = SETS["core"]) -> Call | None:
    """The call in the tools that a client has: one of the core set may be an older one's. None where
    none of them does it."""
    if call.tool in tools:
        return call
    for name, older in OLDER.items():
        if name not in tools or older.tool != call.tool:
            continue
        if all(call.arguments.get(key) == value for key, value in older.fixed.items()):
            names = {core: own for own, core in older.names.items()}
            own = {names[key]: value for key, value in call.arguments.items() if key in names}
            return Call(name, own)
    return None
