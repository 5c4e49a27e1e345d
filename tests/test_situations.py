"""Situations in which indexes of this kind were seen to be wrong, each as a test of its kind.

Those of a session and of many clients are in `tests/test_freshness.py`, those of watches and their limits
in `tests/test_watch.py`, those of a storm in `tests/test_storm.py`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bench.daemon import Agent
from tests.daemons import Home, new_home
from tests.following import EVERYTHING, Following
from tests.histories import World, git, git_said, plant, save_text
from tests.storming import Said
from torchtalkd.changes import ChangeBatch
from torchtalkd.store.database import open_view

LATER = 10_000_000_000
"""Nanoseconds by which a time is put back: longer than any stat is doubted."""


@pytest.fixture
def index(tmp_path: Path) -> Following:
    """The index of a small tree of all languages."""
    root = tmp_path / "tree"
    root.mkdir()
    plant(root)
    found = Following(World(root, tmp_path / "aside"), tmp_path / "index")
    found.tell(EVERYTHING)
    return found


def paths(index: Following) -> set[str]:
    with open_view(index.folder) as view:
        return {file.path for file in view.files()}


def names(index: Following, key: str) -> set[str]:
    with open_view(index.folder) as view:
        return {found.file.path for found in view.definitions(key)}


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as home:
        yield home


KINDS = {
    "aten/src/ATen/native/BinaryOps.cpp": ("\nvoid quite_new() {}\n", "cpp:quite_new"),
    "aten/src/ATen/native/BinaryOps.h": ("\ninline void quite_new() {}\n", "cpp:quite_new"),
    "aten/src/ATen/native/cuda/BinaryMulKernel.cu": ("\n__global__ void quite_new() {}\n", "cpp:quite_new"),
    "aten/src/ATen/native/cuda/Loops.cuh": ("\n__global__ void quite_new() {}\n", "cpp:quite_new"),
    "aten/src/ATen/native/mps/operations/Unary.mm": ("\nvoid quite_new() {}\n", "cpp:quite_new"),
    "aten/src/ATen/native/metal/Copy.metal": ("\nkernel void quite_new() {}\n", "cpp:quite_new"),
    "aten/src/ATen/native/native_functions.yaml": (
        "\n- func: quite_new(Tensor self) -> Tensor\n",
        "op:quite_new",
    ),
    "aten/src/ATen/native/tags.yaml": ("\n- tag: quite_new\n  desc: new\n", "tag:quite_new"),
    "tools/autograd/derivatives.yaml": (
        "\n- name: quite_new(Tensor self) -> Tensor\n  self: grad\n",
        "op:quite_new",
    ),
    "torch/functional.py": ("\n\ndef quite_new():\n    pass\n", "py:quite_new"),
}


def test_each_kind_of_file_is_read_and_forgotten(index: Following) -> None:
    start = index.dump()
    for path, (text, key) in KINDS.items():
        whole = index.world.root / path
        before = whole.read_bytes()
        for style in range(4):
            save_text(whole, before + text.encode(), style)
            assert index.tell(ChangeBatch(frozenset({path}))).parsed == 1
            assert names(index, key) == {path}, style
            save_text(whole, before, style)
            assert index.tell(ChangeBatch(frozenset({path}))).parsed == 1
            assert names(index, key) == set(), style
    assert index.dump() == start


def test_an_untracked_file_and_a_deleted_one_come_back_to_the_start(index: Following) -> None:
    start, root = index.dump(), index.world.root

    def told(path: str) -> None:
        index.tell(ChangeBatch(frozenset({path})))
        assert index.dump() == index.fresh()

    (root / "torch/untracked.py").write_text("def one(): ...\n")
    told("torch/untracked.py")
    assert names(index, "py:one") == {"torch/untracked.py"}
    (root / "torch/untracked.py").write_text("def two(): ...\n")
    told("torch/untracked.py")
    assert names(index, "py:one") == set()
    (root / "torch/untracked.py").unlink()
    told("torch/untracked.py")
    assert index.dump() == start
    (root / "torch/functional.py").unlink()
    told("torch/functional.py")
    assert "torch/functional.py" not in paths(index)
    git(root, "checkout", "--", "torch/functional.py")
    told("torch/functional.py")
    assert index.dump() == start


def test_one_file_of_many_costs_one_file(index: Following) -> None:
    path = "torch/functional.py"
    save_text(index.world.root / path, b"def other(): ...\n", 0)
    result = index.tell(ChangeBatch(frozenset({path})))
    assert (result.parsed, result.whole) == (1, False)
    index.check()


@pytest.mark.parametrize("told", [True, False])
def test_a_text_of_the_same_size_and_time_is_seen(index: Following, told: bool) -> None:
    """Also of a file that is old enough for its stat to be believed."""
    path = "torch/functional.py"
    whole = index.world.root / path
    old = whole.stat().st_mtime_ns - LATER
    os.utime(whole, ns=(old, old))
    index.tell(EVERYTHING)
    data = whole.read_bytes()
    with whole.open("r+b") as file:
        file.write(data.replace(b"def ", b"def x", 1)[: len(data)])
    os.utime(whole, ns=(old, old))
    index.tell(ChangeBatch(frozenset({path})) if told else EVERYTHING)
    index.check()


def test_a_work_tree_inside_is_a_root_of_its_own(index: Following, tmp_path: Path) -> None:
    world, start = index.world, index.dump()
    inner = ".claude/worktrees/x"
    git(world.root, "worktree", "add", "-q", inner, "-b", "side")
    assert (world.root / inner / "torch/functional.py").is_file()
    edited = f"{inner}/torch/functional.py"
    save_text(world.root / edited, b"def only_inside(): ...\n", 0)
    for batch in ({inner}, {edited}, {".claude"}):
        index.tell(ChangeBatch(frozenset(batch)))
        assert index.dump() == start
    index.check()
    own = Following(World(world.root / inner, tmp_path / "aside"), tmp_path / "own")
    own.tell(EVERYTHING)
    assert names(own, "py:only_inside") == {"torch/functional.py"}
    assert paths(own) == paths(index)
    own.check()
    git(world.root, "worktree", "remove", "--force", inner)
    index.tell(ChangeBatch(frozenset({".claude", inner})))
    assert index.dump() == start


def test_a_repository_inside_is_read_with_the_tree(index: Following) -> None:
    inner = index.world.root / "extern" / "inner"
    inner.mkdir(parents=True)
    git(inner, "init", "-q", "-b", "main")
    (inner / "a.py").write_text("def inside(): ...\n")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "one")
    index.tell(ChangeBatch(frozenset({"extern"})))
    index.check()
    assert names(index, "py:inside") == {"extern/inner/a.py"}
    git(index.world.root, "checkout", "-q", "-f", "other")
    index.tell(ChangeBatch(sweep=frozenset({"git"})))
    # Its commit is that of the outer repository; the inner one's files stay.
    index.check()
    assert names(index, "py:inside") == {"extern/inner/a.py"}


def test_a_session_that_stays_open_sees_each_change(home: Home) -> None:
    """Appended, asked; switched to a branch with other files, asked; killed in between, asked."""
    root = home.folder / "tree"
    root.mkdir()
    plant(root)
    agent = Agent(home, root)
    try:

        def said(name: str) -> Said:
            return Said(name, agent.call("trace", func=name, wait=True), 0, 0)

        assert "Function not found" in said("appended").text
        path = root / "torch/functional.py"
        save_text(path, path.read_bytes() + b"\n\ndef appended(x):\n    return x\n", 1)
        assert "torch/functional.py" in said("appended").text
        assert home.run("trace", "appended", "--source", root).returncode == 0
        git(root, "checkout", "-q", "-f", "other")
        assert "Function not found" in said("appended").text
        found = said("mul")
        assert f"commit {git_said(root, 'rev-parse', 'HEAD')[:10]} on other" in found.text
        shutil.rmtree(root / "torch")
        assert "Function not found" in said("inner").text
        git(root, "checkout", "-q", "-f", "main")
        assert said("mul").words != found.words
    finally:
        agent.end()
