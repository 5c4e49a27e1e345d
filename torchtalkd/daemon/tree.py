"""One tree: questions are answered from its index, once that is certain to be what the tree is.

What keeps the index up with the tree is `freshness`. A question waits for that a moment only; then it
is answered from the newest revision, and the answer says how many files are waiting. An answer that
cites a file which has changed since is made again once that was read.
The tests are in `tests/test_daemon.py` and `tests/test_freshness.py`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Final, TypeVar

from torchtalkd import vcs
from torchtalkd.daemon.asking import Asked, Asking, Now, Part, standing_as
from torchtalkd.daemon.exact import Exact
from torchtalkd.daemon.freshness import Freshness, Progress
from torchtalkd.daemon.keepers import BuildFailed, Built, Keepers
from torchtalkd.daemon.views import Views
from torchtalkd.daemon.warming import WANTED_SECONDS, Enough, Warming
from torchtalkd.engine import BuildResult, TreeError
from torchtalkd.frontends.host import NotReady, RootState, Watched
from torchtalkd.index import is_damaged
from torchtalkd.queries.cited import without
from torchtalkd.queries.warm import warm
from torchtalkd.roots import Root
from torchtalkd.store.errors import NoIndex, StoreError
from torchtalkd.store.view import View

T = TypeVar("T")

PATIENCE: Final = 0.15
"""Seconds that a question waits for what has changed."""
WAIT_SECONDS: Final = 2.0
"""Seconds that a question waits which asks to; after that it is said that the tree does not settle."""
REREAD_SECONDS: Final = 0.5
"""Seconds after which it is answered at the latest where what it cites has changed …"""
REREADS: Final = 3
"""… and how often it is asked again for that."""
LANE_SECONDS: Final = 0.25
"""After which a question no longer waits for the one before it."""
LOCKED_SECONDS: Final = 0.2
"""How often a first build by another process is looked at."""


class Tree:
    """A root with its index. Lives on the event loop; questions run in threads."""

    def __init__(
        self,
        root: Root,
        folder: Path,
        keepers: Keepers,
        threads: ThreadPoolExecutor,
        watchers: ThreadPoolExecutor,
        exact_turn: asyncio.Lock,
        heard: Callable[[], float],
    ) -> None:
        """Questions run in `threads`, what waits for the tree's disk otherwise in `watchers`; of all trees
        one is read exactly at a time, by `exact_turn`. `heard` is when a client was heard last."""
        self.root = root
        self.folder = folder
        self.used = time.monotonic()
        self.fresh = Freshness(root, folder, keepers, watchers, self._built, self._at_rest)
        self.exact = Exact(root, folder, exact_turn)
        self._threads = threads
        self._views = Views(folder)
        self._lane = asyncio.Lock()
        self._asking = 0
        """Questions that are answered, or wait for that."""
        self._warming = Warming(self._warmed, lambda: time.monotonic() if self._asking else heard())
        self._revision = 0
        self._identity = 0
        self._head = vcs.Head("", "")
        self._complete = True

    # -- what it is

    def state(self) -> RootState:
        """How far the index is, at once."""
        phase, done, total = self.fresh.progress
        reading = self.fresh.busy and phase in ("read", "store")
        watched = self.fresh.watched()
        return RootState(
            root=str(self.root.path),
            harness=self.root.harness,
            revision=self._revision,
            indexing=self.fresh.busy and (reading or not self._revision),
            done=done if reading else 0,
            total=total if reading else 0,
            waiting=self.fresh.waiting if self._revision else max(1, total - done) if reading else 0,
            error=self.fresh.error,
            note="; ".join(self.fresh.notes),
            commit=self._head.commit,
            branch=self._head.branch,
            complete=self._complete,
            watch=Watched(watched.how, watched.note, watched.folders),
        )

    @property
    def busy(self) -> bool:
        """Whether the tree is looked at, or read, just now."""
        return self.fresh.busy

    # -- questions

    async def ask(
        self, question: Callable[[View], T], patience: float = PATIENCE, *, wait: bool = False
    ) -> T:
        """The answer of a question. Raises NotReady, and what the question raises.

        It says how many files wait: 0 only where everything that was on the disk when the question came
        is in it. `wait` takes its time for that, up to WAIT_SECONDS.
        """
        return await self.ask_with((), lambda views: question(views[0]), patience, wait=wait)

    async def ask_with(
        self,
        others: Sequence[Tree],
        question: Callable[[Sequence[View]], T],
        patience: float = PATIENCE,
        *,
        wait: bool = False,
    ) -> T:
        """The answer of a question about this tree that looks into others, too: it gets a view of each,
        this one's first. The others have an index; each is waited for as this one is, at the same time."""
        trees = (self, *others)
        asked = time.monotonic()
        for tree in trees:
            tree.used = asked
            tree._asking += 1
            if tree.fresh.closed:
                tree.fresh.open()
        try:
            return await self._fresh_answer(trees, question, WAIT_SECONDS if wait else patience)
        finally:
            for tree in trees:
                tree._asking -= 1
                tree.warm()

    async def _fresh_answer(
        self, trees: Sequence[Tree], question: Callable[[Sequence[View]], T], patience: float
    ) -> T:
        asked = time.monotonic()
        settled = await asyncio.gather(*(tree.fresh.settled(asked + patience) for tree in trees))
        if not self.has_index():
            raise NotReady(self.why_not_ready())
        found = await self._answered(trees, question)
        for _ in range(REREADS):
            if not any(found.moved):
                break
            if await self._gone():
                raise NotReady(self._why_gone())
            # Text of a tree that is older than what stands there must not leave as the answer.
            late = asked + max(patience, REREAD_SECONDS)
            changed = [(tree, moved) for tree, moved in zip(trees, found.moved, strict=True) if moved]
            reread = await asyncio.gather(*(tree.fresh.reread(set(moved), late) for tree, moved in changed))
            for tree, _ in changed:
                tree._views.renew(carried=True)
            found = await self._answered(trees, question)
            if not all(reread):
                break
        if not settled[0] and await self._gone():
            raise NotReady(self._why_gone())
        now = {}
        for tree, certain, moved, head in zip(trees, settled, found.moved, found.heads, strict=True):
            tree._head = head
            tree.used = time.monotonic()
            waiting = 0 if certain else max(1, tree.fresh.waiting)
            now[str(tree.root.path)] = Now(max(waiting, len(moved)), head)
        moved_on = dict(zip(("", *list(now)[1:]), found.moved, strict=True))
        return standing_as(without(found.answer, moved_on), now[str(self.root.path)], now)

    async def refresh(
        self, *, workers: int | None = None, progress: Progress | None = None, again: Collection[str] = ()
    ) -> BuildResult:
        """Brings the index up to date with the whole tree, reads the files of `again` in any case, and waits
        for it. Raises BuildFailed."""
        built = await self.fresh.sweep(workers=workers, progress=progress, again=again)
        self.used = time.monotonic()
        self.warm()
        return built

    async def first(self, progress: Progress | None = None) -> None:
        """Waits until there is an index to ask. Raises BuildFailed."""
        while not self.has_index():
            try:
                await self.refresh(progress=progress)
            except BuildFailed as error:
                # Another process makes it, or this cache can only be read.
                if error.kind != "Locked":
                    raise
                await asyncio.sleep(LOCKED_SECONDS)

    def begin(self) -> None:
        """Begins to watch the tree, and to read it in the background."""
        self.fresh.open()

    def warm(self) -> None:
        """Somebody will ask: what the first questions derive is derived while nobody does."""
        self._warming.go()

    def rest(self) -> None:
        """Lets go of what only makes the next question quicker."""
        self._warming.stop()
        self._views.close()

    def close(self) -> None:
        """Ends the watch, and lets go of what the next question needs only to be quick. Who still asks is
        answered: that opens it again."""
        self.fresh.close()
        self.rest()
        resting = asyncio.get_running_loop().create_task(self.exact.rest())
        resting.add_done_callback(lambda task: task.cancelled() or task.exception())

    def notes_since(self, moment: float) -> list[str]:
        """What was said of batches that were worked off after a moment."""
        return self.fresh.notes_since(moment)

    def has_index(self) -> bool:
        """Whether there is an index to ask; also one that was made before, or by another process."""
        # Where there was one that is damaged, or gone, the question finds out and has it made anew.
        with suppress(StoreError):
            self._notice(self._views.newest())
        return bool(self._revision)

    # -- what becomes of the index

    def _built(self, built: Built) -> None:
        self._complete = built.result.complete
        self._notice(built.result.revision)
        self.exact.go()

    def _notice(self, revision: int) -> None:
        """Lets the next question see a new revision, or another index: the old one was forgotten, set
        aside, or made anew by another process."""
        identity = self._views.identity()
        if (revision, identity) != (self._revision, self._identity):
            carried = identity == self._identity
            self._revision, self._identity = revision, identity
            self._views.renew(carried=carried)
            if time.monotonic() - self.used < WANTED_SECONDS:
                self.warm()

    def _at_rest(self) -> None:
        self._views.rest()

    def why_not_ready(self) -> str:
        """Why there is no index to ask, a sentence."""
        if self.fresh.error and self.fresh.error_kind != "Locked":
            return self.fresh.error
        phase, done, total = self.fresh.progress
        far = (
            f"{100 * done // total} % of {total} files" if phase != "sweep" and total else "listing its files"
        )
        return f"{self.root.path} is being indexed for the first time ({far}); ask again in a moment"

    async def _gone(self) -> bool:
        """Whether there is no tree to compare an answer with."""
        if self.fresh.error_kind == TreeError.__name__:
            return True
        return not await asyncio.get_running_loop().run_in_executor(None, os.path.isdir, self.root.path)

    def _why_gone(self) -> str:
        return (
            f"the source tree {self.root.path} is not there (moved, deleted, or its disk is not mounted); its"
            f" index is kept at revision {self._revision}, and questions are answered again when it is back"
        )

    # -- in a thread

    async def _answered(self, trees: Sequence[Tree], question: Callable[[Sequence[View]], T]) -> Asked[T]:
        """The answer, and what the disk says of it; an index that is damaged is built anew."""
        try:
            return await self._in_thread(trees, question)
        except Exception as error:
            if not (is_damaged(error) or isinstance(error, NoIndex)):
                raise
        # Which of several indexes it was, the failure does not say.
        for tree in trees:
            tree._views.renew()
        try:
            await asyncio.gather(*(tree.fresh.sweep(verify=True) for tree in trees))
        except BuildFailed as error:
            raise NotReady(str(error)) from error
        return await self._in_thread(trees, question)

    async def _warmed(self, enough: Enough) -> bool:
        """Derives beforehand until it is enough; whether nothing is left."""
        if not self.has_index():
            return True

        def derive() -> bool:
            try:
                age, view = self._views.take()
            except StoreError:
                # It is gone: a question finds that out, and has it made anew.
                return True
            if view.meta("journal", "wal") != "wal":
                # No view is kept where it would hold up the writer.
                view.close()
                return True
            try:
                done = warm(view, enough)
            except Exception as error:
                view.close()
                if is_damaged(error):
                    return True
                raise
            self._views.give(age, view)
            return done

        async with self._lane:
            return await asyncio.get_running_loop().run_in_executor(self._threads, derive)

    async def _in_thread(self, trees: Sequence[Tree], question: Callable[[Sequence[View]], T]) -> Asked[T]:
        async with AsyncExitStack() as lanes:
            # In one order for all questions: two that are about the same two trees do not block each other.
            for tree in sorted(trees, key=lambda tree: tree.folder):
                if await tree._lane_taken():
                    lanes.callback(tree._lane.release)
            asking = Asking([Part(tree._views, tree.root.path) for tree in trees])
            running = asyncio.get_running_loop().run_in_executor(self._threads, asking.run, question)
            try:
                return await asyncio.shield(running)
            except asyncio.CancelledError:
                asking.stop()
                running.add_done_callback(lambda future: future.cancelled() or future.exception())
                raise

    async def _lane_taken(self) -> bool:
        """Waits for the question before, unless that one takes long: one after the other they share
        what a view has read, side by side each would read it for itself, and no sooner."""
        try:
            async with asyncio.timeout(LANE_SECONDS):
                return await self._lane.acquire()
        except TimeoutError:
            return False
