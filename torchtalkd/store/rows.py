"""FileFacts ⇄ rows. Pure; workers pack, the writer only executes.

A binding's references become `target` rows, one each, because they are asked for from both
ends. All other references are packed: one row for a (key, name, kind) in a file with its
places as an array, which halves the time and the size of a row for each place.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections import defaultdict
from functools import lru_cache
from struct import Struct
from typing import Any, Final, Literal, NamedTuple, cast

from torchtalkd.facts import BINDING_KINDS, Definition, FileFacts, Reference, ReferenceKind

ID_BITS = 20
"""Bits of an id that hold the ordinal: a file has at most a million facts of a kind."""
LAST_ORDINAL = (1 << ID_BITS) - 1


def ids_of(file_id: int) -> tuple[int, int]:
    """The lowest and the highest id that a fact of a file can have."""
    return file_id << ID_BITS, file_id << ID_BITS | LAST_ORDINAL


_DECLARES, _LOCAL = 1, 2

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode
"""`json.dumps` would make an encoder for each call."""
_IMPORT: Final = {"import": True}
_IMPORTED: Final = _json(_IMPORT)
"""The detail that most of all have: a Python name that is imported."""
_site = Struct("<III").pack
"""A place of a reference, as schema.sql says."""


class Rows(NamedTuple):
    """One file's rows, ready for `executemany`, in the column order of schema.sql."""

    definitions: list[tuple[Any, ...]]
    targets: list[tuple[Any, ...]]
    references: list[tuple[Any, ...]]
    problems: list[tuple[Any, ...]]


def _written(detail: dict[str, Any]) -> str:
    """A detail as JSON."""
    if len(detail) == 1:
        ((field, value),) = detail.items()
        if value is True or type(value) is str:
            return _field(field, value)
    return _json(detail)


@lru_cache(maxsize=4096)
def _field(field: str, value: str | Literal[True]) -> str:
    """A detail of one field; kept, for many definitions have the same: `{"method":true}`."""
    return _json({field: value})


def pack(file_id: int, facts: FileFacts) -> Rows:
    """The rows of one file's facts. Facts past the millionth of a kind are left out."""
    base = file_id << ID_BITS
    # Unpacked: fields by name, or slices, would cost twice the time. The columns stand in the fields' order.
    definitions = [
        (
            base | ordinal, key, name, kind, line, column, end, scope,
            (_DECLARES if declares else 0) | (_LOCAL if local else 0),
            signature, dispatch_key, convention, guard,
            None if not detail else _IMPORTED if detail == _IMPORT else _written(detail), body,
        )
        for ordinal, (
            key, name, kind, line, column, end, scope, declares, local,
            signature, dispatch_key, convention, guard, detail, body,
        ) in enumerate(facts.definitions[:LAST_ORDINAL])
    ]  # fmt: skip
    binding = [definition[2] in BINDING_KINDS for definition in facts.definitions]
    targets: list[tuple[Any, ...]] = []
    packed: defaultdict[tuple[str, str, str], list[bytes]] = defaultdict(list)
    for key, name, kind, line, column, owner, arguments in facts.references:
        if owner >= 0 and binding[owner] and kind in ("target", "argument"):
            targets.append((base | len(targets), base | owner, key, name, kind, line, column))
        else:
            last = (owner + 1) << 8 | (arguments + 1 if arguments < 255 else 255)
            packed[key, name, kind].append(_site(line, column, last))
    references = [
        (base | ordinal, key, name, kind, b"".join(sites))
        for ordinal, ((key, name, kind), sites) in enumerate(packed.items())
    ]
    problems = [(file_id, p.line, p.kind, p.message) for p in facts.problems]
    return Rows(definitions, targets[:LAST_ORDINAL], references[:LAST_ORDINAL], problems)


_DECODED = json.JSONDecoder().raw_decode
"""What we wrote ourselves has no space around it, for which `json.loads` looks each time."""


def definition(row: tuple[Any, ...]) -> Definition:
    """The Definition of a full `definition` row."""
    flags = row[8]
    detail = _DECODED(row[13])[0] if row[13] else None
    # All fields, in their order; by its own name it would cost twice the time.
    return tuple.__new__(
        Definition, (*row[1:8], bool(flags & _DECLARES), bool(flags & _LOCAL), *row[9:13], detail, row[14])
    )


def references(key: str, name: str, kind: str, sites: bytes) -> list[Reference]:
    """The References packed in one `reference` row, in the order of the text."""
    numbers = array("I")
    numbers.frombytes(sites)
    if sys.byteorder == "big":
        numbers.byteswap()
    known = cast(ReferenceKind, kind)
    return [
        Reference(key, name, known, line, column, (last >> 8) - 1, (last & 255) - 1)
        for line, column, last in zip(numbers[0::3], numbers[1::3], numbers[2::3], strict=True)
    ]
