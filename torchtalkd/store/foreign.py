"""Is a database from elsewhere one of ours, and harmless? For data that a stranger may have made.

What it says of a file is believed later, as far as the file's bytes are the same; what is looked at
here is that nothing in it runs, that every row is as our own writer makes it, and that no path leads
out of the tree. The tests are in `tests/test_archive.py`.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from torchtalkd.store.connection import script
from torchtalkd.store.database import FORMAT
from torchtalkd.store.errors import Unusable, translated
from torchtalkd.store.rules import rules_of
from torchtalkd.store.texts import require_text

_META: Final = {"root", "format", "revision", "harness", "fingerprint", "parsers", "rules", "complete"}
"""Values that every index has."""

_MUST_BE_EMPTY: Final = (
    # what is wrong, and a query that finds one row of it
    # An id is a file's number with 20 bits below it, and the next file's number is one higher.
    ("a file whose number cannot be", "SELECT 1 FROM file WHERE id < 0 OR id >= 1 << 42 LIMIT 1", ("",)),
    (
        "a fact of no file",
        "SELECT 1 FROM {table} WHERE id < 0 OR id >> 20 NOT IN (SELECT id FROM file) LIMIT 1",
        ("definition", "target", "reference", "exact_body", "exact_reference"),
    ),
    (
        "an exact reading of no file",
        "SELECT 1 FROM exact_unit WHERE file NOT IN (SELECT id FROM file) OR length(files) > 1 << 20"
        " OR NOT json_valid(counts) OR json_type(counts) != 'object' LIMIT 1",
        ("",),
    ),
    (
        "an exact reference of no body",
        "SELECT 1 FROM exact_reference WHERE body >> 20 != id >> 20"
        " OR body NOT IN (SELECT id FROM exact_body) LIMIT 1",
        ("",),
    ),
    ("a problem of no file", "SELECT 1 FROM problem WHERE file NOT IN (SELECT id FROM file) LIMIT 1", ("",)),
    (
        "a target of no binding",
        "SELECT 1 FROM target WHERE owner >> 20 != id >> 20 OR owner NOT IN (SELECT id FROM definition)"
        " LIMIT 1",
        ("",),
    ),
    (
        "a definition out of range",
        "SELECT 1 FROM definition WHERE scope < -1 OR scope >= 1 << 20 OR (scope >= 0 AND"
        " ((id >> 20) << 20 | scope) NOT IN (SELECT id FROM definition)) LIMIT 1",
        ("",),
    ),
    (
        "a detail that is no JSON object",
        "SELECT 1 FROM definition WHERE detail IS NOT NULL AND"
        " (NOT json_valid(detail) OR json_type(detail) != 'object') LIMIT 1",
        ("",),
    ),
    (
        "places that are not packed as ours",
        "SELECT 1 FROM reference WHERE length(sites) = 0 OR length(sites) % 12 != 0 LIMIT 1",
        ("",),
    ),
    (
        "exact places that are not packed as ours",
        "SELECT 1 FROM exact_reference WHERE length(sites) = 0 OR length(sites) % 12 != 0 LIMIT 1",
        ("",),
    ),
)


def require_ours(path: Path) -> None:
    """Raises Unusable, with the reason, unless a file is a whole index of this version that only holds
    facts. About 1 s for 110 MB. Writes nothing."""
    with translated(path.parent):
        uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        try:
            with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as db:
                db.execute("PRAGMA trusted_schema = OFF")
                db.execute("PRAGMA query_only = ON")
                db.execute("PRAGMA cell_size_check = ON")
                for wrong in _wrong(db):
                    raise Unusable(path, wrong)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise Unusable(path, f"its database is damaged ({error})") from error


def _wrong(db: sqlite3.Connection) -> Iterator[str]:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version != FORMAT:
        newer = " newer" if version > FORMAT else ""
        yield f"its database has the{newer} format {version}, this program uses {FORMAT}"
    found = _schema(db)
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(script("schema.sql") + script("indexes.sql"))
        ours = _schema(fresh)
    for name in sorted(found.keys() ^ ours.keys()):
        yield f"its database {'has' if name in found else 'lacks'} the {name[0]} {name[1]!r}"
    for name in sorted(found):
        if found[name] != ours[name]:
            yield f"its {name[0]} {name[1]!r} is not as this program makes it"
    (checked,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if checked != "ok":
        yield f"its database is damaged ({checked})"
    require_text(db)
    for what, query, tables in _MUST_BE_EMPTY:
        for table in tables:
            if db.execute(query.format(table=table)).fetchone():
                yield f"its database has {what}"
    for (path,) in db.execute("SELECT path FROM file"):
        if not stays_inside(path):
            yield f"its database names {path!r}, which is no path inside a tree"
    yield from _wrong_meta(dict(db.execute("SELECT name, value FROM meta")))


def _wrong_meta(meta: dict[str, str]) -> Iterator[str]:
    if missing := _META - meta.keys():
        yield f"its database does not say its {', '.join(sorted(missing))}"
    if not re.fullmatch(r"[0-9]{1,15}", meta.get("revision", "")):
        yield "its revision is no number"
    try:
        links = json.loads(meta.get("links", "{}"))
        rules_of(meta.get("rules", "{}"))
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        yield f"its database has values that cannot be read ({error})"
        return
    if not isinstance(links, dict) or not all(
        isinstance(to, str) and stays_inside(link) and stays_inside(to) for link, to in links.items()
    ):
        yield "its database has links that lead out of a tree"


def stays_inside(path: str) -> bool:
    """Whether a path is relative and stays below where it is put."""
    return bool(path) and "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _schema(db: sqlite3.Connection) -> dict[tuple[str, str], tuple[str, str]]:
    """Each table, index, view and trigger → its table and its text, without comments and white space."""
    return {
        (kind, name): (table, _folded(text or ""))
        for kind, name, table, text in db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    }


def _folded(text: str) -> str:
    return re.sub(r"\s+", "", re.sub(r"--[^\n]*", "", text))
