"""The arguments of what decides how C++ is read exactly: `trust`, `untrust`, some of `init` and `status`.

Like `cli` it imports next to nothing.
"""

from __future__ import annotations

from argparse import ArgumentParser


def init(parser: ArgumentParser) -> None:
    """Those of `init`."""
    parser.add_argument(
        "--compile-commands", metavar="PATH", help="the compile_commands.json of a build of it"
    )
    parser.add_argument(
        "--trust", action="store_true", help="let its own code run that generates headers, as `trust` does"
    )


def status(parser: ArgumentParser) -> None:
    """Those of `status`."""
    parser.add_argument(
        "--compile", action="store_true", help="how its C++ can be read exactly, and what is missing for it"
    )


def trust(parser: ArgumentParser) -> None:
    """Those of `trust`."""
    parser.add_argument("path", nargs="?", help="top folder of the source tree")
    parser.add_argument(
        "--harness", metavar="NAME", help="read it as this framework's, whatever it looks like"
    )
    parser.add_argument("--list", action="store_true", help="list the trees that are trusted")
    parser.add_argument("--no-run", action="store_true", help="only remember it; headers are made later")


def untrust(parser: ArgumentParser) -> None:
    """Those of `untrust`."""
    parser.add_argument("path", help="top folder of the source tree")


COMMANDS = {
    "trust": ("Let a tree's own code run, fenced in, to generate its C++ headers", trust),
    "untrust": ("Take that back; what was generated goes", untrust),
}
"""Command → what it does, and what adds its arguments."""
