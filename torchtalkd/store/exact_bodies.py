"""Which bodies that a compiler has read are those of which definitions of a View's revision.

A body is known by its key and the digest of its lines. Of several definitions of a file with the same both
the one is meant that was, as long as none came or went.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from torchtalkd.facts import FiledDefinition
from torchtalkd.store import rows, selects
from torchtalkd.store.exact_rows import Body

BODY = "SELECT id, key, name, signature, digest, nth, same, usr, line FROM exact_body"


class ExactBodies:
    """The part of a View that joins bodies and definitions."""

    _db: sqlite3.Connection
    kept: dict[str, Any]
    _hidden: frozenset[int] = frozenset()
    """Files whose rows an editor's texts hide."""

    @property
    def _source(self) -> Any:
        """The view that has the rows."""
        raise NotImplementedError

    def _filed(self, cursor: Any) -> list[FiledDefinition]:
        """As `View._filed`."""
        raise NotImplementedError

    def _with_key(self, number: int, key: str) -> list[FiledDefinition]:
        """The definitions of a file with a key, in the order of their ordinals."""
        known: dict[tuple[int, str], list[FiledDefinition]] = self.kept.setdefault("exact_with_key", {})
        found = known.get((number, key))
        if found is None:
            which = f"{selects.DEFINITION} WHERE key = ? AND id BETWEEN ? AND ? ORDER BY id"
            found = self._filed(self._db.execute(which, (key, *rows.ids_of(number))))
            known[number, key] = found
        return list(found)

    def _body(self, body_id: int) -> Body:
        known: dict[int, Body] = self.kept.setdefault("exact_bodies", {})
        if body_id not in known:
            row = self._source._db.execute(f"{BODY} WHERE id = ?", (body_id,)).fetchone()
            known[body_id] = Body(*row)
        return known[body_id]

    def _bodies_of(self, definition: FiledDefinition) -> Iterator[Body]:
        """The bodies that were read of a definition; of an older text, too, where it is certain that these
        are the same function."""
        for body in self._bodies_in(definition.file.id).get(definition.fact.key, ()):
            current = self._current(body)
            if current is not None and current.id == definition.id:
                yield body

    def _bodies_in(self, number: int) -> dict[str, list[Body]]:
        """The bodies of a file by their keys."""
        known: dict[int, dict[str, list[Body]]] = self.kept.setdefault("exact_bodies_of", {})
        if number not in known:
            of_file = known[number] = {}
            asked = self._source._db.execute(f"{BODY} WHERE id BETWEEN ? AND ?", rows.ids_of(number))
            for body in (Body(*row) for row in asked.fetchall()):
                of_file.setdefault(body.key, []).append(body)
        return known[number]

    def _current(self, body: Body, *, strict: bool = False) -> FiledDefinition | None:
        """The definition whose body it is now; `strict`: only if its lines are as they were read. Of
        several with the same lines the one that was meant, as long as none came or went."""
        known: dict[tuple[int, bool], FiledDefinition | None] = self.kept.setdefault("exact_current", {})
        asked = (body.id, strict)
        if asked not in known:
            there = self._with_key(body.file, body.key)
            same = [d for d in there if d.fact.body == body.digest and body.digest]
            if same:
                found = same[body.nth] if len(same) == body.same else None
            elif strict:
                found = None
            else:
                what = (body.name, body.signature)
                named = [d for d in there if (d.fact.name, d.fact.signature) == what and not d.fact.declares]
                # Of a macro's use what it makes is told by the use's text alone.
                found = named[0] if len(named) == 1 and named[0].fact.kind != "macro_use" else None
            known[asked] = found
        return known[asked]

    def prepare_bodies(self) -> Iterator[None]:
        """Reads which bodies were read of which files, before somebody asks, in pieces."""
        for (number,) in self._source._db.execute("SELECT file FROM exact_unit ORDER BY file").fetchall():
            self._bodies_in(number)
            self._by_digest(number)
            yield

    def _own_bodies(self, definition: FiledDefinition) -> list[Body]:
        """The bodies that were read of a definition's text as it is."""
        number, digest = definition.file.id, definition.fact.body
        if number in self._hidden:
            return [body for body in self._bodies_of(definition) if body.digest == digest]
        there = self._by_digest(number).get((definition.fact.key, digest), [])
        return [
            body
            for body in self._bodies_in(number).get(definition.fact.key, ())
            if body.digest == digest and len(there) == body.same and there[body.nth] == definition.id
        ]

    def _by_digest(self, number: int) -> dict[tuple[str, int], list[int]]:
        """The ids of a file's definitions by key and digest of the body, in the order of their ordinals."""
        known: dict[int, dict[tuple[str, int], list[int]]] = self.kept.setdefault("exact_by_digest", {})
        found = known.get(number)
        if found is None:
            found = known[number] = {}
            which = "SELECT id, key, body FROM definition WHERE id BETWEEN ? AND ? AND body != 0 ORDER BY id"
            for definition, key, digest in self._source._db.execute(which, rows.ids_of(number)):
                found.setdefault((key, digest), []).append(definition)
        return found
