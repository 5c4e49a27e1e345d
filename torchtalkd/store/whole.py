"""All facts of a revision, row by row, for a question that is about the whole tree.

A view gives facts as objects, one question at a time; a million of them would cost ten seconds. What is
read here stays in the rows' own form. Read-only, and kept nowhere.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

from torchtalkd.store.rows import ID_BITS
from torchtalkd.store.view import View

ORDINALS = (1 << ID_BITS) - 1
"""`id & ORDINALS` is a fact's ordinal in its file, `id >> ID_BITS` its file."""


class Defined(NamedTuple):
    """A row of the definitions, of which it has what a walk over the tree needs."""

    id: int
    key: str
    name: str
    kind: str
    scope: int
    """The id of the definition around it; -1 for none."""
    flags: int
    """1: it only declares; 2: visible in its own file only."""
    signature: str
    dispatch_key: str
    convention: str
    detail: dict[str, Any] | None


class Mentioned(NamedTuple):
    """That a file refers to a name: one row for all its places."""

    file: int
    key: str
    name: str
    kind: str
    owners: tuple[int, ...]
    """The ids of the definitions around these places, each once; -1 for none."""


class Targeted(NamedTuple):
    """What a binding refers to."""

    owner: int
    key: str
    name: str


def defined(view: View) -> Iterator[Defined]:
    """All definitions and declarations, by id."""
    asked = view._db.execute("SELECT id, key, name, kind, scope, flags, signature, dispatch_key, convention, detail FROM definition")
    read = json.loads
    for number, key, name, kind, scope, flags, signature, dispatch_key, convention, detail in asked:
        around = number & ~ORDINALS | scope if scope >= 0 else -1
        yield Defined(
            number, key, name, kind, around, flags, signature, dispatch_key, convention, read(detail) if detail else None
        )


def mentioned(view: View) -> Iterator[Mentioned]:
    """All references that are no targets, by file."""
    swapped = sys.byteorder == "big"
    for number, key, name, kind, sites in view._db.execute("SELECT id, key, name, kind, sites FROM reference"):
        places = array("I")
        places.frombytes(sites)
        if swapped:
            places.byteswap()
        base = number & ~ORDINALS
        if len(places) == 3:
            owner = places[2] >> 8
            owners: tuple[int, ...] = (base | owner - 1 if owner else -1,)
        else:
            owners = tuple({base | (last >> 8) - 1 if last >> 8 else -1 for last in places[2::3]})
        yield Mentioned(number >> ID_BITS, key, name, kind, owners)


def targeted(view: View) -> Iterator[Targeted]:
    """All targets of bindings, by file."""
    for row in view._db.execute("SELECT owner, key, name FROM target"):
        yield Targeted(*row)
