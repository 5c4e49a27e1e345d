"""How often is a tree swept whose changes nobody tells?"""

from __future__ import annotations

from typing import Final

_SOONEST: Final = 2.0
_LATEST: Final = 60.0
_SHARE: Final = 20.0
"""A sweep may take a twentieth of the time."""


def seconds_between(took: float) -> float:
    """Seconds from one sweep to the next, if the last one took `took` seconds."""
    return min(max(_SOONEST, _SHARE * took), _LATEST)
