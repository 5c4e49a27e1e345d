"""Which of some commits is the nearest that a tree's HEAD comes from?

Asking `merge-base --is-ancestor` about each would take a process each; the same answer for all of them
comes from one walk through HEAD's history, which ends at the first that is met. The tests are in
`tests/test_vcs.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from torchtalkd.vcs.fenced import fenced

_DAY: Final = 86400
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def nearest_ancestor(root: Path, commits: Collection[str]) -> str:
    """The most recent of some commits that is an ancestor of the HEAD of the work tree that `root` is in,
    or is HEAD; '' if none is, outside git, and in a shallow clone that does not reach any. Raises nothing.
    """
    wanted = {commit for commit in commits if _COMMIT.fullmatch(commit)}
    if not wanted:
        return ""
    with fenced(root) as git:
        if git is None:
            return ""
        if git.commit in wanted:
            return git.commit
        text = "\n".join(sorted(wanted)).encode() + b"\n"
        told = git.ask("rev-list", "--no-walk", "--ignore-missing", "--timestamp", "--stdin", stdin=text)
        there = {
            commit: int(when)
            for when, _, commit in (line.partition(" ") for line in (told or b"").decode().splitlines())
        }
        if not there:
            return ""
        # Nothing older than the oldest of them leads to one; a day is for clocks that were wrong.
        oldest = min(there.values()) - _DAY
        for commit in git.lines("rev-list", f"--max-age={max(0, oldest)}", git.commit):
            if commit in there:
                return commit
    return ""
