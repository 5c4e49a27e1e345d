"""What may be asked on the command line: all commands with their arguments.

The tests are in `tests/test_cli.py`.
"""

from __future__ import annotations

import argparse
import os
from typing import NoReturn

from torchtalkd import __version__
from torchtalkd.frontends.command import (
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


def words(wrong: type[Exception]) -> argparse.ArgumentParser:
    """All commands with their arguments. A wrong call raises `wrong`, with the command to ask for help and
    what is wrong."""

    class _Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise wrong(self.prog, message)

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

    # Plain calls of these two never come here (`bridge_arguments`).
    serve = command("mcp-serve", "Serve an agent over stdio (MCP); the agent's client starts this")
    _tree(serve)
    agent_arguments.serve(serve)
    editor = command("lsp", "Serve an editor over stdio (LSP); the editor starts this")
    _tree(editor)
    # What some clients add to every server's command line.
    editor.add_argument("--stdio", action="store_true", help=argparse.SUPPRESS)

    stop = command("stop", "End the daemon; the next question starts a new one")
    stop.add_argument("--all", action="store_true", help="those of other versions, too")
    _json(stop)
    _json(command("restart", "End the daemon and start a new one"))
    logs = command("logs", "Show the end of the daemon's log")
    logs.add_argument("--lines", type=_positive, default=40, metavar="N", help="how many (default 40)")

    forget = command("forget", "Forget a source tree and delete its index")
    forget.add_argument("path")
    return parser
