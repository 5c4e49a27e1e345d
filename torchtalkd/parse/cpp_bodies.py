"""Gives each definition that a compiler sees code in a digest of its lines.

Whole lines: what was read exactly of a body has its places by line and column, and they are of the
current text for as long as these lines are the same, wherever in the file they stand.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from torchtalkd.facts import Definition
from torchtalkd.parse.cpp_text import Text

_WITH_CODE: Final = frozenset(
    {
        "function",
        "kernel",
        "structured_meta",
        "structured_impl",
        "library",
        "stub_kernel",
        "python_binding",
        "macro_use",
        "variable",
    }
)


def with_bodies(definitions: list[Definition], text: Text) -> list[Definition]:
    """The definitions, with `body` where one has code."""
    data, starts = text.data, text.line_starts
    last = len(starts)
    found, make = definitions.copy(), tuple.__new__
    for n, definition in enumerate(definitions):
        kind, line, end_line, declares = definition[2], definition[3], definition[5], definition[7]
        if kind in _WITH_CODE and not declares:
            lines = data[starts[line - 1] : starts[end_line] if end_line < last else None]
            # `_replace` takes five times as long.
            found[n] = make(Definition, (*definition[:14], digest(lines)))
    return found


def digest(lines: bytes) -> int:
    """64 bits, signed as SQLite has numbers; never 0."""
    return int.from_bytes(blake2b(lines, digest_size=8).digest(), "big", signed=True) or 1


assert Definition._fields[-1] == "body", "a body's digest is put behind all other fields"
