"""Definitions read together: those of some kinds in a file, those of some ids; and in pieces what stands all
over a tree."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from torchtalkd.facts import File, FiledDefinition
from torchtalkd.store import rows, selects

_AT_ONCE: Final = 500
"""SQLite takes a thousand values in one statement at least."""
_FILES: Final = 600
"""Files whose rows are looked through at a time: some milliseconds."""


class Outlines:
    """The part of a View that answers what a file has of some kinds."""

    _db: sqlite3.Connection
    _hidden: frozenset[int]

    def _filed(self, cursor: Any) -> list[FiledDefinition]:
        """As `View._filed`."""
        raise NotImplementedError

    @property
    def _source(self) -> Any:
        """The view that has the rows."""
        raise NotImplementedError

    def definitions_in(self, file: File) -> list[FiledDefinition]:
        """As `View.definitions_in`."""
        raise NotImplementedError

    def library_uses(self) -> list[FiledDefinition]:
        """As `View.library_uses`."""
        raise NotImplementedError

    def making_macros(self) -> list[FiledDefinition]:
        """As `View.making_macros`."""
        raise NotImplementedError

    def keys_of_kind(self, kind: str) -> frozenset[str]:
        """As `View.keys_of_kind`."""
        raise NotImplementedError

    def prepare(self, ids: Iterable[int]) -> None:
        """Reads definitions that will be asked for by their ids, in a few statements for all."""
        source = self._source
        wanted = sorted({number for number in ids if number >= 0 and number not in source._by_id})
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            source._filed(source._db.execute(f"{selects.DEFINITION} WHERE id IN ({marks})", some))

    def uses_in_libraries(self) -> Iterator[list[FiledDefinition]]:
        """`View.library_uses` in pieces, by file."""
        return self._pieces_of("macro_use", selects.IN_LIBRARY, self.library_uses)

    def macros_that_make(self) -> Iterator[list[FiledDefinition]]:
        """`View.making_macros` in pieces, by file."""
        return self._pieces_of("macro", selects.MAKING, self.making_macros)

    def keys_in_pieces(self, kind: str) -> Iterator[frozenset[str]]:
        """The keys of `View.keys_of_kind` in pieces, each once or more."""
        if self._source is not self:
            yield self.keys_of_kind(kind)
            return
        for first, last in self._ranges():
            which = "SELECT DISTINCT key FROM definition WHERE id BETWEEN ? AND ? AND kind = ?"
            yield frozenset(key for (key,) in self._source._db.execute(which, (first, last, kind)))

    def counts_in_pieces(self) -> Iterator[dict[str, int]]:
        """How many definitions there are of each kind, in pieces that add up."""
        for first, last in self._source._ranges():
            which = "SELECT kind, count(*) FROM definition WHERE id BETWEEN ? AND ? GROUP BY kind"
            yield dict(self._source._db.execute(which, (first, last)))

    def _pieces_of(
        self, kind: str, like: str, whole: Callable[[], list[FiledDefinition]]
    ) -> Iterator[list[FiledDefinition]]:
        if self._source is not self:
            # What an editor's texts say is mixed in as a whole.
            yield whole()
            return
        for first, last in self._ranges():
            which = f"{selects.DEFINITION} WHERE id BETWEEN ? AND ? AND kind = ? AND detail LIKE ?"
            yield self._filed(self._db.execute(which, (first, last, kind, like)))

    def _ranges(self) -> Iterator[tuple[int, int]]:
        """The first and the last id of all rows of some hundred files, then of the next ones."""
        (most,) = self._source._db.execute("SELECT coalesce(max(id), 0) FROM file").fetchone()
        for number in range(0, most + 1, _FILES):
            yield rows.ids_of(number)[0], rows.ids_of(number + _FILES - 1)[1]

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
