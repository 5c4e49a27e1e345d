"""Which flags of a compiler may libclang be told?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def allowed(flags: Iterable[str], root: Path) -> list[str]:
    """Those of `flags` that only say how text is read."""
    return list(flags)
