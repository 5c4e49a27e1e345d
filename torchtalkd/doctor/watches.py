"""Watching: may as many folders be watched as the trees have?"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import PurePosixPath

from torchtalkd.cache import kept_indexes
from torchtalkd.doctor.values import FIX, NOTE, OK, Finding, Place
from torchtalkd.store.database import open_view
from torchtalkd.store.errors import StoreError
from torchtalkd.watch.limits import more_watches, most_watches


def watches(place: Place) -> Iterator[Finding]:
    """What the indexed trees need against what this user may have."""
    for one in place.daemons:
        for root in one.get("roots") or ():
            watch = root.get("watch") or {}
            if watch.get("note"):
                yield Finding("watching", FIX, f"{root['root']}: {watch['note']}", _command(watch["note"]))
    if not sys.platform.startswith("linux"):
        yield Finding("watching", OK, "by the system's events, without a limit that is known")
        return
    need = sum(_folders(place).values())
    allowed = most_watches()
    said = f"{need} folders to watch, {allowed} watches allowed, of which this program takes half at most"
    if need > allowed // 2:
        yield Finding("watching", FIX, said, more_watches(need))
    else:
        yield Finding("watching", OK, said)
    if not place.daemons:
        yield Finding("watching", NOTE, "no daemon runs: trees are compared with their indexes when asked")


def _folders(place: Place) -> dict[str, int]:
    """How many folders each indexed tree has."""
    found: dict[str, int] = {}
    for kept in kept_indexes(place.environ):
        if not kept.root:
            continue
        try:
            with open_view(kept.folder) as view:
                names = {str(PurePosixPath(file.path).parent) for file in view.files()}
        except StoreError:
            # What is wrong with an index is told with its tree.
            continue
        above = {str(parent) for name in names for parent in PurePosixPath(name).parents}
        found[kept.root] = len(names | above)
    return found


def _command(note: str) -> str:
    """The command that a note of the watcher ends with."""
    return note.partition("More: ")[2] or "torchtalkd restart"
