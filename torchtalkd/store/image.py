"""A whole revision as one file: copied out of a store, made fit for another root, put in a store's place.

The tests are in `tests/test_snapshots.py`.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from torchtalkd.store import lock
from torchtalkd.store.connection import NAME, connect_new, remove
from torchtalkd.store.database import FORMAT, checkpoint, open_view
from torchtalkd.store.errors import Locked, StoreError, translated

BESIDE: Final = "loading"
"""Folder in a store's folder where the database that will take its place is made ready."""
LOCKED_SECONDS: Final = 0.05
"""How often the lock of another process is looked at."""
QUIET_SECONDS: Final = 1.0
"""A wait that nobody need hear of: a save of a file is read in milliseconds."""


def copy_newest(folder: Path, target: Path) -> dict[str, str]:
    """Copies the newest revision of a store into a new file, whatever is written meanwhile; returns its
    meta table. Raises what `open_view` raises, StoreFull."""
    with open_view(folder) as view, translated(target.parent), closing(connect_new(target)) as copy:
        # The view holds its revision by a transaction, so that a commit in between changes nothing.
        view._db.backup(copy)
        return dict(copy.execute("SELECT name, value FROM meta"))


def make_fit(database: Path, root: Path, *, later_than: int, trust_stats: bool) -> None:
    """Makes a copied revision that of a root, with a number that is later than another's.

    Without `trust_stats` each file will be compared by its bytes: a stat proves something only on the
    disk that it was taken from. Raises Unusable, StoreFull.
    """
    with translated(database.parent), closing(connect_new(database)) as db:
        (revision,) = db.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
        known = {
            "root": str(root),
            "format": str(FORMAT),
            "revision": str(max(int(revision), later_than) + 1),
        }
        db.execute("BEGIN")
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", known.items())
        if not trust_stats:
            db.execute("UPDATE file SET mtime_ns = 0, read_ns = 0, inode = 0, ctime_ns = 0")
        db.execute("COMMIT")


@contextmanager
def replacing(
    folder: Path, *, patience: float, waiting: Callable[[Locked], None] | None = None
) -> Iterator[Path]:
    """A folder beside a store, whose database takes the store's place when the block ends well.

    Nobody writes the store meanwhile, so that what changes in the tree is read into the one or the other.
    Waits up to `patience` seconds for another writer, which `waiting` hears of once if it takes long. Any
    exception leaves the store as it was. Raises Locked, NotPermitted, StoreFull, StoreError.
    """
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True)
        held = _acquired(folder, patience, waiting)
        beside = folder / BESIDE
        try:
            # Of a process that was killed.
            shutil.rmtree(beside, ignore_errors=True)
            beside.mkdir()
            yield beside
            _put(beside / NAME, folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
            held.release()


def _acquired(folder: Path, patience: float, waiting: Callable[[Locked], None] | None) -> lock.Lock:
    begun = time.monotonic()
    while True:
        try:
            return lock.acquire(folder)
        except Locked as locked:
            waited = time.monotonic() - begun
            if waited > patience:
                raise
            if waiting is not None and waited > QUIET_SECONDS:
                waiting(locked)
                waiting = None
            time.sleep(LOCKED_SECONDS)


def _put(new: Path, folder: Path) -> None:
    """Invariant: a database never meets the -wal of another. So the former one goes first, with what SQLite
    keeps beside it; who asks in between finds no index, and asks again."""
    checkpoint(new.parent)
    if _size(new.with_name(NAME + "-wal")):
        raise StoreError(new, f"the index {new} is still being read")
    _sync(new)
    checkpoint(folder)
    remove(folder / NAME)
    os.replace(new, folder / NAME)
    _sync(folder)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def revision_of(folder: Path) -> int:
    """The newest revision of a store, 0 where there is none that can be read."""
    try:
        with open_view(folder) as view:
            return view.revision
    except (StoreError, sqlite3.DatabaseError):
        return 0
