"""What a view has read stays true in the next revision, but for the files that changed in between.

After a save one file of ten thousand is another; a view that begins with what its predecessor has
read answers the next question as quickly as the last one. Facts are owned by files, so what must be
read again is known: the rows of changed files, and the keys that stand, or stood, in them. What
queries derive is forgotten, except what comes of the names of a space alone. The tests are in
`tests/test_carry.py`, which compares everything that is carried with what a fresh view reads.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Final

from torchtalkd.store import rows

MOST_FILES: Final = 50
"""Changed files beyond which a view begins anew: there is little to gain."""

MOST_KEYS: Final = 200_000
"""Keys that a view has looked up, beyond which it begins anew: names that nobody asks for any more would
be carried for ever."""

_FILE = "SELECT id, path, language, role, digest, recipe FROM file"
"""What a file's facts depend on. Its stat is not among them: who wants to know that asks `View.file`."""
_SAME = ("harness", "fingerprint", "rules")
"""Values of the meta table on which what is read may depend."""


def carry(former: Any, view: Any) -> bool:
    """Fills a new View with what is still true of what a former one has read; whether it did.

    Both are Views, at rest. They share values afterwards, which nobody changes.
    """
    if any(former.meta(name) != view.meta(name) for name in _SAME):
        return False
    if max(map(len, (former._definitions, former._named, former._counted, former._targets_kept))) > MOST_KEYS:
        return False
    before, after = _files(former), _files(view)
    changed = {number for number, row in before.items() if after.get(number) != row}
    changed |= after.keys() - before.keys()
    if len(changed) > MOST_FILES:
        return False
    defined = _keys_in(former, view, "definition", changed)
    targeted = _keys_in(former, view, "target", changed)
    bits = rows.ID_BITS
    view._files = {n: file for n, file in former._files.items() if n not in changed}
    view._definitions = {key: found for key, found in former._definitions.items() if key not in defined}
    view._named = {asked: found for asked, found in former._named.items() if asked[0] not in defined}
    view._of_kind = {asked: found for asked, found in former._of_kind.items() if asked[0] not in defined}
    view._counted = {key: count for key, count in former._counted.items() if key not in defined}
    view._by_id = {n: found for n, found in former._by_id.items() if n >> bits not in changed}
    view._targets_kept = {
        asked: found
        for asked, found in former._targets_kept.items()
        if (asked[1] not in targeted if isinstance(asked[1], str) else asked[1] >> bits not in changed)
    }
    for name in ("_packed", "_scopes", "_in_file"):
        setattr(view, name, {n: found for n, found in getattr(former, name).items() if n not in changed})
    moved = _carry_keys(former, view, defined)
    view.kept_of_names = {
        asked: value for asked, value in former.kept_of_names.items() if asked[0] not in moved
    }
    return True


def _files(view: Any) -> dict[int, tuple[Any, ...]]:
    """What there is to know of each file, by id. Remembered by the view, as it costs 10 ms."""
    found: dict[int, tuple[Any, ...]] | None = view.file_rows
    if found is None:
        found = view.file_rows = {row[0]: row for row in view._db.execute(_FILE)}
    return found


def _keys_in(former: Any, view: Any, table: str, changed: Iterable[int]) -> set[str]:
    """The keys that the changed files have in a table, before or after."""
    found: set[str] = set()
    for number in changed:
        span = rows.ids_of(number)
        for looked_at in (former, view):
            query = f"SELECT DISTINCT key FROM {table} WHERE id BETWEEN ? AND ?"
            found.update(key for (key,) in looked_at._db.execute(query, span))
    return found


def _carry_keys(former: Any, view: Any, defined: set[str]) -> set[str]:
    """Carries the lists of all keys of a space; returns the spaces in which one came or went."""
    database: sqlite3.Connection = view._db
    moved = set()
    for space, listed in former._keys.items():
        current = listed
        for key in defined:
            if key.partition(":")[0] != space:
                continue
            at = bisect_left(current, key)
            was = at < len(current) and current[at] == key
            there = database.execute("SELECT 1 FROM definition WHERE key = ? LIMIT 1", (key,)).fetchone()
            if was != (there is not None):
                current = current[:at] + ([] if was else [key]) + current[at + was :]
                moved.add(space)
        view._keys[space] = current
    return moved
