"""Which lines of which files changed? From git, or from a diff as text.

A unified diff is read as git, hg and diff write it: with renames, deletions, binary files, quoted paths, any
ends of lines, and with or without `a/` and `b/`. What a line says is kept as far as it tells whether it is
code. Git runs behind the fence of `fenced`, so no configuration of the tree takes part. The tests are in
`tests/test_differences.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from torchtalkd.vcs.fenced import Fenced, fenced

_HUNK: Final = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPED: Final = re.compile(r"\\([0-7]{3}|.)")
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_NOWHERE: Final = "/dev/null"
_SECONDS: Final = 10.0
_LARGEST: Final = 4 << 20
"""Bytes of an untracked file that are counted for lines."""


class NoRevision(Exception):
    """What was named is no revision of the tree's repository, or there is no repository."""


@dataclass(slots=True)
class Difference:
    """What changed in one file. Lines are 1-based."""

    path: str
    """From the root, or as the diff writes it; of a deleted file its last one."""
    old_path: str = ""
    """Before a rename; '' for a file that is new."""
    deleted: bool = False
    binary: bool = False
    added: list[int] = field(default_factory=list)
    """Lines of the new text that are new or others."""
    removed: list[int] = field(default_factory=list)
    """Lines of the old text that are gone or others."""
    gaps: list[int] = field(default_factory=list)
    """Lines of the new text before which some are gone and none are new."""
    text: list[str] = field(default_factory=list)
    """What the lines say, old and new."""
    old_text: list[str] = field(default_factory=list)
    """What the lines that are gone say."""


def since(root: Path, revision: str) -> list[Difference]:
    """What changed from a revision to the files as they are now, untracked ones too; as `git diff REVISION`.
    Raises NoRevision."""
    with fenced(root) as git:
        if git is None:
            raise NoRevision(f"{root} is in no git repository with a commit")
        commit = _commit(git.top, revision)
        found = _of_git(root, git, commit)
        below = _below(root, git)
        excluded = [f"--exclude-from={git.exclude}"] if git.exclude.is_file() else []
        listed = git.ask(
            "ls-files", "-z", "--others", *excluded, "--exclude-standard", "--", below or ".", user=True
        )
        for name in (listed or b"").split(b"\0"):
            path = os.fsdecode(name)
            if path and not path.endswith("/"):
                found.append(_new_file(git.top / path, path.removeprefix(below)))
    return found


def staged(root: Path) -> list[Difference]:
    """What is in git's index and not in HEAD. Raises NoRevision."""
    with fenced(root) as git:
        if git is None:
            raise NoRevision(f"{root} is in no git repository with a commit")
        return _of_git(root, git, "--cached", git.commit)


def old_bytes(root: Path, revision: str, path: str) -> bytes | None:
    """A file as a revision has it ('' for HEAD); None if it has none."""
    with fenced(root) as git:
        if git is None:
            return None
        try:
            commit = _commit(git.top, revision) if revision else git.commit
        except NoRevision:
            return None
        return git.ask("cat-file", "blob", f"{commit}:{_below(root, git)}{path}")


def _of_git(root: Path, git: Fenced, *what: str) -> list[Difference]:
    below = _below(root, git)
    relative = [f"--relative={below}"] if below else []
    told = git.ask(
        "diff", "--no-ext-diff", "--no-textconv", "--no-color", "-U0", "-M",
        "--src-prefix=a/", "--dst-prefix=b/",
        "--ignore-submodules=all", *relative, *what, "--",
    )  # fmt: skip
    if told is None:
        raise NoRevision("git does not say what changed")
    return read(told.decode("utf-8", "surrogateescape"))


def _below(root: Path, git: Fenced) -> str:
    below = os.path.relpath(os.path.realpath(root), git.top)
    return "" if below == "." else below + "/"


