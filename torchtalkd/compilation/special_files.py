"""Does any include of a unit lead to what is no file: a device, a pipe, a socket?

A compiler opens what it finds, and then waits for a pipe's writer, or reads a device that never ends. So who
reads units asks first which files of the tree have such an include: a unit whose closure has one of these is
not read. An include that a macro names is not known here; time and memory of who reads are bounded all the
same. The tests are in `tests/test_compilation_hostile.py`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path


def leading_to_special(
    root: Path, includes: Mapping[str, Collection[str]], folders: Iterable[str]
) -> dict[str, str]:
    """The files with an include that may mean what no reader survives → that path. `includes` are a tree's
    files, or those that changed: path from the root → names as written; `folders` all include folders of its
    units, absolute. Asks the disk once for each folder and name: a second for a tree like PyTorch."""
    known: dict[str, str] = {}
    places = tuple(folders)
    found = {}
    for path, names in includes.items():
        near = os.path.dirname(os.path.join(root, path))
        for name in names:
            if name not in known:
                known[name] = _first_special(name, places)
            special = known[name] or _first_special(name, (near,))
            if special:
                found[path] = special
                break
    return found


def _first_special(name: str, folders: Iterable[str]) -> str:
    for folder in folders:
        path = os.path.join(folder, name)
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            continue  # It is not there: the compiler looks on.
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return path
    return ""
