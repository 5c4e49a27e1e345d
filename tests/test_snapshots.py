"""Snapshots by the command line: saved, chosen, loaded, deleted, compared."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.test_vcs import git
from torchtalkd import cli
from torchtalkd.cache import index_folder, snapshot_home
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.snapshots import keeping
from torchtalkd.snapshots.errors import WrongName
from torchtalkd.snapshots.names import checked_name
from torchtalkd.store import image, lock, pool
from torchtalkd.store.database import open_view
from torchtalkd.store.dump import dump
from torchtalkd.store.errors import StoreFull

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

SHAPE = "aten/src/ATen/native/TensorShape.cpp"
Ran = tuple[int, str, str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own; the folder of the snapshots in it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return snapshot_home(os.environ)


@pytest.fixture
def tree(mini_tree: Path) -> Path:
    """The small tree, committed."""
    git(mini_tree, "init", "-q", "-b", "trunk")
    git(mini_tree, "add", "-A")
    git(mini_tree, "commit", "-q", "-m", "one")
    return mini_tree


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command in this process."""

    def run(*words: object) -> Ran:
        capfd.readouterr()
        code = cli.main([str(word) for word in words])
        return (code, *capfd.readouterr())

    return run


@pytest.fixture
def told(run: Callable[..., Ran]) -> Callable[..., Any]:
    """What a command says with --json; its failure is ours."""

    def told(*words: object) -> Any:
        code, out, err = run(*words, "--json")
        assert code == 0, err
        return json.loads(out)

    return told


def dumped(tree: Path, folder: Path | None = None) -> list[str]:
    with open_view(folder or index_folder(tree, os.environ)) as view:
        return list(dump(view))


def is_as_built_anew(tree: Path, tmp_path: Path) -> None:
    """The index equals that of a fresh build."""
    folder = tmp_path / "fresh"
    shutil.rmtree(folder, ignore_errors=True)
    build(tree, folder, load("pytorch", tree=tree), workers=1)
    assert dumped(tree) == dumped(tree, folder)


def edit(tree: Path, path: str = SHAPE) -> None:
    with open(tree / path, "a", encoding="utf-8") as file:
        file.write("\nnamespace at::native { void edited_here() {} }\n")


# -- names


@pytest.mark.parametrize(
    "name", ["a", "main/abc1234", "main/abc1234/v1", "v2.6.0", "_x", "a-b+c@d=e", "x/current"]
)
def test_names_that_may_be(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "current",
        "Current",
        "a/b/c/d",
        "/a",
        "a/",
        "a//b",
        "..",
        "a/../b",
        ".a",
        "-a",
        "a b",
        "a\nb",
        "ä",
        "a\\b",
        "a" * 101,
        "a/-o",
        "a\0b",
        "*",
    ],
)
def test_names_that_may_not_be(name: str) -> None:
    with pytest.raises(WrongName):
        checked_name(name)


def test_a_wrong_name_is_a_wrong_call(run: Callable[..., Ran], tree: Path) -> None:
    for words in (("save", "current"), ("load", "a/b/c/d"), ("delete", ".."), ("export", "current")):
        code, out, err = run(
            "snapshot", *words, *(("--source", tree) if words[0] in ("save", "load") else ())
        )
        assert (code, out) == (2, ""), words
        assert err.startswith("torchtalkd: ")
        assert len(err.splitlines()) == 1
    assert run("snapshot", "load", "--source", tree)[0] == 2
    assert run("snapshot", "load", "a", "--nearest", "--source", tree)[0] == 2


# -- save, list, delete, prune


def test_what_a_snapshot_records(told: Callable[..., Any], tree: Path) -> None:
    saved = told("snapshot", "save", "main/abc1234/v1", "--source", tree)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tree, capture_output=True, text=True, check=True
    )
    assert saved["git_commit"] == commit.stdout.strip()
    assert saved["harness"] == "pytorch"
    assert saved["harness_fingerprint"]
    assert saved["format"] == 1
    assert saved["complete"]
    assert len(saved["content_fingerprint"]) == len(saved["source_fingerprint"]) == 32
    listed = told("snapshot", "list")
    assert listed["snapshots"] == [saved]
    assert listed["total"] == 1
    assert listed["bytes"] >= saved["added"] > 0


