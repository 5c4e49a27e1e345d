"""The places of one name in one file, as the `reference` table packs them, read piece by piece.

A question about one function wants the references between two lines of a file that may have a
hundred thousand: the rows stay packed, bisection finds the piece, and only that becomes
References.
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import le
from typing import Any, NamedTuple

from torchtalkd.facts import File, FiledDefinition, FiledReference, Reference, ReferenceKind
from torchtalkd.store import rows


class Packed(NamedTuple):
    """One `reference` row of a file, its places still packed."""

    key: str
    name: str
    kind: ReferenceKind
    lines: array[int]
    sites: array[int]


def packed(key: str, name: str, kind: ReferenceKind, blob: bytes) -> Packed:
    """A row as it is read; its places in the order of the text."""
    sites = array("I")
    sites.frombytes(blob)
    if sys.byteorder == "big":
        sites.byteswap()
    lines = sites[0::3]
    if not all(map(le, lines, lines[1:])):
        # A parser may meet the places out of order; bisection needs them in the order of the text.
        triples = sorted(zip(lines, sites[1::3], sites[2::3], strict=True))
        sites = array("I", [number for triple in triples for number in triple])
        lines = sites[0::3]
    return Packed(key, name, kind, lines, sites)


_reference = partial(tuple.__new__, Reference)
_filed = partial(tuple.__new__, FiledReference)
"""Of all their fields: a question reads thousands, and by their own names they would cost twice the time."""


def unpacked(file: File, row: Packed, first: int, last: int) -> Iterator[FiledReference]:
    """The References at the places from `first` up to, not including, `last`."""
    base = file.id << rows.ID_BITS
    key, name, kind, _, sites = row
    for i in range(first * 3, last * 3, 3):
        owner = (sites[i + 2] >> 8) - 1
        fact = _reference((key, name, kind, sites[i], sites[i + 1], owner, (sites[i + 2] & 255) - 1))
        yield _filed((file, fact, base | owner if owner >= 0 else -1))


def read_sites(
    db: sqlite3.Connection, file_of: Callable[[int], File], where: str, values: tuple[str, ...]
) -> list[FiledReference]:
    """The References of the rows that fit a condition, by file and place."""
    found: list[FiledReference] = []
    asked = f"SELECT id, key, name, kind, sites FROM reference WHERE {where} ORDER BY id"
    for row_id, *row in db.execute(asked, values):
        sites = packed(*row)
        found.extend(unpacked(file_of(row_id), sites, 0, len(sites.lines)))
    # The ids of files tell in which order they came: no answer may depend on that.
    found.sort(key=lambda reference: reference.file.path)
    return found


def in_order(file: File, packed_rows: Iterable[Packed], line: int = 0) -> list[FiledReference]:
    """The References of some rows, or those of them on one line, in the order of the text."""
    found: list[FiledReference] = []
    for row in packed_rows:
        first, last = 0, len(row.lines)
        if line:
            first = bisect_left(row.lines, line)
            last = bisect_right(row.lines, line, first)
        found.extend(unpacked(file, row, first, last))
    found.sort(key=lambda r: (r.fact.line, r.fact.column))
    return found


def by_line(
    kept: dict[str, Any], file_id: int, definitions: Callable[[], list[FiledDefinition]]
) -> dict[int, list[FiledDefinition]]:
    """A file's definitions by the line of their name; made once, and kept."""
    files: dict[int, dict[int, list[FiledDefinition]]] = kept.setdefault("by_line", {})
    found = files.get(file_id)
    if found is None:
        found = files[file_id] = {}
        for definition in definitions():
            found.setdefault(definition.fact.line, []).append(definition)
    return found


def within(owner: int, belongs: dict[int, bool], scopes: dict[int, int]) -> bool:
    """Whether a definition lies in the one that `belongs` starts from; what is learnt is kept there."""
    passed = []
    while owner not in belongs:
        passed.append(owner)
        owner = scopes.get(owner, -1)
    for below in passed:
        belongs[below] = belongs[owner]
    return belongs[owner]
