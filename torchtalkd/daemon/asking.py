"""One question in a thread, and what its answer must say of the tree before it leaves.

Invariant: no answer cites a line of an older text. The files that it cites are looked at (a stat
each) after it was made; which of them have moved on is told with it. The tests are in
`tests/test_daemon.py` and `tests/test_freshness.py`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Generic, NamedTuple, TypeVar, cast

from torchtalkd import vcs
from torchtalkd.daemon.views import Views
from torchtalkd.engine.plan import REFUSED, UNREAD
from torchtalkd.queries.answers import Answer, Standalone, Standing, StatusAnswer
from torchtalkd.store.view import View

T = TypeVar("T")


class Asked(NamedTuple, Generic[T]):
    """An answer with what the disk says of it."""

    answer: T
    moved: frozenset[str]
    """Files that it cites and that are not as they were when they were read."""
    head: vcs.Head
    """Where the tree is now."""


class Stopped(Exception):
    """A question was called off before it began."""


class Asking:
    """One question in a thread, which another one may stop."""

    def __init__(self, views: Views, root: Path) -> None:
        self._views = views
        self._root = root
        self._view: View | None = None
        self._stopped = threading.Event()

    def run(self, question: Callable[[View], T]) -> Asked[T]:
        """Asks with a view lent for it."""
        if self._stopped.is_set():
            raise Stopped
        age, self._view = self._views.take()
        view = self._view
        try:
            answer = question(view)
            found = Asked(answer, frozenset(_moved(view, answer, self._root)), vcs.head(self._root))
        except BaseException:
            view.close()
            raise
        finally:
            self._view = None
        if self._stopped.is_set():
            view.close()
        else:
            self._views.give(age, view)
        return found

    def stop(self) -> None:
        """Ends the question as soon as it reads the next row."""
        self._stopped.set()
        view = self._view
        if view is not None:
            view.interrupt()


def standing_as(value: T, waiting: int, head: vcs.Head) -> T:
    """The answer (or a tuple with one) with how many files wait, and where the tree is now."""
    if isinstance(value, Answer | StatusAnswer | Standalone):
        standing: Standing = replace(
            value.standing,
            commit=head.commit,
            branch=head.branch,
            waiting=max(waiting, value.standing.waiting),
        )
        # Each of them is a dataclass, which its common class does not say.
        return cast(T, replace(cast(Any, value), standing=standing))
    if isinstance(value, tuple) and type(value) is tuple:
        return cast(T, tuple(standing_as(part, waiting, head) for part in value))
    return value


def without(value: T, moved: frozenset[str]) -> T:
    """The answer (or a tuple with one) without the places in some files: for those that change faster
    than they are read."""
    if isinstance(value, Answer):
        items = tuple(
            replace(item, declared_file="", declared_line=0) if item.declared_file in moved else item
            for item in value.items
            if item.file not in moved
        )
        return cast(
            T,
            replace(
                value,
                items=items,
                total=value.total - (len(value.items) - len(items)),
                standing=_known(value.standing, moved),
            ),
        )
    if isinstance(value, StatusAnswer):
        samples = tuple(sample for sample in value.problem_samples if sample[0] not in moved)
        return cast(T, replace(value, problem_samples=samples, standing=_known(value.standing, moved)))
    if isinstance(value, Standalone):
        left = cast(Any, value.without(moved))
        return cast(T, replace(left, standing=_known(left.standing, moved)))
    if isinstance(value, tuple) and type(value) is tuple:
        return cast(T, tuple(without(part, moved) for part in value))
    return value


def _known(standing: Standing, moved: frozenset[str]) -> Standing:
    return replace(standing, unread=tuple(said for said in standing.unread if _file_of(said) not in moved))


def _file_of(said: str) -> str:
    """The file of `file:line: why`."""
    return said.partition(":")[0]


def _cited(value: object) -> Iterator[str]:
    if isinstance(value, Answer):
        for item in value.items:
            yield item.file
            yield item.declared_file
        yield from map(_file_of, value.standing.unread)
    elif isinstance(value, StatusAnswer):
        yield from (sample[0] for sample in value.problem_samples)
        yield from map(_file_of, value.standing.unread)
    elif isinstance(value, Standalone):
        yield from value.cited
        yield from map(_file_of, value.standing.unread)
    elif isinstance(value, tuple):
        for part in value:
            yield from _cited(part)


_NO_FILE: Final = ""


def _moved(view: View, answer: Any, root: Path) -> Iterator[str]:
    """The files that an answer cites and that are not as the index knows them."""
    # No sweep writes a row that leads out: whoever did must not choose what is looked at.
    cited = {path for path in _cited(answer) if not (path.startswith("/") or ".." in path.split("/"))}
    cited.discard(_NO_FILE)
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
        if known != (found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns):
            yield path