def test_save_again_replaces(told: Callable[..., Any], run: Callable[..., Ran], tree: Path) -> None:
    first = told("snapshot", "save", "n", "--source", tree)
    edit(tree)
    second = told("snapshot", "save", "n", "--source", tree)
    assert second["content_fingerprint"] != first["content_fingerprint"]
    assert second["changed"] == 1
    assert [one["name"] for one in told("snapshot", "list")["snapshots"]] == ["n"]


def test_delete_and_prune(told: Callable[..., Any], run: Callable[..., Ran], tree: Path) -> None:
    for number in range(4):
        told("snapshot", "save", f"n{number}", "--source", tree)
    assert run("snapshot", "delete", "x")[0] == 1
    assert told("snapshot", "delete", "n3")["deleted"] == ["n3"]
    assert told("snapshot", "prune", "--keep", "2")["deleted"] == ["n0"]
    assert told("snapshot", "prune", "--keep", "2")["deleted"] == []
    assert [one["name"] for one in told("snapshot", "list")["snapshots"]] == ["n1", "n2"]
    assert run("snapshot", "prune", "--keep", "0")[0] == 2


def test_a_tree_that_changes_while_it_is_saved(tree: Path, home: Path) -> None:
    conventions = load("pytorch", tree=tree)
    folder = index_folder(tree, os.environ)
    count = iter(range(100))

    def refresh(until: int) -> None:
        build(tree, folder, conventions, workers=1)
        if next(count) < until:
            edit(tree)

    kept = keeping.save(home, "settles", tree, folder, lambda: refresh(1))
    with keeping.viewed(home, "settles") as view:
        facts = list(dump(view))
    assert kept.about.content_fingerprint
    build(tree, tmp := folder.with_name("fresh"), conventions, workers=1)
    assert facts == dumped(tree, tmp)
    restless = keeping.save(home, "restless", tree, folder, lambda: refresh(99))
    # It is of one revision all the same, but of which content nobody can say.
    assert restless.about.content_fingerprint == ""


