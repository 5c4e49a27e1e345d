"""Which files does the tree have now? Stats only; no file of it is opened.

Folders that are symbolic links are not followed, so there are no loops. A file that is a
link is read as if it stood there, unless it leads out of the tree. Another work tree of the
repository that lies within is left out: it is a root of its own, with all the same names. The
tests are in `tests/test_engine.py` and `tests/test_situations.py`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from torchtalkd.conventions import Conventions
from torchtalkd.conventions.files import ignored, language_of, role_of
from torchtalkd.conventions.values import Files
from torchtalkd.vcs import is_linked_work_tree


class Entry(NamedTuple):
    """A file of the tree that the conventions want read."""

    path: str
    """From the root, with forward slashes."""
    language: str
    role: str
    size: int
    mtime_ns: int
    inode: int
    ctime_ns: int
    refused: str = ""
    """Why it must not be read; '' for nearly all."""


class Sweep(NamedTuple):
    """What a walk of the tree found."""

    entries: list[Entry]
    """By path."""
    blind: dict[str, str]
    """Folders that could not be listed ('' is the root), with the reason. What is below them is
    not known: neither there nor gone."""
    links: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Files that are symbolic links, and all places of the tree that they lead through and to: a change
    of one of these is one of the link."""


def sweep(root: Path, conventions: Conventions) -> Sweep:
    """Walks the tree. About 0.1 s for 18,000 files. Raises nothing for what it meets on the way."""
    walk = _Walk(os.path.realpath(root), conventions.files)
    walk.folders([""])
    return walk.found()


def look(root: Path, conventions: Conventions, paths: Iterable[str]) -> Sweep:
    """What a sweep would find at some paths, and below those that are folders: each is listed by the
    folder that it is in, under the same rules. Raises nothing for what it meets on the way."""
    walk = _Walk(os.path.realpath(root), conventions.files)
    if not os.path.isdir(walk.top):
        walk.blind[""] = "it does not exist"
        return walk.found()
    named: dict[str, set[str]] = {}
    for path in paths:
        parent, _, name = path.strip("/").rpartition("/")
        if not name:
            walk.folders([""])
            return walk.found()
        named.setdefault(parent, set()).add(name)
    for parent, names in named.items():
        if walk.reaches(parent):
            walk.folders(walk.list(parent, names))
    return walk.found()


def vanished(root: str) -> str:
    """Why what is missing may not be gone for good: the tree itself is away, or it is empty, as the
    place of a disk is that is not mounted. '' where it is there."""
    try:
        with os.scandir(root) as found:
            return "" if next(found, None) else "it is empty"
    except OSError as error:
        return error.strerror or str(error)


def stored(path: str) -> str:
    """A path as the store has it, where a name that is not UTF-8 is written out."""
    return path.encode("utf-8", "backslashreplace").decode()


class _Walk:
    """A walk under way."""

    def __init__(self, top: str, files: Files) -> None:
        self.top = top
        self.blind: dict[str, str] = {}
        self._files = files
        self._entries: dict[str, Entry] = {}
        self._links: dict[str, tuple[str, ...]] = {}
        self._reached: dict[str, bool] = {"": True}

    def found(self) -> Sweep:
        """All that was met."""
        return Sweep(sorted(self._entries.values()), self.blind, self._links)

    def folders(self, folders: list[str]) -> None:
        """Takes in all that is below some folders."""
        while folders:
            folders.extend(self.list(folders.pop(), None))

    def list(self, folder: str, names: Container[str] | None) -> list[str]:
        """Takes in the files of one folder; returns the folders in it. With `names` only these."""
        try:
            with os.scandir(os.path.join(self.top, folder)) as found:
                listed = [item for item in found if names is None or item.name in names]
        except FileNotFoundError:
            # It went since its parent was listed. The root itself is a different matter.
            if not folder:
                self.blind[""] = "it does not exist"
            return []
        except OSError as error:
            self.blind[folder] = error.strerror or str(error)
            return []
        if folder and any(item.name == ".git" for item in listed) and self._is_other(folder):
            return []
        folders = []
        prefix = folder + "/" if folder else ""
        for item in listed:
            path = prefix + item.name
            try:
                if item.is_dir(follow_symlinks=False):
                    if not ignored(self._files, path):
                        folders.append(path)
                    continue
                self._file(path, item)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.blind[path] = error.strerror or str(error)
        return folders

    def reaches(self, folder: str) -> bool:
        """Whether a sweep comes to a folder: it and all above it are real folders that are not ignored."""
        known = self._reached.get(folder)
        if known is None:
            above = folder.rpartition("/")[0]
            known = self._reached[folder] = self.reaches(above) and self._enters(folder)
        return known

    def _enters(self, folder: str) -> bool:
        if ignored(self._files, folder):
            return False
        try:
            found = os.lstat(os.path.join(self.top, folder))
            return stat.S_ISDIR(found.st_mode) and not self._is_other(folder)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            self.blind[folder] = error.strerror or str(error)
            return False

    def _is_other(self, folder: str) -> bool:
        return is_linked_work_tree(Path(self.top, folder))

    def _file(self, path: str, item: os.DirEntry[str]) -> None:
        language = language_of(self._files, path)
        if not language or ignored(self._files, path):
            return
        refused = ""
        if item.is_symlink():
            whole = os.path.join(self.top, path)
            self._links[stored(path)] = tuple(stored(place) for place in leads_through(self.top, path))
            if not resolves_inside(self.top, whole):
                refused = "a symbolic link that leads out of the tree is not read"
            elif not os.path.isfile(whole):
                return
        found = item.stat(follow_symlinks=not refused)
        if not refused and not stat.S_ISREG(found.st_mode):
            return
        role = role_of(self._files, path)
        if stored(path) != path:
            refused = "its name is not UTF-8"
            path = stored(path)
        stats = (found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns)
        self._entries[path] = Entry(path, language, role, *stats, refused)


def leads_through(top: str, path: str) -> list[str]:
    """The places of the tree that decide what a link shows: each further link on the way, one of a
    folder too, and what stands at the end."""
    places: list[str] = []
    way = path
    for _ in range(_MOST_LINKS):
        at, target = _first_link(top, way)
        if at != path:
            places.append(at)
        if target is None:
            break
        # What is above the link holds none, so its `..` mean what they say.
        whole = os.path.normpath(os.path.join(top, os.path.dirname(at), target, way[len(at) + 1 :]))
        if not whole.startswith(top.rstrip("/") + "/"):
            whole = os.path.realpath(whole)
            if not whole.startswith(top.rstrip("/") + "/"):
                break
        way = os.path.relpath(whole, top)
    return list(dict.fromkeys(places))


_MOST_LINKS: Final = 40
"""As many as Linux follows."""


def _first_link(top: str, path: str) -> tuple[str, str | None]:
    """The first part of a path that is a link, and where that leads; the whole path if there is none."""
    at = ""
    for name in path.split("/"):
        at = f"{at}/{name}" if at else name
        try:
            return at, os.readlink(os.path.join(top, at))
        except OSError:
            continue  # It is no link, or is not there.
    return path, None


def resolves_inside(top: str, path: str) -> bool:
    """Whether a path, all links followed, is below `top` (itself a real path)."""
    return os.path.realpath(path).startswith(top.rstrip("/") + "/")
