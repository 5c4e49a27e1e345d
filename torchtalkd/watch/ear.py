"""Where the threads meet: sources of events tell, callers ask, the watcher's thread hands on."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from torchtalkd.changes import ChangeBatch, Why
from torchtalkd.watch.settle import DEFAULT, Done, Settle, Timing


class News(NamedTuple):
    """What the watcher's thread finds when it wakes."""

    due: list[ChangeBatch | Done]
    asking: list[Done]
    """Those who asked since, in order. Nobody wrote a cookie for them yet."""
    doubt: bool
    """The root or a git folder must be looked at."""
    events: bool
    """Whether a source of events told anything."""


class SharedEar:
    """A `Settle` behind a lock. Everything but `wait` may be called from any thread and is quick."""

    def __init__(self, timing: Timing = DEFAULT) -> None:
        self._condition = threading.Condition(threading.Lock())
        self._settle = Settle(timing)
        self._sleeps_until = float("-inf")
        self._asking: list[Done] = []
        self._events = False
        self._doubt = False
        self._closed = False

    # -- told by a source of events (see `backend.Ear`)

    def changed(self, path: str) -> None:
        """A file or folder, from the root, may have changed, come or gone."""
        with self._condition:
            self._settle.changed(time.monotonic(), path)
            self._events = True
            self._nudge()

    def sweep(self, why: Why) -> None:
        """The whole tree must be swept."""
        with self._condition:
            self._settle.sweep(time.monotonic(), why)
            self._nudge()

    def locked(self, held: bool) -> None:
        """Git took `index.lock`, or gave it back."""
        with self._condition:
            self._settle.locked(time.monotonic(), held)
            self._nudge()

    def cookie(self, name: str) -> None:
        """The event of a cookie came."""
        with self._condition:
            self._settle.seen(name)
            self._events = True
            self._condition.notify()

    def lost(self, why: Why = "overflow") -> None:
        """Events were lost."""
        with self._condition:
            self._settle.lost(time.monotonic(), why)
            self._nudge()

    def doubt(self) -> None:
        """The root or a git folder may no longer be there, or be another one."""
        with self._condition:
            self._doubt = True
            self._condition.notify()

    # -- asked by a caller

    def ask(self, done: Done) -> bool:
        """`done` will be called; False after the end."""
        with self._condition:
            if self._closed:
                return False
            self._asking.append(done)
            self._condition.notify()
            return True

    def close(self) -> None:
        """Ends `wait`."""
        with self._condition:
            self._closed = True
            self._condition.notify()

    # -- for the watcher's thread

    @property
    def closed(self) -> bool:
        """Whether somebody ended the watch."""
        return self._closed

    def awaits(self, cookie: str, done: list[Done]) -> None:
        """A cookie is about to be written for those who asked."""
        with self._condition:
            self._settle.asked(time.monotonic(), cookie, done)

    def after_next(self, done: list[Done]) -> None:
        """Those are answered after what is pending."""
        with self._condition:
            self._settle.after_next(done)

    def wait(self, until: float) -> News:
        """Sleeps until there is news, or a time of `time.monotonic`."""
        with self._condition:
            while True:
                now = time.monotonic()
                due = self._settle.due(now)
                if due or self._asking or self._doubt or self._closed or now >= until:
                    news = News(due, self._asking, self._doubt, self._events)
                    self._asking, self._doubt, self._events = [], False, False
                    return news
                wakes = self._settle.wakes_at()
                self._sleeps_until = until if wakes is None else min(until, wakes)
                self._condition.wait(max(0.0, self._sleeps_until - now))
                self._sleeps_until = float("-inf")

    def _nudge(self) -> None:
        """Wakes the thread only if it would sleep too long: not for each event of a storm."""
        if self._sleeps_until > float("-inf"):
            wakes = self._settle.wakes_at()
            if wakes is not None and wakes < self._sleeps_until:
                self._condition.notify()
