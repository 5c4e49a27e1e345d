"""The writer's SQLite connections: their settings, and the names of the files of a store.

The settings were measured with a whole PyTorch; what made no difference (page size, a larger
cache) is left at SQLite's default. The tests are in `tests/test_store.py`.
"""

from __future__ import annotations

import sqlite3
from importlib import resources
from pathlib import Path
from typing import Final

NAME: Final = "index.db"
NEW: Final = "index.db.new"
"""A first build under way. Moved to NAME when it is whole, so a build cut short never counts."""

BUSY_SECONDS: Final = 30.0


def connect(path: Path) -> sqlite3.Connection:
    """A connection for the writer, in WAL mode where the file system can; see `set_journal`."""
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False)
    try:
        set_journal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -65536")
        connection.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_new(path: Path) -> sqlite3.Connection:
    """A connection to a fresh file for a bulk load: nothing in it survives a crash, which is
    why the file must not have the store's name before it is whole and synced.

    The cache is small: a load does not come back to a page, so a large one would only put off
    writing it until the commit, when nothing else is left to do. What an index sorts goes through
    temporary files, in runs as large as the cache: all of it as one list in memory takes half as long
    again, at the end, when only one process is at work.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    connection.execute("PRAGMA cache_size = -4096")
    connection.execute("PRAGMA temp_store = FILE")
    return connection


def set_journal(connection: sqlite3.Connection) -> str:
    """Puts a database in WAL mode, or where that does not work (network homes have no shared
    memory) in TRUNCATE mode. Returns `wal` or `truncate`.

    In TRUNCATE mode an open View holds up the writer's commit until it is closed.
    """
    if wal_works(connection):
        return "wal"
    connection.execute("PRAGMA journal_mode = TRUNCATE")
    return "truncate"


def wal_works(connection: sqlite3.Connection) -> bool:
    """Tries WAL mode, and leaves the database in it where that works."""
    try:
        return bool(connection.execute("PRAGMA journal_mode = WAL").fetchone()[0] == "wal")
    except sqlite3.OperationalError as error:
        code = int(getattr(error, "sqlite_errorcode", 0)) & 255
        if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL):
            return False
        raise


def remove(path: Path) -> None:
    """Deletes a database and the files that SQLite keeps beside it, those that exist."""
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def script(name: str) -> str:
    """The text of schema.sql or indexes.sql."""
    return resources.files("torchtalkd.store").joinpath(name).read_text("utf-8")
