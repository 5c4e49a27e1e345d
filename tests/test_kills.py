"""kill -9 at any moment of a build or replacement loses nothing: the next start is right, and no lock stays.

10 kills, or 100 with --full. The moment is random, up to the time that the same work takes when
nobody disturbs it.
"""

from __future__ import annotations

import os
import random
import select
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import DEMO_TREE
from tests.daemons import alive, children, until
from tests.following import fresh_dump
from tests.histories import MANIFESTS, SNIPPETS
from torchtalkd.conventions import load
from torchtalkd.engine import build, update
from torchtalkd.store.database import open_view
from torchtalkd.store.dump import dump
from torchtalkd.store.errors import NoIndex

KILLS = 10
KILLS_IN_FULL = 100


class Target:
    """A tree of a few hundred files, and the index that is killed while it is made."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "tree"
        self.folder = folder / "index"
        self.fresh = folder / "fresh"
        for copy in ("", "one", "two", "three"):
            shutil.copytree(DEMO_TREE, self.root / copy, dirs_exist_ok=True)

    def files(self) -> list[Path]:
        return sorted(path for path in self.root.rglob("*") if path.suffix in (".cpp", ".cu", ".py", ".h"))

    def build(self, paths: list[str] | None = None) -> None:
        conventions = load("pytorch", tree=self.root)
        if paths is None:
            build(self.root, self.folder, conventions, workers=2)
        else:
            update(self.root, self.folder, conventions, paths, workers=2)

    def dump(self) -> list[str] | None:
        try:
            with open_view(self.folder) as view:
                return list(dump(view))
        except NoIndex:
            return None


def first(target: Target, chance: random.Random) -> Callable[[], None]:
    shutil.rmtree(target.folder, ignore_errors=True)
    return target.build


def many(target: Target, chance: random.Random) -> Callable[[], None]:
    for path in target.files():
        path.write_bytes(chance.choice(SNIPPETS) + path.read_bytes())
    return target.build


def few(target: Target, chance: random.Random) -> Callable[[], None]:
    files = chance.sample(target.files(), 3)
    files[0].unlink()
    for path in files[1:]:
        path.write_bytes(path.read_bytes() + chance.choice(SNIPPETS))
    paths = [path.relative_to(target.root).as_posix() for path in files]
    return lambda: target.build(paths)


def manifest(target: Target, chance: random.Random) -> Callable[[], None]:
    (target.root / ".torchtalk.toml").write_bytes(chance.choice(MANIFESTS[:3]))
    return target.build


WORKS = (first, many, few, manifest)


def in_child(work: Callable[[], None], moment: float | None) -> float:
    """Does the work in a process of its own, which is killed after so many seconds; the seconds it took."""
    end, held = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    os.close(held)
    # The pipe ends with the process.
    ended, _, _ = select.select([end], [], [], moment)
    workers = children(pid)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(end)
    took = time.monotonic() - began
    assert moment is not None or status == 0
    until(lambda: not any(alive(worker) for worker in workers), "its workers end with it")
    return took


def test_a_kill_at_any_moment_loses_nothing(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    full = pytestconfig.getoption("--full")
    chance = random.Random(None if full else 4)
    target = Target(tmp_path)
    target.build()
    took = {work: in_child(work(target, chance), None) for work in WORKS}
    for number in range(KILLS_IN_FULL if full else KILLS):
        work = WORKS[number % len(WORKS)]
        before = target.dump()
        assert before is not None
        job = work(target, chance)
        in_child(job, chance.uniform(0, took[work]))
        expected = fresh_dump(target.root, target.fresh)
        assert target.dump() in (before if work is not first else None, expected), work.__name__
        # Nobody holds the lock, or this would raise.
        target.build()
        assert target.dump() == expected, work.__name__
