"""Is every text of a database UTF-8? SQLite does not look: neither when it writes, nor in `quick_check`.

One that is not would fail each question that comes to it, and no sweep reads the file again that it
is of. The tests are in `tests/test_store.py` and `tests/test_archive.py`.
"""

from __future__ import annotations

import sqlite3
from typing import Final

_AT_ONCE: Final = 1 << 28
"""Ids whose texts are looked at together: 256 files of them."""


def require_text(db: sqlite3.Connection) -> None:
    """Raises sqlite3.OperationalError for the first text that is not UTF-8. About 0.5 s for 75 MB."""
    for (table,) in db.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
    ).fetchall():
        columns = [name for _, name, kind, *_ in db.execute(f"PRAGMA table_info({table})") if kind == "TEXT"]
        if table == "meta":
            db.execute("SELECT name, value FROM meta").fetchall()
        elif columns:
            _look_through(db, table, columns)


def _look_through(db: sqlite3.Connection, table: str, columns: list[str]) -> None:
    # Joined by what no longer sign has in it, so two broken halves do not make a whole.
    texts = " || ',' || ".join(f"coalesce({name}, '')" for name in columns)
    following = f"SELECT min(rowid) FROM {table} WHERE rowid >= ?"
    joined = f"SELECT group_concat({texts}) FROM {table} WHERE rowid >= ? AND rowid < ?"
    (begin,) = db.execute(f"SELECT min(rowid) FROM {table}").fetchone()
    while begin is not None:
        end = begin + _AT_ONCE
        db.execute(joined, (begin, end)).fetchone()
        (begin,) = db.execute(following, (end,)).fetchone()
