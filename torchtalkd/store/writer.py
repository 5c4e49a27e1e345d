"""Writes a store: one transaction is one revision.

A `Writer` is made by `store.database.open_writer` and holds the store's lock. Readers see
either all of a revision or none of it. The first build goes to a file of its own, without a
journal and without secondary indexes, and takes the store's name when it is whole and on the
disk; so a build that is cut short leaves nothing, and a former database stays as it was.
The tests are in `tests/test_store.py`.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from torchtalkd.store import connection as connections
from torchtalkd.store.broken import set_aside
from torchtalkd.store.connection import NAME, NEW
from torchtalkd.store.difference import encodable, take_over
from torchtalkd.store.errors import Unusable, translated
from torchtalkd.store.exact_put import delete_exact, exact_put
from torchtalkd.store.exact_rows import ExactRows
from torchtalkd.store.lock import Lock
from torchtalkd.store.rows import Rows, ids_of

BULK_SHARE: Final = 4
"""A revision that replaces more than one file in this many drops the secondary indexes first:
making them anew is then cheaper than keeping them."""

_BATCH: Final = 1000
"""Rows gathered before they are inserted."""


class FileRecord(NamedTuple):
    """What the store knows about a file, in the column order of schema.sql, which ends with the revision."""

    id: int
    """Stays while the path exists. A new path gets a number above all that are in use."""
    path: str
    language: str
    role: str
    size: int
    mtime_ns: int
    read_ns: int
    inode: int
    ctime_ns: int
    digest: str
    recipe: str


class Writer:
    """The one writer of a store. Use as a context manager or `close()` it."""

    def __init__(
        self,
        folder: Path,
        root: Path,
        version: int,
        connection: sqlite3.Connection | None,
        lock: Lock,
        notes: list[str],
    ) -> None:
        """Made by `store.database.open_writer`, which says what each means; `connection` is None
        before the first build."""
        self.folder = folder
        self.notes = notes
        """Lines for the user about what was found when the store was opened."""
        self._root = root
        self._format = version
        self._db = connection
        self._lock = lock

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connection and lets the next writer in."""
        try:
            if self._db is not None:
                self._db.close()
                self._db = None
        finally:
            self._lock.release()

    def set_aside(self, error: Unusable) -> None:
        """Puts the database out of the way, after damage that only its use has shown, and notes
        that. The next `replace` is a first build. Raises `error` if there is no database."""
        if self._db is None:
            raise error
        self._db.close()
        self._db = None
        self.notes.append(f"{error}; it was set aside as {set_aside(self.folder).name} and is built anew")

    def meta(self) -> dict[str, str]:
        """The meta table; empty before the first build."""
        if self._db is None:
            return {}
        with translated(self.folder):
            return dict(self._db.execute("SELECT name, value FROM meta"))

    def files(self) -> dict[str, FileRecord]:
        """Every file of the current revision, by path."""
        if self._db is None:
            return {}
        with translated(self.folder):
            return {row[1]: FileRecord(*row) for row in self._db.execute(_RECORD)}

    def files_at(self, paths: Iterable[str]) -> dict[str, FileRecord]:
        """The files at some paths, and below those that are folders, by path."""
        found: dict[str, FileRecord] = {}
        if self._db is None:
            return found
        with translated(self.folder):
            for path in paths:
                # `0` is the character after `/`.
                for row in self._db.execute(_AT_OR_BELOW, (path, f"{path}/", f"{path}0")):
                    found[row[1]] = FileRecord(*row)
        return found

    def count(self) -> int:
        """How many files there are."""
        if self._db is None:
            return 0
        with translated(self.folder):
            return int(self._db.execute("SELECT count(*) FROM file").fetchone()[0])

    def next_id(self) -> int:
        """The id of the next file that is new."""
        if self._db is None:
            return 1
        with translated(self.folder):
            return int(self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM file").fetchone()[0])

    def marked(self) -> frozenset[str]:
        """Paths of the files that once cost a worker: it crashed, or ran out of time."""
        if self._db is None:
            return frozenset()
        with translated(self.folder):
            return frozenset(path for (path,) in self._db.execute(_MARKED))

    def replace(
        self, changed: Iterable[tuple[FileRecord, Rows]], deleted: Iterable[str], meta: Mapping[str, str]
    ) -> int:
        """One transaction: puts files in place of those of the same id, deletes those of `deleted`,
        sets values of `meta`. Returns the new revision.

        `changed` is read while the transaction is open, and may take its time: readers do not wait
        for it. `deleted` and `meta` are read when `changed` is used up, so its reading may decide
        them. Any exception, one of `changed` included, leaves the former revision. Raises StoreFull,
        Unusable, StoreError.
        """
        with translated(self.folder):
            if self._db is None:
                return self._load(changed, meta)
            return self._replace(self._db, changed, deleted, meta)

    def put_exact(
        self,
        read: Iterable[ExactRows],
        valid: Mapping[int, int],
        gone: Iterable[int],
        meta: Mapping[str, str],
    ) -> int:
        """One transaction, one revision: puts exact readings of files in place of those before, notes the
        revision up to which others were found `valid` (file → revision), deletes those of `gone`, sets
        values of `meta`. A file that is no longer there is left out. Raises StoreFull, Unusable, StoreError.
        """
        if self._db is None:
            return 0
        with translated(self.folder):
            return exact_put(self._db, read, valid, gone, meta)

    def touch(self, records: Iterable[FileRecord]) -> None:
        """Notes new stats for files whose bytes, and so whose facts, are the same. No new revision."""
        if self._db is None:
            return
        with translated(self.folder), self._db:
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany(
                "UPDATE file SET size = ?, mtime_ns = ?, read_ns = ?, inode = ?, ctime_ns = ? WHERE id = ?",
                [(r.size, r.mtime_ns, r.read_ns, r.inode, r.ctime_ns, r.id) for r in records],
            )

    def _replace(
        self,
        db: sqlite3.Connection,
        changed: Iterable[tuple[FileRecord, Rows]],
        deleted: Iterable[str],
        meta: Mapping[str, str],
    ) -> int:
        db.execute("BEGIN IMMEDIATE")
        try:
            (known,) = db.execute("SELECT count(*) FROM file").fetchone()
            (last,) = db.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
            revision = int(last) + 1
            insert = _Inserter(db, revision)
            indexed = True
            for count, (record, rows) in enumerate(changed, 1):
                if indexed and count * BULK_SHARE > max(known, 400):
                    insert.flush()
                    for statement in _statements("indexes.sql"):
                        db.execute("DROP INDEX IF EXISTS " + statement.split()[5])
                    # Deleting a file's problems needs its index, and the table is small.
                    db.execute("CREATE INDEX problem_file ON problem(file)")
                    indexed = False
                if known and indexed:
                    db.execute("DELETE FROM file WHERE id = ?", (record.id,))
                    rows = take_over(db, record.id, rows)
                elif known:
                    _delete(db, record.id)
                insert.add(record, rows)
            insert.flush()
            for path in deleted:
                found = db.execute("SELECT id FROM file WHERE path = ?", (path,)).fetchone()
                if found is not None:
                    _delete(db, found[0])
                    delete_exact(db, found[0])
            for statement in _statements("indexes.sql"):
                db.execute(statement)
            self._set_meta(db, {**meta, "revision": str(revision)})
            db.execute("COMMIT")
            if not indexed:
                _compact(db)
        except BaseException:
            # A full disk has already rolled it back.
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return revision

    def _load(self, changed: Iterable[tuple[FileRecord, Rows]], meta: Mapping[str, str]) -> int:
        new = self.folder / NEW
        db = connections.connect_new(new)
        try:
            db.executescript(connections.script("schema.sql"))
            few, all_rows = _few_and_all(_statements("indexes.sql"))
            for statement in few:
                db.execute(statement)
            db.execute("BEGIN")
            insert = _Inserter(db, 1)
            for record, rows in changed:
                insert.add(record, rows)
            insert.flush()
            for statement in all_rows:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {self._format}")
            self._set_meta(db, {**meta, "revision": "1", "birth": secrets.token_hex(8)})
            db.execute("COMMIT")
            db.execute("PRAGMA locking_mode = NORMAL")
            journal = connections.set_journal(db)
            self._set_meta(db, {"journal": journal})
            db.close()
            _sync(new)
            # A -wal that outlived its database would be taken for this one's.
            connections.remove(self.folder / NAME)
            os.replace(new, self.folder / NAME)
            _sync(self.folder)
        except BaseException:
            db.close()
            connections.remove(new)
            raise
        self._db = connections.connect(self.folder / NAME)
        return 1

    def _set_meta(self, db: sqlite3.Connection, values: Mapping[str, str]) -> None:
        (journal,) = db.execute("PRAGMA journal_mode").fetchone()
        whole = {
            **values,
            "root": str(self._root),
            "format": str(self._format),
            "journal": str(journal).lower(),
        }
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", whole.items())


class _Inserter:
    """Gathers rows of several files, so that SQLite is called seldom."""

    def __init__(self, db: sqlite3.Connection, revision: int) -> None:
        self._db = db
        self._revision = revision
        self._files: list[tuple[object, ...]] = []
        self._rows = Rows([], [], [], [])
        self._count = 0

    def add(self, record: FileRecord, rows: Rows) -> None:
        self._files.append((*record, self._revision))
        for table, more in zip(self._rows, rows, strict=True):
            table.extend(more)
            self._count += len(more)
        if self._count >= _BATCH:
            self.flush()

    def flush(self) -> None:
        tables: tuple[list[Any], ...] = (self._files, *self._rows)
        for statement, table in zip(_INSERTS, tables, strict=True):
            try:
                self._insert(statement, table)
            except UnicodeEncodeError:
                # A lone surrogate in a text that a parser took from undecodable bytes. The rows
                # before it are in already; by their ids they are only written again.
                if table is self._rows.problems:
                    self._db.executemany("DELETE FROM problem WHERE file = ?", [(row[0],) for row in table])
                again = statement.replace("INSERT", "INSERT OR REPLACE", 1)
                self._db.executemany(again, [encodable(row) for row in table])
            table.clear()
        self._count = 0

    def _insert(self, statement: str, rows: list[Any]) -> None:
        """Many rows with each statement: that takes two thirds of the time of `executemany`."""
        begin, _, values = statement.rpartition(" ")
        together = f"{begin} {','.join([values] * _TOGETHER)}"
        whole = len(rows) - len(rows) % _TOGETHER
        for start in range(0, whole, _TOGETHER):
            self._db.execute(together, list(chain.from_iterable(rows[start : start + _TOGETHER])))
        self._db.executemany(statement, rows[whole:])


_TOGETHER: Final = 50
"""Rows of one INSERT."""
_INSERTS: Final = tuple(
    f"INSERT INTO {table} VALUES ({','.join('?' * columns)})"
    for table, columns in (("file", 12), ("definition", 15), ("target", 7), ("reference", 5), ("problem", 4))
)

_RECORD: Final = f"SELECT {','.join(FileRecord._fields)} FROM file"
_AT_OR_BELOW: Final = f"{_RECORD} WHERE path = ?1 UNION ALL {_RECORD} WHERE path > ?2 AND path < ?3"
_MARKED: Final = (
    "SELECT DISTINCT path FROM problem JOIN file ON file.id = problem.file"
    " WHERE problem.kind IN ('crash', 'time')"
)


def _compact(db: sqlite3.Connection) -> None:
    """Gives back the room of what a large revision replaced. Readers of an older one prevent that; then
    the next large revision uses it."""
    (free,), (pages,) = (db.execute(f"PRAGMA {what}").fetchone() for what in ("freelist_count", "page_count"))
    if free * BULK_SHARE > pages:
        with suppress(sqlite3.OperationalError):
            db.execute("VACUUM")


def _delete(db: sqlite3.Connection, file_id: int) -> None:
    between = ids_of(file_id)
    for table in ("definition", "target", "reference"):
        db.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", between)
    db.execute("DELETE FROM problem WHERE file = ?", (file_id,))
    db.execute("DELETE FROM file WHERE id = ?", (file_id,))


def _few_and_all(indexes: list[str]) -> tuple[list[str], list[str]]:
    """The indexes over a few rows of a table, which cost less to keep during a load than to look through
    the whole table for them after it, and those over all rows, of which the reverse is true."""
    few = [statement for statement in indexes if " WHERE " in " ".join(statement.split())]
    return few, [statement for statement in indexes if statement not in few]


def _statements(name: str) -> list[str]:
    lines = (line.partition("--")[0] for line in connections.script(name).splitlines())
    return [statement for text in "\n".join(lines).split(";") if (statement := text.strip())]


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
