"""What has changed below a folder since the batch before?

One thread places the watches, hands batches on and looks once a second whether the root is still the
same; the source of events tells in a thread of its own.

Sweep at each seam: whenever a source of events begins, a sweep is told after its watches are in place,
so nothing is lost between two sources, or before the first.
"""

from __future__ import annotations

import errno
import itertools
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.changes import ChangeBatch, WatchState, Why
from torchtalkd.watch.backend import Backend
from torchtalkd.watch.ear import SharedEar
from torchtalkd.watch.git_folders import COOKIE
from torchtalkd.watch.limits import too_few_instances
from torchtalkd.watch.mounts import Mount, kind_of, mounts_below, silent_below
from torchtalkd.watch.polling import seconds_between
from torchtalkd.watch.settle import DEFAULT, Done
from torchtalkd.watch.slept import Sleep

_LOOK: Final = 1.0
"""Seconds between looks at the root and the clocks."""
_OFTEN: Final = 300.0
"""Seconds between sweeps of a tree whose changes are told: events may be lost without a word."""
_OFTEN_UNSURE: Final = 60.0
"""The same where the system is known to lose them so."""
_COOKIES_AGAIN: Final = 60.0
_AGAIN: Final = 300.0
"""Seconds until what could not be watched is tried again."""
_numbers = itertools.count(1)
"""Of cookies; one count for all watches of the process, as work trees share a git folder."""


def watch(
    root: Path,
    *,
    ignored: Callable[[str], bool],
    git_folders: Sequence[Path],
    heard: Callable[[ChangeBatch], None],
    poll: bool = False,
) -> Watch:
    """Begins to watch a tree, and returns at once; the first batch is a sweep, told when the watches
    are in place.

    `ignored` says of a folder or file, as its path from the root with forward slashes, that nobody
    wants to hear of it; it is called from two threads. `git_folders` are the git folder of the work
    tree and the one that it shares with others; there may be none. `heard` gets the batches, in
    order, in the watcher's thread, perhaps before this returns; it must be quick and raise nothing.
    `poll` makes do without the system's events.
    """
    return Watch(root, ignored, git_folders, heard, poll)


class _There(NamedTuple):
    """Which folders a watch is on: when that changes, it must begin anew."""

    root: tuple[int, int] | None
    """Device and number; None when it is not there."""
    git: list[tuple[int, int] | None]
    mounts: list[Mount]
    """In the root."""


