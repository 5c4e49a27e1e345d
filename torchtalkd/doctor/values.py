"""What the parts of the doctor say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

OK: Final = "ok"
NOTE: Final = "note"
"""Worth knowing, nothing to do."""
FIX: Final = "fix"
"""Wrong: `Finding.fix` mends it."""


class Finding(NamedTuple):
    """One thing that was looked at."""

    about: str
    """What was looked at: versions, socket, …"""
    level: str
    """ok, note or fix."""
    said: str
    """What was found, a sentence."""
    fix: str = ""
    """What to do about it: a command or a sentence."""


class Place(NamedTuple):
    """Where and for whom it is looked."""

    environ: Mapping[str, str]
    cwd: Path
    source: str | None
    """A tree that was named."""
    harness: str | None
    daemons: list[dict[str, Any]]
    """Those that run: what each says of itself, with `socket`, `answers` and `mine`."""
