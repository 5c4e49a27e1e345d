"""What needs reading, and why? Pure: known records and stats in, a plan out.

*Recipe*: what made a file's facts besides its bytes: the parser's version, the language and
role of its path, and the tables of the conventions that its language depends on. A file with
the same stat and recipe is unchanged. A *suspect* has the same recipe, but its stat differs or
proves nothing: its mtime or ctime is so near to the moment it was read that a later write may have
left the same. The ctime also shows a write whose size and mtime a tool has put back. The bytes of a
suspect decide. The tests are in `tests/test_engine.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Final, NamedTuple

from torchtalkd.conventions import Conventions
from torchtalkd.engine.sweep import Entry, Sweep
from torchtalkd.store.writer import FileRecord

SUSPECT_NS: Final = 2_000_000_000
"""2 s: the coarsest mtime of a file system in use (FAT). Also after the reading, because the
clock of a file server may be ahead."""

UNREAD: Final = ""
"""Digest of a file that could not be read: always a suspect, as a `chmod` leaves size, mtime and
inode alone."""
REFUSED: Final = "refused"
"""Digest of a file that must not be read: see `Entry.refused`."""

Recipes = Callable[[Entry], str]


class Plan(NamedTuple):
    """What brings the store equal to the tree."""

    read: list[Entry]
    """To be parsed."""
    check: list[tuple[Entry, FileRecord]]
    """Suspects: to be parsed only if their digest differs."""
    refuse: list[Entry]
    """To be recorded with a Problem, unread."""
    delete: list[str]
    """Paths to be taken out of the store."""


def plan(known: Mapping[str, FileRecord], swept: Sweep, recipe_of: Recipes) -> Plan:
    """Compares the store's files with the tree's."""
    read: list[Entry] = []
    check: list[tuple[Entry, FileRecord]] = []
    refuse: list[Entry] = []
    for entry in swept.entries:
        record = known.get(entry.path)
        if record is None or record.recipe != recipe_of(entry):
            (refuse if entry.refused else read).append(entry)
        elif entry.refused:
            if record.digest != REFUSED or not _same_stat(entry, record):
                refuse.append(entry)
        elif record.digest == REFUSED:
            read.append(entry)
        elif (
            record.digest == UNREAD
            or not _same_stat(entry, record)
            or abs(record.mtime_ns - record.read_ns) < SUSPECT_NS
            or abs(record.ctime_ns - record.read_ns) < SUSPECT_NS
        ):
            check.append((entry, record))
    there = {entry.path for entry in swept.entries}
    delete = [path for path in known if path not in there and not below(path, swept.blind)]
    return Plan(read, check, refuse, delete)


def below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of some folders, or below one; the folder '' holds everything."""
    return any(not folder or path == folder or path.startswith(folder + "/") for folder in folders)


def recipes(conventions: Conventions, version: str) -> Recipes:
    """The recipe of each file under these conventions and this version of the parsers."""
    made: dict[tuple[str, str], str] = {}

    def recipe_of(entry: Entry) -> str:
        asked = (entry.language, entry.role)
        found = made.get(asked)
        if found is None:
            text = repr((version, asked, _tables(conventions, entry.language)))
            found = made[asked] = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        return found

    return recipe_of


_NOT_PARSED: Final = {
    "format",
    "extends",
    "depends_on",
    "detect",
    "expected_minimums",
    "fingerprint",
    "files",
}
"""Fields that no parser's facts depend on. Language and role, which `files` decides, are in the
recipe by themselves, and so is the size limit."""

_OTHERS: Final = {
    "python": {"cpp", "operators"},
    "cpp": {"python", "operators", "targets"},
    "cuda": {"python", "operators", "targets"},
    "objcpp": {"python", "operators", "targets"},
    "metal": {"python", "operators", "targets"},
    "native_functions": {"python", "cpp", "targets"},
    "derivatives": {"python", "cpp", "targets"},
    "tags": {"python", "cpp", "targets"},
    "cmake": {"python", "cpp", "operators"},
    "pyproject": {"python", "cpp", "operators", "targets"},
}
"""Tables that are of no concern to a language: an edit of them must not read its files again.
A language that is not here depends on all, so a new one can only be slow, not wrong."""


def _tables(conventions: Conventions, language: str) -> tuple[object, ...]:
    left_out = _NOT_PARSED | _OTHERS.get(language, set())
    tables = [getattr(conventions, f.name) for f in fields(conventions) if f.name not in left_out]
    return (conventions.files.max_bytes, *tables)


def _same_stat(entry: Entry, record: FileRecord) -> bool:
    known = (record.size, record.mtime_ns, record.inode, record.ctime_ns)
    return (entry.size, entry.mtime_ns, entry.inode, entry.ctime_ns) == known
