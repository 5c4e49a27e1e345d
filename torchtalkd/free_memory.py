"""Memory that a process has freed goes back to the system."""

from __future__ import annotations

import sys


def give_back() -> None:
    """Has the C library give free memory back, where it has a way to (glibc keeps it otherwise, and it counts
    as used)."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes  # A daemon that starts needs none of it.

    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError):
        # Another C library: it does as it sees fit.
        return
