"""What a watcher may say to the engine: hints that something may have changed, never what.

Nobody trusts a hint: who hears one looks at the tree. A lost event costs time until the next
sweep, never the truth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Why = Literal["start", "overflow", "git", "wake", "returned", "folder", "asked", "often"]
"""Why a whole tree must be swept: the watch began, events were lost, HEAD or git's index changed,
the machine or this process slept, the root came back, a folder could not be watched, somebody asked,
or it is time again."""


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """What may have changed since the batch before."""

    paths: frozenset[str] = frozenset()
    """Files and folders from the root, with forward slashes: each may have changed, come or gone.
    Of a folder everything below it may have."""
    sweep: frozenset[Why] = frozenset()
    """Not empty: the whole tree must be swept, and `paths` is only a part of what may have changed."""

    def __or__(self, other: ChangeBatch) -> ChangeBatch:
        """Both as one. Batches may be merged, never reordered or dropped."""
        return ChangeBatch(self.paths | other.paths, self.sweep | other.sweep)

    def __bool__(self) -> bool:
        return bool(self.paths or self.sweep)


NOTHING: Final = ChangeBatch()


@dataclass(frozen=True, slots=True)
class WatchState:
    """How a tree is watched now."""

    how: Literal["native", "partly", "polling", "none"]
    """`native`: by the system's events. `partly`: some folders only by polling. `polling`: all by
    polling. `none`: not at all (the root is not there)."""
    note: str = ""
    """A sentence for the user: why it is not `native`, and what to do about it."""
    folders: int = 0
    """Folders under a watch of the system."""
