"""The arguments that many commands have.

Like `cli` it imports next to nothing.
"""

from __future__ import annotations

import argparse


def across(parser: argparse.ArgumentParser) -> None:
    """Those of a question that may look into other roots."""
    parser.add_argument(
        "--all-roots",
        action="store_true",
        help="ask the other known roots, too: what the tree depends on, and who depends on it",
    )
    parser.add_argument(
        "--base", metavar="PATH", help="take the framework that the tree depends on from this root"
    )


def wait(parser: argparse.ArgumentParser) -> None:
    """`--wait`."""
    parser.add_argument(
        "--wait",
        action="store_true",
        help="wait until all that has changed is read, and say so if the tree does not settle within 2 s",
    )


def query(parser: argparse.ArgumentParser) -> None:
    """Those of every question."""
    tree(parser)
    no_daemon(parser)
    json(parser)


def no_daemon(parser: argparse.ArgumentParser) -> None:
    """`--no-daemon`."""
    parser.add_argument(
        "--no-daemon", action="store_true", help="in this process alone (TORCHTALK_NO_DAEMON=1: always)"
    )


def tree(parser: argparse.ArgumentParser, *, source_required: bool = False) -> None:
    """Which tree is meant."""
    parser.add_argument(
        "--source",
        "--pytorch-source",
        metavar="PATH",
        required=source_required,
        help="top folder of the source tree"
        + (
            ""
            if source_required
            else " (default: TORCHTALK_SOURCE, the current tree, the configured default)"
        ),
    )
    parser.add_argument(
        "--harness", metavar="NAME", help="read it as this framework's, whatever it looks like"
    )


def json(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout, for scripts")


def filled(text: str) -> str:
    """A text that is not empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty")
    # Bytes that are no UTF-8 came as lone surrogates, which nothing behind here can look up.
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def positive(text: str) -> int:
    """A whole number from 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(text)
