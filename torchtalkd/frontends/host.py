"""What a front end may ask of the daemon that it runs in.

The front ends know these shapes only; the daemon provides them. Nothing here blocks the event
loop: a root is found and indexed in the background, and a question runs in a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from torchtalkd.queries.answers import Answer
from torchtalkd.queries.others import Others
from torchtalkd.store.view import View

T = TypeVar("T")


class NotReady(Exception):
    """There is no index to ask yet, or none can be had; `str()` is a whole sentence that says why."""


@dataclass(frozen=True, slots=True)
class Watched:
    """How changes of a tree are noticed."""

    how: str = "none"
    """native (by the system's events), partly (some folders only by looking), polling, none."""
    note: str = ""
    """A sentence for the user: why not all by the system's events, and what to do about it."""
    folders: int = 0
    """Folders under a watch of the system."""


@dataclass(frozen=True, slots=True)
class RootState:
    """How far the index of a root is."""

    root: str
    """The tree's folder, absolute; '' where none could be found (see `error`)."""
    harness: str
    revision: int
    """Of the index that questions are answered from; 0 where there is none yet."""
    indexing: bool
    """Whether the index is being brought up to date just now."""
    done: int
    """Files read of `total`, while it indexes; both 0 while that is not known."""
    total: int
    waiting: int
    """Files known to be not read yet; at least 1 where a sweep was not waited for."""
    error: str
    """Why the index cannot be brought up to date, a sentence; '' where it can."""
    note: str
    """What to tell the user once, a sentence; '' for nothing."""
    commit: str = ""
    """Where the tree was when it was last asked about or read; '' outside git."""
    branch: str = ""
    complete: bool = True
    """Whether all that should be read could be; if not, `note` says what was in the way."""
    watch: Watched = Watched()

    @property
    def percent(self) -> int:
        """How much of what is to be read is read; 100 where nothing is waiting."""
        return 100 * self.done // self.total if self.indexing and self.total else 0 if self.indexing else 100


class RootHandle(Protocol):
    """One root, as one client sees it."""

    def ask(self, question: Callable[[View], T], *, wait: bool = False) -> Awaitable[T]:
        """The answer of `question`, run in a thread with a View of the newest revision.

        Waits a moment for what has changed in the tree to be read, with `wait` up to two seconds;
        an answer says how many files wait, and where the tree is now. Cancelling it stops the
        question. Raises NotReady while there is no index at all, and what `question` raises.
        """
        ...

    def across(
        self, question: Callable[[View, Others], Answer], *, wait: bool = False, all_roots: bool = False
    ) -> Awaitable[Answer]:
        """As `ask`, for a question that may look into other roots: it is put again with those that it
        wants (`Answer.wants`), or with all that are related (`all_roots`). One that has no index yet is
        not waited for: the answer's notes say so."""
        ...

    def bases(self) -> Awaitable[Mapping[str, str]]:
        """The root of each framework that the tree depends on, where one is known. Raises NotReady."""
        ...

    def state(self) -> RootState:
        """How far the index is, at once."""
        ...


class Host(Protocol):
    """What holds the roots."""

    def root(self, source: str | None, harness: str | None) -> RootHandle:
        """The root that a client means, opened and indexed in the background. Returns at once;
        a wrong root shows as `state().error` and as NotReady."""
        ...
