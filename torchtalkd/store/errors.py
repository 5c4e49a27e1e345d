"""What can go wrong with a store, as types. Each message is a whole sentence for the user.

No module but those of `torchtalkd.store` sees an sqlite3 error: `translated` turns each into
one of these. They are named after what is the case, as a caller reads it: `except Locked`.
The tests are in `tests/test_store.py`.
"""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class StoreError(Exception):
    """The store of a folder cannot be used; `path` is the file or folder that is meant."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path


class NoIndex(StoreError):
    """There is no database yet: nothing was built, or no build ever ended."""


class Unusable(StoreError):
    """The database is damaged or of another version. `open_writer` sets it aside."""


class NotPermitted(StoreError):
    """The file system does not let us read or write `path`."""


class StoreFull(StoreError):
    """The disk is full. The revision that was there before is intact."""


class Locked(StoreError):
    """Another process writes this store: `host` and `pid` say which ('' and 0 if it did not say)."""

    def __init__(self, path: Path, host: str, pid: int) -> None:
        who = f"process {pid} on {host}" if pid else "another process"
        super().__init__(path, f"the index in {path.parent} is being written by {who}")
        self.host = host
        self.pid = pid


_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_LITTLE = 1 << 20
"""Bytes. SQLite reports some failed writes only as an I/O error: with less than this left on
the disk, that is what it means."""


@contextmanager
def translated(folder: Path) -> Iterator[None]:
    """Raises what sqlite3 and the file system say about `folder` as errors of this module."""
    try:
        yield
    except sqlite3.Error as error:
        found = _of_sqlite(folder, error)
        if found is None:
            raise
        raise found from error
    except OSError as error:
        found = _of_system(folder, error)
        if found is None:
            raise
        raise found from error


def is_damage(error: BaseException) -> bool:
    """Whether an sqlite3 error says that the file itself is bad."""
    return isinstance(error, sqlite3.Error) and (_code(error) in _DAMAGED or _is_no_text(error))


def _of_sqlite(folder: Path, error: sqlite3.Error) -> StoreError | None:
    code = _code(error)
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_room(folder, error)):
        return _full(folder)
    if code in _DAMAGED or _is_no_text(error):
        return Unusable(folder, f"the index in {folder} is damaged ({error})")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH):
        return NotPermitted(folder, f"cannot use the index in {folder}: {error}")
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
        return StoreError(folder, f"cannot use the index in {folder}: {error}")
    return None


def _of_system(folder: Path, error: OSError) -> StoreError | None:
    path = Path(os.fsdecode(error.filename)) if error.filename is not None else folder
    if error.errno in _FULL:
        return _full(folder)
    if error.errno in _FORBIDDEN:
        return NotPermitted(path, f"cannot use {path}: {error.strerror}")
    if error.errno in (errno.ENOTDIR, errno.EEXIST, errno.EISDIR):
        return StoreError(path, f"cannot use {path} for the index: {error.strerror}")
    return None


def _is_no_text(error: sqlite3.Error) -> bool:
    # Python's own words, of Modules/_sqlite/cursor.c; SQLite does not mind, so there is no code.
    return str(error).startswith("Could not decode to UTF-8")


def _full(folder: Path) -> StoreFull:
    return StoreFull(folder, f"the disk that holds {folder} is full; the index there is as it was before")


def _code(error: sqlite3.Error) -> int:
    """The primary result code; the higher bits only refine it."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 255


def _no_room(folder: Path, error: sqlite3.Error) -> bool:
    if getattr(error, "sqlite_errorname", "") not in (
        "SQLITE_IOERR_WRITE",
        "SQLITE_IOERR_FSYNC",
        "SQLITE_IOERR_TRUNCATE",
    ):
        return False
    try:
        return shutil.disk_usage(folder).free < _LITTLE
    except OSError:
        return False
