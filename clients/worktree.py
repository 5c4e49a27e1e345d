"""Which work tree of a repository is meant: the one that was named, or the one that we stand in?

An agent that works in a second work tree of the repository (`git worktree add`) was often set up
with the path of the first; answers from there would have the lines of other texts. Git's files are
read directly: no process is started, and no configuration of the tree is obeyed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_LARGEST: Final = 4096
"""Bytes read of a `.git` file or of `commondir`; each holds one path."""


def worktree_instead(source: str, cwd: str) -> str | None:
    """The folder to serve in place of `source` for a client in `cwd`: the same folder of the work
    tree that `cwd` is in, if that is another one of the same repository; else None. Raises nothing.
    """
    try:
        named = Path(os.path.realpath(os.path.join(cwd, os.path.expanduser(source))))
        theirs, ours = _top(named), _top(Path(os.path.realpath(cwd)))
        if theirs is None or ours is None or theirs == ours or _repository(theirs) != _repository(ours):
            return None
        instead = ours / named.relative_to(theirs)
        return str(instead) if instead.is_dir() else None
    except OSError:
        return None


def _top(folder: Path) -> Path | None:
    """The work tree around a folder."""
    return next((f for f in (folder, *folder.parents) if os.path.lexists(f / ".git")), None)


def _repository(top: Path) -> str:
    """The folder that all work trees of a repository share: `.git` of the first."""
    dot_git = top / ".git"
    if dot_git.is_dir():
        return os.path.realpath(dot_git)
    folder = top / _text(dot_git).removeprefix("gitdir:").strip()
    if not (folder / "commondir").exists():
        return os.path.realpath(folder)
    return os.path.realpath(folder / _text(folder / "commondir").strip())


def _text(path: Path) -> str:
    # Not blocking: a tree from elsewhere may hold a named pipe in place of a file.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return os.fsdecode(os.read(descriptor, _LARGEST))
    finally:
        os.close(descriptor)
