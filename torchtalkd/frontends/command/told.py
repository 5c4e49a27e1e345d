"""What a command says, before it is said: in its own process it is printed, in the daemon it is sent."""

from __future__ import annotations

import sys
from typing import NamedTuple


class Told(NamedTuple):
    """The texts of a command, each with its last newline, and its exit code."""

    out: str
    err: str = ""
    code: int = 0


def printed(told: Told) -> int:
    """Prints it; returns the exit code."""
    print(told.err, end="", file=sys.stderr, flush=True)
    print(told.out, end="")
    return told.code
