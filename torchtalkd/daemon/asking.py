"""One question in a thread, and what its answer must say of the tree before it leaves.

Invariant: no answer cites a line of an older text. The files that it cites are looked at (a stat
each) after it was made; which of them have moved on is told with it. The tests are in
`tests/test_daemon.py` and `tests/test_freshness.py`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, cast

from torchtalkd import vcs
from torchtalkd.daemon.views import Views
from torchtalkd.index import moved_on
from torchtalkd.queries.answers import Answer, Standalone, Standing, StatusAnswer
from torchtalkd.queries.cited import cited
from torchtalkd.store.view import View

T = TypeVar("T")


class Part(NamedTuple):
    """One root of a question."""

    views: Views
    root: Path


class Asked(NamedTuple, Generic[T]):
    """An answer with what the disk says of it, root by root; the asked one is the first."""

    answer: T
    moved: tuple[frozenset[str], ...]
    """Files that it cites and that are not as they were when they were read."""
    heads: tuple[vcs.Head, ...]
    """Where the trees are now."""


class Stopped(Exception):
    """A question was called off before it began."""


class Asking:
    """One question in a thread, which another one may stop."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._lent: list[tuple[Views, int, View]] = []
        self._stopped = threading.Event()

    def run(self, question: Callable[[Sequence[View]], T]) -> Asked[T]:
        """Asks with a view of each root, lent for it."""
        if self._stopped.is_set():
            raise Stopped
        lent = self._lent
        try:
            for part in self._parts:
                lent.append((part.views, *part.views.take()))
            answer = question([view for _, _, view in lent])
            cited_files = cited(answer)
            moved = []
            for number, ((_, _, view), part) in enumerate(zip(lent, self._parts, strict=True)):
                # The asked root's files are cited without their root.
                paths = cited_files.get("" if not number else str(part.root), set())
                moved.append(frozenset(moved_on(view, paths, part.root)))
            found = Asked(answer, tuple(moved), tuple(vcs.head(part.root) for part in self._parts))
        except BaseException:
            for _, _, view in lent:
                view.close()
            raise
        finally:
            self._lent = []
        for views, age, view in lent:
            if self._stopped.is_set():
                view.close()
            else:
                views.give(age, view)
        return found

    def stop(self) -> None:
        """Ends the question as soon as it reads the next row."""
        self._stopped.set()
        for _, _, view in self._lent:
            view.interrupt()


class Now(NamedTuple):
    """What is known of a root when an answer leaves."""

    waiting: int
    """Files that are not in the answer as they are."""
    head: vcs.Head


def standing_as(value: T, asked: Now, others: Mapping[str, Now]) -> T:
    """The answer (or a tuple with one) with how many files of each root wait, and where the trees are."""
    if isinstance(value, Standalone):
        # Each of them is a dataclass, which its common class does not say.
        return cast(T, replace(cast(Any, value), standing=_as(value.standing, asked)))
    if isinstance(value, Answer | StatusAnswer):
        found = replace(value, standing=_as(value.standing, asked))
        if isinstance(found, Answer) and found.others:
            told = tuple(
                replace(other, standing=_as(other.standing, others[other.root])) for other in found.others
            )
            found = replace(found, others=told)
        return cast(T, found)
    if isinstance(value, tuple) and type(value) is tuple:
        return cast(T, tuple(standing_as(part, asked, others) for part in value))
    return value


def _as(standing: Standing, now: Now) -> Standing:
    return replace(
        standing,
        commit=now.head.commit,
        branch=now.head.branch,
        waiting=max(now.waiting, standing.waiting),
    )
