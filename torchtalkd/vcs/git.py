"""Which commit and branch is a tree at?

A tree is data: its git configuration must run nothing. So the files under `.git` are read
directly, which takes no process and runs no configuration; only where they do not hold the
answer (the `reftable` format) the program `git` is asked, with `rev-parse` and `symbolic-ref`
alone. Those run no hook, filter, pager or file-system monitor; `status` and `diff` may, and are
never used. The user's own and the system's git configuration stay in force, because
`safe.directory` stands there. The tests are in `tests/test_vcs.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LINKED: Final = re.compile(r"\Agitdir: .*/worktrees/[^/\n]+/?\s*\Z")
_BRANCHES: Final = "refs/heads/"
_LINKS: Final = 5
"""Symbolic refs followed; git itself follows as many."""
_LARGEST: Final = 16 << 20
"""Bytes read of a file under `.git`. A packed-refs of this size has 200,000 refs."""
_SECONDS: Final = 5.0


class Head(NamedTuple):
    """Where a work tree is."""

    commit: str
    """Full hash; '' outside git and before the first commit."""
    branch: str
    """Without `refs/heads/`; '' when HEAD is detached."""


def head(root: Path) -> Head:
    """Commit and branch of the work tree that `root` is in; empty values where there is none, where
    git's files are damaged, and where git would be needed but is not installed. Raises nothing."""
    top = toplevel(root)
    if top is None:
        return Head("", "")
    try:
        folder = git_folder(top)
        if _reftable(folder):
            return _asked(top)
        return _read(folder)
    except (OSError, ValueError):
        return Head("", "")


def git_folders(root: Path) -> tuple[Path, ...]:
    """The git folder of the work tree that `root` is in, and the one that it shares with other work
    trees, if that is another. Empty outside git. Raises nothing."""
    top = toplevel(root)
    if top is None:
        return ()
    try:
        folder = git_folder(top)
        found = (folder, common_folder(folder))
    except (OSError, ValueError):
        return ()
    return tuple(dict.fromkeys(Path(os.path.realpath(folder)) for folder in found if folder.is_dir()))


def toplevel(path: Path) -> Path | None:
    """The work tree that a folder or file is in: the nearest folder at or above it with a `.git`."""
    start = Path(os.path.realpath(path))
    for folder in (start, *start.parents):
        try:
            dot_git = folder / ".git"
            if dot_git.is_file() or (dot_git / "HEAD").exists():
                return folder
        except OSError:
            continue
    return None


def is_linked_work_tree(folder: Path) -> bool:
    """Whether a folder is the top of a work tree that `git worktree add` has made: its `.git` is a file
    that names a folder in `worktrees` (gitrepository-layout(5)), unlike that of a submodule. Raises
    nothing."""
    try:
        dot_git = folder / ".git"
        return dot_git.is_file() and _LINKED.search(_text(dot_git)) is not None
    except (OSError, ValueError):
        return False


def git_folder(top: Path) -> Path:
    """`.git` itself, or what it names: in a linked work tree or submodule it is a file."""
    dot_git = top / ".git"
    if dot_git.is_dir():
        return dot_git
    text = _text(dot_git)
    if not text.startswith("gitdir:"):
        raise ValueError(f"{dot_git} is no gitdir file")
    return top / text.removeprefix("gitdir:").strip()


def common_folder(folder: Path) -> Path:
    """Where the branches are: linked work trees share those of the first."""
    try:
        return folder / _text(folder / "commondir").strip()
    except FileNotFoundError:
        return folder


def _reftable(folder: Path) -> bool:
    return (common_folder(folder) / "reftable").is_dir()


def _read(folder: Path) -> Head:
    text = _text(folder / "HEAD").strip()
    if not text.startswith("ref:"):
        return Head(_commit(text), "")
    name = text.removeprefix("ref:").strip()
    branch = _printable(name.removeprefix(_BRANCHES)) if name.startswith(_BRANCHES) else ""
    common = common_folder(folder)
    for _ in range(_LINKS):
        # A name that climbs out of the folder would read any file of the user's.
        if not name.startswith("refs/") or ".." in name.split("/"):
            break
        try:
            text = _text(common / name).strip()
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return Head(_packed(common, name), branch)
        if not text.startswith("ref:"):
            return Head(_commit(text), branch)
        name = text.removeprefix("ref:").strip()
    return Head("", branch)


def _packed(common: Path, name: str) -> str:
    try:
        text = _text(common / "packed-refs")
    except FileNotFoundError:
        return ""
    for line in text.splitlines():
        commit, _, ref = line.partition(" ")
        if ref == name:
            return _commit(commit)
    return ""


def _asked(top: Path) -> Head:
    name = _git(top, "symbolic-ref", "--quiet", "HEAD")
    commit = _git(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    return Head(
        _commit(commit), _printable(name.removeprefix(_BRANCHES)) if name.startswith(_BRANCHES) else ""
    )


def _git(top: Path, *arguments: str) -> str:
    """The answer of git's plumbing; '' when it fails, takes too long, or is not installed."""
    # GIT_DIR and its kin, set while a hook runs, would point git at another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    command = ["git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=top,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""


def _text(path: Path) -> str:
    # A .git from elsewhere may hold a named pipe in place of a file.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        return file.read(_LARGEST).decode("utf-8", "replace")


def _commit(text: str) -> str:
    return text if _COMMIT.fullmatch(text) else ""


def _printable(name: str) -> str:
    return name if name.isprintable() else ""
