"""Which code is in a tree? A fingerprint that is equal for equal code in any checkout.

It is taken over git's name of HEAD's tree and the digests of what differs from that on the disk; outside
git over the digests of all files. Git only says which files *may* differ: whether one does is decided by
its bytes, so a checkout whose files merely have other times is the same. The tests are in
`tests/test_vcs.py`.
"""

from __future__ import annotations

import hashlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, NamedTuple

from torchtalkd.vcs.fenced import Fenced, fenced

_PIECE: Final = 1 << 20
_GITLINK: Final = "160000"


class Contents(NamedTuple):
    """What a tree has in it."""

    fingerprint: str
    """BLAKE2b, 32 hex digits."""
    commit: str
    """HEAD's, '' outside git."""
    changed: int
    """Files that differ from HEAD: modified, deleted, or untracked and not ignored; 0 outside git."""


def contents(root: Path) -> Contents:
    """The fingerprint of a tree as it is now: 0.2 s for 18,000 files in git, unless their times are all
    new. Raises nothing for files that come and go meanwhile, OSError where the root cannot be read."""
    root = Path(os.path.realpath(root))
    with fenced(root) as git:
        if git is not None:
            found = _in_git(root, git)
            if found is not None:
                return found
    return Contents(_digest(f"{path}\0{state}" for path, state in _all(root)), "", 0)


def _in_git(root: Path, git: Fenced) -> Contents | None:
    """None where git cannot say: damaged, not installed, or what it needs is not there."""
    below = os.path.relpath(root, git.top)
    prefix = "" if below == "." else below + "/"
    tree = git.ask("rev-parse", "--verify", "--quiet", f"{git.commit}:{prefix}")
    listed = git.ask("ls-tree", "-r", "-z", git.commit, "--", prefix or ".")
    differing = git.ask(
        "diff-index", "-z", "--name-only", "--no-renames", "--ignore-submodules=all", git.commit, "--",
        prefix or ".",
    )  # fmt: skip
    excluded = [f"--exclude-from={git.exclude}"] if git.exclude.is_file() else []
    untracked = git.ask(
        "ls-files", "-z", "--others", *excluded, "--exclude-standard", "--", prefix or ".", user=True
    )
    if tree is None or listed is None or differing is None or untracked is None:
        return None
    known = _blobs(listed)
    suspects = {_path(name) for name in (*differing.split(b"\0"), *untracked.split(b"\0")) if name}
    changed = []
    for path in sorted(suspects):
        mode, blob = known.get(path, ("", ""))
        if mode == _GITLINK:
            continue
        if path.endswith("/"):
            # A repository of its own, which this one does not track.
            changed += [(path + inner, state) for inner, state in _all(git.top / path)]
            continue
        state = _state(git.top / path, mode, blob)
        if state is not None:
            changed.append((path, state))
    lines = (f"{path.removeprefix(prefix)}\0{state}" for path, state in changed)
    return Contents(_digest([tree.decode("ascii").strip(), *lines]), git.commit, len(changed))


def _blobs(listed: bytes) -> dict[str, tuple[str, str]]:
    """The lines `mode type object<tab>path` of ls-tree."""
    found = {}
    for line in listed.split(b"\0"):
        about, _, path = line.partition(b"\t")
        if path:
            mode, _, blob = about.decode("ascii").split(" ")[:3]
            found[_path(path)] = (mode, blob)
    return found


def _state(path: Path, mode: str, blob: str) -> str | None:
    """What a file is now; None if it is what HEAD has, or is in neither."""
    try:
        if os.path.islink(path):
            target = os.fsencode(os.readlink(path))
            now, (name, digest) = "120000", _names(io.BytesIO(target), len(target), blob)
        else:
            # Never waits for a pipe, nor follows a link that was put there this moment.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
            with open(descriptor, "rb", buffering=0) as file:
                found = os.fstat(descriptor)
                if not stat.S_ISREG(found.st_mode):
                    return "other" if blob else None
                now = "100755" if found.st_mode & 0o100 else "100644"
                name, digest = _names(file, found.st_size, blob)
    except (FileNotFoundError, NotADirectoryError):
        return "deleted" if blob else None
    except OSError:
        return "unreadable"
    return None if blob and (now, name) == (mode, blob) else f"{now} {digest}"


def _names(file: IO[bytes], size: int, blob: str) -> tuple[str, str]:
    """Git's name of a file's bytes (https://git-scm.com/book/en/v2/Git-Internals-Git-Objects), made as
    `blob` is, and our digest."""
    known = hashlib.new("sha256" if len(blob) == 64 else "sha1", usedforsecurity=False)
    known.update(b"blob %d\0" % size)
    digest = hashlib.blake2b(digest_size=16)
    while piece := file.read(_PIECE):
        known.update(piece)
        digest.update(piece)
    return known.hexdigest(), digest.hexdigest()


def _all(folder: Path) -> Iterator[tuple[str, str]]:
    """Each file below a folder with what it is, by path; what git keeps for itself is left out."""
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != ".git")
        for name in sorted(files):
            path = Path(here, name)
            state = _state(path, "", "")
            if state is not None:
                yield os.path.relpath(path, folder), state


def _digest(lines: object) -> str:
    known = hashlib.blake2b(digest_size=16)
    for line in lines:  # type: ignore[attr-defined]
        known.update(line.encode("utf-8", "surrogateescape") + b"\n")
    return known.hexdigest()


def _path(name: bytes) -> str:
    return os.fsdecode(name)
