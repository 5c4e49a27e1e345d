"""What the first questions of a revision would derive is derived before they come, while nobody asks.

Invariants: no piece begins within QUIET_SECONDS of anything that a client has said, or while a question
runs; a question that comes waits for what is left of one piece; and nothing is derived of a tree that
nobody has asked about for WANTED_SECONDS. So a session that begins is served first, and its first question
is quick if it takes its time. The tests are in `tests/test_warming.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from torchtalkd.daemon.log import log

QUIET_SECONDS: Final = 0.1
"""After the last word of any client."""
PIECE_SECONDS: Final = 0.02
"""For which pieces follow each other before the event loop, and whoever waits, has its turn."""
PAUSE_SECONDS: Final = 0.005
WANTED_SECONDS: Final = 60.0
"""After the last question about a tree, for which a new revision of it is warmed."""

Enough: TypeAlias = Callable[[], bool]
"""Whether others want the processor."""


class Warming:
    """Warms one tree. Lives on the event loop."""

    def __init__(self, pieces: Callable[[Enough], Awaitable[bool]], heard: Callable[[], float]) -> None:
        """`pieces` derives until it is enough, and says whether nothing is left; `heard` is when a client was
        heard last, on the monotonic clock."""
        self._pieces = pieces
        self._heard = heard
        self._task: asyncio.Task[None] | None = None

    def go(self) -> None:
        """Begins, or goes on with, the newest revision. Returns at once."""
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    def stop(self) -> None:
        """Leaves the rest undone."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self) -> None:
        try:
            while True:
                while (left := self._heard() + QUIET_SECONDS - time.monotonic()) > 0:
                    await asyncio.sleep(left)
                if await self._pieces(_enough(time.monotonic(), self._heard)):
                    return
                await asyncio.sleep(PAUSE_SECONDS)
        except Exception:  # noqa: BLE001 - the questions that need it will say what is wrong
            log.exception("nothing more is derived beforehand")


def _enough(begun: float, heard: Callable[[], float]) -> Enough:
    return lambda: heard() > begun or time.monotonic() - begun > PIECE_SECONDS
