"""Homes with daemons for the tests: short paths, everything ended and deleted afterwards."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.conftest import REPOSITORY
from torchtalkd import wire

PATIENCE = 60.0
"""Seconds after which a state that does not come is a failure."""


def until(state: Callable[[], object], what: str) -> Any:
    """Waits for a state; returns what `state` returned."""
    pause = threading.Event()
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := state():
            return found
        pause.wait(0.01)
    raise AssertionError(f"never: {what}")


class Home:
    """A home of its own, whose daemon ends with it."""

    def __init__(self, folder: Path, package: Path = REPOSITORY) -> None:
        self.folder = folder
        self.package = package
        self.run_folder = folder / "run" / "torchtalkd"
        (folder / "run").mkdir(mode=0o700, exist_ok=True)
        clean = {name: value for name, value in os.environ.items() if "TORCHTALK" not in name}
        self.environ = clean | {
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            # Its revisions and processes would come between: its tests turn it on.
            "TORCHTALK_EXACT": "off",
            "PYTHONPATH": str(package),
        }

    def start(self, *arguments: object, **more: Any) -> subprocess.Popen[str]:
        """A command, running."""
        return subprocess.Popen(
            [sys.executable, "-m", "torchtalkd", *map(str, arguments)],
            env=self.environ,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def run(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """A command, done."""
        process = self.start(*arguments)
        out, err = process.communicate(timeout=PATIENCE)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *arguments: object) -> Any:
        """What a command prints with --json."""
        done = self.run(*arguments, "--json")
        assert done.stdout, done
        return json.loads(done.stdout)

    def daemons(self) -> list[wire.Running]:
        """Those that run in this home."""
        return wire.daemons(self.environ)

    def pid(self) -> int:
        """Of the one daemon."""
        (running,) = self.daemons()
        return int(running.hello["pid"])

    def socket(self) -> Path:
        """Of the one daemon."""
        (running,) = self.daemons()
        return running.socket

    def log(self) -> str:
        """All logs."""
        return "".join(path.read_text("utf-8") for path in sorted(self.run_folder.glob("*.log")))

    def connected(self, want: str, **hello: Any) -> wire.Connection:
        """A client that has said its hello to the one daemon."""
        connection = wire.Connection(self.raw())
        assert connection.read()["torchtalkd"] == wire.PROTOCOL
        connection.send({"want": want, "cwd": "/", "environment": self.environ, **hello})
        connection.answer = connection.read()
        return connection

    def raw(self) -> socket.socket:
        """A client that says nothing yet."""
        opened = socket.socket(socket.AF_UNIX)
        opened.settimeout(PATIENCE)
        opened.connect(str(self.socket()))
        return opened

    def end(self) -> None:
        """Ends every daemon."""
        pids = {wire.holder(lock) for lock in self.run_folder.glob("*.lock")} - {0}
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        until(lambda: not any(alive(pid) for pid in pids), "the daemons end")


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be buried does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8")
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return False
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        return True
    return stat.rpartition(")")[2].split()[0] not in ("Z", "X")


def children(pid: int) -> list[int]:
    """The processes that a process has started and that run; none where the system does not say."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8")
    except OSError:
        return []
    return [int(child) for child in listed.split()]


@contextmanager
def new_home(package: Path = REPOSITORY) -> Iterator[Home]:
    """A home in a folder whose name is short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="tt-", dir="/tmp")).resolve()
    home = Home(folder, package)
    try:
        yield home
    finally:
        home.end()
        shutil.rmtree(folder)
