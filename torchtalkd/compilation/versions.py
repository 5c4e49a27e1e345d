"""The folder of what was made for a tree, and how one version of it takes the place of another.

`made` is a link to one of the folders beside it. A new version is put together whole, then the link is
turned in one step: whoever follows it sees the old files or the new ones. A file that is the same in both is
one file on the disk, with its time, so that what was read with it stays good. The tests are in
`tests/test_generated.py`.
"""

from __future__ import annotations

import fcntl
import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PREFIX: Final = "version-"
_LOCK: Final = "lock"
STAMP: Final = "generated.json"
"""The file beside it that says what it was made from."""


@contextmanager
def held(made: Path) -> Iterator[None]:
    """No other process makes anything there meanwhile. Raises OSError."""
    made.parent.mkdir(parents=True, exist_ok=True)
    with (made.parent / _LOCK).open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def ready(made: Path) -> None:
    """`made` leads to a folder from here on. Raises OSError."""
    if not made.is_dir():
        with held(made):
            if not made.is_dir():
                _turn(made, new_version(made))


def new_version(made: Path) -> Path:
    """An empty folder that can become the next version."""
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=made.parent))
    folder.chmod(0o755)
    return folder


def take_over(made: Path, version: Path) -> None:
    """A version that is complete becomes what `made` leads to; the former one goes. Called while held."""
    former = made.resolve() if made.is_dir() else None
    if former is not None:
        for folder, _, names in os.walk(version):
            for name in names:
                new = os.path.join(folder, name)
                old = os.path.join(former, os.path.relpath(new, version))
                if os.path.isfile(old) and filecmp.cmp(old, new, shallow=False):
                    os.unlink(new)
                    os.link(old, new)
    _turn(made, version)
    for left in made.parent.glob(f"{_PREFIX}*"):
        if left != version:
            shutil.rmtree(left, ignore_errors=True)


def drop(made: Path) -> None:
    """What was made goes, and what is remembered of it; what else lies beside it stays. Raises OSError."""
    with held(made):
        made.unlink(missing_ok=True)
        for left in (*made.parent.glob(f"{_PREFIX}*"), *made.parent.glob("run-*")):
            shutil.rmtree(left, ignore_errors=True)
        (made.parent / STAMP).unlink(missing_ok=True)


def _turn(made: Path, version: Path) -> None:
    link = Path(tempfile.mktemp(prefix=".link-", dir=made.parent))
    link.symlink_to(version.name)
    os.replace(link, made)
