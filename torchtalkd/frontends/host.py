"""What a front end may ask of the daemon that it runs in.

The front ends know these shapes only; the daemon provides them. Nothing here blocks the event
loop: a root is found and indexed in the background, and a question runs in a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from torchtalkd.overlay import Overlay
from torchtalkd.queries.answers import Answer
from torchtalkd.queries.others import Others
from torchtalkd.spots import Spot
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

    def ask(
        self, question: Callable[[View], T], patience: float = ..., *, wait: bool = False
    ) -> Awaitable[T]:
        """The answer of `question`, run in a thread with a View of the newest revision.

        Waits a moment (`patience`, in seconds) for what has changed in the tree to be read, with `wait`
        up to two seconds; an answer says how many files wait, and where the tree is now. Cancelling
        it stops the question. Raises NotReady while there is no index at all, and what `question` raises.
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


class Draft(Protocol):
    """One state of an editor's text, read."""

    @property
    def data(self) -> bytes:
        """The text."""
        ...

    @property
    def overlay(self) -> Overlay:
        """What it says."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether all of it was read as it is now."""
        ...


class Reader(Protocol):
    """How texts are read that belong to a root, or that ask about it. Pure: opens no file."""

    def language(self, path: str) -> str:
        """What a file is read as, by its path from the root; '' for nothing."""
        ...

    def draft(self, path: str, data: bytes, former: Draft | None, *, whole: bool) -> Draft:
        """A text's draft; `former` is that of an earlier state. `whole` asks for all of it to be read."""
        ...

    def spot(self, path: str, data: bytes, line: int, column: int) -> Spot | None:
        """What stands at a place of a Python text (line from 1, column in bytes from 0)."""
        ...


class OpenRoot(NamedTuple):
    """A root that an editor works in, or asks about."""

    path: str
    """Its folder, absolute, symbolic links resolved."""
    handle: RootHandle
    reader: Reader


class Installed(NamedTuple):
    """The root that a file of an installed package is answered from."""

    root: OpenRoot
    note: str
    """What its user should know, a sentence: that the root is of another version. '' for nothing."""


class EditorHost(Protocol):
    """What an editor's server asks of the daemon: the roots of its folders."""

    def around(self, folder: str) -> Awaitable[OpenRoot]:
        """The root that a folder is in. Raises NotReady where it is in none."""
        ...

    def configured(self) -> Awaitable[OpenRoot]:
        """The root that is meant where no folder says: named on the command line, in the environment
        or in the configuration. Raises NotReady where none is."""
        ...

    def installed(self, folder: str, interpreter: str, roots: list[OpenRoot]) -> Awaitable[Installed]:
        """The root for texts in a folder of installed packages: that of the same version, of `roots` and of
        those in the configuration, else `configured`. Of the folder only what an `interpreter` that the
        user names has for its own is read; without one nothing is compared. Raises NotReady."""
        ...

    def has_open(self, paths: Mapping[str, Collection[str]]) -> None:
        """Says which files are open in the editor, all of them: root → paths from there. They are read
        exactly before others; with none the session is over."""
        ...

    @property
    def is_named(self) -> bool:
        """Whether the client named a root that all its folders shall be answered from."""
        ...
