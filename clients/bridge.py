"""The bridge between an agent's client, or an editor, and the daemon: `mcp-serve`, `lsp`.

A client starts one, writes JSON-RPC to its stdin and reads its stdout; the bridge carries whole
messages between those and the daemon's socket. How a message is written, and what must be said
again, is the dialect's: `messages` for agents, `editor_messages` for editors. It outlives the
daemon: when that is gone it answers what was pending with an error, and the next request finds or
starts a daemon, to which is said again what the last one knew. It does not outlive its client: it
ends at the end of stdin, when nobody reads stdout, on SIGTERM, SIGHUP and SIGINT, and, since a killed
wrapper leaves none of these signs, when its parent process is no longer the one that started it.

Standard library only: one of these runs for each client, all the time. The tests are
`tests/test_bridge.py`.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import time

from torchtalkd import wire

from . import messages

TYPE_CHECKING = False
"""As in `typing`, which a bridge does without: who starts one waits for it."""
if TYPE_CHECKING:
    from typing import Any, Final

    from .messages import Dialect

WATCH_SECONDS: Final = 5.0
"""How often the parent process is looked at."""
UPGRADE_SECONDS: Final = 5.0
"""How often, at most, the package is looked at for a newer build."""
START_SECONDS: Final = 20.0
"""How long a daemon may take to be ready."""
DRAIN_SECONDS: Final = 10.0
"""How long answers are waited for after the end of stdin: `printf … | torchtalkd mcp-serve`."""
BACKOFF_SECONDS: Final = (0.25, 0.5, 1.0, 2.0, 5.0)
"""After so many failures to reach a daemon, none is tried for so long; the last one stays."""

_PIECE: Final = 1 << 16
_STDOUT_PIECE: Final = 4096
"""Bytes that a pipe which is ready takes without blocking (PIPE_BUF on Linux)."""
_HIGH: Final = 1 << 20
"""Bytes that wait for one side before the other is no longer read."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_GONE: Final = select.POLLERR | select.POLLHUP


class _Ended(Exception):
    """The client is gone or says that it goes, or a signal says to go."""

    def __init__(self, exit: int = 0) -> None:
        self.exit = exit


def serve(source: str | None, harness: str | None, dialect: Dialect = messages.AGENT, tools: str = "") -> int:
    """Carries messages until the client ends; returns the exit code. Says on stderr why it cannot.
    `tools` is the set of tools that an agent has."""
    for number in _SIGNALS:
        signal.signal(number, _end)
    parent = os.getppid()
    open_streams = _claim_streams()
    try:
        bridge = _Bridge(source, harness, parent, dialect, tools)
        try:
            bridge.connect()
        except wire.WireError as error:
            _say(str(error))
            return error.exit
        if bridge.note:
            _say(bridge.note)
        if open_streams:
            if os.isatty(0):
                _say(dialect.hint)
            bridge.run()
        return bridge.exit
    except _Ended as ended:
        return ended.exit


