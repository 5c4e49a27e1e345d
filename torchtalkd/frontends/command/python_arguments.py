"""The arguments of the commands about Python: `modules`.

Like `cli` it imports next to nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import TypeAlias

Text: TypeAlias = Callable[[str], str]
"""How a name is taken from the command line."""


def modules(parser: ArgumentParser, text: Text) -> None:
    """Those of `modules`."""
    parser.add_argument(
        "name",
        nargs="?",
        default="",
        type=text,
        metavar="NAME",
        help="Linear, nn.Conv2d, Adam, F.gelu; with --mode list: nn, optim, all, or a part of a name",
    )
    parser.add_argument(
        "--mode", default="trace", choices=["trace", "list"], help="one class, or a list (default: trace)"
    )
    parser.add_argument(
        "--focus",
        default="methods",
        choices=["methods", "full"],
        help="full: with bases, docstring and all inherited methods (default: methods)",
    )
    parser.add_argument(
        "--limit", type=_positive, default=60, metavar="N", help="list at most N classes (default 60)"
    )


def _positive(written: str) -> int:
    if not written.isdecimal() or int(written) < 1:
        raise ArgumentTypeError(f"{written!r} is no number from 1 on")
    return int(written)


COMMANDS = {
    "modules": ("Show a class of Python with its methods and what they run, or list classes", modules),
}
"""Command → what it does, and what adds its arguments."""
