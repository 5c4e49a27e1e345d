"""Is this a plain file, here, and what is in it?

A tree is not trusted. A pipe would be waited for, a device may never end, a link may lead anywhere; and what
is asked of the kernel first may be something else a moment later. So a file is opened without waiting, and
what was opened is asked. The tests are in `tests/test_compilation_hostile.py`.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def plain_bytes(path: str | Path, most: int) -> bytes | None:
    """What is in a regular file of at most `most` bytes; None for anything else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError):
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_size > most:
            return None
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            data = stream.read(most + 1)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return data if len(data) <= most else None


def plain_text(root: Path, path: str, most: int) -> str | None:
    """The text of a regular UTF-8 file of a tree, which its links may not leave; None for anything else."""
    real = os.path.realpath(root / path)
    if not is_within(real, root):
        return None
    data = plain_bytes(real, most)
    try:
        return data.decode("utf-8") if data is not None else None
    except UnicodeDecodeError:
        return None


def is_within(real: str, root: Path | str) -> bool:
    """Whether a resolved path is a resolved folder or below it."""
    return real == str(root) or real.startswith(str(root).rstrip("/") + "/")


def is_readable_kind(path: str) -> bool:
    """Whether a path is, links followed, a regular file or a folder: no device, pipe or socket."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
