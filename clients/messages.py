"""What the bridge must know of the lines that pass through it: JSON-RPC, one message a line.

It remembers which requests are still to be answered and, of the older protocol, the handshake, so
that both survive a daemon that goes. Everything else is bytes that belong to others.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
"""As in `typing`, which a bridge does without."""
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Final

    from .conversation import Conversation, Frames

MOST_LINE: Final = 4 << 20
"""Bytes of one message of a client; a longer one is refused."""
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
LOST: Final = -32000
"""The code for a request whose daemon went away: of the range that servers may use as they like."""
_REPLAY: Final = "torchtalkd-replay"
"""The id under which the handshake is said again; its answer is not for the client."""


class Dialect:
    """How one kind of client speaks."""

    def __init__(
        self,
        want: str,
        hint: str,
        frames: Callable[[], Frames],
        framed: Callable[[bytes], bytes],
        session: Callable[[], Conversation],
        no_message: tuple[int, str],
        no_json: str,
    ) -> None:
        self.want = want
        """What the daemon's hello is told."""
        self.hint = hint
        """For a person who starts it in a terminal."""
        self.frames = frames
        self.framed = framed
        """A message as it stands on the wire."""
        self.session = session
        self.no_message = no_message
        """The error for bytes that are no message."""
        self.no_json = no_json


class Lines:
    """Cuts a stream into lines. A line that is too long is left out and counted."""

    def __init__(self) -> None:
        self._piece = bytearray()
        self._skipping = False

    def fed(self, data: bytes) -> list[bytes | None]:
        """The lines that are whole now, without line ends; None stands for one that was too long."""
        found: list[bytes | None] = []
        *whole, rest = data.split(b"\n")
        for end in whole:
            if not self._skipping and len(self._piece) + len(end) <= MOST_LINE:
                found.append(bytes(self._piece + end) if self._piece else end)
            else:
                found.append(None)
            self._piece.clear()
            self._skipping = False
        if not self._skipping:
            self._piece += rest
            if len(self._piece) > MOST_LINE:
                self._piece.clear()
                self._skipping = True
        return found

    def last(self) -> bytes:
        """What stands behind the last line end, when nothing more comes."""
        return bytes(self._piece)


class Exchange:
    """What a client of either protocol waits for, and how it began: an `initialize` that is answered
    once, then requests by their ids."""

    def __init__(self) -> None:
        self.pending: dict[str, Any] = {}
        """By id as JSON: the id of each request that was sent on and is not answered yet."""
        self._initialize: dict[str, Any] | None = None
        self._initialized: bytes = b""
        self._unanswered: bytes = b""
        """The first `initialize` while it has no answer."""

    @property
    def begins(self) -> bool:
        """Whether the first `initialize` has no answer yet."""
        return bool(self._unanswered)

    @property
    def waits(self) -> bool:
        """Whether the client waits for an answer."""
        return bool(self.pending or self._unanswered)

    def _is_beginning(self, message: dict[str, Any], body: bytes) -> bool:
        """Takes note of the first `initialize`; whether this is it."""
        if message.get("method") != "initialize" or self._initialize is not None or "id" not in message:
            return False
        self._initialize, self._unanswered = message, body
        return True

    def _is_answer(self, message: dict[str, Any]) -> bool:
        """Takes note of an answer; whether it is that of the first `initialize`."""
        self.pending.pop(key(message["id"]), None)
        begun = self._initialize if self._unanswered else None
        if begun is None or key(message["id"]) != key(begun["id"]):
            return False
        self._unanswered = b""
        if "error" in message:
            # Refused: the client may try again, or speak another version of the protocol.
            self._initialize = None
        return True

    def _give_up(self) -> Any:
        """Forgets the `initialize` that cannot be said anew; its id."""
        asked = self._initialize["id"] if self._initialize else None
        self._initialize, self._unanswered = None, b""
        return asked


class Session(Exchange):
    """An agent's conversation."""

    def asked(self, message: dict[str, Any], line: bytes) -> None:
        """Takes note of what the client sends to the daemon."""
        if self._is_beginning(message, line):
            return
        method = message.get("method")
        if method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            # A cancelled request is never answered.
            parameters = message.get("params")
            if isinstance(parameters, dict):
                self.pending.pop(key(parameters.get("requestId")), None)
        if is_request(message):
            self.pending[key(message["id"])] = message["id"]

    def answered(self, message: dict[str, Any]) -> None:
        """Takes note of what the daemon sends to the client."""
        if "method" not in message and "id" in message:
            self._is_answer(message)

    exit = 0

    def hides(self, message: dict[str, Any]) -> bool:
        """Whether a message answers the handshake that was said again."""
        return message.get("id") == _REPLAY

    def refused(self, message: dict[str, Any], why: str) -> bytes:
        """The error for a request that reaches no daemon."""
        return error(LOST, why, message["id"], {"retryable": True}) + b"\n"

    def own_answer(self, message: dict[str, Any]) -> bytes:
        """Every request of an agent needs the daemon."""
        return b""

    def ends(self, message: dict[str, Any]) -> int | None:
        """An agent's client says nothing when it ends."""
        return None

    def lost(self) -> list[bytes]:
        """The daemon went: an error for each request that it took with it. `initialize` is not
        among them, because `again` says it anew."""
        why = "torchtalkd's daemon went away before it answered; ask again, a new one is started"
        answers = [error(LOST, why, asked, {"retryable": True}) + b"\n" for asked in self.pending.values()]
        self.pending.clear()
        return answers

    def given_up(self, why: str) -> bytes:
        """An error for the `initialize` that cannot be said anew; the client may try it again."""
        return error(LOST, why, self._give_up()) + b"\n"

    def again(self) -> bytes:
        """What a new daemon must hear before anything else; empty where nothing was said yet."""
        if self._unanswered:
            return self._unanswered + b"\n"
        if self._initialize is None:
            return b""
        said = json.dumps({**self._initialize, "id": _REPLAY}).encode() + b"\n"
        return said + (self._initialized + b"\n" if self._initialized else b"")


def is_request(message: dict[str, Any]) -> bool:
    """Whether a message wants an answer."""
    return "method" in message and message.get("id") is not None


def parsed(line: bytes) -> Any:
    """A line as JSON, None where it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def error(code: int, message: str, id: object = None, data: object = None) -> bytes:
    """An error answer."""
    said: dict[str, Any] = {"code": code, "message": message}
    if data is not None:
        said["data"] = data
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": said}).encode()


def _line(message: bytes) -> bytes:
    return message + b"\n"


AGENT: Final = Dialect(
    want="mcp",
    hint="this speaks MCP over stdin and stdout: a client of an agent starts it, see docs/mcp.md",
    frames=Lines,
    framed=_line,
    session=Session,
    no_message=(INVALID_REQUEST, f"a message has at most {MOST_LINE} bytes"),
    no_json="Parse error: a message is one line of JSON",
)
"""MCP: a message is a line."""


def key(id: object) -> str:
    """An id as JSON: 1 and "1" are two ids."""
    return json.dumps(id)
