"""Keeps the index of one tree up with it: what the watch hears is read, batch by batch.

A *batch* says what may have changed. Batches that come while one is worked off are merged. What
must be in the index before an answer is certain has a number, that of the last batch heard; a
question waits until the index is that far. A batch that failed is put back: nothing is lost while
a disk is full or a tree is away. The tests are in `tests/test_freshness.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Final

from torchtalkd.changes import NOTHING, ChangeBatch, WatchState
from torchtalkd.daemon.keepers import DIED, STOPPED, BuildFailed, Built, Keepers, Wish
from torchtalkd.daemon.log import log
from torchtalkd.daemon.second_look import SecondLook
from torchtalkd.daemon.watching import Watching
from torchtalkd.engine.engine import BuildResult
from torchtalkd.roots import Root
from torchtalkd.store.database import log_size
from torchtalkd.store.errors import Locked

MOST_PATHS: Final = 20_000
"""Paths that wait at the same time; of more the tree is swept, which also bounds the memory."""
RETRY_SECONDS: Final = (0.0, 1.0, 2.0, 5.0, 15.0, 30.0)
"""After which a batch that failed is tried again; a question also tries again."""
LOCKED_SECONDS: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""The same while another process writes the index, which may be done in milliseconds …"""
LONG_SECONDS: Final = 1.0
"""… and is a large build where it takes longer than this."""
QUICK_SECONDS: Final = 0.05
"""What fails so quickly may be tried for each question."""
LOG_BYTES: Final = 8 << 20
"""Of the database's -wal: a larger one is put into the database when there is time …"""
LOG_BYTES_AT_ONCE: Final = 64 << 20
"""… and one of this size even when there is none."""
MOST_SWEEP_SECONDS: Final = 1.0
START_SECONDS: Final = 5.0
"""For a watch to begin; then the tree is looked at without it."""
_START: Final = ChangeBatch(sweep=frozenset({"start"}))
_NOTES_KEPT: Final = 50

Progress = Callable[[str, int, int], None]


