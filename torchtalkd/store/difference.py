"""Brings the rows of one file that is read again to what they are now, with as few writes as that takes.

A save changes a line or two: most rows stay as they are, or only stand some lines further down. Reading
a row takes a quarter of the time of writing it, and an UPDATE that leaves the indexed columns alone less
than half. So the rows are compared one by one, by their ids; where most of them are others (each fact
behind a new one has another ordinal), they are written anew. The tests are in `tests/test_difference.py`.
"""

from __future__ import annotations

import sqlite3
from typing import Any, Final, NamedTuple

from torchtalkd.store.rows import Rows, ids_of

Row = tuple[Any, ...]

MOST_OTHERS: Final = 0.5
"""Share of rows with other keys beyond which all of them are written anew."""


class _Table(NamedTuple):
    """A table whose rows are numbered within a file."""

    name: str
    columns: tuple[str, ...]
    """As in schema.sql."""
    indexed: tuple[str, ...]
    """Those that stand in an index: a row with another value there is another row."""


_TABLES: Final = (
    _Table(
        "definition",
        (
            "id", "key", "name", "kind", "line", "col", "end_line", "scope", "flags", "signature",
            "dispatch_key", "convention", "guard", "detail", "body",
        ),
        ("key", "kind"),
    ),
    _Table("target", ("id", "owner", "key", "name", "kind", "line", "col"), ("owner", "key")),
    _Table("reference", ("id", "key", "name", "kind", "sites"), ("key",)),
)  # fmt: skip
"""In the order of `Rows`, which begins with them."""


def take_over(db: sqlite3.Connection, file_id: int, rows: Rows) -> Rows:
    """Changes and deletes rows of a file; returns those that are still to be inserted."""
    db.execute("DELETE FROM problem WHERE file = ?", (file_id,))
    definitions, targets, references = (
        _taken_over(db, file_id, table, new) for table, new in zip(_TABLES, rows[:3], strict=True)
    )
    return Rows(definitions, targets, references, rows.problems)


def _taken_over(db: sqlite3.Connection, file_id: int, table: _Table, new: list[Row]) -> list[Row]:
    first, last = ids_of(file_id)
    old = db.execute(
        f"SELECT {','.join(table.columns)} FROM {table.name} WHERE id BETWEEN ? AND ? ORDER BY id",
        (first, last),
    ).fetchall()
    indexed = [table.columns.index(column) for column in table.indexed]
    changed: list[Row] = []
    others: list[Row] = []
    for was, now in zip(old, new, strict=False):
        if was != now:
            same = all(was[column] == now[column] for column in indexed) and was[0] == now[0]
            (changed if same else others).append(now)
    # Rows are numbered without a gap; where they are not, somebody else wrote them.
    gap = bool(old) and old[-1][0] != first + len(old) - 1
    if gap or len(others) > MOST_OTHERS * len(old):
        db.execute(f"DELETE FROM {table.name} WHERE id BETWEEN ? AND ?", (first, last))
        return new
    if len(old) > len(new):
        db.execute(f"DELETE FROM {table.name} WHERE id BETWEEN ? AND ?", (first + len(new), last))
    db.executemany(f"DELETE FROM {table.name} WHERE id = ?", [row[:1] for row in others])
    kept = [n for n in range(1, len(table.columns)) if n not in indexed]
    update = f"UPDATE {table.name} SET {','.join(f'{table.columns[n]} = ?' for n in kept)} WHERE id = ?"
    values = [(*(row[n] for n in kept), row[0]) for row in changed]
    try:
        db.executemany(update, values)
    except UnicodeEncodeError:
        db.executemany(update, map(encodable, values))
    return others + new[len(old) :]


def encodable(row: Row) -> Row:
    """A row whose texts can be stored. A lone surrogate, which a parser takes from undecodable bytes,
    cannot."""
    return tuple(v.encode("utf-8", "backslashreplace").decode() if isinstance(v, str) else v for v in row)
