"""The arguments of the commands for agents and their clients.

Like `cli` it imports next to nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import TypeAlias

More: TypeAlias = Callable[[ArgumentParser], None]
"""Adds arguments that other commands have, too."""

CLIENTS = (
    *("claude", "codex", "cursor", "vscode", "zed", "windsurf", "gemini", "copilot", "opencode"),
    "claude-desktop",
)
"""The clients whose configuration is known (`registration.known`, which a test compares)."""


def serve(parser: ArgumentParser) -> None:
    """Those of `mcp-serve`."""
    parser.add_argument(
        "--tools",
        choices=["core", "classic", "all"],
        default="all",
        help="which tools: the seven, the older set of twelve, or both (default)",
    )


def mcp_config(parser: ArgumentParser, tree: More, json: More) -> None:
    """Those of `mcp-config`."""
    parser.add_argument("client", choices=CLIENTS, metavar="CLIENT", help=", ".join(CLIENTS))
    tree(parser)
    json(parser)


def cursor_add(parser: ArgumentParser, tree: More, json: More) -> None:
    """Those of `cursor-add`."""
    parser.add_argument(
        "-C", "--project", default=".", metavar="PROJECT", help="the project's folder (default: this one)"
    )
    parser.add_argument("-p", dest="source", metavar="SOURCE", help="the same as --source")
    tree(parser)
    json(parser)


def doctor(parser: ArgumentParser, tree: More, json: More) -> None:
    """Those of `doctor`."""
    tree(parser)
    json(parser)


COMMANDS = {
    "mcp-config": ("Print what an agent's client must be told to start this server", mcp_config),
    "cursor-add": ("Add this server, and rules, to a project that Cursor opens", cursor_add),
    "doctor": ("Look for what is wrong, and say how each thing is fixed", doctor),
}
"""Command → what it does, and what adds its arguments."""
