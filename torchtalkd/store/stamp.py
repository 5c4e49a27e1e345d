"""What is kept of a file's stat, to see later whether it is the same file with the same text.

SQLite's integers have 64 bits with a sign. A time after the year 2262 has more in nanoseconds, and
some network and union file systems give inodes that use the highest bit. Such numbers are folded: two
of them are as different as before in all but one case of 2⁶⁴, and no file can stop a tree from being
indexed. The tests are in `tests/test_engine.py`.
"""

from __future__ import annotations

import os
from typing import Final, NamedTuple

_HALF: Final = 1 << 63


class Stamp(NamedTuple):
    """Of one file; each number as the database has it."""

    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int


def stamp(found: os.stat_result) -> Stamp:
    """The stamp of a stat."""
    return Stamp(found.st_size, _folded(found.st_mtime_ns), _folded(found.st_ino), _folded(found.st_ctime_ns))


def _folded(number: int) -> int:
    return (number + _HALF) % (2 * _HALF) - _HALF
