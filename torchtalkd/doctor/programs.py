"""The programs on the PATH: is `torchtalkd` there, and is a `torchtalk` there that is another one?"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from torchtalkd.doctor.values import FIX, NOTE, OK, Finding, Place

_MARK = b"torchtalkd.cli"
"""What a script of ours imports, whichever tool wrote it."""


def programs(place: Place) -> Iterator[Finding]:
    """Which program each of our two names starts."""
    ours = _on_path("torchtalkd", place)
    own = Path(sys.executable).parent / "torchtalkd"
    if ours:
        yield Finding("programs", OK, f"torchtalkd is {ours[0]}")
        others = [str(path) for path in ours[1:] if path.resolve() != ours[0].resolve()]
        if others:
            said = f"there are more on the PATH, which are not used: {', '.join(others)}"
            yield Finding("programs", NOTE, said)
    else:
        where = f"export PATH={own.parent}:$PATH" if own.exists() else "pip install the package again"
        yield Finding("programs", NOTE, "torchtalkd is not on the PATH", where)
    theirs = _on_path("torchtalk", place)
    if theirs and not is_ours(theirs[0]):
        fix = f"call `torchtalkd` instead, or remove the other one ({_remove(theirs[0])})"
        yield Finding("programs", FIX, f"{theirs[0]} is another program called torchtalk", fix)


def is_ours(path: Path) -> bool:
    """Whether a script starts this program. A wrapper of somebody's own that calls one is as good."""
    try:
        with path.open("rb") as file:
            text = file.read(1 << 14)
    except OSError:
        return False
    return _MARK in text or (b"torchtalkd" in text and text.startswith(b"#!"))


def _on_path(name: str, place: Place) -> list[Path]:
    found = []
    for folder in (place.environ.get("PATH") or os.defpath).split(os.pathsep):
        path = Path(folder) / name
        if folder and path.is_file() and os.access(path, os.X_OK) and path not in found:
            found.append(path)
    return found


def _remove(path: Path) -> str:
    beside = path.parent / "python"
    return f"{beside} -m pip uninstall torchtalk" if beside.exists() else f"rm {path}"
