"""What the entries of a yaml file said when it was last read, in this process.

A save changes one entry of thousands; the others need not be read again. What an entry says is a
function of its lines and the conventions (and it moves with its place), so nobody can tell that it was
remembered, but by the time that it takes: 15 ms for native_functions.yaml in place of 130 ms.
Tests: `tests/test_entries_said.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from torchtalkd.conventions.values import Conventions
from torchtalkd.parse.entry_facts import Said

MOST_FILES: Final = 4
"""Remembered at a time, the last ones: a tree has three, and each takes about as much as its facts do."""

_files: dict[str, tuple[str, Conventions, Mapping[str, Said]]] = {}


def said_before(path: str, language: str, conventions: Conventions) -> Mapping[str, Said]:
    """What the entries of a file said the last time, by their lines; empty where it was read as another
    language or by other conventions."""
    known = _files.get(path)
    if known is None or known[0] != language or known[1] is not conventions:
        return {}
    return known[2]


def remember(path: str, language: str, conventions: Conventions, said: Mapping[str, Said]) -> None:
    """Remembers what the entries of a file say now."""
    _files.pop(path, None)
    _files[path] = (language, conventions, said)
    while len(_files) > MOST_FILES:
        del _files[next(iter(_files))]
