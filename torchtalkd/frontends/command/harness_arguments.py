"""The arguments of the commands about manifests. Imports next to nothing: any command line needs it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable


def add_harness(
    command: Callable[..., ArgumentParser],
    *,
    tree: Callable[[ArgumentParser], None],
    json: Callable[[ArgumentParser], None],
    filled: Callable[[str], str],
) -> None:
    """Adds them; `command` makes a command's parser, the others add what several commands have in common."""
    under = command(
        "harness", "Manifests: list and show them, draft one, check a tree's index against one"
    ).add_subparsers(prog="torchtalkd harness", dest="part", required=True, metavar="COMMAND")

    def part(name: str, help: str) -> ArgumentParser:
        made = command(f"harness {name}", help, under=under)
        made.set_defaults(command=f"harness {name}")
        tree(made)
        return made

    json(part("list", "List the harnesses, and say which one the source is read with"))
    show = part("show", "Show all values of a harness, each with the file and line that it comes from")
    show.add_argument("name", type=filled)
    json(show)
    new = part("new", "Draft a manifest from a source tree (default: the current folder)")
    new.add_argument("name", type=filled, help="a name for the harness")
    new.add_argument("--print", action="store_true", help="print it, write no file")
    new.add_argument(
        "-o", dest="output", metavar="FILE", help="write it there, not to .torchtalk.toml of the source"
    )
    new.add_argument("--force", action="store_true", help="replace a file that is there")
    verify = part("verify", "Check the index against expected minimums and anchors; 1 if it falls short")
    verify.add_argument("--anchors", metavar="FILE", help="which name leads to which file (YAML)")
    verify.add_argument("--all", action="store_true", help="show every place that no convention matched")
    json(verify)
