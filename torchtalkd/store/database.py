"""Opens the database of one root: who may, in which mode, and what happens to a bad one.

A *folder* holds one root's store: `index.db` (with SQLite's `-wal` and `-shm`), the writer's
lock, at most two databases that were set aside (`index.db.broken-<n>`), and while a first
build runs `index.db.new`. Any other file in it belongs to someone else and is left alone.
The tests are in `tests/test_store.py`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final

from torchtalkd.store import lock
from torchtalkd.store.broken import set_aside
from torchtalkd.store.connection import BUSY_SECONDS, NAME, NEW, connect, remove
from torchtalkd.store.errors import NoIndex, NotPermitted, Unusable, translated
from torchtalkd.store.teller import Teller
from torchtalkd.store.texts import require_text
from torchtalkd.store.view import View
from torchtalkd.store.writer import Writer

FORMAT: Final = 4
"""Version of schema.sql and of what its columns mean. Another number in a database means that
it is set aside and built anew; there are no migrations, because everything can be read again."""

_TABLES: Final = {"meta", "file", "problem", "definition", "target", "reference"} | {
    "exact_unit",
    "exact_body",
    "exact_reference",
}


def open_view(folder: Path) -> View:
    """The newest revision of a folder's store, read-only. Writes nothing but SQLite's `-shm`.

    Raises NoIndex, Unusable (damaged or of another version: `open_writer` sets it aside),
    NotPermitted.
    """
    return View(_reading(folder))


def open_teller(folder: Path) -> Teller:
    """What tells of new revisions of a folder's store, or says soon that it cannot. Raises what
    `open_view` raises."""
    connection = _reading(folder)
    connection.execute("PRAGMA busy_timeout = 50")
    return Teller(folder, connection)


def _reading(folder: Path) -> sqlite3.Connection:
    path = folder / NAME
    with translated(folder):
        if not path.exists():
            raise NoIndex(path, f"there is no index in {folder}")
        if not os.access(path, os.R_OK):
            raise NotPermitted(path, f"cannot read {path}")
        try:
            return _reader(path, "mode=ro")
        except sqlite3.OperationalError as error:
            if not path.exists():
                # The writer has set it aside this moment.
                raise NoIndex(path, f"there is no index in {folder}") from error
            # A WAL database wants its -shm beside it. In a folder that cannot be written nobody
            # changes the file either, and without a -wal all of it is in the one file.
            if os.access(folder, os.W_OK) or _size(path.with_name(NAME + "-wal")):
                raise
            return _reader(path, "mode=ro&immutable=1")


def open_writer(folder: Path, root: Path, *, verify: bool = False) -> Writer:
    """The one writer of a folder's store; makes the folder. Holds the lock until `close()`.

    A database that is damaged, or of another version, is set aside; `Writer.notes` has a line
    about it. `verify` also looks through every page, about 1 s for 250 MB: for a database that
    failed in a query. Raises Locked, NotPermitted, StoreFull, StoreError.
    """
    with translated(folder):
        folder.mkdir(parents=True, exist_ok=True)
        held = lock.acquire(folder)
        try:
            # A first build that was cut short.
            remove(folder / NEW)
            notes: list[str] = []
            connection = None
            if (folder / NAME).exists():
                try:
                    connection = _sound(folder, verify)
                except Unusable as error:
                    notes.append(f"{error}; it was set aside as {set_aside(folder).name} and is built anew")
            return Writer(folder, root, FORMAT, connection, held, notes)
        except BaseException:
            held.release()
            raise


def checkpoint(folder: Path) -> None:
    """Puts what stands in the `-wal` into the database, as far as no reader of an older revision prevents
    it, and empties the `-wal` where all readers have begun since that was done before. Waits for nobody.

    Raises NotPermitted, StoreFull, StoreError; does nothing where there is no database.
    """
    with translated(folder):
        if not (folder / NAME).exists():
            return
        connection = sqlite3.connect(folder / NAME, isolation_level=None, timeout=0)
        try:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        finally:
            connection.close()


def last_written(folder: Path) -> float:
    """When a folder's database was written last, in seconds since the epoch; 0.0 where there is none."""
    times = [0.0]
    for path in (folder / NAME, folder / (NAME + "-wal")):
        with suppress(FileNotFoundError):
            times.append(path.stat().st_mtime)
    return max(times)


def log_size(folder: Path) -> int:
    """Bytes of the `-wal` of a folder's database."""
    return _size(folder / (NAME + "-wal"))


def _reader(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?{mode}"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("PRAGMA cache_size = -32768")
        _require_sound(connection, path, verify=False)
        return connection
    except BaseException:
        connection.close()
        raise


def _sound(folder: Path, verify: bool) -> sqlite3.Connection:
    with translated(folder):
        connection = connect(folder / NAME)
        try:
            _require_sound(connection, folder / NAME, verify)
        except BaseException:
            connection.close()
            raise
        return connection


def _require_sound(connection: sqlite3.Connection, path: Path, verify: bool) -> None:
    """Raises Unusable for another version, for missing tables, and with `verify` for any bad page or text."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        raise Unusable(path, f"the index {path} has format {version}, this program uses {FORMAT}")
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    if not tables >= _TABLES:
        raise Unusable(path, f"the index {path} lacks the tables {', '.join(sorted(_TABLES - tables))}")
    if verify:
        (answer,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if answer != "ok":
            raise Unusable(path, f"the index {path} is damaged ({answer})")
        require_text(connection)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
