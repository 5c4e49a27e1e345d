"""A file's skeleton: its text without the bodies in which the grammar lost its way.

One unreadable expression (Objective-C messages, a macro that opens a brace) can cost the
grammar the functions around it and the namespace they stand in. Braces, counted outside of
strings and comments, still tell where each body begins and ends. Without those bodies the
heads parse, and every function is found again under its full name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    rb'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'
    rb"'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|\{|\}",
    re.DOTALL,
)
"""A comment, string or brace. Each alternative begins with a character of its own and not with a set of
them, so that the engine skips all other text quickly. (The text has no #define lines any more.)"""
_NAMESPACE_HEAD = re.compile(
    rb"(?:\bnamespace(?:\s+[\w:]+)?(?:\s*\[\[.*?\]\])?|\bextern\s*\"C(?:\+\+)?\")\s*$"
)


class Body(NamedTuple):
    """A stretch in braces that stands in nothing but namespaces; offsets of its braces."""

    start: int
    end: int


class Outermost(NamedTuple):
    """What the braces of a file tell."""

    bodies: list[Body]
    """In order."""
    namespaces: frozenset[int]
    """Offsets of the closing braces of namespaces."""


def bodies(data: bytes, known: Sequence[Body]) -> Outermost | None:
    """The outermost bodies of a file; None where its braces do not match. What is inside of the `known`
    bodies, which are in order and apart, is not looked at."""
    found: list[Body] = []
    namespaces: set[int] = set()
    opened: list[bool] = []
    depth = start = position = 0
    for body in (*known, None):
        for match in _TOKEN.finditer(data, position, len(data) if body is None else body.start):
            if match.end() - match.start() != 1:
                continue
            at = match.start()
            if data[at] == ord("{"):
                head = _NAMESPACE_HEAD.search(data, max(0, at - 200), at) if depth == 0 else None
                if head is not None:
                    opened.append(head.group().startswith(b"namespace"))
                    continue
                if depth == 0:
                    start = at
                depth += 1
            elif depth:
                depth -= 1
                if depth == 0:
                    found.append(Body(start, at))
            elif opened:
                if opened.pop():
                    namespaces.add(at)
            else:
                return None
        if body is not None:
            if depth == 0:
                found.append(body)
            position = body.end + 1
    return Outermost(found, frozenset(namespaces)) if depth == 0 and not opened else None


def touched_by(outermost: list[Body], errors: list[tuple[int, int]]) -> list[Body]:
    """The bodies that an error touches, in order. An error that spans several bodies (a lost namespace)
    touches all of them."""
    return [body for body in outermost if any(start < body.end and body.start < end for start, end in errors)]


def gaps(left_out: list[Body], first: int, last: int) -> list[tuple[int, int]]:
    """The text between two offsets without what is inside of the bodies, as stretches."""
    found = []
    position = first
    for brace, end in left_out:
        start = brace + 1
        if end <= first or start >= last:
            continue
        if start > position:
            found.append((position, start))
        position = max(position, end)
    if position < last:
        found.append((position, last))
    return found
