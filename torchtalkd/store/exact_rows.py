"""What was read exactly of one file ⇄ rows. Pure; `exact_view` reads them, the writer only executes.

The places of one target in one body are packed in one row, as those of a name are in `rows`.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from torchtalkd.facts import EXACT_KINDS, ExactKind
from torchtalkd.readings import ExactSite, ExactTarget
from torchtalkd.store.rows import ID_BITS, LAST_ORDINAL

OUTSIDE = -1
"""The `file` of a target that is declared outside of the tree."""


class Body(NamedTuple):
    """A function whose body was read exactly, as it was then: which definition's it is, by what stays true
    when the file is edited. In the column order of schema.sql."""

    id: int
    """0 for one that is not stored yet."""
    key: str
    name: str
    signature: str
    digest: int
    nth: int
    same: int
    usr: int
    line: int

    @property
    def file(self) -> int:
        return self.id >> ID_BITS


class ExactRows(NamedTuple):
    """The rows of one file, in the column order of schema.sql."""

    unit: tuple[Any, ...]
    bodies: list[Body]
    references: list[tuple[Any, ...]]


def pack(
    file_id: int,
    reading: tuple[str, str, str],
    files: bytes,
    revision: int,
    counts: Mapping[str, object],
    bodies: Iterable[tuple[Body, Iterable[ExactSite]]],
    targets: Iterable[tuple[ExactTarget, str, int]],
) -> ExactRows:
    """The rows of a file. `reading`: its recipe, digest and closure; `bodies`: each with what it refers to;
    `targets`: each with its key and the number of its file. Sites in front of a body's first line are left
    out: its digest says nothing of them."""
    base = file_id << ID_BITS
    known = list(targets)
    body_rows: list[Body] = []
    references: list[tuple[Any, ...]] = []
    for body, referred in bodies:
        body_id = base | len(body_rows)
        packed: dict[int, array[int]] = {}
        for kind, line, column, target in referred:
            if line >= body.line and len(packed) < LAST_ORDINAL:
                places = packed.setdefault(target, array("I"))
                places.extend((line - body.line, column, EXACT_KINDS.index(kind)))
        for number, places in packed.items():
            meant, key, file = known[number]
            if sys.byteorder == "big":
                places.byteswap()
            what = (body_id, meant.usr, key, meant.name, file, meant.line, places.tobytes())
            references.append((base | len(references), *what))
        body_rows.append(body._replace(id=body_id))
    unit = (file_id, *reading, files, revision, json.dumps(dict(counts), sort_keys=True))
    return ExactRows(unit, body_rows[:LAST_ORDINAL], references[:LAST_ORDINAL])


def sites(blob: bytes, line: int) -> Iterator[tuple[int, int, ExactKind]]:
    """The (line, column, kind) of the places in a row, for a body that begins at a line now."""
    numbers = array("I")
    numbers.frombytes(blob)
    if sys.byteorder == "big":
        numbers.byteswap()
    for at, column, kind in zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True):
        yield line + at, column, EXACT_KINDS[kind]


def mask(numbers: Iterable[int]) -> int:
    """A set of file numbers as bits."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


def packed_mask(bits: int) -> bytes:
    """As the column `files` has it."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")
