"""The arguments of the commands for agents and their clients.

Like `cli` it imports next to nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser


def serve(parser: ArgumentParser) -> None:
    """Those of `mcp-serve`."""
    parser.add_argument(
        "--tools",
        choices=["core", "classic", "all"],
        default="all",
        help="which tools: the seven, the older set of twelve, or both (default)",
    )
