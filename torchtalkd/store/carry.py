"""What a view has read stays true in the next revision, but for the files that changed in between.

After a save one file of ten thousand is another; a view that begins with what its predecessor has
read answers the next question as quickly as the last one. Facts are owned by files, so what must be
read again is known: the rows of changed files, and the keys that stand, or stood, in them. What
queries derive is forgotten, except where no file changed (a revision that only a compiler's reading made),
except what comes of one space alone, of its names or of its definitions, where nothing of that has changed,
and except what comes of Python files alone, or of none of these, where only others have changed. The tests
are in `tests/test_carry.py`, which compares everything that is carried with what a fresh view reads.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, Final

from torchtalkd.store import rows

MOST_FILES: Final = 50
"""Changed files beyond which a view begins anew: there is little to gain."""

MOST_KEYS: Final = 200_000
"""Keys that a view has looked up, beyond which it begins anew: names that nobody asks for any more would
be carried for ever."""

_OF_A_REVISION: Final = frozenset({"overlaid", "mcp_status", "begun", "warm"})
"""What is kept with a view and says which it is of, or still reads it; so does what begins with `exact`."""

_OF_INCLUDES: Final = ("taken_in", "file_bits")
"""What is derived from which files there are, and from what those that are not Python include."""
_OF_PYTHON: Final = "tests_over_"
"""How the names begin of what is derived from Python files alone."""

_SAME = ("birth", "harness", "fingerprint", "rules")
"""Values of the meta table on which what is read may depend; `birth` is another for each first build."""


def carry(former: Any, view: Any) -> bool:
    """Fills a new View with what is still true of what a former one has read; whether it did.

    Both are Views, at rest. They share values afterwards, which nobody changes.
    """
    if any(former.meta(name) != view.meta(name) for name in _SAME):
        return False
    if max(map(len, (former._definitions, former._named, former._counted, former._targets_kept))) > MOST_KEYS:
        return False
    changed = _changed(former, view)
    if changed is None:
        return False
    defined, moving = _keys_in(former, view, "definition", changed)
    targeted, _ = _keys_in(former, view, "target", changed)
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
    is_true = _still_true(_languages(former, changed), _languages(view, changed))
    view.kept = {name: value for name, value in former.kept.items() if is_true(name)}
    moved = _carry_keys(former, view, moving)
    view.kept_of_names = {
        asked: value for asked, value in former.kept_of_names.items() if asked[0] not in moved
    }
    spaces = {key.partition(":")[0] for key in defined}
    view.kept_of_definitions = {
        asked: value for asked, value in former.kept_of_definitions.items() if asked[0] not in spaces
    }
    return True


def _languages(view: Any, changed: Iterable[int]) -> list[str]:
    """The language of each changed file in a view, '' where it is not there."""
    found = (
        view._db.execute("SELECT language FROM file WHERE id = ?", (number,)).fetchone() for number in changed
    )
    return [str(row[0]) if row else "" for row in found]


def _still_true(before: list[str], after: list[str]) -> Callable[[str], bool]:
    """What of the kept values the changed files, by their languages before and after, leave as it is."""
    if not before:
        # Only what a compiler read is more.
        return lambda name: name not in _OF_A_REVISION and not name.startswith("exact")
    if {*before, *after} == {"python"}:
        return lambda name: name in _OF_INCLUDES
    if "python" not in {*before, *after}:
        return lambda name: name.startswith(_OF_PYTHON)
    return lambda name: False


def _changed(former: Any, view: Any) -> set[int] | None:
    """The files whose facts are others, or are gone or new; None where they are too many, or where the
    view is not of a later revision. Only their number says that files are gone: so each is not looked at."""
    if view.revision < former.revision:
        return None
    later = view._db.execute(
        "SELECT id FROM file WHERE revision > ? LIMIT ?", (former.revision, MOST_FILES + 1)
    )
    changed = {number for (number,) in later}
    known = sum(
        former._db.execute("SELECT 1 FROM file WHERE id = ?", (number,)).fetchone() is not None
        for number in changed
    )
    (before,), (after,) = (v._db.execute("SELECT count(*) FROM file").fetchone() for v in (former, view))
    if before + len(changed) - known != after:
        ids = (set(chain.from_iterable(v._db.execute("SELECT id FROM file"))) for v in (former, view))
        changed |= next(ids) - next(ids)
    return changed if len(changed) <= MOST_FILES else None


def _keys_in(former: Any, view: Any, table: str, changed: Iterable[int]) -> tuple[set[str], set[str]]:
    """The keys that the changed files have in a table, before or after; and those of them that they have
    only before or only after."""
    before: set[str] = set()
    after: set[str] = set()
    for number in changed:
        for found, looked_at in ((before, former), (after, view)):
            query = f"SELECT key FROM {table} WHERE id BETWEEN ? AND ?"
            found.update(chain.from_iterable(looked_at._db.execute(query, rows.ids_of(number))))
    return before | after, before ^ after


def _carry_keys(former: Any, view: Any, moving: set[str]) -> set[str]:
    """Carries the lists of all keys of a space; returns the spaces in which one came or went, of those
    that may have."""
    database: sqlite3.Connection = view._db
    moved = set()
    for space, listed in former._keys.items():
        current = listed
        for key in moving:
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
