"""What a module's variables are made of: `TABLE = {"a": f, "b": OTHER}`. Pure.

The module's Definition says it in its detail, `variables`: for each statement that gives a name of the module
a value, or adds to it, the name, its first and last line, and the full names in it that are not called:
what is in a table is run by who uses that table, and not by who uses another one of the same module.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tree_sitter import Node

from torchtalkd.parse.python_outline import CHAIN, Outline

VARIABLES: Final = "variables"
_TEXTS: Final = re.compile(
    rb"#[^\n]*|(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')",
    re.DOTALL,
)
_LONGEST: Final = 400_000
"""Bytes of a statement, above which what is in it is not looked for: then the name is left out."""


def read_variables(out: Outline) -> None:
    """Tell the module's definition of its variables."""
    names = [assigned.name for assigned in out.assigned if assigned.owner == 0]
    statements = [(out.text(name), name) for name in (*names, *out.added)]
    if not statements:
        return
    variables = {name.encode() for name, _ in statements}
    found: list[list[Any]] = []
    for name, node in statements:
        statement = node.parent
        if statement is None or statement.end_byte - statement.start_byte > _LONGEST:
            continue
        first, last = statement.start_point[0] + 1, statement.end_point[0] + 1
        found.append([name, first, last, _named(out, node, statement, variables)])
    module = out.definitions[0]
    out.definitions[0] = module._replace(detail={**(module.detail or {}), VARIABLES: found})


def _named(out: Outline, name: Node, statement: Node, variables: set[bytes]) -> list[str]:
    """The full names in a statement that are not called, behind the name that it gives a value."""
    text = out.data[name.end_byte : statement.end_byte]
    if b'"' in text or b"'" in text or b"#" in text:
        text = _TEXTS.sub(b" ", text)
    found: dict[str, None] = {}
    known = out.names.top
    for match in CHAIN.finditer(text):
        root = match[0].partition(b".")[0].rstrip()
        if text[match.end() : match.end() + 1] == b"(" or text[match.start() - 1 : match.start()] == b".":
            continue
        if root in known:
            full = out.resolve(match[0], 0)
        elif root in variables:
            full = f"{out.module}.{match[0].decode('utf-8', 'replace')}"
        else:
            continue
        if full and len(full) < 200:
            found.setdefault(full)
    return list(found)
