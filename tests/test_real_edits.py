"""Steps of edits on a real PyTorch, really watched: after each, the facts of what was touched and the set
of files equal those of a fresh parse; at the end all equals a fresh build.

A part of the tree and a few steps, or with --full the whole tree and 50.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.following import Watched
from tests.histories import World, git
from tests.steps import STEPS
from torchtalkd.conventions import Conventions, load
from torchtalkd.engine import build, update
from torchtalkd.engine.sweep import Entry, sweep
from torchtalkd.store.database import open_view
from torchtalkd.store.dump import dump

pytestmark = pytest.mark.real_tree

PART = (
    "version.txt",
    "aten/src/ATen/native/*.*",
    "aten/src/ATen/native/cpu",
    "aten/src/ATen/native/cuda",
    "tools/autograd",
    "torch/nn",
    "torch/_refs",
    "test/nn",
)
LEFT_OUT = frozenset({"shut", "reopen", "manifest"})
"""Steps that one tree is not given: what a closed folder hides, a fresh parse cannot know."""
MOST = 200
"""Touched files that are parsed anew after a step; a moved folder can have thousands."""


class Real:
    """A real tree with the index that follows it, parsed by the real parser and its workers."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder
        self.world = World(root, folder.with_name("aside"))
        self.conventions: Conventions = load("pytorch", tree=root)
        build(root, folder, self.conventions, workers=2)

    def entries(self) -> dict[str, Entry]:
        return {entry.path: entry for entry in sweep(self.world.root, self.conventions).entries}


def part(tree: Path, root: Path) -> None:
    for pattern in PART:
        for source in tree.glob(pattern):
            target = root / source.relative_to(tree)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True)
            elif source.is_file():
                shutil.copyfile(source, target)


def facts(folder: Path, paths: set[str]) -> list[str]:
    with open_view(folder) as view:
        return list(dump(view, paths))


def parsed_anew(real: Real, paths: set[str]) -> list[str]:
    """The facts of some files, from a tree that has these alone."""
    beside = real.folder.with_name("beside")
    for path in paths:
        target = beside / "tree" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(real.world.root / path, target)
    build(beside / "tree", beside / "index", real.conventions, workers=2)
    found = facts(beside / "index", paths)
    shutil.rmtree(beside)
    return found


def steps(real: Real, count: int, chance: random.Random) -> Iterator[str]:
    """Does as many steps of up to four edits; yields their names when each is done."""
    names = sorted(STEPS.keys() - LEFT_OUT)
    for _ in range(count):
        chosen = [chance.choice(names) for _ in range(chance.randint(1, 4))]
        for name in chosen:
            STEPS[name](real.world, chance.randrange(1 << 30), chance.randrange(1 << 30))
        yield " ".join(chosen)


def follow(root: Path, folder: Path, count: int, chance: random.Random) -> None:
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "as published")
    git(root, "branch", "other")
    real = Real(root, folder)
    watched = Watched(root, real.conventions)
    try:
        before = real.entries()
        for done in steps(real, count, chance):
            batch = watched.take()
            if batch.sweep:
                build(root, folder, real.conventions, workers=2)
            else:
                update(root, folder, real.conventions, batch.paths, workers=2)
            after = real.entries()
            with open_view(folder) as view:
                assert {file.path for file in view.files()} == after.keys(), done
            moved = [path for path, entry in after.items() if before.get(path) != entry]
            touched = [path for path in moved if not after[path].refused]
            some = set(chance.sample(touched, min(MOST, len(touched))))
            if some:
                assert facts(folder, some) == parsed_anew(real, some), done
            before = after
    finally:
        watched.close()
    build(root, folder.with_name("fresh"), real.conventions, workers=2)
    with open_view(folder) as one, open_view(folder.with_name("fresh")) as two:
        for ours, fresh in zip_longest(dump(one), dump(two)):
            assert ours == fresh


def test_a_part_of_it_is_followed(pytorch_tree: Path, tmp_path: Path) -> None:
    part(pytorch_tree, tmp_path / "tree")
    follow(tmp_path / "tree", tmp_path / "index", 5, random.Random(5))


@pytest.mark.full
def test_all_of_it_is_followed(pytorch_tree: Path, tmp_path: Path) -> None:
    shutil.copytree(pytorch_tree, tmp_path / "tree", symlinks=True, ignore=shutil.ignore_patterns(".git"))
    follow(tmp_path / "tree", tmp_path / "index", 50, random.Random())
