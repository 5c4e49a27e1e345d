"""A file's skeleton: its text without the bodies in which the grammar lost its way.

One unreadable expression (Objective-C messages, a macro that opens a brace) can cost the
grammar the functions around it and the namespace they stand in. Braces, counted outside of
strings and comments, still tell where each body begins and ends. Without those bodies the
heads parse, and every function is found again under its full name.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TOKEN = re.compile(
    rb'//[^\n]*|/\*.*?\*/|\bR"([^()\\\s]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'
    rb"'(?:[^'\\\n]|\\.)*'|^[ \t]*#(?:[^\\\n]+|\\\r?\n|\\.)*|[{}]",
    re.DOTALL | re.MULTILINE,
)
_NAMESPACE_HEAD = re.compile(
    rb"(?:\bnamespace(?:\s+[\w:]+)?(?:\s*\[\[.*?\]\])?|\bextern\s*\"C(?:\+\+)?\")\s*$"
)


class Body(NamedTuple):
    """A stretch in braces that stands in nothing but namespaces; offsets of its braces."""

    start: int
    end: int


def bodies(data: bytes) -> list[Body] | None:
    """The outermost bodies of a file, in order; None where its braces do not match."""
    found: list[Body] = []
    namespaces = depth = start = 0
    for match in _TOKEN.finditer(data):
        if match.end() - match.start() != 1:
            continue
        at = match.start()
        if data[at] == ord("{"):
            if depth == 0 and _NAMESPACE_HEAD.search(data, max(0, at - 200), at):
                namespaces += 1
                continue
            if depth == 0:
                start = at
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                found.append(Body(start, at))
        elif namespaces:
            namespaces -= 1
        else:
            return None
    return found if depth == 0 and namespaces == 0 else None


def unreadable_bodies(data: bytes, errors: list[tuple[int, int]]) -> list[Body] | None:
    """What is inside the bodies that an error touches, in order; None where braces do not match.

    An error that spans several bodies (a lost namespace) touches all of them.
    """
    outermost = bodies(data)
    if outermost is None:
        return None
    return [
        Body(body.start + 1, body.end)
        for body in outermost
        if any(start < body.end and body.start < end for start, end in errors)
    ]
