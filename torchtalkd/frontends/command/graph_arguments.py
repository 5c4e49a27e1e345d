"""The arguments of `graph`. Like `cli` it imports next to nothing."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable

from torchtalkd.frontends.command.shared_arguments import positive


def graph(parser: ArgumentParser, text: Callable[[str], str]) -> None:
    """Those of `graph`."""
    parser.add_argument("func", type=text, metavar="NAME", help="a function, operator, class, stub or macro")
    parser.add_argument(
        "--mode",
        default="callers",
        metavar="MODE",
        help="callers (default), calls, or impact: callers of callers",
    )
    parser.add_argument("--depth", type=int, default=0, metavar="N", help="levels, 1 to 5 (impact: 2)")
    parser.add_argument(
        "--focus", default="callers", metavar="FOCUS", help="full: with how Python gets there"
    )
    for flag, what in (
        ("walk-python", "callers in Python at each level, too"),
        ("fuzzy-all-levels", "go on through names that may mean many things"),
        ("mermaid", "as a Mermaid graph"),
        ("dot", "as a Graphviz graph"),
        ("all", "every line"),
    ):
        parser.add_argument(f"--{flag}", action="store_true", help=what)
    parser.add_argument("--limit", type=positive, default=0, metavar="N", help="at most N lines")


COMMANDS = {"graph": ("Show who calls a name, what it calls, what breaks if it changes", graph)}
"""Command → what it does, and what adds its arguments."""
