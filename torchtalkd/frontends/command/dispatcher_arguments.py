"""The arguments of the commands about the dispatcher: `dispatch`, `ops`, `problems`, `trace --path`.

Like `cli` it imports next to nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import TypeAlias

Text: TypeAlias = Callable[[str], str]
"""How a name is taken from the command line."""


def path(parser: ArgumentParser) -> None:
    """Those of `trace --path`."""
    parser.add_argument(
        "--path", default="", metavar="BACKEND", help="the whole way of a call: cuda, cpu, hip"
    )
    for flag, what in (
        ("requires-grad", "with the formulas of its derivative"),
        ("autocast", "under autocast"),
        ("vmap", "under vmap"),
        ("mermaid", "as a Mermaid graph"),
        ("dot", "as a Graphviz graph"),
    ):
        parser.add_argument(f"--{flag}", action="store_true", help=f"with --path: {what}")


def dispatch(parser: ArgumentParser, text: Text) -> None:
    """Those of `dispatch`."""
    parser.add_argument("names", nargs="*", type=text, metavar="NAME", help="operators: add.Tensor, mm")
    parser.add_argument("--all", action="store_true", help="all operators")
    parser.add_argument("--key", default="", metavar="KEY", help="only this dispatch key: CUDA, Meta, …")
    parser.add_argument(
        "--build", default="", metavar="NAME", help="as built so; all: everything in the source, with its #if"
    )


def ops(parser: ArgumentParser, text: Text) -> None:
    """Those of `ops`."""
    for flag, target, what in (
        ("missing", "missing", "nothing runs for KEY"),
        ("with", "having", "a kernel is registered for KEY itself"),
        ("without", "without", "none is registered for KEY itself"),
    ):
        parser.add_argument(
            f"--{flag}",
            dest=target,
            action="append",
            default=[],
            type=text,
            metavar="KEY",
            help=f"{what} (repeatable)",
        )
    for flag, what in (
        ("composite", "made of other operators"),
        ("structured", "structured ones"),
        ("no-derivative", "no entry in derivatives.yaml"),
        ("no-opinfo", "no OpInfo tests it"),
    ):
        parser.add_argument(f"--{flag}", action="store_true", help=what)
    parser.add_argument(
        "--build", default="all", metavar="NAME", help="as built so (default: all that there is)"
    )


def problems(parser: ArgumentParser, text: Text) -> None:
    """`problems` has none of its own."""


COMMANDS = {
    "dispatch": ("Show which kernel the dispatcher runs for each key, and why that one", dispatch),
    "ops": ("List the operators that have, or lack, a kernel, a derivative, a test", ops),
    "problems": ("List what cannot be right: kernels and schemas that nobody defines, …", problems),
}
"""Command → what it does, and what adds its arguments."""
