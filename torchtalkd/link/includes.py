"""Which files take a file in by `#include`, through any number of others?

An include is known as it is written, and both branches of each `#if` count, so what is found may be more
than a compiler would take in for one configuration, and never less. Pure. The tests are in
`tests/test_includes.py`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Collection, Iterable
from typing import Final, NamedTuple

HEADERS: Final = (".h", ".hh", ".hpp", ".hxx", ".h++", ".cuh", ".inl", ".inc", ".ipp", ".tpp", ".tcc", ".def")
"""Endings of files that are made to be included: what takes them in is read again, not they."""


class Reached(NamedTuple):
    """What takes in some files."""

    units: frozenset[str]
    """Files that are no headers: what a compiler is called for."""
    headers: frozenset[str]
    unseen: tuple[str, ...]
    """Those of the asked headers that no file takes in, by path."""


def reached(changed: Collection[str], including: Callable[[str], Iterable[str]]) -> Reached:
    """All files whose closure contains one of `changed`, these themselves not counted unless they are
    taken in. `including` gives the files that may take one in directly: see `may_mean`."""
    found: set[str] = set()
    waiting = list(changed)
    asked: set[str] = set()
    unseen = []
    while waiting:
        path = waiting.pop()
        if path in asked:
            continue
        asked.add(path)
        above = set(including(path))
        if not above and path in changed and is_header(path):
            unseen.append(path)
        found |= above
        waiting += above - asked
    headers = frozenset(path for path in found if is_header(path))
    return Reached(frozenset(found - headers), headers, tuple(sorted(unseen)))


def closure(unit: str, included: Callable[[str], Iterable[str]]) -> frozenset[str]:
    """The unit with all that it takes in. `included` gives what a file may take in directly."""
    found = {unit}
    waiting = [unit]
    while waiting:
        for path in included(waiting.pop()):
            if path not in found:
                found.add(path)
                waiting.append(path)
    return frozenset(found)


def may_mean(written: str, includer: str, path: str) -> bool:
    """Whether an include that is written so in a file may mean the file at a path: from the includer's
    folder, or from any folder that a compiler may be told to look in."""
    if posixpath.normpath(posixpath.join(posixpath.dirname(includer), written)) == path:
        return True
    parts = [part for part in posixpath.normpath(written).split("/") if part not in ("", ".", "..")]
    tail = "/".join(parts)
    return bool(tail) and (path == tail or path.endswith("/" + tail))


def is_header(path: str) -> bool:
    """Whether a file is made to be included, by its ending."""
    return path.lower().endswith(HEADERS)
