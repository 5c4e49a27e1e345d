"""Commands about the daemon itself: `stop`, `restart`, `logs`. Only `restart` starts one."""

from __future__ import annotations

import json
import os
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from torchtalkd import wire


def stop(arguments: Namespace) -> int:
    """Ends the daemon of this build, with `--all` those of other builds too. None running is no error."""
    stopped = list(_stopped(everyone=arguments.all))
    if arguments.json:
        print(json.dumps({"stopped": stopped}))
        return 0
    for pid in stopped:
        print(f"stopped the daemon with process id {pid}")
    if not stopped:
        print("no daemon is running")
    return 0


def restart(arguments: Namespace) -> int:
    """Ends the daemon if one runs, and starts a new one."""
    for _ in _stopped(everyone=False):
        pass
    with wire.connect("control") as connection:
        hello = connection.hello
    if arguments.json:
        print(json.dumps({"pid": hello["pid"], "build": hello["build"]}))
    else:
        print(f"the daemon runs with process id {hello['pid']}")
    return 0


def logs(arguments: Namespace) -> int:
    """Prints the end of the log of this build's daemon, or else of the newest one; 1 where there is none."""
    path = wire.socket_path(os.environ, make=False)
    log = path.with_suffix(".log")
    if not log.exists():
        others = sorted(path.parent.glob("*.log"), key=lambda other: other.stat().st_mtime)
        if not others:
            print("torchtalkd: no daemon has run yet: there is no log", file=sys.stderr)
            return 1
        log = others[-1]
    lines = wire.log_tail(log, arguments.lines)
    print(f"{log}:", file=sys.stderr)
    print("\n".join(lines))
    return 0


def running(arguments: Namespace) -> dict[str, Any]:
    """For `status`: `{"daemon": {…} or None, "other_daemons": [{…}]}`. Starts none, waits for none."""
    found: dict[str, Any] = {"daemon": None, "other_daemons": []}
    if arguments.no_daemon:
        return found
    mine = wire.socket_path(os.environ, make=False)
    for daemon in wire.daemons(os.environ):
        told: dict[str, Any] = {**daemon.hello, "socket": str(daemon.socket), "answers": bool(daemon.hello)}
        with suppress(wire.WireError):
            told |= wire.control(daemon.socket, "status", timeout=2.0)
        if daemon.socket == mine:
            found["daemon"] = told
        else:
            found["other_daemons"].append(told)
    return found


def _stopped(*, everyone: bool) -> Iterator[int]:
    """Ends daemons and yields the process id of each when it is gone."""
    mine = wire.socket_path(os.environ, make=False)
    for daemon in wire.daemons(os.environ):
        if everyone or daemon.socket == mine:
            try:
                yield int(wire.control(daemon.socket, "stop", timeout=10.0)["pid"])
            except wire.NoDaemon:
                continue
            except wire.WireError:
                if pid := _killed(daemon.socket):
                    yield pid


def _killed(path: Path) -> int:
    """Ends a daemon that does not answer by the process id in the lock that it holds; 0 if it holds none."""
    pid = wire.holder(path.with_suffix(".lock"))
    if pid:
        os.kill(pid, signal.SIGKILL)
    return pid
