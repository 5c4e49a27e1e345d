"""What a compiler read of bodies, as far as it is true of the texts of a View's revision.

A body's rows are true as long as the lines of the body are the same (its digest), and no file that its
unit may include, but the unit's own, was replaced or has gone since the reading. So an edit elsewhere in
the file moves them along, an edit inside drops that body, and a saved header drops all that may see it,
until they are read again. Invariant: no place of an older text is answered.
The tests are in `tests/test_exact_reading.py`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, cast

from torchtalkd.facts import EXACT_KINDS, ExactReference, ExactShare, File, FiledDefinition
from torchtalkd.store import rows
from torchtalkd.store.exact_bodies import BODY, ExactBodies
from torchtalkd.store.exact_rows import OUTSIDE, Body, mask, sites

EXACT_TOTAL = "exact_total"
"""Value of the meta table: how many files have bodies for a compiler to read."""
_AT_ONCE = 400
"""Bodies that one statement asks for."""
_REFERENCE = "SELECT body, usr, key, name, file, line, sites FROM exact_reference"


class ExactRow(NamedTuple):
    """Of what a file was read exactly."""

    recipe: str
    digest: str
    closure: str
    files: int
    """What it may see but itself, as bits."""
    revision: int


class _Unit(NamedTuple):
    """A row of exact_unit that is true now."""

    digest: str
    valid: bool


class _Reference(NamedTuple):
    body: int
    usr: int
    key: str
    name: str
    file: int
    line: int
    sites: bytes


class ExactFacts(ExactBodies):
    """The part of a View that answers from exact readings."""

    _db: sqlite3.Connection
    kept: dict[str, Any]
    revision: int
    _hidden: frozenset[int] = frozenset()
    """Files whose rows an editor's texts hide."""

    def file_of(self, fact_id: int) -> File:
        """As `View.file_of`."""
        raise NotImplementedError

    def exact_in(self, definition: FiledDefinition) -> tuple[ExactReference, ...] | None:
        """What the body of a function refers to, as a compiler read it, at the places of its current text,
        in their order. None where no exact reading of that text is there: not read yet, edited since, or a
        header that it may see changed."""
        there = self._rows_in(definition)
        if there is None:
            return None
        return tuple(sorted({one for row in there for one in self._placed_sites(row, definition)}))

    def exact_named(
        self, definitions: Iterable[FiledDefinition], names: tuple[str, ...]
    ) -> dict[int, list[ExactReference]]:
        """Of what `exact_in` says of some bodies that which leads to something under one of some keys, by the
        definition's id; nothing where that is None. Who asks many bodies for one name need not read all that
        each of them refers to."""
        around = {
            body.id: definition
            for definition in definitions
            if definition.fact.body and self._exact_unit(definition.file.id).valid
            for body in self._own_bodies(definition)
        }
        found: dict[int, set[ExactReference]] = {}
        ids = sorted(around)
        for start in range(0, len(ids), _AT_ONCE):
            some = ids[start : start + _AT_ONCE]
            which = f"body IN ({','.join('?' * len(some))}) AND key IN ({','.join('?' * len(names))})"
            for row in self._references(which, *some, *names):
                definition = around[row.body]
                found.setdefault(definition.id, set()).update(self._placed_sites(row, definition))
        return {number: sorted(references) for number, references in found.items()}

    def exact_overridden(self, definition: FiledDefinition) -> tuple[FiledDefinition, ...] | None:
        """The methods of the tree that a method overrides, directly or not, by place; none for what is no
        such method. None as for `exact_in`."""
        there = self._rows_in(definition)
        if there is None:
            return None
        found = [self._target(row) for row in there if _overrides(row)]
        return tuple(sorted({d.id: d for d in found if d is not None}.values(), key=_by_place))

    def exact_overriders(self, definition: FiledDefinition) -> tuple[FiledDefinition, ...]:
        """The methods with bodies that override a virtual one, directly or not, by place. What is not read,
        or no longer true, is left out."""
        found: dict[int, FiledDefinition] = {}
        for row in self._rows_meaning(definition):
            if _overrides(row) and self._exact_unit(row.body >> rows.ID_BITS).valid:
                current = self._current(self._body(row.body), strict=True)
                if current is not None:
                    found[current.id] = current
        return tuple(sorted(found.values(), key=_by_place))

    def exact_to(self, definition: FiledDefinition) -> tuple[tuple[FiledDefinition, ExactReference], ...]:
        """The exact references that mean a function: (the function around it, the reference), by path and
        place. What is not read, or no longer true, is left out."""
        found: dict[tuple[int, ExactReference], FiledDefinition] = {}
        for row in self._rows_meaning(definition):
            number = row.body >> rows.ID_BITS
            if not self._exact_unit(number).valid:
                continue
            body = self._body(row.body)
            caller = self._current(body, strict=True)
            if caller is not None:
                found.update(((caller.id, one), caller) for one in self._placed_sites(row, caller))
        pairs = [(caller, reference) for (_, reference), caller in found.items()]
        return tuple(sorted(pairs, key=lambda pair: (pair[0].file.path, pair[1][:4], pair[0].id)))

    def exact_share(self) -> ExactShare:
        """How much of the tree a compiler has read."""
        share = self.kept.get("exact_share")
        if share is None:
            numbers = [number for (number,) in self._source._db.execute("SELECT file FROM exact_unit")]
            read = sum(self._exact_unit(number).valid for number in numbers)
            total = max(len(numbers), int(self._source._meta_value(EXACT_TOTAL) or 0))
            share = self.kept["exact_share"] = ExactShare(read, total, total - read)
        return cast(ExactShare, share)

    def exact_counts(self) -> list[tuple[str, dict[str, Any]]]:
        """What is known of each exact reading that is true: (path, what was resolved, what not, errors), by
        path. Of all of them about 10 ms."""
        asked = self._source._db.execute(
            "SELECT file, path, counts FROM exact_unit JOIN file ON id = file ORDER BY path"
        )
        return [(path, json.loads(counts)) for n, path, counts in asked if self._exact_unit(n).valid]

    def includes(self, since: int = 0) -> dict[int, list[str]]:
        """What each file includes, as written: number of the file → names; with `since` only of files that
        came after that revision. Reads the whole table of references, or those files' rows."""
        found: dict[int, list[str]] = {}
        db = self._source._db
        asked = "SELECT id, name FROM reference WHERE kind = 'include'"
        if not since:
            answers = [db.execute(asked)]
        else:
            later = db.execute("SELECT id FROM file WHERE revision > ?", (since,)).fetchall()
            found = {number: [] for (number,) in later}
            answers = [db.execute(f"{asked} AND id BETWEEN ? AND ?", rows.ids_of(n)) for n in found]
        for rows_of_files in answers:
            for row_id, name in rows_of_files:
                found.setdefault(row_id >> rows.ID_BITS, []).append(name)
        return found

    def exact_edges(self) -> int:
        """How many pairs of a body and a function declared in the tree there are, true or not."""
        # Not the rows that say alone what a method overrides: one place, of that kind.
        alone = f"length(sites) = 12 AND substr(sites, 9, 1) = x'{EXACT_KINDS.index('overrides'):02x}'"
        asked = f"SELECT count(*) FROM exact_reference WHERE file >= 0 AND NOT ({alone})"
        return int(self._source._db.execute(asked).fetchone()[0])

    def exact_rows(self) -> dict[int, ExactRow]:
        """What was read exactly, and of what: by number of the file."""
        asked = self._source._db.execute(
            "SELECT file, recipe, digest, closure, files, revision FROM exact_unit"
        )
        return {
            number: ExactRow(recipe, digest, closure, int.from_bytes(files, "little"), revision)
            for number, recipe, digest, closure, files, revision in asked
        }

    def with_bodies(self, since: int = 0) -> frozenset[int]:
        """The files with definitions that a compiler sees code in; with `since` only of those that came after
        that revision. Reads the whole table, or those files' rows."""
        db = self._source._db
        asked = f"SELECT DISTINCT id >> {rows.ID_BITS} FROM definition WHERE body != 0"
        if not since:
            return frozenset(number for (number,) in db.execute(asked))
        later = db.execute("SELECT id FROM file WHERE revision > ?", (since,)).fetchall()
        one = f"{asked} AND id BETWEEN ? AND ?"
        return frozenset(n for (n,) in later if db.execute(one, rows.ids_of(n)).fetchone())

    def path_of(self, number: int) -> str:
        """The path of the file of a number; '' for none."""
        return self._path(number)

    def replaced_since(self, revision: int) -> int:
        """The files whose facts came after a revision, as bits."""
        return self._replaced_since(revision)

    # -- what an overlay answers otherwise

    @property
    def _source(self) -> ExactFacts:
        """The view that has the rows."""
        return self

    def _meta_value(self, name: str) -> str:
        found = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return str(found[0]) if found else ""

    # -- validity

    def _exact_unit(self, number: int) -> _Unit:
        known: dict[int, _Unit] = self.kept.setdefault("exact_units", {})
        if number not in known:
            row = self._source._db.execute(
                "SELECT digest, files, revision FROM exact_unit WHERE file = ?", (number,)
            ).fetchone()
            if row is None:
                known[number] = _Unit("", False)
            else:
                may_see = int.from_bytes(row[1], "little")
                gone = may_see & ~self._there()
                valid = not (gone or may_see & self._replaced_since(row[2]))
                known[number] = _Unit(row[0], valid)
        return known[number]

    def _there(self) -> int:
        """The files there are, as bits."""
        if "exact_there" not in self.kept:
            asked = self._source._db.execute("SELECT id FROM file")
            self.kept["exact_there"] = mask(number for (number,) in asked)
        return cast(int, self.kept["exact_there"])

    def _replaced_since(self, revision: int) -> int:
        """The files whose facts came after a revision, or that an editor has another text of, as bits."""
        known: dict[int, int] = self.kept.setdefault("exact_replaced", {})
        if revision not in known:
            asked = self._source._db.execute("SELECT id FROM file WHERE revision > ?", (revision,))
            hidden = mask(number for number in self._hidden if number < 1 << 40)
            known[revision] = mask(number for (number,) in asked) | hidden
        return known[revision]

    # -- references and targets

    def _rows_in(self, definition: FiledDefinition) -> list[_Reference] | None:
        """The rows of a body; None where no exact reading of its text is there."""
        if not definition.fact.body or not self._exact_unit(definition.file.id).valid:
            return None
        bodies = self._own_bodies(definition)
        if not bodies:
            return None
        return [row for body in bodies for row in self._references("body = ? ORDER BY id", body.id)]

    def _references(self, where: str, *values: object) -> Iterator[_Reference]:
        for row in self._source._db.execute(f"{_REFERENCE} WHERE {where}", values).fetchall():
            yield _Reference(*row)

    def _placed_sites(self, row: _Reference, around: FiledDefinition) -> Iterator[ExactReference]:
        target = self._target(row)
        path, line = "", 0
        if row.file != OUTSIDE and target is not None:
            path, line = target.file.path, target.fact.line
        elif row.file != OUTSIDE:
            path = self._path(row.file)
            line = row.line if self._as_read(row) else 0
        for at, column, kind in sites(row.sites, around.fact.line):
            if kind == "overrides":
                continue
            yield ExactReference(at, column, kind, row.name, target.id if target else -1, path, line)

    def _path(self, number: int) -> str:
        row = self._source._db.execute("SELECT path FROM file WHERE id = ?", (number,)).fetchone()
        return str(row[0]) if row else ""

    def _as_read(self, row: _Reference) -> bool:
        """Whether the line of a row's target is of the current text. Every file that a true unit may see
        is as it was, but perhaps its own."""
        own = row.body >> rows.ID_BITS
        if row.file != own:
            return True
        if own in self._hidden:
            return False
        asked = self._source._db.execute("SELECT digest FROM file WHERE id = ?", (own,)).fetchone()
        return asked is not None and asked[0] == self._exact_unit(own).digest

    def _target(self, row: _Reference) -> FiledDefinition | None:
        """The definition that a reference means: by its body, wherever that was read, else where it is
        declared."""
        if row.file == OUTSIDE:
            return None
        known: dict[tuple[int, int, int], FiledDefinition | None] = self.kept.setdefault("exact_targets", {})
        asked = (row.usr, row.file, row.line if self._as_read(row) else ~row.body)
        if asked not in known:
            known[asked] = self._defined(row) or self._declared(row)
        return known[asked]

    def _defined(self, row: _Reference) -> FiledDefinition | None:
        asked = self._source._db.execute(f"{BODY} WHERE usr = ?", (row.usr,)).fetchall()
        found = {}
        for body in (Body(*each) for each in asked):
            current = self._current(body)
            if current is not None:
                found[current.id] = current
        if len(found) > 1:
            # The same name in several programs of one tree: the one that was seen, or none.
            near = [d for d in found.values() if d.file.id in (row.file, row.body >> rows.ID_BITS)]
            return near[0] if len(near) == 1 else None
        return next(iter(found.values()), None)

    def _declared(self, row: _Reference) -> FiledDefinition | None:
        there = self._with_key(row.file, row.key)
        if self._as_read(row):
            there = [d for d in there if d.fact.line == row.line]
        else:
            there = [d for d in there if d.fact.name == row.name]
            if len(there) > 1:
                return None
        there.sort(key=lambda d: d.fact.kind not in ("function", "kernel"))
        return there[0] if there else None

    def _rows_meaning(self, definition: FiledDefinition) -> list[_Reference]:
        file, fact = definition.file.id, definition.fact
        usrs = {body.usr for body in self._bodies_of(definition)}
        found: list[_Reference] = []
        for row in self._references("file = ? AND key = ? AND file >= 0", file, fact.key):
            if row.usr not in usrs and _same(self._declared(row), definition):
                usrs.add(row.usr)
        for usr in usrs:
            for row in self._references("usr = ? AND file >= 0", usr):
                target = self._target(row)
                if _same(target, definition) or (target is not None and fact.declares):
                    found.append(row)
        return found


def _same(one: FiledDefinition | None, other: FiledDefinition) -> bool:
    return one is not None and one.id == other.id


def _overrides(row: _Reference) -> bool:
    return any(kind == "overrides" for _, _, kind in sites(row.sites, 0))


def _by_place(definition: FiledDefinition) -> tuple[str, int, int]:
    return definition.file.path, definition.fact.line, definition.id
