"""The command line: what may be asked, and how a failure is told.

Exit codes, everywhere: 0 answered, 1 the named thing does not exist (or problems were found),
2 a wrong call or manifest, 3 cannot narrow, 130 interrupted. Answers go to stdout, everything
else to stderr. This module imports next to nothing, so that `--help` and a wrong call answer
in milliseconds; each command's module is imported when the command runs. The tests are in
`tests/test_cli.py`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from types import ModuleType
from typing import NoReturn

from torchtalkd import __version__
from torchtalkd.frontends.command import (
    affected_arguments,
    agent_arguments,
    compile_arguments,
    dispatcher_arguments,
    question_arguments,
)
from torchtalkd.frontends.command.harness_arguments import add_harness
from torchtalkd.frontends.command.shared_arguments import across as _across
from torchtalkd.frontends.command.shared_arguments import filled as _filled
from torchtalkd.frontends.command.shared_arguments import json as _json
from torchtalkd.frontends.command.shared_arguments import no_daemon as _no_daemon
from torchtalkd.frontends.command.shared_arguments import positive as _positive
from torchtalkd.frontends.command.shared_arguments import query as _query
from torchtalkd.frontends.command.shared_arguments import tree as _tree
from torchtalkd.frontends.command.shared_arguments import wait as _wait
from torchtalkd.frontends.command.snapshot_arguments import add_snapshots

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
    **compile_arguments.PLACES,
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
    try:
        arguments = parser(argv[0] if argv else "").parse_args(argv)
    except SystemExit as stop:  # --help and --version have printed their answer
        sys.stdout.flush()
        return int(stop.code or 0)
    if arguments.command == "mcp-serve":
        return int(_client("bridge").serve(arguments.source, arguments.harness, tools=arguments.tools))
    if arguments.command == "lsp":
        editor = _client("editor_messages").EDITOR
        return int(_client("bridge").serve(arguments.source, arguments.harness, editor))
    words = affected_arguments.carried(argv, arguments)
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


def _client(name: str) -> ModuleType:
    """A module of the package that is installed as torchtalkd_clients."""
    try:
        return importlib.import_module(f"torchtalkd_clients.{name}")
    except ModuleNotFoundError:
        # A checkout that is run as it stands has the package under its folder's name.
        from importlib.util import module_from_spec, spec_from_file_location

        folder = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "clients")
        spec = spec_from_file_location("torchtalkd_clients", os.path.join(folder, "__init__.py"))
        if spec is None or spec.loader is None:
            raise
        package = sys.modules["torchtalkd_clients"] = module_from_spec(spec)
        spec.loader.exec_module(package)
        return importlib.import_module(f"torchtalkd_clients.{name}")


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


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise WrongCall(self.prog, message)


class _Help(argparse.HelpFormatter):
    """Help as wide as the terminal. argparse makes one for each argument, and without a width it loads
    `shutil` to find that out, with all that compresses files."""

    def __init__(self, prog: str) -> None:
        try:
            columns = int(os.environ.get("COLUMNS") or 0) or os.get_terminal_size(1).columns
        except (ValueError, OSError):
            # Stdout is no terminal.
            columns = 0
        super().__init__(prog, width=(columns or 80) - 2)


def parser(first: str = "") -> argparse.ArgumentParser:
    """All commands with their arguments; where `first` is one of the bridges, which editors and agents wait
    for at each start, those of the bridges alone: the others take several milliseconds."""
    parser = _Parser(
        prog="torchtalkd",
        description="Finds the way from a PyTorch name in Python to the code that implements it.",
        epilog="First time? `torchtalkd demo` needs nothing else. Then: `torchtalkd init --source PATH`.",
        allow_abbrev=False,
        formatter_class=_Help,
    )
    parser.add_argument("--version", action="version", version=f"torchtalkd {__version__}")
    # With its name said, argparse need not load what formats help to find it out.
    commands = parser.add_subparsers(prog="torchtalkd", dest="command", required=True, metavar="COMMAND")

    def command(name: str, help: str, *, under: argparse._SubParsersAction[_Parser] = commands) -> _Parser:
        return under.add_parser(
            name.rpartition(" ")[2],
            help=help,
            description=f"{help}.",
            allow_abbrev=False,
            formatter_class=_Help,
        )

    def bridges() -> None:
        serve = command("mcp-serve", "Serve an agent over stdio (MCP); the agent's client starts this")
        _tree(serve)
        agent_arguments.serve(serve)
        editor = command("lsp", "Serve an editor over stdio (LSP); the editor starts this")
        _tree(editor)
        # What some clients add to every server's command line.
        editor.add_argument("--stdio", action="store_true", help=argparse.SUPPRESS)

    if first in ("mcp-serve", "lsp"):
        bridges()
        return parser

    command("demo", "Index a small tree that comes with the program and trace an operator in it")

    init = command("init", "Remember a source tree")
    _tree(init, source_required=True)
    init.add_argument("--set-default", action="store_true", help="use it wherever no other tree is meant")
    compile_arguments.init(init)
    _json(init)

    index = command("index", "Build an index").add_subparsers(
        prog="torchtalkd index", dest="part", required=True, metavar="build|update"
    )
    build = command("index build", "Read a whole tree, or what changed in it since", under=index)
    build.set_defaults(command="index build")
    _tree(build)
    _no_daemon(build)
    build.add_argument("--no-wait", action="store_true", help="return when every file is read by name")
    build.add_argument(
        "--exact", action="store_true", help="wait until C++ is read by libclang, too, which takes minutes"
    )
    build.add_argument("--workers", type=_positive, metavar="N", help="processes (default: one for each CPU)")
    _json(build)

    update = command(
        "index update",
        "Read what differs from a snapshot, and all that takes in a changed header",
        under=index,
    )
    update.set_defaults(command="index update")
    update.add_argument("--since", required=True, metavar="SNAPSHOT", help="what the index was loaded from")
    update.add_argument(
        "--workers", type=_positive, metavar="N", help="processes (default: one for each CPU)"
    )
    _query(update)
    add_snapshots(command, query=_query, json=_json, positive=_positive)

    status = command("status", "Say what is indexed, what could not be read, and which daemon runs")
    status.add_argument("--socket", action="store_true", help="only print the path of the daemon's socket")
    compile_arguments.status(status)
    _query(status)

    trace = command(
        "trace", "Follow a name from Python to its kernels: torch.matmul, aten::mm, add.out, F.conv2d"
    )
    trace.add_argument("name", type=_filled, help="in any spelling")
    trace.add_argument("focus", nargs="?", default="full", choices=["full", "yaml", "dispatch"])
    trace.add_argument("--limit", type=_positive, metavar="N", help="show at most N places")
    trace.add_argument("--all", action="store_true", help="show every place")
    dispatcher_arguments.path(trace)
    _across(trace)
    _wait(trace)
    _query(trace)

    search = command("search", "List bindings, or CUDA and Metal kernels, whose name contains a text")
    search.add_argument("query", type=_filled)
    search.add_argument(
        "--mode", default="bindings", choices=["bindings", "kernels", "registries", "external"]
    )
    search.add_argument(
        "--backend", default="", metavar="KEY", help="only for a dispatch key: CPU, CUDA, MPS, …"
    )
    search.add_argument(
        "--limit", type=_positive, default=10, metavar="N", help="show at most N (default 10)"
    )
    _across(search)
    _wait(search)
    _query(search)

    for name, (about, add) in question_arguments.COMMANDS.items():
        asking = command(name, about)
        add(asking, _filled)
        _wait(asking)
        _query(asking)

    for name, (about, take) in agent_arguments.COMMANDS.items():
        take(command(name, about), _tree, _json)
    for name, (about, add_to) in compile_arguments.COMMANDS.items():
        add_to(deciding := command(name, about))
        _json(deciding)

    add_harness(command, tree=_tree, json=_json, filled=_filled)

    _json(command("roots", "List the source trees that are remembered or indexed"))

    bridges()

    stop = command("stop", "End the daemon; the next question starts a new one")
    stop.add_argument("--all", action="store_true", help="those of other versions, too")
    _json(stop)
    _json(command("restart", "End the daemon and start a new one"))
    logs = command("logs", "Show the end of the daemon's log")
    logs.add_argument("--lines", type=_positive, default=40, metavar="N", help="how many (default 40)")

    forget = command("forget", "Forget a source tree and delete its index")
    forget.add_argument("path")
    return parser
