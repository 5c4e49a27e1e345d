"""One tree: its index is brought up to date when somebody asks, and questions are answered from it.

Until something watches the tree, a *sweep* (an incremental build) looks for what has changed: when
the tree is opened, and when a question comes and the last sweep is some time ago. A question waits
for it a moment only; then it is answered from what is there, and the answer says that something is
waiting. An answer that cites a file which has changed since is made again once that was read.
The tests are in `tests/test_daemon.py`.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from torchtalkd.daemon.keepers import BuildFailed, Keepers
from torchtalkd.daemon.views import Views
from torchtalkd.engine.engine import BuildResult
from torchtalkd.frontends.host import NotReady, RootState
from torchtalkd.index import is_damaged
from torchtalkd.queries.answers import Answer
from torchtalkd.roots import Root
from torchtalkd.store.errors import NoIndex, StoreError
from torchtalkd.store.view import View

T = TypeVar("T")

FRESH_SECONDS: Final = 1.0
"""A sweep younger than this is not repeated for a question, unless it is quick."""
QUICK_SECONDS: Final = 0.05
"""A tree whose sweep takes no longer is looked at for each question."""
PATIENCE: Final = 0.15
"""Seconds that a question waits for a sweep."""
REREAD_PATIENCE: Final = 2.0
"""Seconds that it waits where what it cites has changed."""
LANE_SECONDS: Final = 0.25
"""After which a question no longer waits for the one before it."""
_NOTES_KEPT: Final = 50
LOCKED_SECONDS: Final = 0.2
"""How often a first build by another process is looked at."""

Progress = Callable[[str, int, int], None]


class Tree:
    """A root with its index. Lives on the event loop; questions run in threads."""

    def __init__(self, root: Root, folder: Path, keepers: Keepers, threads: ThreadPoolExecutor) -> None:
        self.root = root
        self.folder = folder
        self.used = time.monotonic()
        self._keepers = keepers
        self._threads = threads
        self._views = Views(folder)
        self._lane = asyncio.Lock()
        self._sweep: asyncio.Task[BuildResult] | None = None
        self._begun = -1e9
        """When the last sweep that ended well began."""
        self._tried = -1e9
        self._took = 0.0
        self._progress = ("", 0, 0)
        self._listeners: list[Progress] = []
        self._revision = 0
        self._identity = 0
        self._error = ""
        self._error_kind = ""
        self._notes: tuple[str, ...] = ()
        self._said: deque[tuple[float, str]] = deque(maxlen=_NOTES_KEPT)

    # -- what it is

    def state(self) -> RootState:
        """How far the index is, at once."""
        _, done, total = self._progress
        reading = self._sweep is not None and self._progress[0] in ("read", "store")
        return RootState(
            root=str(self.root.path),
            harness=self.root.harness,
            revision=self._revision,
            indexing=self._sweep is not None and (reading or not self._revision),
            done=done if reading else 0,
            total=total if reading else 0,
            waiting=max(1, total - done) if reading else 0,
            error=self._error,
            note="; ".join(self._notes),
        )

    @property
    def busy(self) -> bool:
        """Whether a sweep or build runs."""
        return self._sweep is not None

    # -- questions

    async def ask(self, question: Callable[[View], T], patience: float = PATIENCE) -> T:
        """The answer of a question. Raises NotReady, and what the question raises.

        With more than the usual patience, that nothing was found is not said before a sweep that
        began after the question.
        """
        self.used = time.monotonic()
        asked = self.used
        late = not await self._fresh(asked, patience)
        if not self.has_index():
            raise NotReady(self._why_not_ready())
        answer, moved = await self._answered(question)
        missed = isinstance(answer, Answer) and not answer.found and not answer.error
        if moved or (missed and (late or patience > PATIENCE) and self._begun < asked):
            # Text of the tree that is older than what stands there must not leave as the answer.
            late = not await self._swept(REREAD_PATIENCE, since=asked)
            self._views.renew(carried=True)
            answer, moved = await self._answered(question)
        if (late or moved) and isinstance(answer, Answer):
            waiting = max(1, self.state().waiting, answer.standing.waiting)
            answer = replace(answer, standing=replace(answer.standing, waiting=waiting))
        self.used = time.monotonic()
        return answer

    async def refresh(self, *, workers: int | None = None, progress: Progress | None = None) -> BuildResult:
        """Brings the index up to date and waits for it. Raises BuildFailed."""
        if progress:
            self._listeners.append(progress)
        try:
            asked = time.monotonic()
            while True:
                result = await asyncio.shield(self._sweeping(workers))
                if self._begun >= asked:
                    return result
        finally:
            if progress:
                self._listeners.remove(progress)

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
        """Starts a sweep in the background."""
        self._sweeping()

    def rest(self) -> None:
        """Lets go of what only makes the next question quicker."""
        self._views.renew()

    async def _fresh(self, asked: float, patience: float) -> bool:
        """Whether the index is fresh enough for a question, after waiting for that a while."""
        if self._took < QUICK_SECONDS:
            return await self._swept(patience, since=asked)
        age = asked - self._begun
        if age <= FRESH_SECONDS:
            if age > FRESH_SECONDS / 2:
                # Where somebody asks all the time, nobody has to wait.
                self._sweeping()
            return True
        if self._error and self._sweep is None and asked - self._tried < FRESH_SECONDS:
            return False
        return await self._swept(patience)

    def notes_since(self, moment: float) -> list[str]:
        """What sweeps had to say that ended after a moment."""
        return list(dict.fromkeys(note for at, note in self._said if at >= moment))

    async def _swept(self, seconds: float, since: float | None = None) -> bool:
        """Waits for the running sweep, or a new one (one that began after `since`), up to a time;
        whether it ended well."""
        deadline = time.monotonic() + seconds
        while True:
            sweep = self._sweeping()
            done, _ = await asyncio.wait([sweep], timeout=max(0.0, deadline - time.monotonic()))
            if not done or sweep.cancelled() or sweep.exception() is not None:
                return False
            if since is None or self._begun >= since:
                return True

    def _sweeping(self, workers: int | None = None) -> asyncio.Task[BuildResult]:
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().create_task(self._build(workers))
            # Whoever waits hears of a failure; where nobody does, `state` says it.
            self._sweep.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._sweep

    async def _build(self, workers: int | None, *, verify: bool = False) -> BuildResult:
        begun = self._tried = time.monotonic()
        self._progress = ("sweep", 0, 0)
        try:
            built = await self._keepers.build(
                str(self.root.path),
                self.root.harness,
                str(self.folder),
                named=self.root.named,
                workers=workers,
                verify=verify,
                progress=self._heard,
            )
        except BuildFailed as error:
            self._error, self._error_kind = str(error), error.kind
            raise
        else:
            self._error = self._error_kind = ""
            self._begun, self._took = begun, built.swept
            self._notes = built.result.notes
            self._said.extend((time.monotonic(), note) for note in self._notes)
            self._known(built.result.revision)
            return built.result
        finally:
            self._sweep = None

    def _heard(self, phase: str, done: int, total: int) -> None:
        self._progress = (phase, done, total)
        for listener in self._listeners:
            listener(phase, done, total)

    def _known(self, revision: int) -> None:
        identity = self._views.identity()
        if (revision, identity) != (self._revision, self._identity):
            carried = identity == self._identity
            self._revision, self._identity = revision, identity
            self._views.renew(carried=carried)

    def has_index(self) -> bool:
        """Whether there is an index to ask; also one that was made before, or by another process."""
        if self._revision:
            return True
        if not self._views.identity():
            return False
        try:
            age, view = self._views.take()
        except StoreError:
            # Damaged, or of another version: the sweep sets it aside.
            return False
        self._revision, self._identity = view.revision, self._views.identity()
        self._views.give(age, view)
        return True

    def _why_not_ready(self) -> str:
        if self._error and self._error_kind != "Locked":
            return self._error
        phase, done, total = self._progress
        far = (
            f"{100 * done // total} % of {total} files" if phase != "sweep" and total else "listing its files"
        )
        return f"{self.root.path} is being indexed for the first time ({far}); ask again in a moment"

    # -- in a thread

    async def _answered(self, question: Callable[[View], T]) -> tuple[T, bool]:
        """The answer, and whether a file that it cites has changed since it was read."""
        if self._views.identity() != self._identity:
            # Forgotten, or made anew by another process.
            self._views.renew()
            self._identity = self._views.identity()
        try:
            return await self._in_thread(question)
        except Exception as error:
            if not (is_damaged(error) or isinstance(error, NoIndex)):
                raise
        while self._sweep is not None:
            await asyncio.wait([self._sweep])
        self._views.renew()
        self._sweep = asyncio.get_running_loop().create_task(self._build(None, verify=True))
        try:
            await asyncio.shield(self._sweep)
        except BuildFailed as error:
            raise NotReady(str(error)) from error
        return await self._in_thread(question)

    async def _in_thread(self, question: Callable[[View], T]) -> tuple[T, bool]:
        in_lane = await self._lane_taken()
        asking = _Asking(self._views, self.root.path)
        running = asyncio.get_running_loop().run_in_executor(self._threads, asking.run, question)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            asking.stop()
            running.add_done_callback(lambda future: future.cancelled() or future.exception())
            raise
        finally:
            if in_lane:
                self._lane.release()

    async def _lane_taken(self) -> bool:
        """Waits for the question before, unless that one takes long: one after the other they share
        what a view has read, side by side each would read it for itself, and no sooner."""
        try:
            async with asyncio.timeout(LANE_SECONDS):
                return await self._lane.acquire()
        except TimeoutError:
            return False


class Stopped(Exception):
    """A question was called off before it began."""


class _Asking:
    """One question in a thread, which another one may stop."""

    def __init__(self, views: Views, root: Path) -> None:
        self._views = views
        self._root = root
        self._view: View | None = None
        self._stopped = threading.Event()

    def run(self, question: Callable[[View], T]) -> tuple[T, bool]:
        """Asks with a view lent for it."""
        if self._stopped.is_set():
            raise Stopped
        age, self._view = self._views.take()
        view = self._view
        try:
            answer = question(view)
            moved = isinstance(answer, Answer) and _moved(view, answer, self._root)
        except BaseException:
            view.close()
            raise
        finally:
            self._view = None
        if self._stopped.is_set():
            view.close()
        else:
            self._views.give(age, view)
        return answer, moved

    def stop(self) -> None:
        """Ends the question as soon as it reads the next row."""
        self._stopped.set()
        view = self._view
        if view is not None:
            view.interrupt()


def _moved(view: View, answer: Answer, root: Path) -> bool:
    """Whether a file that an answer cites is not as the index knows it."""
    cited: dict[str, Any] = {}
    for item in answer.items:
        cited[item.file] = cited[item.declared_file] = None
    cited.pop("", None)
    for path in cited:
        if path.startswith("/") or ".." in path.split("/"):
            # No sweep writes such a row: whoever did must not choose what is looked at.
            continue
        known = view.file(path)
        try:
            found = os.stat(root / path)
        except OSError:
            return True
        if known and (known.size, known.mtime_ns, known.inode) != (
            found.st_size,
            found.st_mtime_ns,
            found.st_ino,
        ):
            return True
    return False
