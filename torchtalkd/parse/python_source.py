"""The text of a Python file as UTF-8, whatever it is stored as. Pure.

Python's own rules (PEP 263, and a byte order mark) decide the encoding. Columns are in bytes
of the UTF-8 text, so in a file of another encoding they differ from the file's own on lines
with letters beyond ASCII.
"""

from __future__ import annotations

import codecs
import re

from torchtalkd.facts import Problem

_COOKIE = re.compile(rb"\A(?:[ \t\f]*(?:#[^\r\n]*)?\r?\n)?[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SLOW = frozenset(("idna", "punycode"))
"""Codecs that Python knows but no source file is stored in; they take quadratic time."""


def source_text(data: bytes) -> tuple[bytes, list[Problem]]:
    """The same text in UTF-8 with `\\n` between lines, and what was wrong with the bytes."""
    problems: list[Problem] = []
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            data = data.decode(encoding, "replace").encode("utf-8", "replace")
            break
    else:
        cookie = _COOKIE.match(data)
        if cookie:
            data = _decoded(data, cookie[1].decode("ascii", "replace"), problems)
    if not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            problems.append(Problem(_line(data, error.start), "encoding", "bytes that are not UTF-8"))
    if b"\0" in data:
        problems.append(Problem(_line(data, data.index(b"\0")), "binary", "a NUL byte"))
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return data, problems


def _decoded(data: bytes, encoding: str, problems: list[Problem]) -> bytes:
    try:
        name = codecs.lookup(encoding).name
        if name in ("utf-8", "ascii", "utf-8-sig"):
            return data
        if name in _SLOW:
            raise LookupError(name)
        return data.decode(encoding, "replace").encode("utf-8", "replace")
    except (LookupError, ValueError):
        # ValueError: a codec that is there but gives up (UnicodeError is one).
        problems.append(Problem(1, "encoding", f"unknown encoding {encoding[:40]!r}: read as UTF-8"))
        return data


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
