"""What was just read is looked at once more, some seconds later.

A file that was written within the moment of its reading may be another with the same times; when
these lie back, they prove something (see `engine.plan.SUSPECT_NS`). The tests are in
`tests/test_freshness.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from torchtalkd.changes import ChangeBatch
from torchtalkd.engine import BuildResult

AGAIN_SECONDS: Final = 2.5
AGAIN_PATHS: Final = 2_000
"""Of more the whole tree is looked at."""


class SecondLook:
    """The paths of one tree that are to be looked at again."""

    def __init__(self, due: Callable[[ChangeBatch], bool]) -> None:
        """`due` gets what is to be looked at; False puts that off."""
        self._due = due
        self._paths: set[str] = set()
        self._whole = False
        self._timer: asyncio.TimerHandle | None = None

    def after(self, batch: ChangeBatch, result: BuildResult) -> None:
        """Notes what was read; the time counts from the last batch."""
        # What is left by something in the way that went is said by the next sweep alone; one is enough.
        unsure = not result.complete and not result.whole
        if result.parsed or result.removed or unsure:
            self._paths.update(batch.paths)
            # Also where something was in the way, which only a sweep can say is gone.
            self._whole |= result.whole or not result.complete or len(self._paths) > AGAIN_PATHS
            self._later()

    def close(self) -> None:
        """Forgets them."""
        self._paths, self._whole = set(), False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._now)

    def _now(self) -> None:
        self._timer = None
        sweep = ChangeBatch(sweep=frozenset({"often"}))
        if not self._due(sweep if self._whole else ChangeBatch(frozenset(self._paths))):
            self._later()
            return
        self._paths, self._whole = set(), False
