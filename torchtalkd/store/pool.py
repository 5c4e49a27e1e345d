"""Named copies of whole databases, which share on the disk what they have in common.

A database changes in few of its pages when few files change, so a copy is kept as the list of its
pages, and each page once. All of it is one SQLite file, and a copy comes or goes in one transaction:
there is none that is half made, whatever happens, and two that are made at once wait for each other.
The tests are in `tests/test_pool.py`.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import sys
import zlib
from array import array
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import accumulate, groupby, pairwise
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.store.connection import script
from torchtalkd.store.errors import NoIndex, StoreError, Unusable, translated

POOL: Final = "snapshots.db"
FORMAT: Final = 1
BUSY_SECONDS: Final = 60.0
"""For another process that saves."""
_BITS: Final = 5
_PAGES: Final = 1 << _BITS
"""Of a block: 128 KB compress in a quarter of the time that single pages take."""
_LEVEL: Final = 1
"""Of zlib: higher ones take three times as long for a tenth less."""
MOST_SWEPT: Final = 100
"""Copies whose lists are looked through when one is replaced; with more that waits for a `discard`."""
_READ: Final = 256
"""Pages looked up at a time; SQLite takes a thousand values in one statement at least."""


class Copy(NamedTuple):
    """A copy that the pool holds."""

    name: str
    about: str
    bytes: int
    """Of the database."""
    added: int
    """Bytes that the pool grew by for it: what it did not share when it was saved."""


class NoCopy(StoreError):
    """There is no copy of that name."""


class Taken(StoreError):
    """There is another copy of that name."""


def copies(folder: Path) -> list[Copy]:
    """All copies, by name. Raises Unusable, NotPermitted."""
    try:
        with _opened(folder, write=False) as db:
            return [
                Copy(*row) for row in db.execute("SELECT name, about, bytes, added FROM copy ORDER BY name")
            ]
    except NoIndex:
        return []


def keep(folder: Path, name: str, about: str, database: Path, *, replace: bool) -> Copy:
    """Takes a copy of a database that nobody writes, in place of one of the same name.

    Raises Taken unless `replace`, StoreFull, NotPermitted, StoreError; then the pool is as it was.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _opened(folder, write=True) as db, _transaction(db):
        taken = db.execute("SELECT id FROM copy WHERE name = ?", (name,)).fetchone()
        if taken and not replace:
            raise Taken(folder, f"there is a snapshot called {name} already")
        if taken:
            _forget(db, taken[0])
        size, pages, added = _kept(db, database)
        listed = zlib.compress(_differences(pages), 6)
        total = size * len(pages)
        row = (name, about, total, added + len(listed))
        new = db.execute("INSERT INTO copy (name, about, bytes, added) VALUES (?, ?, ?, ?)", row).lastrowid
        db.execute("INSERT INTO list VALUES (?, ?, ?)", (new, size, listed))
        (count,) = db.execute("SELECT count(*) FROM copy").fetchone()
        if taken and count <= MOST_SWEPT:
            _sweep(db)
    return Copy(*row)


def restore(folder: Path, name: str, target: Path) -> None:
    """Writes the database of a copy into a new file. Raises NoCopy, Unusable, StoreFull, NotPermitted."""
    with _opened(folder, write=False) as db:
        db.execute("BEGIN")
        found = db.execute(
            "SELECT size, pages FROM list JOIN copy ON copy.id = list.copy WHERE name = ?", (name,)
        ).fetchone()
        if found is None:
            raise NoCopy(folder, f"there is no snapshot called {name}")
        size, listed = found
        try:
            pages = _listed(listed)
            with open(target, "xb") as file:
                # Block by block, as each costs its decompression.
                for block, places in groupby(
                    sorted(range(len(pages)), key=pages.__getitem__), key=lambda i: pages[i] >> _BITS
                ):
                    (data,) = db.execute("SELECT data FROM block WHERE id = ?", (block,)).fetchone()
                    whole = memoryview(zlib.decompress(data))
                    for start, stop in _runs(pages, list(places)):
                        at = (pages[start] & _PAGES - 1) * size
                        file.seek(start * size)
                        file.write(whole[at : at + (stop - start) * size])
        except (zlib.error, TypeError, ValueError) as error:
            raise Unusable(folder, f"the snapshot {name} is damaged ({error})") from error


