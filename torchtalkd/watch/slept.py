"""Was the machine, or this process, asleep since the last look?"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

_GAP: Final = 3.0
"""Seconds by which clocks may differ, or a look be late, without being taken for sleep."""


def clocks() -> tuple[float, ...]:
    """Seconds on the clock that stands still in sleep, then on those that go on: of the machine
    where it has one, and of the wall."""
    going = (time.clock_gettime(time.CLOCK_BOOTTIME),) if hasattr(time, "CLOCK_BOOTTIME") else ()
    return (time.monotonic(), *going, time.time())


class Sleep:
    """Compares the clocks from look to look."""

    def __init__(self, read: Callable[[], tuple[float, ...]] = clocks) -> None:
        self._read = read
        self._before = read()

    def slept(self, expected: float) -> bool:
        """Whether the clocks went apart since the last look, which was to be `expected` seconds ago,
        or it is much longer ago. A wall clock that was set counts, too: times of files jump with it."""
        before, self._before = self._before, self._read()
        awake, *going = (now - then for now, then in zip(self._before, before, strict=True))
        return awake > expected + _GAP or any(abs(other - awake) > _GAP for other in going)
