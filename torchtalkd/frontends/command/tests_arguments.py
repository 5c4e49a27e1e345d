"""The arguments of the command `tests`. Like `cli` it imports next to nothing."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import TypeAlias

Text: TypeAlias = Callable[[str], str]
"""How a name is taken from the command line."""


def tests(parser: ArgumentParser, text: Text) -> None:
    """Those of `tests`."""
    parser.add_argument("query", nargs="?", default="", help="an operator, a name, words; a part of a path")
    parser.add_argument("--mode", default="find", choices=["find", "utils", "file_info"])
    parser.add_argument("--focus", default="all", choices=["all", "functions", "classes", "files"])
    parser.add_argument(
        "--category",
        default="all",
        choices=["all", "fixtures", "assertions", "decorators"],
        help="with --mode utils: only these",
    )
    parser.add_argument(
        "--limit", type=_positive, default=10, metavar="N", help="show at most N (default 10)"
    )


def _positive(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)


COMMANDS = {"tests": ("Find the tests of something; what tests use; what a test file has", tests)}
"""Command → what it does, and what adds its arguments."""