def discard(folder: Path, names: list[str]) -> int:
    """Deletes copies, and what only they had; returns the bytes that the pool shrank by. Raises NoCopy
    where one is not there (then all stay), NotPermitted, StoreError."""
    with _opened(folder, write=True) as db:
        before = size_of(folder)
        with _transaction(db):
            for name in names:
                found = db.execute("SELECT id FROM copy WHERE name = ?", (name,)).fetchone()
                if found is None:
                    raise NoCopy(folder, f"there is no snapshot called {name}")
                _forget(db, found[0])
            _sweep(db)
        # Each step of it frees a page, and `execute` makes only one.
        db.executescript("PRAGMA incremental_vacuum")
    return before - size_of(folder)


def size_of(folder: Path) -> int:
    """Bytes of the pool on the disk."""
    try:
        return (folder / POOL).stat().st_size
    except FileNotFoundError:
        return 0


# -- pages


def _kept(db: sqlite3.Connection, database: Path) -> tuple[int, array[int], int]:
    """The size of a page, the id of each page of a database, and the bytes that were added for it."""
    (last,) = db.execute("SELECT coalesce(max(id), 0) FROM block").fetchone()
    pages: array[int] = array("q")
    fresh: dict[bytes, int] = {}
    block: list[bytes] = []
    added = 0
    with open(database, "rb", buffering=0) as file, ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        size = int.from_bytes(file.read(18)[16:], "big")
        # 1 stands for 65536: https://www.sqlite.org/fileformat.html, "Page Size".
        size = 1 << 16 if size == 1 else size
        file.seek(0)
        packing = []
        while piece := file.read(_READ * size):
            cut = [piece[start : start + size] for start in range(0, len(piece), size)]
            digests = [hashlib.blake2b(page, digest_size=16).digest() for page in cut]
            marks = ",".join("?" * len(digests))
            known = dict(db.execute(f"SELECT digest, id FROM page WHERE digest IN ({marks})", digests))
            for digest, page in zip(digests, cut, strict=True):
                found = known.get(digest)
                if found is None:
                    found = fresh.get(digest)
                if found is None:
                    if not block:
                        last += 1
                    found = fresh[digest] = last << _BITS | len(block)
                    block.append(page)
                    if len(block) == _PAGES:
                        packing.append((last, threads.submit(_packed, block)))
                        block = []
                pages.append(found)
        if block:
            packing.append((last, threads.submit(_packed, block)))
        for number, packed in packing:
            data = packed.result()
            added += len(data)
            _put(db, number, size, data)
    db.executemany("INSERT INTO page VALUES (?, ?)", sorted(fresh.items()))
    return size, pages, added


def _packed(pages: list[bytes]) -> bytes:
    return zlib.compress(b"".join(pages), _LEVEL)


def _differences(pages: array[int]) -> bytes:
    found = array("q", pages[:1])
    found.extend(here - before for before, here in pairwise(pages))
    if sys.byteorder == "big":
        found.byteswap()
    return found.tobytes()


def _listed(listed: bytes) -> array[int]:
    found = array("q")
    found.frombytes(zlib.decompress(listed))
    if sys.byteorder == "big":
        found.byteswap()
    return array("q", accumulate(found))


def _runs(pages: array[int], places: list[int]) -> Iterator[tuple[int, int]]:
    """Places that follow each other, with pages that do: each run is one write."""
    start = before = places[0]
    for place in places[1:]:
        if place != before + 1 or pages[place] != pages[before] + 1:
            yield start, before + 1
            start = place
        before = place
    yield start, before + 1


# -- what nobody needs any more


def _forget(db: sqlite3.Connection, copy: int) -> None:
    db.execute("DELETE FROM copy WHERE id = ?", (copy,))
    db.execute("DELETE FROM list WHERE copy = ?", (copy,))


