"""Facts of a revision, row by row, for a question that is about the whole tree.

A view gives facts as objects, one question at a time; a million of them would cost ten seconds. What is
read here stays in the rows' own form. Read-only, and kept nowhere. The tests are in `tests/test_affected.py`.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from torchtalkd.store.rows import ID_BITS, LAST_ORDINAL
from torchtalkd.store.view import View


class Defined(NamedTuple):
    """A row of the definitions, of which it has what a walk over the tree needs."""

    id: int
    key: str
    name: str
    kind: str
    scope: int
    """The id of the definition around it; -1 for none."""
    declares: bool
    said: str
    """Its `detail` as JSON; '' for none."""
    convention: str

    @property
    def detail(self) -> dict[str, Any]:
        """What only its kind has."""
        return json.loads(self.said) if self.said else {}

    @property
    def file(self) -> int:
        """The id of the file that owns it."""
        return self.id >> ID_BITS


class Mentioned(NamedTuple):
    """That a file refers to a name: one row for all its places."""

    file: int
    key: str
    name: str
    kind: str
    owners: tuple[int, ...]
    """The ids of the definitions around these places, each once; -1 for none."""
    places: array[int]
    """Triples as in the store: line, column, (owner + 1) << 8 | arguments + 1."""

    def lines(self, owner: int) -> list[int]:
        """The lines of the places that a definition is around, 1-based."""
        ordinal = owner & LAST_ORDINAL
        return [
            line
            for line, last in zip(self.places[::3], self.places[2::3], strict=True)
            if last >> 8 == ordinal + 1
        ]


class Targeted(NamedTuple):
    """What a binding refers to."""

    owner: int
    key: str
    name: str


_IN_FILES: Final = "id >> {bits} IN (SELECT value FROM json_each(?))"


def defined(view: View, files: Collection[int], kinds: Collection[str]) -> Iterator[Defined]:
    """The definitions and declarations of some files, and those of some kinds of all files."""
    where = f"{_IN_FILES.format(bits=ID_BITS)} OR kind IN (SELECT value FROM json_each(?))"
    for number, key, name, kind, scope, flags, detail, convention in view._db.execute(
        f"SELECT id, key, name, kind, scope, flags, detail, convention FROM definition WHERE {where}",
        (json.dumps(list(files)), json.dumps(list(kinds))),
    ):
        around = number & ~LAST_ORDINAL | scope if scope >= 0 else -1
        yield Defined(number, key, name, kind, around, bool(flags & 1), detail or "", convention)


def mentioned(
    view: View, files: Collection[int], kinds: Collection[str] = (), without: Collection[str] = ()
) -> Iterator[Mentioned]:
    """The references of some files that are no targets, by file: those of some kinds, or of all but some."""
    swapped = sys.byteorder == "big"
    which = f"kind {'' if kinds else 'NOT '}IN (SELECT value FROM json_each(?))"
    where = f"{which} AND {_IN_FILES.format(bits=ID_BITS)}"
    for number, key, name, kind, sites in view._db.execute(
        f"SELECT id, key, name, kind, sites FROM reference WHERE {where}",
        (json.dumps(list(kinds or without)), json.dumps(list(files))),
    ):
        places = array("I")
        places.frombytes(sites)
        if swapped:
            places.byteswap()
        base = number & ~LAST_ORDINAL
        owners = {last >> 8 for last in places[2::3]}
        around = tuple(base | owner - 1 if owner else -1 for owner in owners)
        yield Mentioned(number >> ID_BITS, key, name, kind, around, places)


def targeted(view: View) -> Iterator[Targeted]:
    """All targets of bindings, by file."""
    for row in view._db.execute("SELECT owner, key, name FROM target"):
        yield Targeted(*row)
