"""Gives each definition that a compiler sees code in a digest of its lines.

Whole lines: what was read exactly of a body has its places by line and column, and they are of the
current text for as long as these lines are the same, wherever in the file they stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


def with_bodies(definitions: Iterable[Definition], text: Text) -> Iterator[Definition]:
    """The definitions, with `body` where one has code."""
    data, starts = text.data, [*text.line_starts, len(text.data)]
    last, make = len(starts) - 1, tuple.__new__
    for definition in definitions:
        if definition.kind in _WITH_CODE and not definition.declares:
            lines = data[starts[definition.line - 1] : starts[min(definition.end_line, last)]]
            # `_replace` would cost several times that; `body` is the last field.
            yield make(Definition, (*definition[:-1], digest(lines)))
        else:
            yield definition


def digest(lines: bytes) -> int:
    """64 bits, signed as SQLite has numbers; never 0."""
    return int.from_bytes(blake2b(lines, digest_size=8).digest(), "big", signed=True) or 1


assert Definition._fields[-1] == "body", "a body's digest is put behind all other fields"
