"""When is a batch of changes handed on, and when has one who asked heard all?

A pure state machine: what happened goes in with its time, in seconds of one clock; what is due and
when to look again comes out. It waits for quiet, holds a checkout of git together while `index.lock`
is there, and answers cookies: files whose own event says that all events before it have come.
The tests are in `tests/test_settle.py`.

Order: no change that was told before a cookie was seen is handed on after that cookie's `done`.
Patience: no change waits longer than `hold`, whatever git or a stream of changes does.
No hanging: each cookie is answered, at the latest `give_up` plus `hold` after it was asked for.
Bounded: at most `most` paths wait.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from torchtalkd.changes import ChangeBatch, Why

Done = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Timing:
    """How patient it is, in seconds."""

    quiet: float = 0.02
    """Without events, until a batch is whole."""
    longest: float = 0.5
    """A change waits in a stream of changes that does not become quiet."""
    hold: float = 2.0
    """A change waits while git holds `index.lock`; a lock that is older is taken for forgotten."""
    give_up: float = 1.0
    """For the event of a cookie."""
    most: int = 20_000
    """Paths that wait, before they become a sweep of the whole tree."""


DEFAULT: Final = Timing()


@dataclass(slots=True)
class _Pending:
    """The batch that is being gathered."""

    first: float
    last: float
    paths: set[str] = field(default_factory=set)
    sweep: set[Why] = field(default_factory=set)
    collapsed: bool = False


class Settle:
    """Batches that are gathered and cookies that are awaited. Times never go backwards."""

    def __init__(self, timing: Timing = DEFAULT) -> None:
        self._timing = timing
        self._pending: _Pending | None = None
        self._locked_since: float | None = None
        self._released = float("-inf")
        self._cookies: dict[str, tuple[float, list[Done]]] = {}
        """Awaited, in the order in which they were asked for and written."""
        self._answered: list[Done] = []
        """Their cookie was seen: to be called as soon as what is pending is handed on."""

    # -- what happened

    def changed(self, now: float, path: str) -> None:
        """A file or folder may have changed."""
        pending = self._touch(now)
        if not pending.collapsed:
            pending.paths.add(path)
            if len(pending.paths) > self._timing.most:
                self._collapse(pending, "overflow")

    def sweep(self, now: float, why: Why) -> None:
        """The whole tree must be swept."""
        self._touch(now).sweep.add(why)

    def lost(self, now: float, why: Why = "overflow") -> None:
        """Events were lost, and perhaps those of the cookies: all are answered after a sweep."""
        self._collapse(self._touch(now), why)
        for name in list(self._cookies):
            self._answered += self._cookies.pop(name)[1]

    def locked(self, now: float, held: bool) -> None:
        """Git took `index.lock`, or gave it back."""
        if held:
            if self._locked_since is None:
                self._locked_since = now
        elif self._locked_since is not None:
            self._locked_since = None
            self._released = now
            if self._pending is not None:
                self._pending.last = now

    def asked(self, now: float, cookie: str, done: list[Done]) -> None:
        """A cookie is about to be written for those who asked."""
        self._cookies[cookie] = (now, done)

    def seen(self, cookie: str) -> None:
        """A cookie's event came; those that were written before it are answered with it."""
        if cookie in self._cookies:
            for name in list(self._cookies):
                self._answered += self._cookies.pop(name)[1]
                if name == cookie:
                    break

    def after_next(self, done: list[Done]) -> None:
        """Somebody asked whom the batch that is pending will have told all."""
        self._answered += done

    # -- what is due

    def due(self, now: float) -> list[ChangeBatch | Done]:
        """What is to be handed on now, in this order; it is forgotten here."""
        if any(now >= asked + self._timing.give_up for asked, _ in self._cookies.values()):
            self.lost(now)
        found: list[ChangeBatch | Done] = []
        pending = self._pending
        if pending is not None and now >= self._ripe(pending):
            self._pending = None
            found.append(ChangeBatch(frozenset(pending.paths), frozenset(pending.sweep)))
        if self._pending is None:
            found += self._answered
            self._answered = []
        return found

    def wakes_at(self) -> float | None:
        """When something will be due if nothing happens until then; None: never."""
        times = [asked + self._timing.give_up for asked, _ in self._cookies.values()]
        if self._pending is not None:
            times.append(self._ripe(self._pending))
        elif self._answered:
            times.append(float("-inf"))
        return min(times, default=None)

    # -- inside

    def _touch(self, now: float) -> _Pending:
        if self._pending is None:
            self._pending = _Pending(now, now)
        self._pending.last = now
        return self._pending

    def _collapse(self, pending: _Pending, why: Why) -> None:
        pending.paths.clear()
        pending.collapsed = True
        pending.sweep.add(why)

    def _ripe(self, pending: _Pending) -> float:
        """When the batch is handed on."""
        timing = self._timing
        at = float("-inf")
        if not self._answered:
            streaming = max(pending.first, self._released) + timing.longest
            at = min(pending.last + timing.quiet, streaming, pending.first + timing.hold)
        if self._locked_since is not None:
            # Of the older of the two: neither a lock that nobody gives back nor one that is taken
            # again and again holds a change for more than `hold`.
            at = max(at, min(pending.first, self._locked_since) + timing.hold)
        return at
