"""Answers while git switches a tree back and forth: see `tests.storming` for what must hold of each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bench.daemon import NAMES, Agent
from tests.conftest import DEMO_TREE
from tests.daemons import new_home
from tests.storm import grow, make_commits
from tests.storming import Truth, answered, fresh_store, places, settled, storm, wrong

WAVES = 60
CLIENTS = 3
BUILD_SECONDS = 900


@contextmanager
def agents(tree: Path) -> Iterator[list[Agent]]:
    """Clients of a daemon that has the tree indexed."""
    with new_home() as home:
        building = home.start("index", "build", "--source", tree)
        building.communicate(timeout=BUILD_SECONDS)
        assert building.returncode == 0
        started = [Agent(home, tree) for _ in range(CLIENTS)]
        try:
            yield started
        finally:
            for agent in started:
                agent.end()


def through_the_storm(tree: Path, folder: Path, count: int, names: list[str], rounds: int) -> None:
    before = fresh_store(tree, folder / "before")
    # What the answers cite is among the files that differ.
    cited = {place.file for text in answered(before, names).values() for place in places(text)}
    made = make_commits(tree, count, always=sorted(cited))
    assert made.files >= count * 0.95
    commits = [made.before, made.after]
    truth = Truth(tree, {made.before: before, made.after: fresh_store(tree, folder / "after")}, names)
    with agents(tree) as clients:
        log = storm(truth, clients, commits, rounds)
        late = settled(truth, clients, log.stays[-1].commit)
    assert log.said
    assert not (found := list(wrong(truth, log, commits))), "\n".join(found[:5])
    assert not late, "\n".join(late.values())


def test_a_small_tree_in_a_storm(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(DEMO_TREE, tree)
    grow(tree, WAVES)
    names = ["mul", "aten::wave3", "wave7", "torch.wave11", "wave20_cpu", "wave31_twice", "matmul", "add"]
    through_the_storm(tree, tmp_path, 200, names, rounds=24)


@pytest.mark.full
@pytest.mark.real_tree
def test_pytorch_in_a_storm(pytorch_tree: Path, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    shutil.copytree(pytorch_tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    through_the_storm(tree, tmp_path, 2000, list(NAMES), rounds=6)
