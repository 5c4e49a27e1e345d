"""Which work tree of a repository is meant: the one that was named, or the one that we stand in?

An agent that works in a second work tree of the repository (`git worktree add`) was often set up
with the path of the first; answers from there would have the lines of other texts. Git's files are
read directly: no process is started, and no configuration of the tree is obeyed.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
"""As in `typing`, which a bridge does without, as without `pathlib`."""
if TYPE_CHECKING:
    from typing import Final

_LARGEST: Final = 4096
"""Bytes read of a `.git` file or of `commondir`; each holds one path."""


def worktree_instead(source: str, cwd: str) -> str | None:
    """The folder to serve in place of `source` for a client in `cwd`: the same folder of the work
    tree that `cwd` is in, if that is another one of the same repository; else None. Raises nothing.
    """
    try:
        named = os.path.realpath(os.path.join(cwd, os.path.expanduser(source)))
        theirs, ours = _top(named), _top(os.path.realpath(cwd))
        if not theirs or not ours or theirs == ours or _repository(theirs) != _repository(ours):
            return None
        instead = os.path.normpath(os.path.join(ours, os.path.relpath(named, theirs)))
        return instead if os.path.isdir(instead) else None
    except OSError:
        return None


def _top(folder: str) -> str:
    """The work tree around a folder; '' for none."""
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder, inner = os.path.dirname(folder), folder
        if folder == inner:
            return ""
    return folder


def _repository(top: str) -> str:
    """The folder that all work trees of a repository share: `.git` of the first."""
    dot_git = os.path.join(top, ".git")
    if os.path.isdir(dot_git):
        return os.path.realpath(dot_git)
    folder = os.path.join(top, _text(dot_git).removeprefix("gitdir:").strip())
    common = os.path.join(folder, "commondir")
    if not os.path.exists(common):
        return os.path.realpath(folder)
    return os.path.realpath(os.path.join(folder, _text(common).strip()))


def _text(path: str) -> str:
    # Not blocking: a tree from elsewhere may hold a named pipe in place of a file.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.fsdecode(os.read(descriptor, _LARGEST))
    finally:
        os.close(descriptor)