class _Bridge:
    """One client and, most of the time, a connection to a daemon."""

    def __init__(
        self, source: str | None, harness: str | None, parent: int, dialect: Dialect, tools: str
    ) -> None:
        self._dialect, self._tools = dialect, tools
        self._parent = parent
        self._source, self._harness = source, harness
        self.note = ""
        """What is served in place of what was named, a sentence; '' where nothing is."""
        named = source or next((v for n in wire.VARIABLES[:2] if (v := os.environ.get(n))), None)
        if named and (instead := _worktree_instead(named)):
            self._source = instead
            self.note = f"{named} was named; served is {instead}, the work tree of it that the client is in"
        self._connection: wire.Connection | None = None
        self._session = dialect.session()
        self._from_client, self._from_daemon = dialect.frames(), dialect.frames()
        self._to_client, self._to_daemon = bytearray(), bytearray()
        self._failures, self._not_before = 0, 0.0
        self._looked_at = time.monotonic()
        self._end_by: float | None = None
        self._watches_stdout = True
        self.exit = 0
        """The exit code when stdin has ended."""

    # -- the daemon's side

    def connect(self, *, start: bool = True) -> None:
        """Connects, and says the handshake again if there was one. Raises WireError."""
        connection = wire.connect(
            self._dialect.want,
            source=self._source,
            harness=self._harness,
            start=start,
            timeout=START_SECONDS,
            note=self.note,
            tools=self._tools,
        )
        self._drop()
        connection.socket.setblocking(False)
        self._connection = connection
        self._to_daemon += self._session.again()
        self._failures = 0
        self._received(connection.rest)

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._to_daemon.clear()
        self._from_daemon = self._dialect.frames()

    def _lost(self) -> None:
        """The daemon went. Only a client that still waits for its handshake gets a new one at
        once: a daemon that was stopped must not come back by itself."""
        self._drop()
        for answer in self._session.lost():
            self._to_client += answer
        if self._session.begins:
            try:
                self.connect()
            except wire.WireError as error:
                self._failed()
                self._to_client += self._session.given_up(str(error))

    def _notice_end(self, connection: wire.Connection) -> None:
        try:
            if not connection.socket.recv(1, socket.MSG_PEEK):
                self._lost()
        except BlockingIOError:
            return
        except OSError:
            self._lost()

    def _failed(self) -> None:
        wait = BACKOFF_SECONDS[min(self._failures, len(BACKOFF_SECONDS) - 1)]
        self._failures += 1
        self._not_before = time.monotonic() + wait

    def _why_unreachable(self) -> str:
        """Connects if need be; '' when there is a connection, else why there is none."""
        if self._connection is not None:
            # What is written to one that has just gone would be lost.
            self._notice_end(self._connection)
        if self._connection is not None:
            self._move(start=True)
            return ""
        if time.monotonic() < self._not_before:
            return "torchtalkd's daemon could not be reached; ask again in some seconds"
        try:
            self.connect()
        except wire.WireError as error:
            self._failed()
            return str(error)
        return ""

    def _move(self, *, start: bool) -> None:
        """After an upgrade of the package, goes over to the new build's daemon; stays with the old
        one while it owes an answer, and if there is no other."""
        now = time.monotonic()
        if self._connection is None or self._session.waits or now - self._looked_at < UPGRADE_SECONDS:
            return
        self._looked_at = now
        if wire.build_id() == self._connection.hello.get("build"):
            return
        try:
            self.connect(start=start)
        except wire.NoDaemon:
            # The next request is reason enough to start it.
            self._looked_at = 0.0
        except wire.WireError as error:
            _say(f"the upgraded daemon cannot be reached, the old one goes on: {error}")

    def _received(self, data: bytes) -> None:
        for line in self._from_daemon.fed(data):
            if line is None:
                continue
            message = messages.parsed(line)
            if isinstance(message, dict):
                if self._session.hides(message):
                    continue
                self._session.answered(message)
            self._to_client += self._dialect.framed(line)

    # -- the client's side

    def _heard(self, line: bytes | None) -> None:
        """One message of the client: on to the daemon, or refused."""
        if line is None:
            self._refuse(*self._dialect.no_message)
            return
        line = line.strip()
        if not line:
            return
        message = messages.parsed(line)
        if message is None:
            self._refuse(messages.PARSE_ERROR, self._dialect.no_json)
        elif not isinstance(message, dict) or not {"method", "result", "error"} & message.keys():
            self._refuse(messages.INVALID_REQUEST, "Invalid request: a message is one JSON-RPC object")
        elif (code := self._session.ends(message)) is not None:
            raise _Ended(code)
        elif messages.is_request(message):
            self._asked(message, line)
        else:
            # A notification alone is no reason to start a daemon.
            self._pass_on(message, line)

    def _asked(self, message: dict[str, Any], line: bytes) -> None:
        if self._connection is None and (answer := self._session.own_answer(message)):
            self._to_client += answer
        elif why := self._why_unreachable():
            self._to_client += self._session.refused(message, why)
        else:
            self._pass_on(message, line)

    def _pass_on(self, message: dict[str, Any], line: bytes) -> None:
        self._session.asked(message, line)
        if self._connection is not None:
            self._to_daemon += self._dialect.framed(line)

    def _refuse(self, code: int, why: str) -> None:
        self._to_client += self._dialect.framed(messages.error(code, why))

    # -- the loop

    def run(self) -> None:
        """Carries until stdin ends and what was asked is answered. Raises _Ended for all other ends."""
        while self._end_by is None or self._owes():
            for descriptor, event in self._poller().poll(self._patience() * 1000):
                self._serve(descriptor, event)
            if os.getppid() != self._parent:
                raise _Ended
            if self._end_by is not None and time.monotonic() >= self._end_by:
                raise _Ended
            self._move(start=False)

    def _owes(self) -> bool:
        return bool(self._to_client) or (self._connection is not None and self._session.waits)

    def _patience(self) -> float:
        if self._end_by is None:
            return WATCH_SECONDS
        return max(0.0, min(WATCH_SECONDS, self._end_by - time.monotonic()))

    def _poller(self) -> select.poll:
        """What is worth waking up for. A descriptor that nothing is wanted of is left out: its end
        would wake us again and again."""
        poller = select.poll()
        calm = len(self._to_client) < _HIGH and len(self._to_daemon) < _HIGH
        if self._end_by is None and calm:
            poller.register(0, select.POLLIN)
        if self._to_client:
            poller.register(1, select.POLLOUT)
        elif self._watches_stdout:
            poller.register(1, 0)
        if self._connection is not None:
            wanted = select.POLLIN if len(self._to_client) < _HIGH else 0
            wanted |= select.POLLOUT if self._to_daemon else 0
            if wanted:
                poller.register(self._connection.socket, wanted)
        return poller

    def _serve(self, descriptor: int, event: int) -> None:
        if descriptor == 0:
            self._read_client()
        elif descriptor == 1:
            self._write_client(event)
        elif self._connection is not None and descriptor == self._connection.socket.fileno():
            self._talk(self._connection, event)

    def _read_client(self) -> None:
        try:
            data = os.read(0, _PIECE)
        except OSError:
            # A terminal or socket that was cut off: as good as its end.
            data = b""
        for line in self._from_client.fed(data):
            self._heard(line)
        if not data:
            self._heard(self._from_client.last())
            self.exit = self._session.exit
            self._end_by = time.monotonic() + DRAIN_SECONDS

    def _write_client(self, event: int) -> None:
        if event & _GONE:
            raise _Ended
        if event & select.POLLNVAL:
            # Some systems cannot poll a device; writing to it will tell.
            self._watches_stdout = False
        if self._to_client:
            try:
                del self._to_client[: os.write(1, self._to_client[:_STDOUT_PIECE])]
            except OSError as error:
                raise _Ended from error

    def _talk(self, connection: wire.Connection, event: int) -> None:
        try:
            if event & select.POLLOUT and self._to_daemon:
                del self._to_daemon[: connection.socket.send(self._to_daemon[:_PIECE])]
            if event & ~select.POLLOUT:
                data = connection.socket.recv(_PIECE)
                if data:
                    self._received(data)
                else:
                    self._lost()
        except BlockingIOError:
            return
        except OSError:
            self._lost()


def _end(number: int, frame: object) -> None:
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise _Ended


def _worktree_instead(named: str) -> str | None:
    from .worktree import worktree_instead  # most clients leave to the daemon which tree is meant

    try:
        return worktree_instead(named, os.getcwd())
    except FileNotFoundError:
        # The folder that we are in was deleted under us.
        return worktree_instead(named, "/")


def _claim_streams() -> bool:
    """Whether stdin and stdout are open. A closed one is filled, so that no socket gets its number."""
    whole = True
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
            whole = whole and descriptor == 2
    return whole


def _say(sentence: str) -> None:
    """A sentence on stderr, which may be closed or gone: then there is nobody to tell."""
    try:
        os.write(2, f"torchtalkd: {sentence}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return
