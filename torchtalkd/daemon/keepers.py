"""The daemon's side of its keepers: a build goes to an idle one, or to a new one.

One idle keeper is kept, so that a look at a tree need not wait for a process to start. The tests
are in `tests/test_daemon.py`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Final, NamedTuple

from torchtalkd.engine.engine import BuildResult
from torchtalkd.own_process import own_process

LARGE: Final = 1000
"""Files read in its life after which a keeper is replaced when there is time: it has grown."""
_LINE: Final = 1 << 24

DIED: Final = "KeeperDied"
STOPPED: Final = "Stopped"
"""Kinds of BuildFailed: the process ended by itself; it was ended because the daemon ends."""


class BuildFailed(Exception):
    """An index could not be brought up to date; `str()` is a sentence, `kind` the error's class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Built(NamedTuple):
    """What a keeper did."""

    result: BuildResult
    swept: float
    """Seconds that looking for changes took."""
    fingerprint: str
    """Of the conventions that the tree was read with."""


class Wish(NamedTuple):
    """What is asked of a look at a tree besides bringing its index up to date."""

    workers: int | None = None
    verify: bool = False
    """Whether the index may be damaged."""
    again: frozenset[str] = frozenset()
    """Files to be read whether they changed or not."""

    def __or__(self, other: Wish) -> Wish:
        return Wish(other.workers or self.workers, self.verify or other.verify, self.again | other.again)


NO_WISH: Final = Wish()


class _Keeper:
    """One process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.read = 0
        self._ending = False

    async def do(
        self, request: dict[str, Any], progress: Callable[[str, int, int], None] | None
    ) -> Built | None:
        """Sends one request and follows its reports. Raises BuildFailed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(ConnectionError):
            # If it has died, the end of its reports says so.
            self.process.stdin.write(json.dumps(request).encode("utf-8") + b"\n")
            await self.process.stdin.drain()
        while line := await self.process.stdout.readline():
            report = json.loads(line)
            if "progress" in report:
                if progress is not None:
                    progress(*report["progress"])
            elif "failed" in report:
                raise BuildFailed(report["failed"], report["message"])
            elif report["built"] is None:
                return None
            else:
                built = report["built"]
                built["notes"] = tuple(built["notes"])
                if built["whole"]:
                    self.read += built["parsed"]
                return Built(BuildResult(**built), float(report["swept"]), report["fingerprint"])
        code = await self.process.wait()
        kind = STOPPED if self._ending else DIED
        raise BuildFailed(kind, f"the process that reads the tree ended (exit code {code})")

    async def end(self) -> None:
        """Ends the process, also in the midst of a build."""
        self._ending = True
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()


class Keepers:
    """All keepers of a daemon."""

    def __init__(self) -> None:
        self._idle: list[_Keeper] = []
        self._busy: set[_Keeper] = set()
        self._closed = False
        self._choosing = asyncio.Lock()

    async def build(
        self,
        root: str,
        harness: str,
        folder: str,
        *,
        named: bool = True,
        paths: Collection[str] | None = None,
        since: int = 0,
        wish: Wish = NO_WISH,
        progress: Callable[[str, int, int], None],
    ) -> Built:
        """Brings an index up to date: with the whole tree, or with some paths of it (see
        `engine.update`); `named` as in `conventions_of`. Raises BuildFailed."""
        request = {
            "do": "build",
            "root": root,
            "harness": harness,
            "named": named,
            "folder": folder,
            "paths": None if paths is None else sorted(paths),
            "since": since,
            "workers": wish.workers,
            "verify": wish.verify,
            "again": sorted(wish.again),
        }
        built = await self._done(request, progress)
        assert built is not None
        return built

    async def checkpoint(self, folder: str) -> None:
        """See `store.database.checkpoint`. Raises BuildFailed."""
        await self._done({"do": "checkpoint", "folder": folder}, None)

    async def _done(
        self, request: dict[str, Any], progress: Callable[[str, int, int], None] | None
    ) -> Built | None:
        async with self._choosing:
            # One that is being started for whoever comes is this one.
            keeper = self._idle.pop() if self._idle else await self._started()
            self._busy.add(keeper)
        kept = False
        try:
            done = await keeper.do(request, progress)
            kept = True
            return done
        except BuildFailed as error:
            kept = error.kind not in (DIED, STOPPED)
            raise
        finally:
            self._busy.discard(keeper)
            if kept and not self._idle and not self._closed:
                self._idle.append(keeper)
            else:
                await keeper.end()

    @property
    def closed(self) -> bool:
        """Whether none is started any more."""
        return self._closed

    async def ready(self) -> None:
        """Has a keeper at hand that has not grown: for the time when nobody asks."""
        while self._idle and self._idle[-1].read > LARGE:
            await self._idle.pop().end()
        async with self._choosing:
            if not self._idle and not self._busy and not self._closed:
                self._idle.append(await self._started())
        if self._closed:
            await self.end_idle()

    async def end_idle(self) -> None:
        """Ends those that have nothing to do."""
        while self._idle:
            await self._idle.pop().end()

    async def close(self) -> None:
        """Ends all of them."""
        self._closed = True
        await self.end_idle()
        for keeper in list(self._busy):
            await keeper.end()

    async def _started(self) -> _Keeper:
        try:
            process = await asyncio.create_subprocess_exec(
                *own_process("daemon.keeper"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=_LINE,
            )
        except OSError as error:
            raise BuildFailed(
                "OSError", f"cannot start a process to read the tree: {error.strerror}"
            ) from error
        return _Keeper(process)
