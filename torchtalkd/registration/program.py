"""The command that a client shall start."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

NAME: Final = "torchtalk"
"""What the server is called in every client: instructions say `mcp__torchtalk__trace`."""
_PROGRAMS: Final = ("torchtalkd", "torchtalk")


def program(environ: Mapping[str, str], started_as: str) -> list[str]:
    """The words that start this program, with whole paths: a client that was started from a desktop has
    another PATH than a shell. `started_as` is `sys.argv[0]`."""
    own = Path(started_as)
    if own.name in _PROGRAMS and own.is_file() and os.access(own, os.X_OK):
        return [os.path.abspath(own)]
    beside = Path(sys.executable).parent / _PROGRAMS[0]
    if beside.is_file() and os.access(beside, os.X_OK):
        return [str(beside)]
    found = shutil.which(_PROGRAMS[0], path=environ.get("PATH"))
    return [os.path.abspath(found)] if found else [sys.executable, "-m", "torchtalkd"]


def serving(words: list[str], source: str | None, harness: str | None = None) -> list[str]:
    """The whole command of the server."""
    more = [*(["--source", source] if source else []), *(["--harness", harness] if harness else [])]
    return [*words, "mcp-serve", *more]
