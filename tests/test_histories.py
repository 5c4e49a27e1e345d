"""Any history equals a fresh build: random ones, told exactly, only swept for, or really watched.

After each settling the index is compared with a fresh build of the same tree. Events are lost, the
writer is killed. `--full` runs many more, with other numbers each time.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.following import CALLS_OF_A_BUILD, EVERYTHING, Following, Watched
from tests.histories import World, plant
from tests.steps import STEPS
from torchtalkd.changes import NOTHING, ChangeBatch
from torchtalkd.engine import gather

Step = tuple[str, int, int]
NUMBERS = st.integers(0, 999)


def histories(*more: str) -> st.SearchStrategy[list[list[Step]]]:
    """Chapters of steps; after each the tree settles. `more` are kinds of mishap."""
    step = st.tuples(st.sampled_from([*STEPS, *more]), NUMBERS, NUMBERS)
    return st.lists(st.lists(step, min_size=1, max_size=10), min_size=1, max_size=4)


def some(count: int, times: int = 10) -> settings:
    """How many are tried: always the same ones, or with --full as many times more, new each time."""
    full = settings.get_current_profile_name() == "full"
    return settings(
        max_examples=count * times if full else count,
        derandomize=not full,
        deadline=None,
        database=None,
        print_blob=not full,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


@pytest.fixture(scope="module")
def planted() -> Iterator[Path]:
    """The tree as each history finds it, in memory where the system has a folder for that."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as name:
        root = Path(name).resolve() / "planted"
        root.mkdir()
        plant(root)
        yield root


@contextmanager
def following(planted: Path) -> Iterator[Following]:
    """A copy of the tree, with its first index."""
    with (
        tempfile.TemporaryDirectory(dir=planted.parent) as name,
        pytest.MonkeyPatch.context() as patch,
    ):
        # Workers have tests of their own; to start them takes longer than a history may.
        patch.setattr(gather, "IN_PROCESS", 1000)
        shutil.copytree(planted, Path(name) / "tree", symlinks=True)
        world = World(Path(name) / "tree", Path(name) / "aside")
        index = Following(world, Path(name) / "index")
        index.tell(ChangeBatch(sweep=frozenset({"start"})))
        try:
            yield index
        finally:
            world.open()


def live(index: Following, history: list[list[Step]], swept: bool) -> None:
    """A history whose every event is told, unless it is lost; `swept`: none ever is."""
    world = index.world
    lost = NOTHING

    def settle() -> None:
        nonlocal lost
        told = world.take()
        if swept or lost:
            told = EVERYTHING
        index.tell(told)
        lost = NOTHING
        if world.shut:
            world.open()
            index.tell(EVERYTHING if swept else world.take())
        index.check()

    for chapter in history:
        for name, a, b in chapter:
            match name:
                case "lose":
                    # What was told before is worked on; the sweep that makes up for this comes later.
                    lost |= world.take()
                case "partly":
                    index.tell(EVERYTHING if swept else world.take())
                case "kill":
                    batch = EVERYTHING if swept else world.take()
                    index.killed(batch, (a * 1000 + b) % CALLS_OF_A_BUILD, whole=not lost)
                    lost |= ChangeBatch(sweep=frozenset({"start"}))
                case _:
                    STEPS[name](world, a, b)
        settle()


@some(150)
@given(history=histories("lose", "partly", "kill"))
def test_a_history_that_is_told(planted: Path, history: list[list[Step]]) -> None:
    with following(planted) as index:
        live(index, history, swept=False)


@some(70)
@given(history=histories("partly", "kill"))
def test_a_history_that_is_only_swept_for(planted: Path, history: list[list[Step]]) -> None:
    with following(planted) as index:
        live(index, history, swept=True)


def settle_watched(index: Following, watched: Watched, lost: bool) -> Watched:
    """Works on all that was heard; a sweep makes up for what was lost. The watch, which is a new one
    where other files are ignored from now on."""
    index.tell(watched.take() | (EVERYTHING if lost else NOTHING))
    if index.conventions.files != watched.conventions.files:
        watched.close()
        watched = Watched(index.world.root, index.conventions)
        index.tell(watched.take())
    return watched


@some(80)
@given(history=histories("lose", "partly", "kill"))
def test_a_history_that_is_watched(planted: Path, history: list[list[Step]]) -> None:
    with following(planted) as index:
        watched = Watched(index.world.root, index.conventions)
        try:
            index.tell(watched.take())
            for chapter in history:
                lost = False
                for name, a, b in chapter:
                    match name:
                        case "lose":
                            watched.take()
                            lost = True
                        case "partly":
                            index.tell(watched.take())
                        case "kill":
                            watched.close()
                            watched = Watched(index.world.root, index.conventions)
                        case _:
                            STEPS[name](index.world, a, b)
                watched = settle_watched(index, watched, lost)
                if index.world.shut:
                    index.world.open()
                    watched = settle_watched(index, watched, lost=False)
                index.check()
            if sys.platform == "linux":
                assert watched.watch.state().how == "native"
        finally:
            watched.close()
