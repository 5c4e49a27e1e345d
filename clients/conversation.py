"""What a bridge asks of each of its dialects. Read by a type checker alone."""

from __future__ import annotations

from typing import Any, Protocol


class Frames(Protocol):
    """Cuts a stream into messages."""

    def fed(self, data: bytes) -> list[bytes | None]:
        """The messages that are whole now; None stands for bytes that are none."""
        ...

    def last(self) -> bytes:
        """What may stand for a message when nothing more comes."""
        ...


class Conversation(Protocol):
    """What a bridge remembers of one client's messages."""

    @property
    def begins(self) -> bool:
        """Whether the first `initialize` has no answer yet."""
        ...

    @property
    def waits(self) -> bool:
        """Whether the client waits for an answer."""
        ...

    @property
    def exit(self) -> int:
        """The exit code where the client ends without a word."""
        ...

    def asked(self, message: dict[str, Any], line: bytes) -> None:
        """Takes note of what the client sends to the daemon."""
        ...

    def answered(self, message: dict[str, Any]) -> None:
        """Takes note of what the daemon sends to the client."""
        ...

    def hides(self, message: dict[str, Any]) -> bool:
        """Whether a message of the daemon answers what the bridge said again."""
        ...

    def lost(self) -> list[bytes]:
        """The daemon went: what the client must hear, as it stands on the wire."""
        ...

    def again(self) -> bytes:
        """What a new daemon must hear before anything else, as it stands on the wire."""
        ...

    def given_up(self, why: str) -> bytes:
        """The answer to the `initialize` that cannot be said anew."""
        ...

    def refused(self, message: dict[str, Any], why: str) -> bytes:
        """The answer to a request that reaches no daemon."""
        ...

    def own_answer(self, message: dict[str, Any]) -> bytes:
        """The answer to a request that needs no daemon, where none is connected; b'' for all others."""
        ...

    def ends(self, message: dict[str, Any]) -> int | None:
        """The exit code, for a message that ends the bridge."""
        ...
