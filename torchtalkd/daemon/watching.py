"""The watch of one tree, from the event loop's side: what it hears comes there, in order.

It is opened in a thread, as is all that touches the tree's disk, and opened anew when the
conventions change, which say what is ignored. Without a watch the tree is not less true, only
slower: whoever asks has it swept. The tests are in `tests/test_freshness.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from torchtalkd import vcs
from torchtalkd.changes import ChangeBatch, WatchState
from torchtalkd.conventions import ManifestError, conventions_of, known, load
from torchtalkd.conventions.files import ignored
from torchtalkd.daemon.log import log
from torchtalkd.roots import Root
from torchtalkd.watch import Watch, watch

THREADS: Final = 4
"""For all trees of a daemon: opening a watch, and its cookies."""
_FALLBACK: Final = "torch-extension"
"""What says which files to pass over in a tree whose own manifest is wrong."""


class Watching:
    """The watch of a tree."""

    def __init__(
        self, root: Root, threads: ThreadPoolExecutor, heard: Callable[[ChangeBatch], object]
    ) -> None:
        self._root = root
        self._threads = threads
        self._heard = heard
        self._watch: Watch | None = None
        self._fingerprint = ""
        self._opening: asyncio.Task[None] | None = None
        self._cookie: asyncio.Future[bool] | None = None
        """Not written yet: questions that come before it is share it."""
        self._asked: set[asyncio.Future[bool]] = set()
        """Written or not, without an answer."""
        self._age = 0
        """Counts the watches; what an older one says comes too late."""
        self._note = ""
        self._wanted = False

    def open(self) -> None:
        """Begins to watch, if that was not begun. The first batch asks for a sweep."""
        self._wanted = True
        if self._watch is None and self._opening is None:
            self._opening = asyncio.get_running_loop().create_task(self._open())

    async def conform(self, fingerprint: str) -> None:
        """Watches by the conventions that the tree was last read with: what they ignore is not heard."""
        if self._watch is not None and self._fingerprint not in ("", fingerprint):
            self.close()
            self.open()

    def state(self) -> WatchState:
        """How the tree is watched now."""
        if self._watch is None:
            return WatchState("none", self._note or "the tree is not watched yet")
        return self._watch.state()

    def swept(self, seconds: float) -> None:
        """Says how long the last sweep took."""
        if self._watch is not None:
            self._watch.swept(seconds)

    async def settled(self) -> bool:
        """Waits until all that was changed in the tree before this call has been heard. False where that
        cannot be promised."""
        while self._opening is not None:
            await asyncio.shield(self._opening)
        if self._watch is None:
            return False
        if self._cookie is None:
            self._cookie = asyncio.get_running_loop().create_future()
            self._asked.add(self._cookie)
            self._cookie.add_done_callback(self._asked.discard)
            asyncio.get_running_loop().create_task(self._ask(self._watch, self._cookie))
        return await asyncio.shield(self._cookie)

    def close(self) -> None:
        """Ends the watch. It can be opened again."""
        self._wanted = False
        self._age += 1
        if self._watch is not None:
            self._threads.submit(self._watch.close)
            self._watch = None
        # A watch that ends answers nobody any more.
        for cookie in list(self._asked):
            _tell(cookie, False)
        self._asked.clear()
        self._cookie = None

    async def _ask(self, watching: Watch, cookie: asyncio.Future[bool]) -> None:
        loop = asyncio.get_running_loop()

        def done() -> None:
            _call(loop, _tell, cookie, True)

        def written() -> bool:
            # From here on what changes may come after the cookie: who asks now has another.
            _call(loop, self._forget, cookie)
            return watching.settled(done)

        try:
            promised = await loop.run_in_executor(self._threads, written)
        except Exception:  # noqa: BLE001 - a watch that fails is a tree that is swept
            log.exception("a watch failed")
            promised = False
        if not promised:
            self._forget(cookie)
            _tell(cookie, False)

    def _forget(self, cookie: asyncio.Future[bool]) -> None:
        if self._cookie is cookie:
            self._cookie = None

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        self._age += 1
        age = self._age

        def heard(batch: ChangeBatch) -> None:
            _call(loop, self._pass_on, age, batch)

        def opened() -> tuple[Watch, str]:
            root = self._root.path
            try:
                conventions = conventions_of(root, self._root.harness, named=self._root.named)
            except ManifestError:
                # It says what is wrong when the tree is read; until then what is packaged is ignored.
                conventions = load(self._root.harness if self._root.harness in known() else _FALLBACK)
            folders = vcs.git_folders(root)
            files = conventions.files
            begun = watch(root, ignored=lambda path: ignored(files, path), git_folders=folders, heard=heard)
            return begun, conventions.fingerprint

        opening = self._threads.submit(opened)
        try:
            opened_watch, fingerprint = await asyncio.wrap_future(opening)
        except asyncio.CancelledError:
            # The loop ends while a thread is at it: nobody takes what it opens.
            self._wanted = False
            opening.add_done_callback(_unwanted)
            raise
        except Exception as error:  # noqa: BLE001 - a tree that cannot be watched is swept
            log.exception("a tree cannot be watched")
            self._note = f"it cannot be watched ({error}); it is looked through for each question"
            self._heard(ChangeBatch(sweep=frozenset({"start"})))
        else:
            if age == self._age:
                self._watch, self._fingerprint = opened_watch, fingerprint
            else:
                self._threads.submit(opened_watch.close)
        finally:
            self._opening = None
            if self._wanted and age != self._age:
                # Closed and opened again meanwhile.
                self.open()

    def _pass_on(self, age: int, batch: ChangeBatch) -> None:
        if age == self._age:
            self._heard(batch)


def _unwanted(opening: Future[tuple[Watch, str]]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        opening.result()[0].close()


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: object) -> None:
    """Runs a function on the loop, from a thread."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        # The daemon has ended meanwhile: nobody is left to hear it.
        if not loop.is_closed():
            raise


def _tell(cookie: asyncio.Future[bool], heard: bool) -> None:
    if not cookie.done():
        cookie.set_result(heard)
