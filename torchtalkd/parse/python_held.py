"""What a class gives its objects: `self.fc = nn.Linear(3, 4)`. Pure.

A Reference of kind `holds` at the attribute, with the key of what is called and the name
`fc = torch.nn.Linear`, so that `link` finds it from the class around and from what it holds. Found from
the callee by the text before it: a pattern of the query would be tried with each assignment of the file.
"""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from torchtalkd.facts import Reference
from torchtalkd.parse.python_names import is_operators, key_of
from torchtalkd.parse.python_outline import CHAIN, Outline

ASSIGNS: Final = b"="[0]
BEFORE: Final = b"= \t"
"""A callee whose result is assigned stands behind an ASSIGNS, or behind two bytes of these."""
_FURTHEST: Final = 400
"""Bytes between an attribute and what is called: a line may be a megabyte long."""
_HOLDS: Final = re.compile(rb"(?<![^ \t\n;])self\.([A-Za-z_]\w*)[ \t]*(?::[^=\n#]{1,80})?=[ \t]*\Z")


def held(out: Outline, callee: Node, owner: int) -> list[Reference]:
    """The reference of a function's statement that gives an attribute what is called; none where the callee's
    name means nothing here."""
    data, start = out.data, callee.start_byte
    reach = max(start - _FURTHEST, 0)
    at = data.find(b"self.", max(data.rfind(b"\n", reach, start), reach), start)
    match = _HOLDS.search(data, at, start) if at >= 0 else None
    text = data[start : callee.end_byte]
    if match is None or out.definitions[owner].kind != "function" or not CHAIN.fullmatch(text):
        return []
    name = out.resolve(text, owner)
    if not name or is_operators(name):
        return []
    row, column = callee.start_point
    column -= start - match.start()
    return [Reference(key_of(name), f"{match[1].decode()} = {name}", "holds", row + 1, column, owner)]
