"""The command `index update --since SNAPSHOT`: what differs is read, and what takes in a changed header.

Facts by name depend on a file's own bytes alone; those of a compiler depend on all that a unit takes in,
so a unit is read again when its closure changed. More may be read than must be, never less.
"""

from __future__ import annotations

import json
import os
from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from torchtalkd.cache import snapshot_home
from torchtalkd.frontends.command import build as building
from torchtalkd.frontends.command.opening import asked, chosen
from torchtalkd.frontends.command.told import Told, printed
from torchtalkd.index import BuildResult, Index
from torchtalkd.link.includes import is_header
from torchtalkd.queries.answers import StatusAnswer
from torchtalkd.queries.compare import differing
from torchtalkd.queries.status import status
from torchtalkd.queries.units import units
from torchtalkd.snapshots import keeping
from torchtalkd.store.view import View

SAMPLES: Final = 5


class Since(NamedTuple):
    """What differs from a snapshot, and what follows from that."""

    snapshot: str
    changed: tuple[str, ...]
    """Files that were added, removed or modified, by path."""
    headers: tuple[str, ...]
    """Those of them that are made to be included."""
    units: tuple[str, ...]
    """Units that did not change, but take in what did."""
    unseen: tuple[str, ...]
    """Changed headers that no file is known to take in."""


def update(arguments: Namespace) -> int:
    """Reads what differs and what depends on it; 1 where there is no such snapshot."""
    root = chosen(arguments)
    home = snapshot_home(os.environ)
    keeping.snapshot(home, arguments.since)

    def first(index: Index) -> tuple[BuildResult | None, Since]:
        return index.built, since(index.view, home, arguments.since)

    built, found = asked(root, first, workers=arguments.workers)

    def second(index: Index) -> Told:
        return told(str(root.path), both(built, index.built), found, status(index.view), arguments)

    return printed(asked(root, second, workers=arguments.workers, again=found.units))


def since(view: View, home: Path, name: str) -> Since:
    """What differs between a snapshot and an index that is up with its tree. Raises SnapshotError."""
    with keeping.viewed(home, name) as before:
        changed = differing(before, view)
    paths = sorted({*changed.added, *changed.removed, *changed.modified})
    reached = units(view, paths)
    again = sorted(reached.units.difference(paths))
    return Since(name, tuple(paths), tuple(filter(is_header, paths)), tuple(again), reached.unseen)


def both(first: BuildResult | None, second: BuildResult | None) -> BuildResult | None:
    """The two looks at the tree as one."""
    if first is None or second is None:
        return second or first
    return replace(
        second,
        parsed=first.parsed + second.parsed,
        removed=first.removed + second.removed,
        problems=first.problems + second.problems,
        seconds=first.seconds + second.seconds,
        notes=tuple(dict.fromkeys((*first.notes, *second.notes))),
    )


def told(
    root: str, built: BuildResult | None, found: Since, answer: StatusAnswer, arguments: Namespace
) -> Told:
    """What was done, and a warning about headers that nothing takes in."""
    done = building.told(root, built, answer, arguments)
    warning = ""
    if found.unseen:
        some = ", ".join(found.unseen[:SAMPLES]) + (" …" if len(found.unseen) > SAMPLES else "")
        warning = (
            f"torchtalkd: no unit is known to take in {len(found.unseen)} of the changed headers: {some}\n"
        )
    if arguments.json:
        whole: dict[str, Any] = json.loads(done.out) | {"since": since_json(found)}
        return Told(json.dumps(whole) + "\n", done.err + warning, done.code)
    line = (
        f"since {found.snapshot}: {len(found.changed)} files differ, {len(found.headers)} of them headers;"
        f" {len(found.units)} units take in what differs and were read again\n"
    )
    return Told(done.out + line, done.err + warning, done.code)


def since_json(found: Since) -> dict[str, Any]:
    """As `--json` shows it."""
    return {**found._asdict(), "unseen": list(found.unseen[:SAMPLES]), "unseen_total": len(found.unseen)}
