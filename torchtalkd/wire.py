"""How a client and the daemon find each other, and what they say to each other first.

The daemon listens on `<run folder>/<build>.sock`. The *build* is a digest of the package's files,
so a client never meets a daemon of another state of the program; beside the socket lie the
daemon's `<build>.lock`, held for its life, and its `<build>.log`. On each connection the daemon
sends its hello, the client sends one of its own, and the daemon answers; each is a line of JSON:

    daemon: {"torchtalkd": 1, "build": "…", "version": "…", "package": "…", "pid": 1, "started": 1.0}
    client: {"want": "mcp" | "lsp" | "command" | "control", "source": …, "harness": …, "cwd": …,
             "note": "…", "tools": "…", "environment": {…}}
    daemon: {"ok": true, "root": "…", "note": "…"} or {"error": "a sentence", "exit": 2}

What follows depends on what is wanted. `mcp`: lines of JSON-RPC both ways. `lsp`: JSON-RPC with
headers (an editor's folders come with `initialize`, so no root is said here). `command`: the client
sends {"argv", "columns", "isatty"} and reads {"out"}, {"err"} until {"exit"}. `control`: one
question {"do": …}, one answer. Standard library only, for each client imports it. The tests are
in `tests/test_wire.py`.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import socket
import time

from torchtalkd.run_folder import (
    PACKAGE,
    WireError,
    build_id,
    check_private,
    elsewhere,
    peer_uid,
    run_folder,
    socket_name,
    socket_path,
)

TYPE_CHECKING = False
"""As in `typing`, which a bridge does without."""
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any, Final

__all__ = [
    "PACKAGE",
    "PROTOCOL",
    "Connection",
    "NoDaemon",
    "Refused",
    "Running",
    "WireError",
    "build_id",
    "check_private",
    "connect",
    "control",
    "daemons",
    "elsewhere",
    "holder",
    "log_tail",
    "peer_uid",
    "run_folder",
    "socket_path",
]

PROTOCOL: Final = 1
MOST_LINE: Final = 16 << 20
"""Bytes of one line from the daemon; more is no answer of ours."""
VARIABLES: Final = ("TORCHTALK_SOURCE", "PYTORCH_SOURCE", "HOME")
"""What of a client's environment its questions depend on, besides XDG_*."""


class NoDaemon(WireError):
    """None is running, and none was to be started."""


class Refused(WireError):
    """The daemon is there and refuses what the client's hello wants."""


class Running:
    """A daemon that holds its socket."""

    def __init__(self, socket: Path, hello: dict[str, Any]) -> None:
        self.socket = socket
        self.hello = hello
        """Empty where it does not answer."""


class Connection:
    """An open connection whose hellos are exchanged. Lines of JSON both ways; not for threads."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened
        self.hello: dict[str, Any] = {}
        """The daemon's."""
        self.answer: dict[str, Any] = {}
        """The daemon's, to our hello."""
        self.rest = b""
        """What has arrived beyond the last line that was read."""

    def readline(self) -> bytes:
        """The next line with its newline; b'' (or a piece without a newline) at the end. Raises OSError."""
        while True:
            line, newline, rest = self.rest.partition(b"\n")
            if newline:
                self.rest = rest
                return line + newline
            if len(self.rest) > MOST_LINE:
                raise WireError("the daemon sent a line without an end")
            more = self.socket.recv(1 << 16)
            if not more:
                self.rest = b""
                return line
            self.rest += more

    def read(self) -> dict[str, Any]:
        """The next line as an object, {} at the end. Raises OSError, WireError."""
        line = self.readline()
        if not line.endswith(b"\n"):
            return {}
        try:
            found = json.loads(line)
        except ValueError as error:
            raise WireError(f"the daemon sent what is no JSON: {line[:80]!r}") from error
        return found if isinstance(found, dict) else {}

    def send(self, value: object) -> None:
        """Sends an object as a line. Raises OSError."""
        self.socket.sendall(json.dumps(value).encode("utf-8") + b"\n")

    def close(self) -> None:
        """Ends the connection."""
        self.socket.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# -- connecting


def connect(
    want: str,
    *,
    source: str | None = None,
    harness: str | None = None,
    start: bool = True,
    timeout: float = 30.0,
    note: str = "",
    tools: str = "",
) -> Connection:
    """A connection to this build's daemon, which is started if need be.

    Seconds of `timeout` are for all of it; the connection itself has no time limit then. `note` is
    what an agent should hear of the tree that is served, `tools` which set of tools it has. Raises
    NoDaemon, Refused, WireError.
    """
    deadline = time.monotonic() + timeout
    hello = {
        "want": want,
        "source": source,
        "harness": harness,
        "cwd": _cwd(),
        "note": note,
        "tools": tools,
        "environment": {n: v for n, v in os.environ.items() if n in VARIABLES or n.startswith("XDG_")},
    }
    path = socket_name(os.environ, make=start)
    while True:
        opened = _opened(path, deadline - time.monotonic())
        if opened is not None:
            try:
                return _greeted(opened, hello)
            except TimeoutError as error:
                opened.close()
                raise WireError(
                    f"the daemon behind {path} does not answer; `torchtalkd stop` ends it"
                ) from error
            except OSError:
                # It went away this moment: the next one will do.
                opened.close()
            except BaseException:
                opened.close()
                raise
        if not start:
            raise NoDaemon("no daemon is running")
        if time.monotonic() >= deadline:
            raise WireError(f"no daemon answers at {path}")
        path = _started(path, deadline)


