"""The commit and branch of a tree, by reading git's files, and without running anything of the tree's."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from torchtalkd.vcs import Head, head, toplevel

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
