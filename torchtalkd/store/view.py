"""A read-only look at the store, pinned to one revision.

Everything a query knows comes through a `View`. It never writes, and all it returns
belongs to the revision that was current when it was opened: a transaction is held for
the view's life, so a writer's commit in between is not seen.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any

from torchtalkd.facts import File, FiledDefinition, FiledReference, Problem, Reference
from torchtalkd.store import rows, selects
from torchtalkd.store.exact_view import ExactFacts
from torchtalkd.store.include_lines import IncludeLines
from torchtalkd.store.outlines import Outlines
from torchtalkd.store.rules import rules_of
from torchtalkd.store.sites import Packed, by_line, in_order, packed, read_sites, unpacked, within

__all__ = ["File", "FiledDefinition", "FiledReference", "View"]


class View(ExactFacts, IncludeLines, Outlines):
    """The facts of one revision. Cheap to make; use as a context manager or `close()` it.

    What was read is kept for the view's life: most questions pass through the same few files.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Takes ownership of a connection opened read-only (`store.database.open_view`)."""
        self._db = connection
        self._db.execute("BEGIN")
        self._meta: dict[str, str] = dict(self._db.execute("SELECT name, value FROM meta"))
        self._files: dict[int, File] = {}
        self._definitions: dict[str, list[FiledDefinition]] = {}
        self._named: dict[tuple[str, str], list[FiledDefinition]] = {}
        self._of_kind: dict[tuple[str, str], list[FiledDefinition]] = {}
        self._keys: dict[str, list[str]] = {}
        self._by_id: dict[int, FiledDefinition] = {}
        self._targets_kept: dict[tuple[str, int | str], list[FiledReference]] = {}
        self._packed: dict[int, list[Packed]] = {}
        self._scopes: dict[int, dict[int, int]] = {}
        self._in_file: dict[int, list[FiledDefinition]] = {}
        self._referring_last: tuple[str, list[FiledReference]] = ("", [])
        self._counted: dict[str, tuple[int, int]] = {}  # how many, and how far it was counted
        self.kept: dict[str, Any] = {}
        """What queries derive from this revision and want again: forgotten with the view."""
        self.kept_of_names: dict[tuple[str, str], Any] = {}
        """What they derive from the keys of one space alone, by (space, what): see `store.carry`."""
        self.kept_of_definitions: dict[tuple[str, str], Any] = {}
        """What they derive from the definitions under the keys of one space alone, by the same."""
        self.rules = rules_of(self._meta.get("rules", "{}"))
        self.revision = int(self._meta.get("revision", "0"))

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the view. Further questions raise sqlite3.ProgrammingError."""
        self._db.close()

    def repin(self) -> bool:
        """Holds the revision by a new transaction, apart from the writer's log; False if it is old."""
        self._db.execute("ROLLBACK")
        self._db.execute("BEGIN")
        found = self._db.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
        return bool(found) and int(found[0]) == self.revision

    def interrupt(self) -> None:
        """Stops the question that runs on this view, from another thread: what it reads next raises
        sqlite3.OperationalError. The view is of no further use."""
        self._db.set_progress_handler(lambda: 1, 100)
        self._db.interrupt()

    # -- about the index itself

    def meta(self, name: str, default: str = "") -> str:
        """A value of the meta table: root, harness, complete, commit, …"""
        return self._meta.get(name, default)

    def counts(self) -> dict[str, int]:
        """How many definitions there are of each kind, how many files and problems."""
        known: dict[str, int] | None = self.kept.get("counts")
        found = dict(known or self._db.execute("SELECT kind, count(*) FROM definition GROUP BY kind"))
        for table in ("file", "problem"):
            (found[f"{table}s"],) = self._db.execute(f"SELECT count(*) FROM {table}").fetchone()
        return found

    def problems(self, limit: int = 1000) -> list[tuple[str, Problem]]:
        """What could not be read: (path, Problem), by path and line."""
        return [
            (path, Problem(line, kind, message))
            for path, line, kind, message in self._db.execute(
                "SELECT path, line, kind, message FROM problem JOIN file ON file.id = problem.file"
                " ORDER BY path, line LIMIT ?",
                (limit,),
            )
        ]

    def problems_of_languages(self, languages: Iterable[str]) -> list[tuple[str, Problem]]:
        """What could not be read in the files of some languages: (path, Problem), by path and line."""
        wanted = tuple(languages)
        return [
            (path, Problem(line, kind, message))
            for path, line, kind, message in self._db.execute(
                "SELECT path, line, kind, message FROM file JOIN problem ON problem.file = file.id"
                f" WHERE language IN ({','.join('?' * len(wanted))}) ORDER BY path, line",
                wanted,
            )
        ]

    # -- files

    def files(self) -> list[File]:
        """All files, by path."""
        return [File(*row) for row in self._db.execute(f"{selects.FILE} ORDER BY path")]

    def file(self, path: str) -> File | None:
        """The file at a path from the root."""
        row = self._db.execute(f"{selects.FILE} WHERE path = ?", (path,)).fetchone()
        return File(*row) if row else None

    def stats(self, paths: Iterable[str] | None = None) -> dict[str, tuple[int, ...]]:
        """What files were when they were read: size, mtime, inode and ctime of each path that is known."""
        if paths is None:
            return {row[0]: row[1:] for row in self._db.execute(selects.STAT)}
        found = (self._db.execute(f"{selects.STAT} WHERE path = ?", (path,)).fetchone() for path in paths)
        return {row[0]: row[1:] for row in found if row}

    def file_of(self, fact_id: int) -> File:
        """The file that owns a definition, reference or target."""
        number = fact_id >> rows.ID_BITS
        found = self._files.get(number)
        if found is None:
            found = File(*self._db.execute(f"{selects.FILE} WHERE id = ?", (number,)).fetchone())
            self._files[number] = found
        return found

    # -- definitions

    def definitions(self, key: str) -> list[FiledDefinition]:
        """All definitions and declarations with a key, by path and place."""
        found = self._definitions.get(key)
        if found is None:
            found = self._placed(self._db.execute(f"{selects.DEFINITION} WHERE key = ?", (key,)))
            self._definitions[key] = found
        return found

    def named(self, key: str, name: str) -> list[FiledDefinition]:
        """The definitions with a key and exactly this full name: for keys that thousands share."""
        found = self._definitions.get(key)
        if found is not None:
            return [definition for definition in found if definition.fact.name == name]
        known = self._named.get((key, name))
        if known is None:
            known = self._placed(
                self._db.execute(f"{selects.DEFINITION} WHERE key = ? AND name = ?", (key, name))
            )
            self._named[key, name] = known
        return known

    def of_kind(self, key: str, kind: str) -> list[FiledDefinition]:
        """The definitions with a key that are of a kind: for a macro with thousands of uses."""
        found = self._definitions.get(key)
        if found is not None:
            return [definition for definition in found if definition.fact.kind == kind]
        known = self._of_kind.get((key, kind))
        if known is None:
            known = self._placed(
                self._db.execute(f"{selects.DEFINITION} WHERE key = ? AND kind = ?", (key, kind))
            )
            self._of_kind[key, kind] = known
        return known

    def definition(self, definition_id: int) -> FiledDefinition | None:
        """The definition with an id."""
        if definition_id not in self._by_id:
            self._filed(self._db.execute(f"{selects.DEFINITION} WHERE id = ?", (definition_id,)))
        return self._by_id.get(definition_id)

    def count(self, key: str, enough: int = 64) -> int:
        """How many definitions and declarations have a key, counted no further than `enough`.

        Costs one look into an index, where `definitions` reads each row: a name that the whole
        tree uses (`size`) is recognised before it is read. What was asked before changes nothing.
        """
        found = self._definitions.get(key)
        if found is not None:
            return min(len(found), enough)
        counted, most = self._counted.get(key, (0, 0))
        if counted == most < enough:
            found_ids = self._db.execute("SELECT id FROM definition WHERE key = ? LIMIT ?", (key, enough))
            counted = len(found_ids.fetchall())
            self._counted[key] = (counted, enough)
        return min(counted, enough)

    def definitions_in(self, file: File) -> list[FiledDefinition]:
        """All definitions of a file, in the order of their ordinals."""
        found = self._in_file.get(file.id)
        if found is None:
            found = self._filed(
                self._db.execute(
                    f"{selects.DEFINITION} WHERE id BETWEEN ? AND ? ORDER BY id", rows.ids_of(file.id)
                )
            )
            self._in_file[file.id] = found
        return found

    def definitions_on(self, file: File, line: int) -> list[FiledDefinition]:
        """The definitions whose name stands on a line of a file."""
        return by_line(self.kept, file.id, lambda: self.definitions_in(file)).get(line, [])

    def definitions_of_kind(self, kind: str) -> list[FiledDefinition]:
        """All definitions of a kind. Quick for the kinds with an index (indexes.sql); for any
        other it reads the whole table."""
        of_kind = f"{selects.DEFINITION} WHERE {selects.of_kind(kind)}"
        return self._placed(self._db.execute(of_kind, (kind,)))

    def keys_of_kind(self, kind: str) -> frozenset[str]:
        """All keys that a definition of a kind has. Cost as `definitions_of_kind`."""
        condition = selects.of_kind(kind)
        found = self._db.execute(f"SELECT DISTINCT key FROM definition WHERE {condition}", (kind,))
        return frozenset(key for (key,) in found)

    def scope(self, definition: FiledDefinition) -> FiledDefinition | None:
        """The definition that encloses another: its class, library block or function."""
        if definition.fact.scope < 0:
            return None
        return self.definition(definition.file.id << rows.ID_BITS | definition.fact.scope)

    def search(self, text: str, kinds: Iterable[str], limit: int) -> list[FiledDefinition]:
        """Definitions of the given kinds whose name contains a text, ignoring case; shortest names first."""
        wanted = tuple(kinds)
        pattern = "%" + text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") + "%"
        marks = ",".join("?" * len(wanted))
        like = f"{selects.DEFINITION} WHERE kind IN ({marks}) AND name LIKE ? ESCAPE '\\'"
        order = f"ORDER BY length(name), name, {selects.PATH_OF_DEFINITION}, id LIMIT ?"
        return self._filed(self._db.execute(f"{like} {order}", (*wanted, pattern, limit)))

    def keys(self, space: str, begin: str = "") -> list[str]:
        """All distinct keys of a space that something is defined under, whose name has a
        beginning; sorted. Reads that part of an index; a whole space is kept."""
        known = self._keys.get(space)
        first = f"{space}:{begin}"
        if known is not None and begin:
            end = bisect_left(known, first[:-1] + chr(ord(first[-1]) + 1))
            return known[bisect_left(known, first) : end]
        if known is None:
            found = self._db.execute(
                "SELECT DISTINCT key FROM definition WHERE key >= ? AND key < ? ORDER BY key",
                (first, first[:-1] + chr(ord(first[-1]) + 1)),
            )
            known = [key for (key,) in found]
            if not begin:
                self._keys[space] = known
        return known

    def library_uses(self) -> list[FiledDefinition]:
        """The macro uses that stand in a library block. Reads all macro uses."""
        return self._macros("macro_use", selects.IN_LIBRARY)

    def making_macros(self) -> list[FiledDefinition]:
        """The macros that make definitions in the files that use them. Reads all macros."""
        return self._macros("macro", selects.MAKING)

    def dispatch_keys(self) -> frozenset[str]:
        """All dispatch keys that something is registered under. Reads the registrations' rows."""
        found = self._db.execute(
            "SELECT DISTINCT dispatch_key FROM definition"
            " WHERE key >= 'op:' AND key < 'op;' AND dispatch_key != ''"
        )
        return frozenset(key for (key,) in found)

    # -- references

    def targets(self, binding: FiledDefinition) -> list[FiledReference]:
        """What a binding refers to, in the order of the text."""
        return self._targets("owner = ? ORDER BY id", binding.id)

    def targeting(self, key: str) -> list[FiledReference]:
        """The targets with a key: which bindings name it. `owner` is the binding's id."""
        return self._targets("key = ? ORDER BY id", key)

    def references(self, key: str) -> list[FiledReference]:
        """All other references with a key, by file and place. What was asked last is still there."""
        if self._referring_last[0] != key:
            self._referring_last = key, read_sites(self._db, self.file_of, "key = ?", (key,))
        return list(self._referring_last[1])

    def references_with(self, key: str, kind: str) -> list[FiledReference]:
        """Those of one kind, '' for any key: for `base` and `holds` without a look at the others."""
        return read_sites(self._db, self.file_of, *selects.sites_of_kind(key, kind))

    def named_like(self, names: Iterable[str], begins: Iterable[str]) -> list[FiledReference]:
        """All references, and the targets of imports, whose name is one of `names` or has one of the
        beginnings. Reads the whole table."""
        where, values = selects.named_like(names, begins)
        return read_sites(self._db, self.file_of, where, values) + self._read_targets(
            f"{where} AND {selects.IMPORTING} ORDER BY id", values
        )

    def references_in(self, file: File) -> list[FiledReference]:
        """All references of a file that are not targets, in the order of the text."""
        return in_order(file, self._rows_of(file))

    def references_on(self, file: File, line: int) -> list[FiledReference]:
        """The references on one line of a file that are no targets, in the order of the text."""
        return in_order(file, self._rows_of(file), line)

    def references_of_kind(self, file: File, kind: str) -> list[FiledReference]:
        """The references of one kind in a file, in the order of the text."""
        return in_order(file, (row for row in self._rows_of(file) if row.kind == kind))

    def inside(self, definition: FiledDefinition) -> list[FiledReference]:
        """The references in a definition's body, lambdas and nested definitions included,
        in the order of the text.

        Only the places between its lines are unpacked, so that a small function of a large
        file costs little.
        """
        file, fact = definition.file, definition.fact
        scopes = self._scopes_of(file)
        belongs = {definition.id: True, -1: False}
        found: list[FiledReference] = []
        for row in self._rows_of(file):
            if row.lines[0] > fact.end_line or row.lines[-1] < fact.line:
                continue
            first = bisect_left(row.lines, fact.line)
            last = bisect_right(row.lines, fact.end_line, first)
            found.extend(r for r in unpacked(file, row, first, last) if within(r.owner, belongs, scopes))
        found.sort(key=lambda r: (r.fact.line, r.fact.column))
        return found

    # -- helpers

    def _filed(self, cursor: Iterator[tuple[Any, ...]] | sqlite3.Cursor) -> list[FiledDefinition]:
        found = []
        for row in cursor:
            known = self._by_id.get(row[0])
            if known is None:
                known = FiledDefinition(row[0], self.file_of(row[0]), rows.definition(row))
                self._by_id[row[0]] = known
            found.append(known)
        return found

    def _macros(self, kind: str, detail: str) -> list[FiledDefinition]:
        which = "key >= 'macro:' AND key < 'macro;' AND kind = ? AND detail LIKE ?"
        return self._placed(self._db.execute(f"{selects.DEFINITION} WHERE {which}", (kind, detail)))

    def _placed(self, cursor: sqlite3.Cursor) -> list[FiledDefinition]:
        return sorted(self._filed(cursor), key=_BY_PLACE)

    def _targets(self, where: str, value: int | str) -> list[FiledReference]:
        found = self._targets_kept.get((where, value))
        if found is None:
            found = self._targets_kept[where, value] = self._read_targets(where, (value,))
        return found

    def _read_targets(self, where: str, values: tuple[int | str, ...]) -> list[FiledReference]:
        ordinals = (1 << rows.ID_BITS) - 1
        found = [
            FiledReference(
                self.file_of(row_id), Reference(key, name, kind, line, column, owner & ordinals), owner
            )
            for row_id, owner, key, name, kind, line, column in self._db.execute(
                f"SELECT id, owner, key, name, kind, line, col FROM target WHERE {where}", values
            )
        ]
        found.sort(key=_BY_PATH)
        return found

    def _rows_of(self, file: File) -> list[Packed]:
        found = self._packed.get(file.id)
        if found is None:
            asked = self._db.execute(f"{selects.SITES} WHERE id BETWEEN ? AND ?", rows.ids_of(file.id))
            found = [packed(*row) for row in asked]
            self._packed[file.id] = found
        return found

    def _scopes_of(self, file: File) -> dict[int, int]:
        """Id of each definition of a file → id of the one around it, -1 for none."""
        found = self._scopes.get(file.id)
        if found is None:
            base = file.id << rows.ID_BITS
            asked = self._db.execute(f"{selects.SCOPE} WHERE id BETWEEN ? AND ?", rows.ids_of(file.id))
            found = {row_id: base | scope if scope >= 0 else -1 for row_id, scope in asked}
            self._scopes[file.id] = found
        return found


# The ids of files tell in which order they came: no answer may depend on that.
_BY_PATH, _BY_PLACE = attrgetter("file.path"), attrgetter("file.path", "id")