class Freshness:
    """How far the index of a tree is, and what brings it on. Lives on the event loop."""

    def __init__(
        self,
        root: Root,
        folder: Path,
        keepers: Keepers,
        threads: ThreadPoolExecutor,
        built: Callable[[Built], None],
        at_rest: Callable[[], None],
    ) -> None:
        """`built` hears of each batch that was worked off, `at_rest` when views should begin anew because
        what they hold up has been put into the database."""
        self.revision = 0
        """Of the last batch that was worked off here; 0 before the first."""
        self.error = ""
        self.error_kind = ""
        self.notes: tuple[str, ...] = ()
        """Of the last look at the whole tree, and what has come since."""
        self.progress = ("", 0, 0)
        self.listeners: list[Progress] = []
        self._root, self._folder, self._keepers = root, folder, keepers
        self._built, self._at_rest = built, at_rest
        self._watching = Watching(root, threads, self.heard)
        self._queue = NOTHING
        self._current = NOTHING
        self._heard = 0
        """Number of the last batch that an answer must have in it."""
        self._done = 0
        """Number of the last such batch that is in the index."""
        self._running: asyncio.Task[None] | None = None
        self._step: asyncio.Future[None] | None = None
        self._failures = 0
        self._failing_since = 0.0
        self._log_left = 0
        """Bytes of the -wal that could not be put away the last time: not tried again at once."""
        self._failure: BuildFailed | None = None
        self._tried = -1e9
        self._took = 0.0
        self._swept = 0.0
        """Seconds that the last look at the whole tree took."""
        self._timer: asyncio.TimerHandle | None = None
        self._starting = 0
        """Number of the watch's first batch, until it is heard; 0 when it was."""
        self._start_timer: asyncio.TimerHandle | None = None
        self._second_look = SecondLook(self._look_again)
        self._wish = Wish()
        self._result: BuildResult | None = None
        self._said: deque[tuple[float, str]] = deque(maxlen=_NOTES_KEPT)
        self._closed = True

    # -- what it is

    @property
    def busy(self) -> bool:
        """Whether the tree is looked at, or read, just now."""
        return self._running is not None

    @property
    def tried(self) -> float:
        """When something was read last, or was to be, on the monotonic clock."""
        return self._tried

    @property
    def closed(self) -> bool:
        """Whether nothing is heard of the tree."""
        return self._closed

    @property
    def waiting(self) -> int:
        """How many files are known to wait, or at least 1 where only a sweep will tell; 0 for none."""
        if self._done >= self._heard and self._failure is None:
            return 0
        phase, done, total = self.progress
        current = max(0, total - done) if phase == "read" else len(self._current.paths)
        return max(1, len(self._queue.paths) + current)

    def watched(self) -> WatchState:
        """How the tree is watched."""
        return self._watching.state()

    def notes_since(self, moment: float) -> list[str]:
        """What was said of batches that were worked off after a moment."""
        return list(dict.fromkeys(note for at, note in self._said if at >= moment))

    # -- what moves it

    def open(self) -> None:
        """Begins to watch the tree; the first look at it follows."""
        self._closed = False
        # What will be heard first counts from here on: who asks meanwhile need not ask for it as well.
        self._heard += 1
        self._starting = self._heard
        self._watching.open()
        loop = asyncio.get_running_loop()
        # A keeper starts while the watches are placed.
        readied = loop.create_task(self._keepers.ready())
        readied.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._start_timer = loop.call_later(START_SECONDS, self.heard, _START)

    def close(self) -> None:
        """Ends the watch. What waits is forgotten: a later `open` begins with a sweep."""
        self._closed = True
        self._watching.close()
        self._second_look.close()
        for timer in (self._timer, self._start_timer):
            if timer is not None:
                timer.cancel()
        self._timer = self._start_timer = None
        self._starting = 0

    def heard(self, batch: ChangeBatch, *, binding: bool = True) -> int:
        """Takes in a batch; the number that the index must come to for it.

        A sweep that is made now and then is not `binding`: nothing says that it will find anything,
        so no answer waits for it.
        """
        if batch.sweep <= {"often"} and not batch.paths:
            binding = False
        if self._starting and "start" in batch.sweep:
            self._starting = 0
            if self._start_timer is not None:
                self._start_timer.cancel()
                self._start_timer = None
        else:
            self._heard += binding
        merged = self._queue | batch
        if len(merged.paths) > MOST_PATHS:
            merged = ChangeBatch(sweep=merged.sweep | {"overflow"})
        self._queue = merged
        self._go()
        return self._heard

    async def settled(self, deadline: float) -> bool:
        """Whether everything that was on the disk at this call is in the index, after waiting for that
        until a moment of the monotonic clock."""
        try:
            async with asyncio.timeout_at(_on_loop(deadline)):
                if await self._watching.settled():
                    return await self._reached(self._heard)
        except TimeoutError:
            return False
        # A sweep that takes a little longer than anyone meant to wait is still better than no certainty.
        longer = time.monotonic() + min(MOST_SWEEP_SECONDS, 2 * self._swept)
        return await self._by(self.heard(ChangeBatch(sweep=frozenset({"asked"}))), max(deadline, longer))

    async def reread(self, paths: set[str], deadline: float) -> bool:
        """Has some files looked at; whether that was done before a moment of the monotonic clock."""
        return await self._by(self.heard(ChangeBatch(frozenset(paths))), deadline)

    async def _by(self, upto: int, deadline: float) -> bool:
        try:
            async with asyncio.timeout_at(_on_loop(deadline)):
                return await self._reached(upto)
        except TimeoutError:
            return False

    async def sweep(
        self,
        *,
        workers: int | None = None,
        verify: bool = False,
        progress: Progress | None = None,
        again: Collection[str] = (),
    ) -> BuildResult:
        """Looks at the whole tree (see `Wish`) and waits for that. Raises BuildFailed."""
        if progress:
            self.listeners.append(progress)
        try:
            self._wish |= Wish(workers, verify, frozenset(again))
            asked = self._starting or self.heard(ChangeBatch(sweep=frozenset({"asked"})))
            if not await self._reached(asked, patient=False):
                raise self._failure or BuildFailed(STOPPED, "the daemon ends")
            assert self._result is not None
            return self._result
        finally:
            if progress:
                self.listeners.remove(progress)

    def _is_locked(self, *, for_long: bool) -> bool:
        """Whether another process writes the index, and it is tried again in a moment."""
        if self._timer is None or self.error_kind != Locked.__name__:
            return False
        return for_long or time.monotonic() - self._failing_since < LONG_SECONDS

    async def _reached(self, upto: int, *, patient: bool = True) -> bool:
        """Waits until the index has the batch of a number; False when that fails. While another process
        writes the index who is `patient` waits on, anybody else a moment only."""
        self._go(asked=True)
        while self._done < upto:
            if self._running is None and not self._starting and not self._is_locked(for_long=patient):
                return False
            if self._step is None:
                self._step = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._step)
        return True

    # -- the work

    def _go(self, *, asked: bool = False) -> None:
        if self._running is not None or not self._queue:
            return
        if self._failure is not None and not (asked and self._may_retry()):
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._running = asyncio.get_running_loop().create_task(self._work())
        self._running.add_done_callback(lambda task: task.cancelled() or task.exception())

    def _may_retry(self) -> bool:
        return self._took < QUICK_SECONDS or time.monotonic() - self._tried > RETRY_SECONDS[1]

    async def _work(self) -> None:
        """Works off what waits, and what comes meanwhile."""
        try:
            while self._queue and not self._keepers.closed:
                upto = self._starting - 1 if self._starting else self._heard
                batch, self._queue = self._queue, NOTHING
                self._current = batch
                self._tried = time.monotonic()
                try:
                    built = await self._once(batch)
                except BaseException as error:
                    # Nothing that was heard is lost, whatever went wrong.
                    self._queue = batch | self._queue
                    self._took = time.monotonic() - self._tried
                    if not isinstance(error, BuildFailed):
                        raise
                    self._failed(error)
                    if self._failures > 1 or error.kind != DIED:
                        return
                    continue
                self._failure, self._failures = None, 0
                self.error = self.error_kind = ""
                self._done = max(self._done, upto)
                self._worked_off(batch, built)
                if log_size(self._folder) > max(LOG_BYTES_AT_ONCE, 2 * self._log_left):
                    # Before those go on who wait for the batch: with their views it could not be done.
                    await self._shorten()
                self._stepped()
                await self._watching.conform(built.fingerprint)
        finally:
            self._running = None
            self._current = NOTHING
            self._stepped()

    async def _once(self, batch: ChangeBatch) -> Built:
        wish, self._wish = self._wish, Wish()
        whole = bool(batch.sweep or wish.verify or wish.again) or not self.revision
        self.progress = ("sweep", 0, 0)
        try:
            return await self._keepers.build(
                str(self._root.path),
                self._root.harness,
                str(self._folder),
                named=self._root.named,
                paths=None if whole else batch.paths,
                since=self.revision,
                wish=wish,
                progress=self._moved_on,
            )
        except BuildFailed:
            self._wish |= wish
            raise
        finally:
            self.progress = ("", 0, 0)

    def _worked_off(self, batch: ChangeBatch, built: Built) -> None:
        result = self._result = built.result
        self.revision = result.revision
        if result.whole:
            self._swept = built.swept
            self._watching.swept(built.swept)
        self.notes = (
            result.notes if result.whole else tuple(dict.fromkeys((*self.notes, *result.notes)))[-20:]
        )
        self._said.extend((time.monotonic(), note) for note in result.notes)
        self._built(built)
        if not self._closed:
            self._second_look.after(batch, result)

    def _failed(self, error: BuildFailed) -> None:
        self._failure = error
        if not self._failures:
            self._failing_since = time.monotonic()
        self.error, self.error_kind = str(error), error.kind
        pauses = LOCKED_SECONDS if error.kind == Locked.__name__ else RETRY_SECONDS
        pause = pauses[min(self._failures, len(pauses) - 1)]
        self._failures += 1
        if error.kind != STOPPED and not self._closed:
            if self._failures == 1:
                log.warning("a tree could not be read (%s); tried again", error.kind)
            self._timer = asyncio.get_running_loop().call_later(pause, self._retry)

    def _retry(self) -> None:
        self._timer = None
        self._took = 0.0
        self._go(asked=True)

    def _stepped(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.set_result(None)

    def _moved_on(self, phase: str, done: int, total: int) -> None:
        self.progress = (phase, done, total)
        for listener in self.listeners:
            listener(phase, done, total)

    # -- afterwards, while nobody waits

    def _look_again(self, batch: ChangeBatch) -> bool:
        if self._running is not None:
            return False
        if log_size(self._folder) > LOG_BYTES:
            self._running = asyncio.get_running_loop().create_task(self._tidied())
        self.heard(batch, binding=False)
        return True

    async def _tidied(self) -> None:
        try:
            await self._shorten()
        finally:
            self._running = None
            self._stepped()
            self._go()

    async def _shorten(self) -> None:
        # First the views go on to the newest revision, then, when all of it stands in the database, they
        # begin anew and hold up nothing any more. If it cannot be done now, it is tried later.
        loop = asyncio.get_running_loop()
        with suppress(BuildFailed):
            for _ in range(2):
                await loop.run_in_executor(None, self._at_rest)
                await self._keepers.checkpoint(str(self._folder))
        self._log_left = log_size(self._folder)


def _on_loop(moment: float) -> float:
    """A moment of the monotonic clock on the loop's."""
    return asyncio.get_running_loop().time() + moment - time.monotonic()