def test_a_save_while_the_index_is_written(tree: Path, home: Path, tmp_path: Path) -> None:
    conventions = load("pytorch", tree=tree)
    folder = index_folder(tree, os.environ)
    build(tree, folder, conventions, workers=1)
    revision = image.revision_of(folder)
    before = dumped(tree)
    real = image.connect_new

    def writing(path: Path) -> Any:
        # After the view is open, before a page of it is copied.
        edit(tree)
        build(tree, folder, conventions, workers=1)
        return real(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(image, "connect_new", writing)
        (tmp_path / "copy").mkdir()
        meta = image.copy_newest(folder, tmp_path / "copy" / "index.db")
    assert int(meta["revision"]) == revision
    assert dumped(tree, tmp_path / "copy") == before != dumped(tree)


def test_two_saves_at_once(told: Callable[..., Any], tree: Path, home: Path) -> None:
    told("snapshot", "save", "zero", "--source", tree)
    folder = index_folder(tree, os.environ)
    threads = [
        threading.Thread(target=keeping.save, args=(home, name, tree, folder, lambda: None))
        for name in ("one", "two", "one", "two")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one["name"] for one in told("snapshot", "list")["snapshots"]} == {"zero", "one", "two"}
    for name in ("one", "two"):
        with keeping.viewed(home, name) as view:
            assert list(dump(view)) == dumped(tree)


# -- load


def test_a_loaded_index_is_right_whatever_it_was_of(
    told: Callable[..., Any], run: Callable[..., Ran], tree: Path, tmp_path: Path
) -> None:
    told("snapshot", "save", "before", "--source", tree)
    edit(tree)
    (tree / "torch/functional.py").unlink()
    (tree / "torch/fresh.py").write_text("def fresh(): ...\n")
    run("index", "build", "--source", tree)
    newest = image.revision_of(index_folder(tree, os.environ))
    loaded = told("snapshot", "load", "before", "--source", tree)
    assert loaded["built"]["parsed"] == 2
    assert loaded["built"]["revision"] > newest
    is_as_built_anew(tree, tmp_path)
    assert run("trace", "edited_here", "--source", tree)[0] == 0
    shutil.rmtree(index_folder(tree, os.environ))
    told("snapshot", "load", "before", "--source", tree)
    is_as_built_anew(tree, tmp_path)


def test_a_change_that_no_stat_shows_is_read(told: Callable[..., Any], tree: Path, tmp_path: Path) -> None:
    """A tree at another path, whose files have the size and time of those that were saved."""
    told("snapshot", "save", "one", "--source", tree)
    other = tmp_path / "other"
    shutil.copytree(tree, other)
    path = other / SHAPE
    known = path.stat()
    path.write_bytes(path.read_bytes().replace(b"roll", b"toll"))
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    told("snapshot", "load", "one", "--force", "--source", other)
    is_as_built_anew(other, tmp_path)
    with open_view(index_folder(other, os.environ)) as view:
        assert view.meta("root") == str(other)


def test_what_fits_and_what_does_not(
    told: Callable[..., Any], run: Callable[..., Ran], tree: Path, tmp_path: Path
) -> None:
    told("snapshot", "save", "one", "--source", tree)
    git(tmp_path, "clone", "-q", str(tree), "clone")
    clone = tmp_path / "clone"
    # The same content at another path; then other content.
    assert told("snapshot", "load", "one", "--source", clone)["built"]["parsed"] == 0
    edit(clone)
    code, out, err = run("snapshot", "load", "one", "--source", clone)
    assert (code, out) == (1, "")
    assert "another path" in err
    assert "0 files differed" in err
    assert "1 do here" in err
    assert "--force" in err
    git(clone, "commit", "-q", "-a", "-m", "two")
    assert "of commit" in run("snapshot", "load", "one", "--source", clone)[2]
    assert told("snapshot", "load", "one", "--force", "--source", clone)["built"]["parsed"] == 1
    # The same path with other content.
    edit(tree)
    assert told("snapshot", "load", "one", "--source", tree)["built"]["parsed"] == 1
    assert run("snapshot", "load", "two", "--source", tree)[0] == 1


def test_the_nearest(told: Callable[..., Any], run: Callable[..., Ran], tree: Path, tmp_path: Path) -> None:
    assert run("snapshot", "load", "--nearest", "--source", tree)[0] == 1

    def nearest(*more: str) -> tuple[str, str]:
        loaded = told("snapshot", "load", "--nearest", "--source", tree, *more)
        return loaded["loaded"], loaded["why"]

    told("snapshot", "save", "old/one", "--source", tree)
    git(tree, "commit", "-q", "--allow-empty", "-m", "same tree")
    edit(tree)
    told("snapshot", "save", "dirty", "--source", tree)
    git(tree, "checkout", "-q", "--", ".")
    # Content, then commit, then ancestor.
    assert nearest() == ("old/one", "the same content")
    edit(tree, "torch/functional.py")
    assert nearest() == ("dirty", "the same commit")
    git(tree, "commit", "-q", "-a", "-m", "three")
    assert nearest() == ("dirty", "the nearest ancestor")
    told("snapshot", "delete", "dirty")
    assert nearest() == ("old/one", "the nearest ancestor")
    git(tree, "checkout", "-q", "--orphan", "other")
    git(tree, "commit", "-q", "-m", "of no ancestor")
    edit(tree)
    code, _, err = run("snapshot", "load", "--nearest", "--source", tree)
    assert code == 1
    assert "--force" in err
    assert nearest("--force") == ("old/one", "the newest")
    is_as_built_anew(tree, tmp_path)


def test_a_load_that_fails_leaves_the_index(
    told: Callable[..., Any], run: Callable[..., Ran], tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told("snapshot", "save", "one", "--source", tree)
    edit(tree)
    run("index", "build", "--source", tree)
    folder = index_folder(tree, os.environ)
    before = dumped(tree)

    def full(*_: object) -> None:
        raise StoreFull(folder, "the disk is full")

    monkeypatch.setattr(pool, "restore", full)
    assert run("snapshot", "load", "one", "--source", tree)[0] == 1
    monkeypatch.undo()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parents[1]))
    assert dumped(tree) == before
    assert not (folder / image.BESIDE).exists()
    # Nobody holds the lock.
    lock.acquire(folder).release()


