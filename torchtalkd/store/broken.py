"""Sets a bad database aside, so that a new one can be built and the old one looked at.

The tests are in `tests/test_store.py`.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from torchtalkd.store.connection import NAME, remove

BROKEN_KEPT: Final = 2
"""Databases that stay aside: they are as large as a good one."""


def set_aside(folder: Path) -> Path:
    """Renames the database (with its -wal) to the next `.broken-<n>` and returns the new path.

    Only the newest two are kept. Only the holder of the lock may call it.
    """
    broken = sorted(
        (int(found[1]), path)
        for path in folder.iterdir()
        if (found := re.fullmatch(re.escape(NAME) + r"\.broken-(\d+)", path.name))
    )
    for _, path in broken[: max(0, len(broken) - BROKEN_KEPT + 1)]:
        remove(path)
    aside = folder / f"{NAME}.broken-{broken[-1][0] + 1 if broken else 1}"
    # Its journals first: a new database must never meet the -wal of an old one.
    for suffix in ("-wal", "-journal", ""):
        if (folder / (NAME + suffix)).exists():
            os.replace(folder / (NAME + suffix), folder / (aside.name + suffix))
    (folder / (NAME + "-shm")).unlink(missing_ok=True)
    return aside
