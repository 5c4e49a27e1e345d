"""Writes exact readings. `Writer` calls it; the tests are in `tests/test_exact_reading.py`."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping

from torchtalkd.store.difference import encodable
from torchtalkd.store.exact_rows import ExactRows
from torchtalkd.store.rows import ids_of


def exact_put(
    db: sqlite3.Connection,
    read: Iterable[ExactRows],
    valid: Mapping[int, int],
    gone: Iterable[int],
    meta: Mapping[str, str],
) -> int:
    """See `Writer.put_exact`."""
    db.execute("BEGIN IMMEDIATE")
    try:
        (last,) = db.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
        revision = int(last) + 1
        for number in gone:
            delete_exact(db, number)
        for rows in read:
            number = rows.unit[0]
            if db.execute("SELECT 1 FROM file WHERE id = ?", (number,)).fetchone() is None:
                continue
            delete_exact(db, number)
            for table, lines in (
                ("exact_unit", [rows.unit]),
                ("exact_body", rows.bodies),
                ("exact_reference", rows.references),
            ):
                if lines:
                    marks = ",".join("?" * len(lines[0]))
                    db.executemany(f"INSERT INTO {table} VALUES ({marks})", map(encodable, lines))
        db.executemany(
            "UPDATE exact_unit SET revision = ? WHERE file = ?",
            [(at, number) for number, at in valid.items()],
        )
        values = {**meta, "revision": str(revision)}
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values.items())
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return revision


def delete_exact(db: sqlite3.Connection, number: int) -> None:
    """Deletes what was read exactly of a file."""
    between = ids_of(number)
    for table in ("exact_body", "exact_reference"):
        db.execute(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", between)
    db.execute("DELETE FROM exact_unit WHERE file = ?", (number,))