def test_a_load_waits_for_who_writes(told: Callable[..., Any], tree: Path) -> None:
    told("snapshot", "save", "one", "--source", tree)
    held = lock.acquire(index_folder(tree, os.environ))
    timer = threading.Timer(0.3, held.release)
    timer.start()
    assert told("snapshot", "load", "one", "--source", tree)["loaded"] == "one"


def test_without_git(told: Callable[..., Any], mini_tree: Path, tmp_path: Path) -> None:
    saved = told("snapshot", "save", "one", "--source", mini_tree)
    assert saved["git_commit"] == ""
    shutil.copytree(mini_tree, tmp_path / "copy")
    assert told("snapshot", "load", "--nearest", "--source", tmp_path / "copy")["why"] == "the same content"


# -- diff and update


def test_diff_says_what_the_contract_says(
    told: Callable[..., Any], run: Callable[..., Ran], tree: Path
) -> None:
    told("snapshot", "save", "a/b", "--source", tree)
    edit(tree)
    (tree / "torch/functional.py").unlink()
    (tree / "torch/fresh.py").write_text("def fresh(): ...\n")
    found = told("snapshot", "diff", "a/b", "current", "--source", tree)
    assert (found["left"], found["right"]) == ("a/b", "current")
    assert found["files_added"] == ["torch/fresh.py"]
    assert found["files_removed"] == ["torch/functional.py"]
    assert found["files_modified"] == [SHAPE]
    assert {"operators", "kernels", "registrations", "tests"} <= found.keys()
    back = told("snapshot", "diff", "current", "a/b", "--source", tree)
    assert back["files_added"] == ["torch/functional.py"]
    told("snapshot", "save", "c", "--source", tree)
    # Between two snapshots no tree is needed.
    assert told("snapshot", "diff", "a/b", "c")["files_modified"] == [SHAPE]
    code, out, err = run("snapshot", "diff", "a/b", "nothing")
    assert (code, out) == (1, "")
    assert "there are a/b, c" in err


def test_update_since_a_snapshot(
    told: Callable[..., Any], run: Callable[..., Ran], tree: Path, tmp_path: Path
) -> None:
    told("snapshot", "save", "base", "--source", tree)
    edit(tree)
    edit(tree, "aten/src/ATen/native/DispatchStub.h")
    (tree / "aten/src/ATen/alone.h").write_text("")
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "two")
    told("snapshot", "load", "base", "--force", "--source", tree)
    code, out, err = run("index", "update", "--since", "base", "--source", tree, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["since"]["changed"] == sorted(
        [SHAPE, "aten/src/ATen/alone.h", "aten/src/ATen/native/DispatchStub.h"]
    )
    assert "aten/src/ATen/native/cpu/BinaryOpsKernel.cpp" in found["since"]["units"]
    assert SHAPE not in found["since"]["units"]
    assert found["built"]["parsed"] >= len(found["since"]["units"])
    assert "1 of the changed headers: aten/src/ATen/alone.h" in err
    is_as_built_anew(tree, tmp_path)
    assert run("index", "update", "--since", "nothing", "--source", tree)[0] == 1
    assert run("index", "update", "--source", tree)[0] == 2
