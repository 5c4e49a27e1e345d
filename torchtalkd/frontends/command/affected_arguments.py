"""The arguments of `affected`. Like `cli` it imports next to nothing."""

from __future__ import annotations

import argparse
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable

FORMATS = ("text", "json", "pytest", "run_test", "summary")
LARGEST = 3 << 20
"""Characters of a difference that are sent to the daemon; a larger one is answered without it."""


def affected(parser: ArgumentParser, text: Callable[[str], str]) -> None:
    """Those of `affected`."""
    parser.add_argument("funcs", nargs="*", type=text, metavar="FUNC", help="names; a,b are two")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--since", metavar="REV", type=text, help="what changed from a git revision to the files now"
    )
    what.add_argument("--staged", action="store_true", help="what is in git's index")
    what.add_argument("--diff", metavar="FILE", type=text, help="a unified diff; - for standard input")
    parser.set_defaults(unread="")
    # What --diff read, for the daemon, which has another folder and another standard input.
    what.add_argument("--diff-text", help=argparse.SUPPRESS)
    parser.add_argument(
        "--depth", type=int, default=3, metavar="N", help="steps in which every name is followed (default 3)"
    )
    parser.add_argument("--format", default="text", choices=FORMATS, help="how to print the tests")
    parser.add_argument("--all", action="store_true", help="every line")


def carried(argv: list[str], arguments: Namespace) -> list[str] | None:
    """The words for the daemon, with what --diff names in them; None where that is too much for it.
    Reads the file, and sets `diff_text`, or `unread` to why it cannot."""
    if not getattr(arguments, "diff", None):
        return argv
    try:
        if arguments.diff == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(arguments.diff, "rb") as file:
                data = file.read()
    except OSError as error:
        arguments.unread = f"{arguments.diff}: {error.strerror}"
        return None
    arguments.diff_text = data.decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode("utf-8")
    words = []
    skip = False
    for word in argv:
        if skip or word.startswith("--diff="):
            skip = False
        elif word == "--diff":
            skip = True
        else:
            words.append(word)
    arguments.diff = None
    return [*words, f"--diff-text={arguments.diff_text}"] if len(arguments.diff_text) <= LARGEST else None


COMMANDS = {"affected": ("Say which tests a change reaches, and why", affected)}
"""Command → what it does, and what adds its arguments."""
