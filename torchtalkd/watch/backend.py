"""What the watch and a source of events say to each other."""

from __future__ import annotations

from typing import Protocol

from torchtalkd.changes import Why


class Ear(Protocol):
    """Who hears a source of events. Safe from any thread, quick, and raises nothing."""

    def changed(self, path: str) -> None:
        """A file or folder, from the root, may have changed, come or gone."""

    def sweep(self, why: Why) -> None:
        """Something changed that no path says."""

    def locked(self, held: bool) -> None:
        """Git took `index.lock`, or gave it back."""

    def cookie(self, name: str) -> None:
        """The event of a cookie came."""

    def lost(self) -> None:
        """Events were lost."""

    def doubt(self) -> None:
        """The root or a git folder may no longer be there, or be another one."""


class Backend(Protocol):
    """A source of events, already at work when it is made."""

    @property
    def folders(self) -> int:
        """Folders under a watch of the system."""

    @property
    def missing(self) -> str:
        """Why some folders are not watched, as a sentence for the user; '' when all are."""

    @property
    def takes_cookies(self) -> bool:
        """Whether the event of a cookie proves that all earlier events have come."""

    def write_cookie(self, name: str) -> None:
        """Writes a file whose event will be told. Raises OSError."""

    def close(self) -> None:
        """Ends it. Nothing is told any more."""