class Watch:
    """A tree that is being watched. Its methods may be called from any thread."""

    def __init__(
        self,
        root: Path,
        ignored: Callable[[str], bool],
        git_folders: Sequence[Path],
        heard: Callable[[ChangeBatch], None],
        poll: bool,
    ) -> None:
        self._root = root
        self._ignored = ignored
        self._git_folders = git_folders
        self._heard = heard
        self._poll = poll
        self._ear = SharedEar()
        self._backend: Backend | None = None
        self._state = WatchState("none", "The watch is about to begin.")
        self._promises = not poll and bool(git_folders) and sys.platform == "linux"
        self._took = 0.0
        self._thread = threading.Thread(target=self._run, name=f"watch {root.name}", daemon=True)
        self._thread.start()

    def settled(self, done: Callable[[], None]) -> bool:
        """Calls `done` in the watcher's thread once all that was changed before this call has been
        handed to `heard`. False when that cannot be promised: then `done` is never called, and the
        caller sweeps.

        It may be promised before the watches are in place: then the first sweep comes before `done`.
        """
        backend = self._backend
        kept = self._promises and (backend is None or backend.takes_cookies)
        return kept and self._ear.ask(done)

    def swept(self, seconds: float) -> None:
        """Says how long the last sweep took, so that a polled tree is not swept without pause."""
        self._took = seconds

    def state(self) -> WatchState:
        """How the tree is watched now."""
        backend = self._backend
        if backend is None:
            return self._state
        missing = backend.missing
        if missing:
            return WatchState("partly", missing, backend.folders)
        return replace(self._state, folders=backend.folders)

    def close(self) -> None:
        """Ends the watch, and waits for it unless its own thread asks: then `heard` and `done` are
        not called any more. Those who still wait for `done` are not called, either."""
        self._promises = False
        self._ear.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    # -- the watcher's thread

    def _run(self) -> None:
        why: Why | None = "start"
        try:
            while why is not None:
                self._begin(why)
                why = self._serve()
        finally:
            self._promises = False
            self._end_backend()
            self._state = WatchState("none", "The watch has ended.")

    def _begin(self, why: Why) -> None:
        """Makes a source of events, or finds out why there is none; then all must be swept."""
        self._end_backend()
        self._began = time.monotonic()
        self._again = float("inf")
        self._tested = ""
        self._there = self._look_up()
        self._state = self._make_backend(silent=why == "often")
        self._promises = self._backend is not None and self._backend.takes_cookies
        if self._state.how != "none":
            self._ear.lost(why)
        if self._promises:
            self._tested = self._send_cookie([])

    def _make_backend(self, silent: bool) -> WatchState:
        root = os.path.realpath(self._root)
        if self._there.root is None:
            return WatchState("none", f"{self._root} is not there.")
        if self._poll:
            return WatchState("polling", "As was asked for.")
        if kind := kind_of(root):
            return WatchState(
                "polling", f"It is on a file system ({kind}) that does not tell of all changes."
            )
        if silent:
            self._again = self._began + _AGAIN
            return WatchState("polling", "Its file system does not tell of changes.")
        try:
            self._backend = self._events_of(root)
        except OSError as error:
            self._again = self._began + _AGAIN
            if error.errno in (errno.EMFILE, errno.ENFILE):
                return WatchState("polling", too_few_instances())
            return WatchState("polling", f"It cannot be watched: {error.strerror or error}.")
        if self._backend is None:
            return WatchState("polling", "This system's events are not used.")
        return WatchState("native")

    def _events_of(self, root: str) -> Backend | None:
        folders = [os.path.realpath(folder) for folder in self._git_folders]
        # A backend can be imported only on its own system. mypy follows this form of the question alone.
        if sys.platform == "linux":
            from torchtalkd.watch.native import Inotify

            telling = [folder for folder in folders if not kind_of(folder)]
            return Inotify(root, self._ignored, telling, self._ear, silent=silent_below(root))
        elif sys.platform == "darwin":  # noqa: RET505
            from torchtalkd.watch.fsevents import FSEvents

            return FSEvents(root, self._ignored, folders, self._ear)
        else:
            return None

    def _end_backend(self) -> None:
        backend, self._backend = self._backend, None
        if backend is not None:
            backend.close()

    def _serve(self) -> Why | None:
        """Hands on what comes until the source of events must be made anew, and says why; None at
        the end of the watch."""
        sleep = Sleep()
        looked = swept = time.monotonic()
        doubt = False
        while True:
            news = self._ear.wait(looked + _LOOK)
            for item in news.due:
                if self._ear.closed:
                    return None
                self._hand_on(item)
            if self._ear.closed:
                return None
            if news.asking:
                self._answer(news.asking)
            if news.events:
                self._tested = ""
            if news.doubt:
                doubt, self._promises = True, False
            now = time.monotonic()
            # At once, but not again and again for a root that comes and goes.
            if now < looked + _LOOK and not (doubt and now > self._began + _LOOK):
                continue
            looked = now
            if why := self._what_changed(doubt, now):
                return why
            doubt = False
            if self._state.how == "none":
                continue
            if sleep.slept(_LOOK):
                self._ear.sweep("wake")
            seldom, reason = self._sweeps()
            if now >= swept + seldom:
                swept = now
                self._ear.sweep(reason)

    def _hand_on(self, item: ChangeBatch | Done) -> None:
        if isinstance(item, ChangeBatch):
            self._heard(item)
        else:
            item()

    def _answer(self, asking: list[Done]) -> None:
        if self._promises:
            self._send_cookie(asking)
        else:
            # It was promised before the source of events failed.
            self._ear.sweep("overflow")
            self._ear.after_next(asking)

    def _send_cookie(self, asking: list[Done]) -> str:
        assert self._backend is not None
        name = f"{COOKIE}{os.getpid()}-{next(_numbers)}"
        self._ear.awaits(name, asking)
        try:
            self._backend.write_cookie(name)
        except OSError:
            # A full disk, or a git folder that went: no promises until it works again.
            self._promises = False
            self._again = min(self._again, time.monotonic() + _COOKIES_AGAIN)
            self._ear.lost("overflow")
        return name

    def _what_changed(self, doubt: bool, now: float) -> Why | None:
        """Why the source of events must be made anew; None: it need not."""
        before, after = self._there, self._look_up()
        if before.root != after.root:
            return "returned"
        if before.git != after.git:
            return "git"
        if before.mounts != after.mounts:
            # Nothing tells of a file system that is mounted over a folder.
            return "folder"
        if doubt:
            # A new folder may have got the number of the old one.
            return "returned"
        if self._tested and now > self._began + DEFAULT.give_up:
            return "often"
        if self._backend is not None and self._backend.missing:
            self._again = min(self._again, now + _AGAIN)
        return "folder" if now >= self._again else None

    def _look_up(self) -> _There:
        return _There(
            _identity(self._root),
            [_identity(folder) for folder in self._git_folders],
            [] if self._poll else mounts_below(os.path.realpath(self._root)),
        )

    def _sweeps(self) -> tuple[float, Why]:
        """Seconds between sweeps that nothing but time calls for, and their reason."""
        if self._backend is None:
            return seconds_between(self._took), "often"
        if self._backend.missing:
            return seconds_between(self._took), "folder"
        return _OFTEN if sys.platform == "linux" else _OFTEN_UNSURE, "often"


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None
