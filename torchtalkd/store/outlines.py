"""Definitions read together: those of some kinds in a file, which is most of what is asked of a whole file, and
those of some ids."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Final

from torchtalkd.facts import File, FiledDefinition
from torchtalkd.store import rows, selects


_AT_ONCE: Final = 500
"""SQLite takes a thousand values in one statement at least."""


class Outlines:
    """The part of a View that answers what a file has of some kinds."""

    _hidden: frozenset[int]

    @property
    def _source(self) -> Any:
        """The view that has the rows."""
        raise NotImplementedError

    def definitions_in(self, file: File) -> list[FiledDefinition]:
        """As `View.definitions_in`."""
        raise NotImplementedError

    def prepare(self, ids: Iterable[int]) -> None:
        """Reads definitions that will be asked for by their ids, in a few statements in place of one for each."""
        source = self._source
        wanted = sorted({number for number in ids if number >= 0 and number not in source._by_id})
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            source._filed(source._db.execute(f"{selects.DEFINITION} WHERE id IN ({marks})", some))

    def names_in(self, file: File, kinds: Collection[str]) -> list[tuple[int, str]]:
        """Line and full name of each definition of some kinds in a file, in the order of their ordinals."""
        if file.id in self._hidden:
            return [(d.fact.line, d.fact.name) for d in self.definitions_in(file) if d.fact.kind in kinds]
        which = f"SELECT line, name FROM definition WHERE {selects.in_file_of_kinds(kinds)}"
        return list(self._source._db.execute(which, (*rows.ids_of(file.id), *kinds)))

    def kinds_in(self, file: File, kinds: Collection[str]) -> list[FiledDefinition]:
        """The definitions of some kinds in a file, in the order of their ordinals."""
        if file.id in self._hidden:
            return [d for d in self.definitions_in(file) if d.fact.kind in kinds]
        which = f"{selects.DEFINITION} WHERE {selects.in_file_of_kinds(kinds)}"
        found = self._source._db.execute(which, (*rows.ids_of(file.id), *kinds))
        filed: list[FiledDefinition] = self._source._filed(found)
        return filed
