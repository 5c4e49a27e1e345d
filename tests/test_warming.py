"""What is derived before somebody asks: when that is done, what of it a question waits for, and that it is
the same as what a question derives."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.test_daemon import hosted, opened
from torchtalkd.daemon import tree as trees
from torchtalkd.daemon import warming
from torchtalkd.daemon.host import Host
from torchtalkd.daemon.tree import Tree
from torchtalkd.daemon.warming import Enough, Warming
from torchtalkd.link.pieces import Work, derive, derived
from torchtalkd.link.source import Facts
from torchtalkd.queries.graph import graph
from torchtalkd.queries.warm import STEPS, warm
from torchtalkd.store.view import View

DERIVED = {"stubs", "nodes", "taken_in", "formula_users"}


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


# -- pieces


def counting(facts: Facts) -> Work[list[int]]:
    found: list[int] = []
    for number in range(4):
        found.append(number)
        facts.kept["steps"] = facts.kept.get("steps", 0) + 1
        yield
    return found


def facts() -> Facts:
    return cast(Any, SimpleNamespace(kept={}))


def test_a_question_does_the_rest_of_what_is_begun() -> None:
    view = facts()
    pieces = derive(view, "numbers", counting)
    next(pieces)
    next(pieces)
    assert "numbers" not in view.kept
    assert derived(view, "numbers", counting) == [0, 1, 2, 3]
    assert view.kept["steps"] == 4
    assert list(pieces) == [] and derived(view, "numbers", counting) is view.kept["numbers"]


def test_what_has_failed_is_begun_anew() -> None:
    view = facts()
    fails = True

    def work(facts: Facts) -> Work[int]:
        yield
        if fails:
            raise ValueError("not now")
        return 1

    with pytest.raises(ValueError, match="not now"):
        derived(view, "one", work)
    fails = False
    assert derived(view, "one", work) == 1


# -- when


def run(work: Any) -> None:
    asyncio.run(asyncio.wait_for(work, 20))


def test_nothing_is_derived_until_clients_have_been_quiet() -> None:
    begun: list[float] = []
    heard = 0.0

    async def piece(enough: Enough) -> bool:
        begun.append(time.monotonic())
        return True

    async def work() -> None:
        nonlocal heard
        one = Warming(piece, lambda: heard)
        heard = time.monotonic()
        one.go()
        assert one._task is not None
        await one._task
        assert begun[0] >= heard + warming.QUIET_SECONDS

    run(work())


def test_it_stops_when_a_client_says_something_and_goes_on_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "PIECE_SECONDS", 20.0)
    heard = 0.0
    ends: list[float] = []

    async def pieces(enough: Enough) -> bool:
        nonlocal heard
        if ends:
            return True
        assert not enough()
        heard = time.monotonic()
        assert enough()
        ends.append(heard)
        return False

    async def work() -> None:
        one = Warming(pieces, lambda: heard)
        one.go()
        one.go()
        assert one._task is not None
        await one._task
        assert len(ends) == 1
        assert time.monotonic() >= ends[0] + warming.QUIET_SECONDS

    run(work())


def test_pieces_give_way_after_a_while() -> None:
    async def pieces(enough: Enough) -> bool:
        began = time.monotonic()
        while not enough():
            assert time.monotonic() - began < 10
        return True

    async def work() -> None:
        one = Warming(pieces, lambda: 0.0)
        one.go()
        assert one._task is not None
        await one._task

    run(work())


# -- of what


def kept(tree: Tree) -> set[str]:
    """The names of what the view that is lent next has derived."""
    age, view = tree._views.take()
    found = set(view.kept)
    tree._views.give(age, view)
    return found


async def warmed(tree: Tree) -> None:
    while tree._warming._task is not None and not tree._warming._task.done():
        await asyncio.wait([tree._warming._task])


def test_a_session_warms_the_tree_and_a_new_revision_of_it(
    environ: dict[str, str], mini_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        tree = await handle.tree()
        await warmed(tree)
        assert kept(tree) >= DERIVED
        revision = tree.state().revision
        (mini_tree / "new.py").write_text("def quite_new(): ...")
        await tree.fresh.sweep()
        assert tree.state().revision > revision
        await warmed(tree)
        assert kept(tree) >= DERIVED
        # Nobody has asked for a while.
        monkeypatch.setattr(trees, "WANTED_SECONDS", 0.0)
        (mini_tree / "newer.py").write_text("def quite_newer(): ...")
        await tree.fresh.sweep()
        await warmed(tree)
        assert not kept(tree) & DERIVED
        # Somebody comes.
        await host.root(str(mini_tree), None, environment=environ).tree()
        await warmed(tree)
        assert kept(tree) >= DERIVED

    hosted(work)


def test_a_question_keeps_it_from_beginning(environ: dict[str, str], mini_tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        tree = await handle.tree()
        tree.rest()

        def question(view: View) -> bool:
            return "taken_in" in view.kept

        tree.warm()
        assert not await handle.ask(question)
        await warmed(tree)
        assert await handle.ask(lambda view: "taken_in" in view.kept)

    hosted(work)


def test_what_is_warm_answers_as_what_is_cold(environ: dict[str, str], mini_tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        tree = await handle.tree()
        names = ("mul_kernel", "at::native::mul", "torch.mul", "mm")

        def question(view: View) -> list[tuple[Any, ...]]:
            return [graph(view, name, "impact", 3).nodes for name in names]

        tree.rest()
        cold = await handle.ask(question)
        tree.rest()
        tree.warm()
        await warmed(tree)
        assert await handle.ask(question) == cold

    hosted(work)


def test_each_piece_is_a_step_of_its_own(environ: dict[str, str], mini_tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        tree = await handle.tree()
        tree.rest()

        def pieces(view: View) -> Iterator[bool]:
            while True:
                done = warm(view, lambda: True)
                yield done
                if done:
                    return

        found = await handle.ask(lambda view: list(pieces(view)))
        assert len(found) > len(STEPS)
        assert found[-1] and not any(found[:-1])

    hosted(work)
