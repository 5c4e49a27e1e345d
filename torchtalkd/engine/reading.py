"""Reads and parses one file, in a worker or in process, into rows that `marshal` can carry.

The tests are in `tests/test_engine.py`.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from torchtalkd.conventions import Conventions
from torchtalkd.engine.sweep import resolves_inside
from torchtalkd.facts import FileFacts, Problem
from torchtalkd.store.rows import Rows, pack
from torchtalkd.store.stamp import stamp

Parse = Callable[[str, bytes, Conventions], FileFacts]


class Task(NamedTuple):
    """A file to be read. Plain values: it is marshalled."""

    file_id: int
    path: str
    language: str
    role: str
    size: int
    """As the sweep saw it: for sharing out the work."""


class Outcome(NamedTuple):
    """What became of a task. Plain values: it is marshalled."""

    status: Literal["read", "gone", "unreadable", "lost"]
    """`gone`: there is no such file any more. `lost`: it cost a worker."""
    file_id: int
    path: str
    language: str
    role: str
    size: int
    mtime_ns: int
    read_ns: int
    inode: int
    ctime_ns: int
    digest: str
    rows: tuple[list[tuple[Any, ...]], ...]
    """The fields of a `Rows`."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a file needs besides its path. Picklable if `parse` and `prepare` are."""

    root: str
    """A real path."""
    conventions: Conventions
    parse: Parse
    prepare: Callable[[Conventions], None] | None = None
    """What a worker does first, so that its first file need not wait for it."""


def read(task: Task, reading: Reading) -> Outcome:
    """Reads and parses a file. Whatever goes wrong becomes its status and a Problem."""
    read_ns = time.time_ns()
    try:
        data, found = read_bytes(reading.root, task.path, reading.conventions.files.max_bytes)
    except FileNotFoundError:
        return failed(task, "gone", Problem(0, "unreadable", "it is gone"), read_ns)
    except OSError as error:
        return failed(task, "unreadable", Problem(0, "unreadable", error.strerror or str(error)), read_ns)
    if data is None:
        limit = reading.conventions.files.max_bytes
        problem = Problem(0, "size", f"{found.st_size} bytes: files over {limit} bytes are not parsed")
        facts = FileFacts(task.path, task.language, task.role, problems=(problem,))
        rows = pack(task.file_id, facts)
    else:
        facts, rows = _parsed(task, data, reading)
    stamped = stamp(found)
    return Outcome(
        "read",
        task.file_id,
        task.path,
        facts.language,
        facts.role,
        stamped.size,
        stamped.mtime_ns,
        read_ns,
        stamped.inode,
        stamped.ctime_ns,
        digest_of(data, found.st_size),
        tuple(rows),
    )


def read_bytes(root: str, path: str, limit: int) -> tuple[bytes | None, os.stat_result]:
    """The bytes of a file, None if there are more than `limit`, and its stat from before.

    Never waits for a pipe, and never follows a link out of the tree, even one that was put
    there since the sweep. Raises OSError.
    """
    whole = os.path.join(root, path)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(whole, flags | os.O_NOFOLLOW)
    except OSError:
        if not os.path.islink(whole):
            raise
        if not resolves_inside(root, whole):
            raise PermissionError(0, "a symbolic link that leads out of the tree is not read") from None
        descriptor = os.open(os.path.realpath(whole), flags | os.O_NOFOLLOW)
    with open(descriptor, "rb", buffering=0) as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(0, "it is not a regular file")
        if found.st_size > limit:
            return None, found
        return file.readall(), found


def digest_of(data: bytes | None, size: int) -> str:
    """blake2b of the bytes. Of a file over the limit only the size counts, in its facts too."""
    return f"size-{size}" if data is None else hashlib.blake2b(data, digest_size=16).hexdigest()


def failed(
    task: Task,
    status: Literal["gone", "unreadable", "lost"],
    problem: Problem,
    read_ns: int,
    digest: str = "",
) -> Outcome:
    """The outcome of a file without facts, but with a Problem."""
    rows = pack(task.file_id, FileFacts(task.path, task.language, task.role, problems=(problem,)))
    return Outcome(
        status,
        task.file_id,
        task.path,
        task.language,
        task.role,
        task.size,
        0,
        read_ns,
        0,
        0,
        digest,
        tuple(rows),
    )


def rows_of(outcome: Outcome) -> Rows:
    """The rows of an outcome, as the writer wants them."""
    return Rows(*outcome.rows)


def _parsed(task: Task, data: bytes, reading: Reading) -> tuple[FileFacts, Rows]:
    try:
        facts = reading.parse(task.path, data, reading.conventions)
        return facts, pack(task.file_id, facts)
    # A parser never raises; if one does, for whatever reason, it costs this file alone.
    except Exception as error:  # noqa: BLE001
        said = "out of memory" if isinstance(error, MemoryError) else f"{type(error).__name__}: {error}"
        problem = Problem(0, "crash", f"the parser failed ({said})")
        facts = FileFacts(task.path, task.language, task.role, problems=(problem,))
        return facts, pack(task.file_id, facts)