def _commit(top: Path, revision: str) -> str:
    """The commit that a revision names. `rev-parse` runs no program of the repository's configuration."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"],
            cwd=top,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoRevision(f"git cannot be asked: {error}") from error
    if done.returncode or not done.stdout.strip():
        raise NoRevision(f"{revision!r} is no revision of {top}")
    return done.stdout.decode("ascii").strip()


def _new_file(place: Path, path: str) -> Difference:
    found = Difference(path)
    try:
        if place.is_symlink() or not place.is_file() or place.stat().st_size > _LARGEST:
            return found
        data = place.read_bytes()
    except OSError:
        return found
    if b"\0" in data[:8192]:
        found.binary = True
        return found
    lines = data.decode("utf-8", "surrogateescape").splitlines()
    found.added = list(range(1, len(lines) + 1))
    found.text = lines
    return found


# -- a diff as text


def read(text: str) -> list[Difference]:
    """The files of a unified diff, in its order; lines that belong to none are passed over."""
    found: list[Difference] = []
    now: Difference | None = None
    old = new = old_left = new_left = 0
    fresh = False
    for raw in text.split("\n"):
        line = raw.removesuffix("\r")
        if now is not None and (old_left > 0 or new_left > 0):
            sign, said = raw[:1], raw[1:].removesuffix("\r")
            if sign == "+":
                now.added.append(new)
                now.text.append(said)
                new, new_left = new + 1, new_left - 1
                continue
            if sign == "-":
                now.removed.append(old)
                now.text.append(said)
                now.old_text.append(said)
                if not now.gaps or now.gaps[-1] != new:
                    now.gaps.append(new)
                old, old_left = old + 1, old_left - 1
                continue
            if sign == "\\":
                continue
            if sign in (" ", "") or line == "":
                old, new, old_left, new_left = old + 1, new + 1, old_left - 1, new_left - 1
                continue
        hunk = _HUNK.match(line)
        if hunk is not None and now is not None:
            old, new = int(hunk[1]), int(hunk[3])
            old_left, new_left = (int(hunk[n] or "1") for n in (2, 4))
            # A side without lines names the line before it.
            old, new = old + (not old_left), new + (not new_left)
            continue
        old_left = new_left = 0
        if line.startswith("diff "):
            now = Difference(_both(line))
            now.old_path = now.path
            found.append(now)
            fresh = True
        elif line.startswith("--- "):
            if not fresh or now is None:
                now = Difference("")
                found.append(now)
            now.old_path = _path(line[4:], "a/")
            fresh = False
        elif line.startswith("+++ ") and now is not None:
            path = _path(line[4:], "b/")
            now.deleted = now.deleted or not path
            now.path = path or now.old_path
            now.old_path = "" if now.old_path == _NOWHERE else now.old_path
        elif now is not None and line.startswith("rename from "):
            now.old_path = _unquoted(line[12:])
        elif now is not None and line.startswith("rename to "):
            now.path = _unquoted(line[10:])
        elif now is not None and line.startswith("deleted file mode"):
            now.deleted = True
        elif now is not None and line.startswith("new file mode"):
            now.old_path = ""
        elif now is not None and line.startswith(("Binary files ", "GIT binary patch")):
            now.binary = True
    for difference in found:
        there = set(difference.added)
        difference.gaps = [line for line in difference.gaps if line not in there]
    return [difference for difference in found if difference.path]


def _both(line: str) -> str:
    """The path of `diff --git a/x b/x`, of `diff -r … x`; '' where it is not plain."""
    rest = line.partition(" --git ")[2]
    if rest.startswith('"'):
        return _path(rest[rest.rfind(' "') + 1 :], "b/")
    half = (len(rest) - 1) // 2
    first, second = rest[:half], rest[half + 1 :]
    if rest[half : half + 1] == " " and first[2:] == second[2:]:
        return second[2:]
    return rest.partition(" b/")[2]


def _path(written: str, prefix: str) -> str:
    """A path behind `---` or `+++`, without time and prefix; '' for none."""
    path = _unquoted(written.partition("\t")[0].rstrip())
    if path == _NOWHERE:
        return _NOWHERE if prefix == "a/" else ""
    return path.removeprefix(prefix).removeprefix("./")


def _unquoted(path: str) -> str:
    """A path that git may have put in quotes (`core.quotePath`)."""
    if len(path) < 2 or path[0] != '"' or path[-1] != '"':
        return path

    def said(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 8)) if code.isdigit() and len(code) == 3 else _LETTERS.get(code, code)

    plain = _ESCAPED.sub(said, path[1:-1])
    try:
        return plain.encode("latin-1").decode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return plain
