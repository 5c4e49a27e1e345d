"""The commit and branch of a tree, by reading git's files, and without running anything of the tree's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from torchtalkd.vcs import Head, contents, head, nearest_ancestor, toplevel

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(folder: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)
    return done.stdout.decode().strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "deep" / "down").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "trunk")
    git(folder, "commit", "-q", "--allow-empty", "-m", "one")
    return folder


@needs_git
def test_branch_and_commit(repository: Path) -> None:
    assert head(repository) == Head(git(repository, "rev-parse", "HEAD"), "trunk")
    assert head(repository / "deep") == head(repository)


@needs_git
def test_no_process_is_needed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert head(repository) == Head(commit, "trunk")


@needs_git
def test_a_branch_with_slashes_and_packed_refs(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "feature/one/two")
    git(repository, "pack-refs", "--all")
    assert not (repository / ".git/refs/heads/feature/one/two").exists()
    assert head(repository) == Head(git(repository, "rev-parse", "HEAD"), "feature/one/two")


@needs_git
def test_a_detached_head_has_no_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert head(repository) == Head(git(repository, "rev-parse", "HEAD"), "")


@needs_git
def test_before_the_first_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    assert head(tmp_path) == Head("", "trunk")


@needs_git
def test_a_linked_work_tree(repository: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(repository, "worktree", "add", "-q", "-b", "other", str(linked))
    git(linked, "commit", "-q", "--allow-empty", "-m", "two")
    assert head(linked) == Head(git(linked, "rev-parse", "HEAD"), "other")
    assert toplevel(linked) == linked
    git(repository, "pack-refs", "--all")
    assert head(linked) == Head(git(linked, "rev-parse", "HEAD"), "other")


@needs_git
def test_where_files_do_not_tell_git_is_asked(repository: Path) -> None:
    """Stands for the reftable format, which not every git can make."""
    (repository / ".git" / "reftable").mkdir()
    assert head(repository) == Head(git(repository, "rev-parse", "HEAD"), "trunk")


@needs_git
def test_without_git_the_values_are_empty(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repository / ".git" / "reftable").mkdir()
    monkeypatch.setenv("PATH", "/nonexistent")
    assert head(repository) == Head("", "")


@needs_git
def test_the_tree_s_configuration_runs_nothing(repository: Path, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trace}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "alias.rev-parse"):
        git(repository, "config", name, str(script))
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        shutil.copy(script, hooks / name)
    (repository / ".git" / "reftable").mkdir()
    assert head(repository).branch == "trunk"
    assert not trace.exists()


@needs_git
def test_the_environment_of_a_hook_does_not_mislead(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q", "-b", "wrong")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    (repository / ".git" / "reftable").mkdir()
    assert head(repository).branch == "trunk"


def test_outside_git_there_is_nothing(tmp_path: Path) -> None:
    assert toplevel(tmp_path) is None
    assert head(tmp_path) == Head("", "")
    assert head(tmp_path / "missing") == Head("", "")


@pytest.mark.parametrize(
    "text",
    ["", "rubbish", "ref: ", "ref: refs/heads/none", "ref: refs/../../secret", "ref: /etc/passwd", "\0\xff"],
)
def test_a_damaged_head_gives_no_commit(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "secret").write_text("a" * 40)
    (tmp_path / ".git" / "HEAD").write_text(text, "latin-1")
    assert head(tmp_path).commit == ""


def test_a_damaged_gitdir_file_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /nowhere/at/all")
    assert head(tmp_path) == Head("", "")
    (tmp_path / ".git").write_text("rubbish")
    assert head(tmp_path) == Head("", "")


def test_a_pipe_in_place_of_head_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")
    assert head(tmp_path) == Head("", "")


def test_refs_that_go_in_circles_end(tmp_path: Path) -> None:
    heads = tmp_path / ".git" / "refs" / "heads"
    heads.mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/a")
    (heads / "a").write_text("ref: refs/heads/b")
    (heads / "b").write_text("ref: refs/heads/a")
    assert head(tmp_path) == Head("", "a")


# -- which code is in a tree


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A repository with a commit of some files."""
    folder = tmp_path / "code"
    (folder / "src").mkdir(parents=True)
    for name in ("a.cpp", "src/b.py", "src/c d.h"):
        (folder / name).write_text(f"{name}\n")
    (folder / ".gitignore").write_text("*.o\nbuild/\n")
    git(folder, "init", "-q", "-b", "trunk")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "one")
    return folder


@needs_git
def test_equal_code_in_any_checkout(code: Path, tmp_path: Path) -> None:
    known = contents(code)
    assert known.commit == head(code).commit
    assert known.changed == 0
    git(tmp_path, "clone", "-q", str(code), "clone")
    git(code, "worktree", "add", "-q", str(tmp_path / "linked"))
    shutil.copytree(code, tmp_path / "copy")
    for path in (tmp_path / "copy").rglob("*.py"):
        os.utime(path, (1, 1))
    for other in ("clone", "linked", "copy"):
        assert contents(tmp_path / other) == known, other


