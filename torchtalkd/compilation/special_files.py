"""Does any include of a unit lead to what is no file: a device, a pipe, a socket?

A compiler opens what it finds, and then waits for a pipe's writer, or reads a device that never ends. So who
reads a unit asks first, of all names that the files of its closure include, in all folders where they may be.
Asks the disk once for a path. The tests are in `tests/test_compilation_hostile.py`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable


class SpecialFiles:
    """What was asked of the disk. A new one for each look at a tree: a path may become a pipe."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}

    def first(self, includes: Iterable[tuple[str, str]], folders: Iterable[str]) -> str:
        """The first path that an include may mean and that no reader survives; '' where there is none.
        `includes` are pairs: the absolute folder of the file that includes, and the name as written."""
        places = tuple(folders)
        for near, name in includes:
            for place in (near, *places):
                path = os.path.join(place, name)
                if self._is_special(path):
                    return path
        return ""

    def _is_special(self, path: str) -> bool:
        if path not in self._known:
            try:
                mode = os.stat(path).st_mode
                self._known[path] = not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
            except (OSError, ValueError):
                self._known[path] = False  # It is not there: the compiler looks on.
        return self._known[path]
