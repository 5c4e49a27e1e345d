"""Brings the index of a root up to date, and opens a view of it.

This is what every command does before it asks. Where the index cannot be written (another
process is at it, the cache is read-only or its disk full) what is there is read, and `say` is told so; where
nothing is there yet and another process is making it, that is waited for. The tests are in
`tests/test_index.py` and `tests/test_cli.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from torchtalkd import vcs
from torchtalkd.conventions import ManifestError, load
from torchtalkd.engine import BuildResult, Progress, TreeError, build
from torchtalkd.engine.plan import REFUSED, UNREAD
from torchtalkd.engine.sweep import sweep
from torchtalkd.store.connection import NAME
from torchtalkd.store.database import open_view
from torchtalkd.store.errors import Locked, NoIndex, NotPermitted, StoreError, StoreFull, Unusable, is_damage
from torchtalkd.store.image import replacing, revision_of
from torchtalkd.store.stamp import stamp
from torchtalkd.store.view import View

if TYPE_CHECKING:
    from torchtalkd.engine.exact import ExactResult

__all__ = [
    "BuildResult",
    "Index",
    "Kept",
    "is_damaged",
    "kept_index",
    "kept_or_why",
    "moved_on",
    "open_index",
    "put_index",
]

POLL_SECONDS: Final = 0.2
"""How often a first build by another process is looked at."""
WRITER_SECONDS: Final = 120.0
"""For another process to end its writing: that of a first build takes less on a slow machine."""
LOCKED_SECONDS: Final = 1.0
"""An index that is written for longer than this is being built; a save takes some milliseconds."""
_LOCKED_POLL_SECONDS: Final = 0.02


class Index(NamedTuple):
    """An open view of a root's index, and what was done for it."""

    view: View
    """To be closed by whoever asked."""
    built: BuildResult | None
    """None where somebody else's index was read as it is."""


def open_index(
    root: Path,
    harness: str,
    folder: Path,
    *,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    say: Callable[[str], None],
    verify: bool = False,
    again: Collection[str] = (),
) -> Index:
    """Builds the index in `folder`, or reads again what changed, and `again` in any case; then opens it.

    `verify` looks through the whole index first and sets a damaged one aside: for one that failed
    in a query (see `is_damaged`). Raises ManifestError, and what `engine.build` and
    `store.database.open_view` raise.
    """
    conventions = load(harness, tree=root)
    waited = False
    begun = time.monotonic()
    while True:
        try:
            built = build(
                root, folder, conventions, workers=workers, progress=progress, verify=verify, again=again
            )
            return Index(open_view(folder), built)
        except Locked as locked:
            if time.monotonic() - begun < LOCKED_SECONDS:
                time.sleep(_LOCKED_POLL_SECONDS)
                continue
            if view := _present(folder):
                say(f"{locked}: this answer is from revision {view.revision}, which was there before")
                return Index(view, None)
            if not waited:
                say(f"{locked}; waiting until it is there")
                waited = True
            time.sleep(POLL_SECONDS)
        except (NotPermitted, StoreFull) as refused:
            if view := _present(folder):
                say(f"{refused}: this answer is from revision {view.revision}, not brought up to date")
                return Index(view, None)
            raise


def put_index(
    root: Path,
    harness: str,
    folder: Path,
    write: Callable[[Path, int], None],
    *,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    say: Callable[[str], None],
) -> BuildResult:
    """Puts a database in place of the index in `folder`, once what differs from the tree was read again:
    nobody ever sees it as it came. `write` makes it, at a path, with a revision later than the one given.

    Raises ManifestError, what `write`, `engine.build` and `store.image.replacing` raise; then the index
    is as it was.
    """
    conventions = load(harness, tree=root)

    def waiting(locked: Locked) -> None:
        say(f"{locked}; waiting until that is done")

    with replacing(folder, patience=WRITER_SECONDS, waiting=waiting) as beside:
        write(beside / NAME, revision_of(folder))
        return build(root, beside, conventions, workers=workers, progress=progress)


def read_exactly_too(
    root: Path,
    harness: str,
    folder: Path,
    *,
    workers: int | None = None,
    trusted: str = "",
    database: str = "",
    bases: Iterable[str] = (),
    progress: Callable[[Progress], None] | None = None,
) -> ExactResult:
    """Reads by libclang what is not read so yet of an index, and waits for it: see `engine.exact`; `bases`
    are `bases.base_folders`. Raises what that raises."""
    # Here, as most commands need nothing of it.
    from torchtalkd.engine.exact import read_exactly

    say = progress or (lambda _step: None)
    return read_exactly(
        root,
        folder,
        load(harness, tree=root),
        workers=workers,
        trusted=trusted,
        database=Path(database) if database else None,
        bases=bases,
        progress=lambda done, total: say(Progress("exact", done, total)),
    )


class Kept(NamedTuple):
    """An index as it stands."""

    view: View
    """To be closed by whoever asked."""
    waiting: int
    """Files of the tree that are not in it as they are now."""
    commit: str
    """Where the tree is now, as is `branch`; '' outside git."""
    branch: str


def kept_index(root: Path, harness: str, folder: Path) -> Kept | None:
    """The index as it stands, None if there is none that can be read. Writes nothing.

    Raises ManifestError.
    """
    conventions = load(harness, tree=root)
    view = _present(folder)
    if view is None:
        return None
    known = view.stats()
    waiting = 0
    for entry in sweep(root, conventions).entries:
        at = known.pop(entry.path, None)
        waiting += not entry.refused and at != (entry.size, entry.mtime_ns, entry.inode, entry.ctime_ns)
    return Kept(view, waiting + len(known), *vcs.head(root))


def kept_or_why(root: Path, harness: str, folder: Path) -> Kept | str:
    """The index of another root than the asked one, as it stands, or a sentence why there is none: what
    is wrong there is no failure of the question."""
    try:
        found = kept_index(root, harness, folder)
    except (ManifestError, StoreError, TreeError, OSError) as error:
        return str(error)
    return found or "it is not indexed (`index build` reads it)"


def moved_on(view: View, cited: Iterable[str], root: Path) -> Iterator[str]:
    """The files among those that an answer cites that are not as the index knows them."""
    for path, known in view.stats(cited).items():
        file = view.file(path)
        if file is None or file.digest in (UNREAD, REFUSED):
            # Nothing of its text is in the answer.
            continue
        try:
            found = os.stat(root / path)
        except OSError:
            yield path
            continue
        if known != stamp(found):
            yield path


def is_damaged(error: Exception) -> bool:
    """Whether a question failed because the index is damaged: `open_index` with `verify` mends it."""
    return is_damage(error) or isinstance(error, Unusable)


def _present(folder: Path) -> View | None:
    """A view of the index as it is, None if there is none that can be read."""
    try:
        return open_view(folder)
    except (NoIndex, Unusable):
        return None
