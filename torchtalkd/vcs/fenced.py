"""Git, asked about a tree without a word of that tree's configuration.

A repository's own `config` can name programs for filters, monitors, hooks and transports. So git is not
pointed at it: each question gets an empty git folder of ours, which borrows objects, index and the list
of shallow commits from the real one. Then only git's own code runs, and no object that is missing is
fetched. The tests are in `tests/test_vcs.py`.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from torchtalkd.vcs.git import common_folder, git_folder, head, toplevel

_SECONDS: Final = 60.0
"""For an answer: a full history has a hundred thousand commits."""
_BORROWED: Final = ("shallow", "sharedindex.")
"""Beginnings of names in the git folder that git wants beside the index or the objects."""


class Fenced:
    """A work tree's git behind a fence. Made by `fenced`."""

    def __init__(self, top: Path, commit: str, exclude: Path, environment: dict[str, str]) -> None:
        self.top = top
        self.commit = commit
        """HEAD's, in full."""
        self.exclude = exclude
        """The repository's own list of what is ignored, which may not exist."""
        self._environment = environment

    def ask(self, *arguments: str, stdin: bytes = b"", user: bool = False) -> bytes | None:
        """What git prints; None when it fails, takes too long or is not installed. With `user` the
        configuration of who asks is in force, which may name what is ignored everywhere."""
        try:
            done = subprocess.run(
                self._command(arguments),
                cwd=self.top,
                env=self._environment if user else self._environment | _NOBODY,
                input=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout if done.returncode == 0 else None

    def lines(self, *arguments: str) -> Iterator[str]:
        """What git prints, line by line, as it comes; it is ended when no more is wanted."""
        try:
            process = subprocess.Popen(
                self._command(arguments),
                cwd=self.top,
                env=self._environment | _NOBODY,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return
        with process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    yield line.decode("ascii", "replace").strip()
            finally:
                process.kill()

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return ["git", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", *arguments]


_NOBODY: Final = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


@contextmanager
def fenced(root: Path) -> Iterator[Fenced | None]:
    """The git of the work tree that `root` is in; None outside git, before the first commit, and where
    git's files are damaged."""
    top = toplevel(root)
    commit = head(root).commit
    if top is None or not commit:
        yield None
        return
    try:
        real = git_folder(top)
        common = common_folder(real)
        borrowed = {
            path.name: path.resolve()
            for folder in (real, common)
            for path in folder.iterdir()
            if path.name.startswith(_BORROWED)
        }
    except (OSError, ValueError):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="torchtalkd-git-") as name:
        ours = Path(name)
        (ours / "refs").mkdir()
        (ours / "HEAD").write_text(f"{commit}\n")
        sha256 = len(commit) == 64
        (ours / "config").write_text(
            f"[core]\n\trepositoryformatversion = {int(sha256)}\n\tbare = false\n"
            + ("[extensions]\n\tobjectFormat = sha256\n" if sha256 else "")
        )
        for file, place in borrowed.items():
            os.symlink(place, ours / file)
        # GIT_DIR and its kin, set while a hook runs, would point git at another repository.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        environment |= {
            "GIT_DIR": str(ours),
            "GIT_WORK_TREE": str(top),
            "GIT_INDEX_FILE": str(real / "index"),
            "GIT_OBJECT_DIRECTORY": str(common / "objects"),
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            # No protocol has this name, so none is allowed.
            "GIT_ALLOW_PROTOCOL": "none",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "LC_ALL": "C",
        }
        yield Fenced(top, commit, common / "info" / "exclude", environment)
