"""Which files does the tree have now? Stats only; no file is opened.

Folders that are symbolic links are not followed, so there are no loops. A file that is a
link is read as if it stood there, unless it leads out of the tree. The tests are in
`tests/test_engine.py`.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from torchtalkd.conventions import Conventions
from torchtalkd.conventions.files import ignored, language_of, role_of


class Entry(NamedTuple):
    """A file of the tree that the conventions want read."""

    path: str
    """From the root, with forward slashes."""
    language: str
    role: str
    size: int
    mtime_ns: int
    inode: int
    refused: str = ""
    """Why it must not be read; '' for nearly all."""


class Sweep(NamedTuple):
    """What a walk of the tree found."""

    entries: list[Entry]
    """By path."""
    blind: dict[str, str]
    """Folders that could not be listed ('' is the root), with the reason. What is below them is
    not known: neither there nor gone."""


def sweep(root: Path, conventions: Conventions) -> Sweep:
    """Walks the tree. About 0.1 s for 18,000 files. Raises nothing for what it meets on the way."""
    files = conventions.files
    top = os.path.realpath(root)
    entries: list[Entry] = []
    blind: dict[str, str] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(os.path.join(top, folder)) as found:
                listed = list(found)
        except FileNotFoundError:
            # It went since its parent was listed. The root itself is a different matter.
            if not folder:
                blind[""] = "it does not exist"
            continue
        except OSError as error:
            blind[folder] = error.strerror or str(error)
            continue
        prefix = folder + "/" if folder else ""
        for item in listed:
            path = prefix + item.name
            try:
                if item.is_dir(follow_symlinks=False):
                    if not ignored(files, path):
                        folders.append(path)
                    continue
                language = language_of(files, path)
                if not language or ignored(files, path):
                    continue
                entry = _entry(top, path, item, language, role_of(files, path))
            except FileNotFoundError:
                continue
            except OSError as error:
                blind[path] = error.strerror or str(error)
                continue
            if entry is not None:
                entries.append(entry)
    entries.sort()
    return Sweep(entries, blind)


def resolves_inside(top: str, path: str) -> bool:
    """Whether a path, all links followed, is below `top` (itself a real path)."""
    return os.path.realpath(path).startswith(top.rstrip("/") + "/")


def _entry(top: str, path: str, item: os.DirEntry[str], language: str, role: str) -> Entry | None:
    refused = ""
    if item.is_symlink():
        whole = os.path.join(top, path)
        if not resolves_inside(top, whole):
            refused = "a symbolic link that leads out of the tree is not read"
        elif not os.path.isfile(whole):
            return None
    found = item.stat(follow_symlinks=not refused)
    if not refused and not stat.S_ISREG(found.st_mode):
        return None
    try:
        path.encode()
    except UnicodeEncodeError:
        refused = "its name is not UTF-8"
        path = path.encode("utf-8", "backslashreplace").decode()
    return Entry(path, language, role, found.st_size, found.st_mtime_ns, found.st_ino, refused)
