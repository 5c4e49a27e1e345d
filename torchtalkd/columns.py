"""Lines of bytes, and the columns of a protocol that counts otherwise. Pure.

All our places count bytes of UTF-8. A client counts what was agreed at the start: code units of
UTF-16, bytes, or code points. A position behind a line's end means its end; one inside a
character means its beginning. Standard library only, as the bridge keeps an editor's texts, too. The
tests are in `tests/test_columns.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]


class Change(NamedTuple):
    """A piece of a text that is replaced, in a client's columns (lines from 0)."""

    first_line: int
    first_column: int
    last_line: int
    last_column: int
    text: str


def lines_of(text: str) -> list[bytes]:
    """The lines of a text, without line feeds; half a surrogate pair becomes a question mark."""
    return text.encode("utf-8", "replace").split(b"\n")


def to_bytes(line: bytes, column: int, encoding: Encoding) -> int:
    """The byte that a client's column of a line means."""
    length = len(line) - line.endswith(b"\r")
    if encoding == "utf-8":
        at = min(max(column, 0), length)
        while 0 < at < length and line[at] & 0xC0 == 0x80:
            at -= 1
        return at
    if line.isascii():
        return min(max(column, 0), length)
    counted = at = 0
    for character in line[:length].decode("utf-8", "replace"):
        width = 2 if encoding == "utf-16" and ord(character) > 0xFFFF else 1
        if counted + width > column:
            return at
        counted += width
        at += len(character.encode("utf-8", "replace"))
    return min(at, length)


def from_bytes(line: bytes, column: int, encoding: Encoding) -> int:
    """A client's column for a byte of a line."""
    column = min(max(column, 0), len(line))
    if encoding == "utf-8" or line.isascii():
        return column
    before = line[:column].decode("utf-8", "replace")
    return len(before) if encoding == "utf-32" else len(before.encode("utf-16-le", "surrogatepass")) // 2


def changed(lines: Sequence[bytes], change: Change, encoding: Encoding) -> list[bytes]:
    """The lines after a change; one beyond the end of the text means its end."""
    first, start = _place(lines, change.first_line, change.first_column, encoding)
    last, end = _place(lines, change.last_line, change.last_column, encoding)
    if (last, end) < (first, start):
        last, end = first, start
    middle = lines_of(change.text)
    middle[0] = lines[first][:start] + middle[0]
    middle[-1] += lines[last][end:]
    return [*lines[:first], *middle, *lines[last + 1 :]]


def _place(lines: Sequence[bytes], line: int, column: int, encoding: Encoding) -> tuple[int, int]:
    if line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    return max(line, 0), to_bytes(lines[max(line, 0)], column, encoding)
