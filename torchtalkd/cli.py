"""The command line: what may be asked, and how a failure is told.

Exit codes, everywhere: 0 answered, 1 the named thing does not exist (or problems were found),
2 a wrong call or manifest, 3 cannot narrow, 130 interrupted. Answers go to stdout, everything
else to stderr. This module imports next to nothing, for it is the start of each bridge, which agents and
editors wait for; what may be asked is in `command_arguments`, and each command's module is imported when the
command runs. The tests are in `tests/test_cli.py`.
"""

from __future__ import annotations

import importlib
import os
import sys

from torchtalkd.bridge_arguments import BRIDGES, bridge, serve

TYPE_CHECKING = False
"""As in `typing`, which a bridge does without."""
if TYPE_CHECKING:
    import argparse

COMMANDS = {
    # command: module of frontends.command that has a function of the command's last word, or of a
    # name that follows the module's
    "demo": "demo",
    "init": "sources",
    "roots": "sources",
    "forget": "sources",
    "index build": "build",
    "index update": "updating",
    "snapshot save": "snapshots",
    "snapshot load": "snapshots",
    "snapshot list": "snapshots listed",
    "snapshot delete": "snapshots",
    "snapshot prune": "snapshots",
    "snapshot diff": "snapshots",
    "snapshot export": "snapshots",
    "snapshot import": "snapshots taken_in",
    "status": "status",
    "stop": "daemons",
    "restart": "daemons",
    "logs": "daemons",
    **dict.fromkeys(
        ("trace", "search", "dispatch", "ops", "problems", "graph", "modules", "tests", "affected"), "ask"
    ),
    "harness list": "harness listed",
    "harness show": "harness",
    "harness new": "harness_new",
    "harness verify": "harness_verify",
    "mcp-config": "agents config",
    "cursor-add": "agents cursor",
    "doctor": "doctor",
    "trust": "trusting",
    "untrust": "trusting",
}

IN_DAEMON = {
    **dict.fromkeys(("trace", "search", "dispatch", "ops", "problems", "graph", "modules"), True),
    **dict.fromkeys(("tests", "affected"), True),
    "index build": False,
    "index update": False,
}
"""Commands that the daemon does, and whether it is started for them."""


class WrongCall(Exception):
    """The command line itself is wrong; `usage` is the command to ask for help."""

    def __init__(self, usage: str, message: str) -> None:
        super().__init__(f"{message} (`{usage} --help` shows how it is called)")


def main(argv: list[str] | None = None) -> int:
    """Runs one command and returns its exit code. Prints; raises nothing."""
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except WrongCall as error:
        _tell(str(error))
        return 2
    except KeyboardInterrupt:
        # CPython notes an interrupt that arrives inside an `exec`, which importing a dataclass is,
        # and kills the process with it at the end even if it was handled. Another exec clears that.
        exec("")
        _tell("interrupted; what was indexed before is as it was")
        return 130
    except BrokenPipeError:
        # Whoever read our output has what it wanted. The interpreter must not try once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - the last place where a failure becomes a sentence
        if os.environ.get("TORCHTALK_DEBUG"):
            import traceback

            traceback.print_exc()
        sentence, code = explained(error)
        _tell(sentence)
        return code


def _run(argv: list[str]) -> int:
    if sys.platform == "win32":
        _tell("Windows is not supported: use WSL, where the Linux version runs")
        return 2
    if sys.version_info < (3, 11):
        _tell("Python %d.%d is too old: use 3.11 or later" % sys.version_info[:2])
        return 2
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _replace_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # Names and paths of a tree may be anything; none of them may end an answer.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code = bridge(argv)
    if code is not None:
        return code
    try:
        arguments = parser().parse_args(argv)
    except SystemExit as stop:  # --help and --version have printed their answer
        sys.stdout.flush()
        return int(stop.code or 0)
    if arguments.command in BRIDGES:
        return serve(arguments.command, arguments.source, arguments.harness, getattr(arguments, "tools", ""))
    from torchtalkd.frontends.command.affected_arguments import carried

    words = carried(argv, arguments)
    alone = words is None or getattr(arguments, "no_daemon", False) or os.environ.get("TORCHTALK_NO_DAEMON")
    if words and arguments.command in IN_DAEMON and not alone:
        from torchtalkd.frontends.command.remote import through_daemon

        answered = through_daemon(words, arguments, start=IN_DAEMON[arguments.command])
        if answered is not None:
            sys.stdout.flush()
            return answered
    place, _, function = COMMANDS[arguments.command].partition(" ")
    module = importlib.import_module(f"torchtalkd.frontends.command.{place}")
    code = int(getattr(module, function or arguments.command.rpartition(" ")[2])(arguments))
    sys.stdout.flush()
    return code


def _replace_closed_streams() -> None:
    """Streams that whoever starts us has closed lead nowhere. Else the next file that is opened would have
    their number, and be written into."""
    while (nowhere := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(nowhere)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - for the life of the process
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def parser() -> argparse.ArgumentParser:
    """All commands with their arguments. It raises WrongCall."""
    from torchtalkd.command_arguments import words

    return words(WrongCall)


def explained(error: Exception) -> tuple[str, int]:
    """A sentence for a failure, and its exit code."""
    from torchtalkd.config import ConfigError
    from torchtalkd.conventions import ManifestError
    from torchtalkd.engine import TreeError, WorkersFailed
    from torchtalkd.harness.anchors import AnchorError
    from torchtalkd.roots import RootError
    from torchtalkd.snapshots.errors import SnapshotError, WrongName
    from torchtalkd.store.errors import NotPermitted, StoreError

    if isinstance(error, RootError | ConfigError | ManifestError | AnchorError | WrongName):
        return str(error), 2
    if isinstance(error, NotPermitted):
        return f"{error}; another place for the index can be named with XDG_CACHE_HOME", 1
    if isinstance(error, StoreError | TreeError | WorkersFailed | SnapshotError):
        return str(error), 1
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error), 1
    return (
        f"this is a mistake in torchtalkd: {type(error).__name__}: {error}; TORCHTALK_DEBUG=1 shows where",
        1,
    )


def _tell(sentence: str) -> None:
    print(f"torchtalkd: {sentence}", file=sys.stderr)
