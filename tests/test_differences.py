"""Which lines changed: diffs as text of all kinds, and what git says of a work tree."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from torchtalkd.vcs.differences import NoRevision, old_bytes, read, since, staged


def git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **who}, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_lines_of_hunks() -> None:
    (found,) = read(
        "diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n"
        "@@ -1,2 +1,3 @@ def f():\n a\n-b\n+c\n+d\n@@ -10,2 +11,0 @@\n-q\n-r\n"
    )
    assert (found.path, found.added, found.removed, found.gaps) == ("x.py", [2, 3], [2, 10, 11], [12])
    assert found.text == ["b", "c", "d", "q", "r"] and found.old_text == ["b", "q", "r"]


def test_a_line_that_looks_like_a_header_is_a_line() -> None:
    (found,) = read("--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n--- old\n+++ new\n same\n")
    assert (found.added, found.removed, found.text) == ([1], [1], ["-- old", "++ new"])


def test_renames_deletions_and_binary_files() -> None:
    found = read(
        "diff --git a/old name.py b/new name.py\nsimilarity index 100%\nrename from old name.py\n"
        "rename to new name.py\n"
        "diff --git a/gone.cpp b/gone.cpp\ndeleted file mode 100644\n--- a/gone.cpp\n+++ /dev/null\n"
        "@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"
        "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n"
        "@@ -0,0 +1,2 @@\n+a\n+b\n"
        "diff --git a/p.png b/p.png\nBinary files a/p.png and b/p.png differ\n"
    )
    assert [(d.path, d.old_path, d.deleted, d.binary) for d in found] == [
        ("new name.py", "old name.py", False, False),
        ("gone.cpp", "gone.cpp", True, False),
        ("new.py", "", False, False),
        ("p.png", "p.png", False, True),
    ]
    assert found[2].added == [1, 2] and found[1].removed == [1]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("--- a/dir/x.py", "+++ b/dir/x.py", "dir/x.py"),
        ("--- dir/x.py\t2024-01-01 10:00:00", "+++ dir/x.py\t2024-01-02 10:00:00", "dir/x.py"),
        ("--- ./x.py", "+++ ./x.py", "x.py"),
        ('--- "a/f\\303\\274 r.py"', '+++ "b/f\\303\\274 r.py"', "fü r.py"),
        ("--- a/x.py\r", "+++ b/x.py\r", "x.py"),
    ],
)
def test_how_paths_are_written(old: str, new: str, path: str) -> None:
    (found,) = read(f"{old}\n{new}\n@@ -1 +1 @@\n-a\n+b\n")
    assert (found.path, found.added) == (path, [1])


def test_ends_of_lines_of_windows() -> None:
    (found,) = read("--- a/x.py\r\n+++ b/x.py\r\n@@ -1,3 +1,3 @@\r\n a\r\n-b\r\n+c\r\n d\r\n")
    assert (found.added, found.removed, found.text) == ([2], [2], ["b", "c"])


def test_text_that_is_no_diff_is_nothing() -> None:
    assert read("") == [] and read("hello\n@@ what @@\n+++\n") == []


def test_of_a_work_tree(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "sub").mkdir()
    for name in ("a.py", "b.py", "sub/c.py"):
        (tmp_path / name).write_text("one\ntwo\nthree\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "1")
    first = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "a.py").write_text("one\n2\nthree\n")
    git(tmp_path, "commit", "-q", "-a", "-m", "2")
    (tmp_path / "b.py").write_text("one\ntwo\n")
    git(tmp_path, "add", "b.py")
    (tmp_path / "sub" / "c.py").write_text("one\ntwo\nthree\nfour\n")
    (tmp_path / "sub" / "new.py").write_text("x\ny\n")
    assert {d.path: (d.added, d.gaps) for d in since(tmp_path, "HEAD~1")} == {
        "a.py": ([2], []),
        "b.py": ([], [3]),
        "sub/c.py": ([4], []),
        "sub/new.py": ([1, 2], []),
    }
    assert [d.path for d in since(tmp_path, first)] == [d.path for d in since(tmp_path, "main~1")]
    assert [d.path for d in staged(tmp_path)] == ["b.py"]
    assert {d.path for d in since(tmp_path / "sub", "HEAD~1")} == {"c.py", "new.py"}
    assert old_bytes(tmp_path, "HEAD~1", "a.py") == b"one\ntwo\nthree\n"
    for wrong in ("no-such-branch", "--output=x", "HEAD..main"):
        with pytest.raises(NoRevision):
            since(tmp_path, wrong)


def test_no_program_of_the_tree_runs(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("one\n")
    (tmp_path / ".gitattributes").write_text("*.py diff=evil filter=evil\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "1")
    (tmp_path / "a.py").write_text("two\n")
    mark = tmp_path / "ran"
    for name in (
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "core.fsmonitor",
        "diff.external",
    ):
        git(tmp_path, "config", name, f"touch {mark}; cat")
    (found,) = (d for d in since(tmp_path, "HEAD") if d.path == "a.py")
    assert found.added == [1] and not mark.exists()


def test_outside_git(tmp_path: Path) -> None:
    with pytest.raises(NoRevision):
        since(tmp_path, "HEAD")
    with pytest.raises(NoRevision):
        staged(tmp_path)
    assert old_bytes(tmp_path, "", "x") is None
