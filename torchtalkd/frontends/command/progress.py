"""How far a build is, on stderr: a live bar on a terminal, two plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Final, Protocol

FRAME_SECONDS: Final = 0.1
"""A faster bar only costs time."""
_WIDTH: Final = 24
_WORDS: Final = {"sweep": "listing", "read": "reading", "store": "storing", "exact": "exactly"}


class _Step(Protocol):
    """A report of the engine."""

    @property
    def phase(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def total(self) -> int: ...


class ProgressLine:
    """Shows reports of the engine. Call it with each; `close()` leaves the line clean.

    An index that only needs a few files read again is nothing to report: nothing is printed
    before a build has more than `QUIET` files to read.
    """

    QUIET: Final = 200

    def __init__(self, what: str) -> None:
        """`what` is named on the line: the root."""
        self._what = what
        self._live = sys.stderr.isatty()
        self._shown = 0.0
        self._said = False
        self._drawn = False

    def __call__(self, step: _Step) -> None:
        """Shows one report, if it is time for one."""
        if step.phase == "sweep" or (step.total <= self.QUIET and not self._said):
            return
        if not self._said:
            begun = f"torchtalkd: indexing {self._what}: {step.total} files to read"
            print(begun, file=sys.stderr, flush=True)
            self._said = True
        now = time.monotonic()
        if self._live and (now - self._shown >= FRAME_SECONDS or step.done == step.total):
            filled = _WIDTH * step.done // max(1, step.total)
            bar = "█" * filled + "░" * (_WIDTH - filled)
            word = _WORDS.get(step.phase, step.phase)
            print(f"\r\x1b[K{bar} {word} {step.done}/{step.total}", end="", file=sys.stderr, flush=True)
            self._shown, self._drawn = now, True

    def close(self) -> None:
        """Takes the live bar away. Does nothing where none was drawn."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False
