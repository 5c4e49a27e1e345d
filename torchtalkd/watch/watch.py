"""What has changed below a folder since the batch before?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from torchtalkd.changes import ChangeBatch, WatchState


def watch(
    root: Path,
    *,
    ignored: Callable[[str], bool],
    git_folders: Sequence[Path],
    heard: Callable[[ChangeBatch], None],
    poll: bool = False,
) -> Watch:
    """Begins to watch a tree, and returns at once.

    `ignored` says of a folder or file, as its path from the root with forward slashes, that nobody
    wants to hear of it. `git_folders` are the git folder of the work tree and the one that it shares
    with others; there may be none. `heard` gets the batches, in order, in the watcher's thread; it
    must be quick and raise nothing. `poll` makes do without the system's events.
    """
    return Watch(root, ignored, git_folders, heard, poll)


class Watch:
    """A tree that is being watched."""

    def __init__(
        self,
        root: Path,
        ignored: Callable[[str], bool],
        git_folders: Sequence[Path],
        heard: Callable[[ChangeBatch], None],
        poll: bool,
    ) -> None:
        self._heard = heard
        heard(ChangeBatch(sweep=frozenset({"start"})))

    def settled(self, done: Callable[[], None]) -> bool:
        """Calls `done` in the watcher's thread once all that was changed before this call has been
        handed to `heard`. False when that cannot be promised: then `done` is never called, and the
        caller sweeps."""
        return False

    def state(self) -> WatchState:
        """How the tree is watched now."""
        return WatchState("none")

    def close(self) -> None:
        """Ends the watch; `heard` and `done` are not called any more."""
