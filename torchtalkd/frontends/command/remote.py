"""Commands that the daemon does: the words go there, and its frames are printed.

Nothing is imported here that takes time: the daemon has it all loaded, which is the point. The
tests are in `tests/test_daemon_cli.py`.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from torchtalkd.wire import Connection, NoDaemon, Refused, WireError, connect

if TYPE_CHECKING:
    from torchtalkd.frontends.command.progress import ProgressLine


class _Step(NamedTuple):
    """A report of the engine, as `progress.ProgressLine` shows it."""

    phase: str
    done: int
    total: int


def through_daemon(argv: list[str], arguments: Namespace, *, start: bool) -> int | None:
    """Has the daemon do a command, and prints; the exit code, or None where this process has to do
    it: none is running and none is to be started, or none can be reached, which is said."""
    found = asked_daemon(argv, arguments, start=start)
    if found is None:
        return None
    out, err, code = found
    sys.stderr.write(err)
    sys.stderr.flush()
    sys.stdout.write(out)
    return code


def asked_daemon(argv: list[str], arguments: Namespace, *, start: bool) -> tuple[str, str, int] | None:
    """As `through_daemon`, but gives what the command says on stdout and stderr, and its exit code."""
    try:
        with connect(
            "command", source=arguments.source, harness=arguments.harness, start=start
        ) as connection:
            connection.send({"argv": argv, "columns": _columns(), "isatty": sys.stdout.isatty()})
            return _followed(connection)
    except NoDaemon:
        return None
    except Refused as refused:
        return "", f"torchtalkd: {refused}\n", refused.exit
    except (WireError, ConnectionError) as error:
        why = str(error) if isinstance(error, WireError) else "the daemon ended while it was asked"
        _remark(f"{why}; this is done without it")
        return None


def _followed(connection: Connection) -> tuple[str, str, int]:
    """What a command says on stdout and stderr, and its exit code. Nothing of it is printed before
    the exit code is there, so that a daemon that ends in between leaves nothing half said."""
    line: ProgressLine | None = None
    out: list[str] = []
    err: list[str] = []
    try:
        while frame := connection.read():
            if "progress" in frame:
                line = line or _line(frame)
                line(_Step(*frame["progress"]))
            elif "out" in frame:
                out.append(frame["out"])
            elif "err" in frame:
                err.append(frame["err"])
            elif "error" in frame:
                raise Refused(str(frame["error"]), int(frame.get("exit", 2)))
            elif "exit" in frame:
                return "".join(out), "".join(err), int(frame["exit"])
    finally:
        if line:
            line.close()
    raise ConnectionResetError("ended before the exit code")


def _line(frame: dict[str, Any]) -> ProgressLine:
    from torchtalkd.frontends.command.progress import ProgressLine

    return ProgressLine(str(frame.get("root", "")))


def _columns() -> int:
    try:
        return os.get_terminal_size().columns
    except OSError:
        return 0


def _remark(sentence: str) -> None:
    print(f"torchtalkd: {sentence}", file=sys.stderr, flush=True)
