"""Which snapshots are there, and how does one come and go?

They lie in one pool for all trees, so that one that was made in a checkout serves any other, and what
several have in common is there once. The tests are in `tests/test_snapshots.py`.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd import vcs
from torchtalkd.snapshots.about import About, about_copy, from_text, source_fingerprint, to_text
from torchtalkd.snapshots.errors import SnapshotError
from torchtalkd.snapshots.names import checked_name
from torchtalkd.store import image, pool
from torchtalkd.store.connection import NAME
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

ATTEMPTS: Final = 3
"""To find the tree at rest while its index is copied."""
_WORK: Final = "work-"
_STALE_SECONDS: Final = 86400.0


class Kept(NamedTuple):
    """A snapshot that is there."""

    about: About
    bytes: int
    """Of its database."""
    added: int
    """Bytes that it took on the disk when it came: what it did not share."""


def snapshots(home: Path) -> list[Kept]:
    """All snapshots, the newest last. Raises StoreError, SnapshotError."""
    found = [Kept(_described(copy), copy.bytes, copy.added) for copy in pool.copies(home)]
    return sorted(found, key=lambda kept: (kept.about.created, kept.about.name))


def snapshot(home: Path, name: str) -> Kept:
    """The snapshot of a name. Raises SnapshotError that says which there are, StoreError."""
    checked_name(name)
    there = snapshots(home)
    for kept in there:
        if kept.about.name == name:
            return kept
    names = sorted(kept.about.name for kept in there)
    some = (
        f"; there are {', '.join(names[:10])}{' …' if len(names) > 10 else ''}"
        if names
        else "; there are none"
    )
    raise SnapshotError(f"there is no snapshot called {name}{some}")


def save(home: Path, name: str, root: Path, folder: Path, refresh: Callable[[], object]) -> Kept:
    """Saves the index in `folder`, of the tree at `root`, in place of a snapshot of the same name.

    Invariant: a snapshot is of one revision. `refresh` brings the index up to the tree; that is done again
    while the tree changes meanwhile, and if it does so all the time, the snapshot claims no content.
    Raises WrongName, StoreError, what `refresh` raises.
    """
    checked_name(name)
    with working(home) as work:
        database = work / NAME
        before = vcs.contents(root)
        for attempt in range(ATTEMPTS):
            refresh()
            database.unlink(missing_ok=True)
            meta = image.copy_newest(folder, database)
            after = vcs.contents(root)
            if after == before:
                break
            before = after if attempt < ATTEMPTS - 1 else after._replace(fingerprint="")
        with open_view(work) as view:
            files = len(view.stats())
        about = about_copy(name, root, meta, files, before, time.time())
        return keep(home, about, database, replace=True)


def keep(home: Path, about: About, database: Path, *, replace: bool) -> Kept:
    """Takes a database into the pool. Raises what `pool.keep` raises."""
    copy = pool.keep(home, about.name, to_text(about), database, replace=replace)
    return Kept(about, copy.bytes, copy.added)


def delete(home: Path, names: list[str]) -> int:
    """Deletes snapshots; returns the bytes that this freed. Raises SnapshotError, StoreError."""
    for name in names:
        snapshot(home, name)
    return pool.discard(home, names)


def size(home: Path) -> int:
    """Bytes that all snapshots take on the disk."""
    return pool.size_of(home)


def beyond(there: list[Kept], count: int) -> list[str]:
    """The names of all but the `count` newest snapshots of each harness. Those of another framework are
    no reason to lose one of this."""
    newest: dict[str, list[str]] = {}
    for kept in there:
        newest.setdefault(kept.about.harness, []).append(kept.about.name)
    return [name for names in newest.values() for name in names[: max(0, len(names) - count)]]


def write(home: Path, kept: Kept, root: Path, target: Path, later_than: int) -> None:
    """Writes a snapshot's database into a new file, as the index of `root` with a revision that is later
    than another. Raises StoreError."""
    pool.restore(home, kept.about.name, target)
    same_place = not kept.about.imported and kept.about.source_fingerprint == source_fingerprint(root)
    image.make_fit(target, root, later_than=later_than, trust_stats=same_place)


@contextmanager
def viewed(home: Path, name: str) -> Iterator[View]:
    """A look at the facts of a snapshot. Raises SnapshotError, StoreError."""
    snapshot(home, name)
    with working(home) as work:
        pool.restore(home, name, work / NAME)
        with open_view(work) as view:
            yield view


@contextmanager
def working(home: Path) -> Iterator[Path]:
    """A folder of one's own beside the pool, gone afterwards. Raises OSError."""
    home.mkdir(parents=True, exist_ok=True)
    for left in home.glob(f"{_WORK}*"):
        # Of a process that was killed.
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=_WORK, dir=home) as name:
        yield Path(name)


def _described(copy: pool.Copy) -> About:
    try:
        return from_text(copy.about, name=copy.name)
    except SnapshotError as error:
        raise SnapshotError(f"the snapshot {copy.name} cannot be used: {error}") from error