def daemons(environment: Mapping[str, str]) -> list[Running]:
    """The daemons that run now, of any build, by socket. Starts none. Raises WireError."""
    found = []
    for path in sorted(run_folder(environment, make=False).glob("*.sock")):
        opened = _opened(path, 1.0)
        if opened is not None:
            with Connection(opened) as connection:
                try:
                    found.append(Running(path, connection.read()))
                except TimeoutError:
                    found.append(Running(path, {}))
                except OSError:
                    # It ended while it was asked.
                    continue
    return found


def control(path: Path, do: str, *, timeout: float = 5.0, **more: object) -> dict[str, Any]:
    """Asks the daemon behind a socket one question of `control`. Raises WireError, NoDaemon."""
    opened = _opened(path, timeout)
    if opened is None:
        raise NoDaemon("no daemon is running")
    with Connection(opened) as connection:
        try:
            hello = connection.read()
            if hello:
                connection.send({"want": "control"})
                if "ok" in connection.read():
                    connection.send({"do": do, **more})
                    if answer := connection.read():
                        if do == "stop":
                            # Its end of the connection closes with the process.
                            connection.readline()
                        return answer
        except TimeoutError as error:
            raise WireError(f"the daemon behind {path} does not answer") from error
        except OSError as error:
            raise NoDaemon("the daemon has just ended") from error
    raise NoDaemon("the daemon has just ended")


def holder(lock: Path) -> int:
    """The process that holds a daemon's lock; 0 where none does."""
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return int(lock.read_text("utf-8") or 0)
    except FileNotFoundError:
        return 0
    return 0


def log_tail(log: Path, lines: int) -> list[str]:
    """The last lines of a log, [] where there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - (lines << 8)))
            return file.read().decode("utf-8", "replace").splitlines()[-lines:]
    except FileNotFoundError:
        return []


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"


def _opened(path: str | Path, seconds: float) -> socket.socket | None:
    """A connected socket; None where nobody listens."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.settimeout(max(seconds, 0.01))
        opened.connect(os.fspath(path))
        if peer_uid(opened) != os.geteuid():
            raise WireError(f"the daemon behind {path} belongs to another user; it is not used")
        return opened
    except OSError as error:
        opened.close()
        if isinstance(error, TimeoutError) or error.errno == errno.EAGAIN:
            raise WireError(f"the daemon behind {path} does not answer; `torchtalkd stop` ends it") from error
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED, errno.ECONNRESET, errno.ENOTCONN):
            return None
        raise WireError(f"cannot connect to {path}: {error.strerror}") from error
    except BaseException:
        opened.close()
        raise


def _greeted(opened: socket.socket, hello: dict[str, Any]) -> Connection:
    connection = Connection(opened)
    # Ours goes out before its own is here: by the socket's name it is of this build, and what we want is
    # looked up meanwhile.
    connection.send(hello)
    connection.hello = connection.read()
    if not connection.hello:
        raise ConnectionResetError("ended before its hello")
    if connection.hello.get("torchtalkd") != PROTOCOL:
        raise WireError("what answers there is no daemon of this program")
    connection.answer = connection.read()
    if not connection.answer:
        raise ConnectionResetError("ended before its answer")
    if "error" in connection.answer:
        raise Refused(str(connection.answer["error"]), int(connection.answer.get("exit", 2)))
    opened.settimeout(None)
    return connection


# -- starting


def _started(path: str, deadline: float) -> str:
    """Starts a daemon and waits until it, or another one of the same build, is ready; returns its
    socket. Raises WireError with the end of its log if it dies before."""
    import subprocess  # only who starts a daemon pays for it
    from pathlib import Path

    from torchtalkd.own_process import own_process

    log = Path(path).with_suffix(".log")
    read_end, write_end = os.pipe()
    try:
        with open(log, "ab", opener=lambda name, flags: os.open(name, flags, 0o600)) as stream:
            size = stream.tell()
            starter = subprocess.Popen(
                own_process("daemon.main", argument=str(write_end)),
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env=_environment(os.environ),
                cwd="/",
                pass_fds=(write_end,),
                start_new_session=True,
            )
        os.close(write_end)
        write_end = -1
        line = b"".join(_until_newline(read_end, deadline))
    except OSError as error:
        raise WireError(f"cannot start the daemon: {error.strerror}") from error
    finally:
        os.close(read_end)
        if write_end >= 0:
            os.close(write_end)
    word, _, said = os.fsdecode(line.rstrip(b"\n")).partition(" ")
    if not line.endswith(b"\n") and time.monotonic() >= deadline:
        raise WireError(f"the daemon is not ready in time; its log is {log}")
    # The starter ends when its child, the daemon, is on its own.
    starter.wait()
    if word == "ready":
        return said
    if word == "failed":
        raise WireError(f"the daemon cannot start: {said}")
    last = (
        [text for text in log_tail(log, 20) if text.strip()]
        if log.exists() and log.stat().st_size > size
        else []
    )
    raise WireError("\n  ".join([f"the daemon ended before it was ready; the end of its log {log}:", *last]))


def _until_newline(descriptor: int, deadline: float) -> Iterator[bytes]:
    piece = b""
    while not piece.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return
        piece = os.read(descriptor, 4096)
        if not piece:
            return
        yield piece


def _environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What a daemon takes over of the client that starts it: where things are, not what is asked."""
    places = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TZ", "VIRTUAL_ENV")
    names = {*places, "TORCHTALK_IDLE_SECONDS", "TORCHTALK_DEBUG", "TORCHTALK_EXACT"}
    begins = ("XDG_", "LC_", "PYTHON", "LD_", "DYLD_", "CUDA_")
    return {n: v for n, v in environment.items() if n in names or n.startswith(begins)}
