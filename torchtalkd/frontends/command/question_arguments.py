"""The arguments of all commands whose answers have a form of their own. Imports next to nothing."""

from __future__ import annotations

from typing import Final

from torchtalkd.frontends.command import (
    affected_arguments,
    dispatcher_arguments,
    graph_arguments,
    python_arguments,
    tests_arguments,
)

COMMANDS: Final = {
    **dispatcher_arguments.COMMANDS,
    **graph_arguments.COMMANDS,
    **python_arguments.COMMANDS,
    **tests_arguments.COMMANDS,
    **affected_arguments.COMMANDS,
}
"""Command → what it does, and what adds its arguments."""
