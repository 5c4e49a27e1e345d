"""Uses of a file's own macros that stand alone at the left margin.

`IMPLEMENT(sin, float)` without a semicolon makes the grammar lose its way. Such uses are lifted
out of the text before it is parsed (blanked, offsets kept) and expanded afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.parse.collector import Collector, MacroUse
from torchtalkd.parse.cpp_text import Macro, without
from torchtalkd.parse.macros import arguments

_AFTER = re.compile(rb"[ \t]*([;{(=.,?:<>\[]|->)?")


class Lifted(NamedTuple):
    """A use that was taken out of the text."""

    name: str
    text: str
    start: int
    end: int


def lift(data: bytes, macros: Mapping[str, Macro]) -> tuple[bytes, list[Lifted]]:
    """The text without the uses at the left margin, and these. A use that is the head of a body,
    or part of an expression, stays."""
    if not macros:
        return data, []
    pattern = re.compile(
        rb"^(" + b"|".join(re.escape(name.encode()) for name in macros) + rb")[ \t]*\(", re.MULTILINE
    )
    lifted: list[Lifted] = []
    behind = 0
    for match in pattern.finditer(data):
        if match.start() < behind:
            continue
        window = data[match.start() : match.start() + 20_000].decode("latin-1")
        found = arguments(window, match.end() - 1 - match.start())
        if found is None:
            continue
        end = match.start() + found[1]
        after = _AFTER.match(data, end)
        follows = after.group(1) if after else None
        if follows not in (None, b";"):
            continue
        text = data[match.start() : end].decode("utf-8", "replace")
        behind = after.end() if after and follows else end
        lifted.append(Lifted(match.group(1).decode(), text, match.start(), behind))
    return without(data, [(use.start, use.end) for use in lifted]), lifted


def settle(collector: Collector, lifted: list[Lifted]) -> None:
    """Give each lifted use its place among the scopes: to be expanded, or a mere reference where it
    turns out to stand inside a function."""
    bodies = [
        (definition.line, definition.end_line, ordinal)
        for ordinal, definition in enumerate(collector.definitions)
        if definition.end_line > definition.line
        and definition.kind in ("function", "kernel", "structured_impl")
    ]
    for use in lifted:
        line = collector.text.place(use.start)[0]
        owner = max((ordinal for first, last, ordinal in bodies if first < line <= last), default=-1)
        collector.refer("macro", keys.macro(use.name), use.name, use.start, owner)
        if owner >= 0:
            continue
        prefix, local = "", False
        for start, end, own_prefix, own_local in collector.namespaces:
            if start <= use.start < end:
                prefix, local = own_prefix, own_local
        collector.uses.append(MacroUse(use.text, use.start, prefix, -1, local, None, use.name, 0, use.end))
