"""What does an event in a git folder mean?

The names are those of gitrepository-layout(5): a linked work tree has HEAD and index in a git folder
of its own, which names the shared one in `commondir`; branches are files below `refs/heads` or lines
of `packed-refs` of the shared one, or all in `reftable`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

COOKIE: Final = "torchtalkd-cookie-"
"""How the names of cookies begin."""
LOCK: Final = "index.lock"

Meaning = Literal["cookie", "lock", "moved", ""]
"""`moved`: the commit, the branch or the index may have changed. '': nothing of interest."""


class GitFolder(NamedTuple):
    """A git folder to watch, or a folder of its refs."""

    path: str
    kind: Literal["own", "shared", "refs"]
    """`own` has the HEAD and index of this work tree; `shared` only refs that count."""


def git_places(folders: Sequence[str]) -> list[GitFolder]:
    """The git folders that exist, by what they are for."""
    there = list(dict.fromkeys(os.path.realpath(folder) for folder in folders if os.path.isdir(folder)))
    linked = {folder for folder in there if os.path.exists(os.path.join(folder, "commondir"))}
    return [GitFolder(folder, "own" if folder in linked or not linked else "shared") for folder in there]


def ref_folders(folder: str) -> list[GitFolder]:
    """The folders of refs in a git folder, those that are in one included."""
    found = []
    for top in ("refs/heads", "reftable"):
        for path, _, _ in os.walk(os.path.join(folder, top)):
            found.append(GitFolder(path, "refs"))
    return found


def meaning(folder: GitFolder, name: str) -> Meaning:
    """What an event of a file directly in a folder of git's means."""
    if name.startswith(COOKIE):
        return "cookie"
    if folder.kind == "refs":
        return "" if name.endswith(".lock") else "moved"
    if folder.kind == "own" and name == LOCK:
        return "lock"
    if name == "packed-refs" or (folder.kind == "own" and name in ("HEAD", "index")):
        return "moved"
    return ""


def is_locked(folders: Sequence[GitFolder]) -> bool:
    """Whether git is at work on this work tree's index now."""
    return any(os.path.exists(os.path.join(folder.path, LOCK)) for folder in folders if folder.kind == "own")