@needs_git
def test_each_change_shows_and_goes(code: Path) -> None:
    known = contents(code)
    seen = {known.fingerprint}

    def changed(count: int) -> None:
        now = contents(code)
        assert now.changed == count
        assert now.fingerprint not in seen
        seen.add(now.fingerprint)

    (code / "a.cpp").write_text("b.cpp\n")
    changed(1)
    git(code, "add", "-A")
    staged = contents(code)
    assert staged.fingerprint in seen
    (code / "src/b.py").unlink()
    changed(2)
    (code / "new.py").write_text("")
    changed(3)
    (code / "new.py").chmod(0o755)
    changed(3)
    (code / "x.o").write_text("ignored")
    assert contents(code).changed == 3
    git(code, "commit", "-q", "-a", "-m", "two")
    assert contents(code).changed == 1
    git(code, "reset", "-q", "--hard", "HEAD~1")
    (code / "new.py").unlink()
    assert contents(code) == known


@needs_git
def test_a_staged_deletion_of_a_file_that_is_there(code: Path) -> None:
    known = contents(code)
    git(code, "rm", "-q", "--cached", "a.cpp")
    assert contents(code) == known


@needs_git
def test_a_folder_of_a_repository(code: Path) -> None:
    below = contents(code / "src")
    (code / "a.cpp").write_text("other\n")
    assert contents(code / "src") == below
    (code / "src/b.py").write_text("other\n")
    assert contents(code / "src").fingerprint != below.fingerprint


@needs_git
def test_a_repository_within_counts_by_its_files(code: Path) -> None:
    (code / "inner").mkdir()
    (code / "inner/x.py").write_text("1")
    git(code / "inner", "init", "-q")
    first = contents(code)
    assert first.changed == 1
    (code / "inner/x.py").write_text("2")
    assert contents(code).fingerprint != first.fingerprint


def test_without_git_all_files_count(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "deep").mkdir(parents=True)
        (tmp_path / name / "deep/a.py").write_text("a")
    known = contents(tmp_path / "one")
    assert known.commit == ""
    assert contents(tmp_path / "two") == known
    (tmp_path / "two/deep/a.py").write_text("b")
    assert contents(tmp_path / "two").fingerprint != known.fingerprint


@needs_git
def test_nothing_that_the_tree_configures_runs(code: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trapped"
    command = f"touch {trap}; cat"
    (code / ".gitattributes").write_text("* filter=evil diff=evil\n")
    (code / ".git/info/attributes").write_text("* filter=evil\n")
    with open(code / ".git/config", "a") as file:
        file.write(
            f'[filter "evil"]\n\tclean = {command}\n\tsmudge = {command}\n\tprocess = {command}\n'
            f'[diff "evil"]\n\ttextconv = {command}\n\tcommand = {command}\n'
            f"[core]\n\tfsmonitor = {command}\n\tsshCommand = {command}\n\tpager = {command}\n"
            f"\thooksPath = {tmp_path}\n"
            f'[remote "origin"]\n\turl = ext::{command}\n\tpromisor = true\n\tuploadpack = {command}\n'
            "[extensions]\n\tpartialClone = origin\n"
        )
    hook = tmp_path / "post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {trap}\n")
    hook.chmod(0o755)
    # As long as the file is no older than the index, git has to look into it.
    (code / "a.cpp").write_text("b.cpp\n")
    assert contents(code).changed == 2
    assert not trap.exists()
    # Git by itself would have run it.
    subprocess.run(["git", "status"], cwd=code, check=False, capture_output=True)
    assert trap.exists()
    trap.unlink()
    # An object that is missing may not be fetched.
    commit = head(code).commit
    (code / ".git/objects" / commit[:2] / commit[2:]).unlink()
    contents(code)
    nearest_ancestor(code, {"1" * 40, commit})
    assert not trap.exists()


@needs_git
def test_the_nearest_ancestor(code: Path, tmp_path: Path) -> None:
    commits = [head(code).commit]
    for number in range(5):
        git(code, "commit", "-q", "--allow-empty", "-m", str(number))
        commits.append(head(code).commit)
    git(code, "checkout", "-q", "-b", "side", commits[2])
    git(code, "commit", "-q", "--allow-empty", "-m", "side")
    side = head(code).commit
    git(code, "checkout", "-q", "trunk")
    assert nearest_ancestor(code, {commits[0], commits[3], side, "f" * 40}) == commits[3]
    assert nearest_ancestor(code, {side}) == ""
    assert nearest_ancestor(code, {commits[5], commits[4]}) == commits[5]
    assert nearest_ancestor(code, set()) == nearest_ancestor(tmp_path, {side}) == ""
    git(code, "merge", "-q", "-m", "merged", "side")
    assert nearest_ancestor(code, {commits[1], side}) == side
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{code}", "shallow")
    assert nearest_ancestor(tmp_path / "shallow", {commits[0]}) == ""
    assert nearest_ancestor(tmp_path / "shallow", {side}) == side
    assert contents(tmp_path / "shallow").fingerprint == contents(code).fingerprint