def _sweep(db: sqlite3.Connection) -> None:
    """Deletes what no copy has. A block of which half is needed stays whole; of one of which less is, the
    rest is put in a new block, so that the pool is never twice as large as what it holds."""
    used: set[int] = set()
    for (listed,) in db.execute("SELECT pages FROM list"):
        used.update(_listed(listed))
    living: dict[int, list[int]] = {}
    for page in sorted(used):
        living.setdefault(page >> _BITS, []).append(page)
    there = [(number, size) for number, size in db.execute("SELECT id, size FROM block")]
    moved: dict[int, int] = {}
    # Pages of a block have one size, or their places in it would say nothing.
    filling: dict[int, tuple[int, list[bytes]]] = {}
    last = max((number for number, _ in there), default=0)
    for number, size in there:
        pages = living.get(number, [])
        if len(pages) * 2 >= _PAGES:
            continue
        (data,) = db.execute("SELECT data FROM block WHERE id = ?", (number,)).fetchone()
        whole = zlib.decompress(data) if pages else b""
        for page in pages:
            if size not in filling:
                last += 1
                filling[size] = (last, [])
            new, block = filling[size]
            moved[page] = new << _BITS | len(block)
            at = (page & _PAGES - 1) * size
            block.append(whole[at : at + size])
            if len(block) == _PAGES:
                _put(db, new, size, _packed(block))
                del filling[size]
        db.execute("DELETE FROM block WHERE id = ?", (number,))
    for size, (new, block) in filling.items():
        _put(db, new, size, _packed(block))
    gone = [(digest,) for digest, page in db.execute("SELECT digest, id FROM page") if page not in used]
    db.executemany("DELETE FROM page WHERE digest = ?", gone)
    if moved:
        _rename(db, moved)


def _rename(db: sqlite3.Connection, moved: dict[int, int]) -> None:
    db.executemany("UPDATE page SET id = ? WHERE id = ?", [(new, old) for old, new in moved.items()])
    for copy, listed in db.execute("SELECT copy, pages FROM list").fetchall():
        pages = _listed(listed)
        renamed = array("q", (moved.get(page, page) for page in pages))
        if renamed != pages:
            packed = zlib.compress(_differences(renamed), 6)
            db.execute("UPDATE list SET pages = ? WHERE copy = ?", (packed, copy))


def _put(db: sqlite3.Connection, number: int, size: int, data: bytes) -> None:
    db.execute("INSERT INTO block VALUES (?, ?, ?)", (number, size, data))


# -- the file


@contextmanager
def _opened(folder: Path, *, write: bool) -> Iterator[sqlite3.Connection]:
    """The pool; made by who writes. Raises NoIndex where there is none to read, Unusable."""
    path = folder / POOL
    with translated(folder):
        if not write and not path.exists():
            raise NoIndex(path, "there are no snapshots yet")
        # Who only reads must be able to put back what a process that was killed has left half written.
        mode = "rwc" if write else "rw" if os.access(path, os.W_OK) and os.access(folder, os.W_OK) else "ro"
        uri = f"{path.resolve().as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS)
        with closing(connection) as db:
            db.execute("PRAGMA temp_store = MEMORY")
            db.execute("PRAGMA cache_size = -65536")
            if write:
                _made(db)
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if version != FORMAT:
                raise Unusable(
                    path, f"the snapshots in {path} have format {version}, this program uses {FORMAT}"
                )
            yield db


def _made(db: sqlite3.Connection) -> None:
    if db.execute("PRAGMA user_version").fetchone()[0]:
        return
    # Before the first table, or it has no effect.
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    with _transaction(db):
        if db.execute("PRAGMA user_version").fetchone()[0]:
            return
        for statement in _statements():
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {FORMAT}")


def _statements() -> list[str]:
    text = "\n".join(line.partition("--")[0] for line in script("pool.sql").splitlines())
    return [statement for part in text.split(";") if (statement := part.strip())]


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        # A full disk has already rolled it back.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
