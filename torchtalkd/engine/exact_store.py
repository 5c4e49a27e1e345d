"""Puts what was read exactly into the store, if it was read from the texts that the index knows.

The processes read the disk, the index may be a moment behind: so of each file that a unit may see it is
looked whether it is as the index has it, and what was read from another text is read again when the index
has that. The tests are in `tests/test_exact_reading.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from torchtalkd.compilation.reaching import members
from torchtalkd.engine.exact_join import filed, joined
from torchtalkd.engine.exact_stale import Item
from torchtalkd.readings import Diagnostic, ExactBody, ExactSite, ExactTarget, ExactUnit
from torchtalkd.store.database import open_view, open_writer
from torchtalkd.store.errors import Locked
from torchtalkd.store.exact_rows import ExactRows, pack, packed_mask
from torchtalkd.store.exact_view import EXACT_TOTAL
from torchtalkd.store.stamp import stamp
from torchtalkd.store.view import View
from torchtalkd.store.writer import Writer

LOCKED_SECONDS: Final = 0.02
PATIENCE: Final = 60.0
"""For another process that writes the index."""
ERRORS_KEPT: Final = 20


class Reading(NamedTuple):
    """What became of one file."""

    item: Item
    unit: ExactUnit
    plain: bool = False
    """It was read without a precompiled header because one made errors."""
    failed: str = ""
    """Why it could not be read at all."""
    seconds: float = 0.0
    """CPU time of the process that read it; of several headers together their share."""


class Stored(NamedTuple):
    """What `store` did."""

    revision: int
    late: list[Item]
    """Files that were read from other texts than the index has: to be read again."""


def store(
    folder: Path,
    root: Path,
    readings: Sequence[Reading],
    *,
    valid: Mapping[int, int] | None = None,
    gone: Iterable[int] = (),
    total: int,
    notes: Sequence[str] = (),
) -> Stored:
    """One revision. Raises what `open_view` and `open_writer` raise but Locked."""
    rows: list[ExactRows] = []
    late: list[Item] = []
    with open_view(folder) as view:
        looked: dict[int, bool] = {}
        for reading in readings:
            if _as_indexed(view, root, reading.item, looked):
                rows.append(_rows(view, reading))
            else:
                late.append(reading.item)
    with _writing(folder, root) as writer:
        meta = {EXACT_TOTAL: str(total), "exact_notes": "\n".join(notes), "exact_off": ""}
        revision = writer.put_exact(rows, valid or {}, gone, meta)
    return Stored(revision, late)


def store_off(folder: Path, root: Path, off: str) -> None:
    """Notes why nothing is read exactly, for `status`. Raises as `store`."""
    with open_view(folder) as view:
        if view.meta("exact_off") == off:
            return
    with _writing(folder, root) as writer:
        writer.put_exact((), {}, (), {"exact_off": off})


def unit_of(raw: Sequence[Any]) -> ExactUnit:
    """A unit as a process sent it."""
    path, bodies, targets, resolved, dependent, unresolved, errors = raw
    return ExactUnit(
        path,
        tuple(
            ExactBody(name, line, column, end_line, signature, usr, tuple(ExactSite(*site) for site in sites))
            for name, line, column, end_line, signature, usr, sites in bodies
        ),
        tuple(ExactTarget(*target) for target in targets),
        resolved,
        dependent,
        unresolved,
        tuple(Diagnostic(*error) for error in errors),
    )


def _as_indexed(view: View, root: Path, item: Item, looked: dict[int, bool]) -> bool:
    """Whether all that a unit may see is on the disk as the index knows it, and has been since the unit was
    given out."""
    file = view.file(item.wanted.path)
    if file is None or (file.id, file.digest) != (item.wanted.number, item.digest):
        return False
    if item.files & view.replaced_since(item.revision):
        return False
    wanted = [number for number in (file.id, *members(item.files)) if number not in looked]
    for number in wanted:
        looked[number] = _same_stat(view, root, number)
    return all(looked[number] for number in (file.id, *members(item.files)))


def _same_stat(view: View, root: Path, number: int) -> bool:
    path = view.path_of(number)
    known = view.stats([path]).get(path)
    try:
        return known == stamp(os.stat(root / path))
    except OSError:
        return False


def _rows(view: View, reading: Reading) -> ExactRows:
    item, unit = reading.item, reading.unit
    file = view.file(item.wanted.path)
    assert file is not None
    definitions = [filed_definition.fact for filed_definition in view.definitions_in(file)]

    def number_of(path: str) -> int | None:
        found = view.file(path)
        return found.id if found is not None else None

    bodies = joined(unit, definitions)
    counts = {
        "header": item.wanted.header,
        "bodies": len(bodies),
        "resolved": unit.resolved,
        "dependent": unit.dependent,
        "unresolved": unit.unresolved,
        "missing": sorted({error.missing for error in unit.errors if error.missing}),
        "errors": [tuple(error[:3]) for error in unit.errors if not error.missing][:ERRORS_KEPT],
        "plain": reading.plain,
        "failed": reading.failed,
    }
    return pack(
        file.id,
        (item.wanted.recipe, item.digest, item.closure),
        packed_mask(item.files),
        item.revision,
        counts,
        bodies,
        filed(unit.targets, number_of),
    )


@contextmanager
def _writing(folder: Path, root: Path) -> Iterator[Writer]:
    """The one writer, once it is free: what is read by name comes first."""
    begun = time.monotonic()
    while True:
        try:
            writer = open_writer(folder, root)
            break
        except Locked:
            if time.monotonic() - begun > PATIENCE:
                raise
            time.sleep(LOCKED_SECONDS)
    with writer as held:
        yield held
