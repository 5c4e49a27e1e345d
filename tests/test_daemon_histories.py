"""Histories of a tree that the daemon holds: an agent who waits is answered as by a fresh build."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from tests.bench.daemon import Agent
from tests.daemons import Home, alive, new_home, until
from tests.histories import World, plant
from tests.steps import STEPS
from tests.storming import Said
from tests.test_histories import Step, histories, some
from torchtalkd import vcs
from torchtalkd.conventions import ManifestError, load
from torchtalkd.engine import build
from torchtalkd.frontends.mcp.replies import search_text, trace_text
from torchtalkd.queries.search import search
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view

NAMES = ("mul", "extra", "aten::mul.out", "mul_stub", "extra_kernel", "torch.nn.functional", "inner")
_numbers = count()


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with new_home() as home:
        plant_in(home.folder / "planted")
        yield home


def plant_in(root: Path) -> None:
    root.mkdir()
    plant(root)


def fresh_answers(root: Path, folder: Path) -> dict[str, str]:
    """What a fresh build answers, by name."""
    build(root, folder, load("pytorch", tree=root), workers=1)
    with open_view(folder) as view:
        found = {name: trace_text(trace(view, name), []) for name in NAMES}
        found["?"] = search_text(search(view, "mul", "bindings", "", 40), [], 40)
    shutil.rmtree(folder)
    return found


def answers(agent: Agent) -> Iterator[tuple[str, Said]]:
    """What an agent is answered who waits, by name."""
    for name in NAMES:
        yield name, certain(agent, name, "trace", func=name)
    yield "?", certain(agent, "?", "search", query="mul", limit=40)


def certain(agent: Agent, name: str, tool: str, **arguments: Any) -> Said:
    """An answer with nothing waiting: a busy machine may need more than the two seconds of one call."""

    def ask() -> Said | None:
        said = Said(name, agent.call(tool, **arguments, wait=True), 0, 0)
        return None if said.waits else said

    found: Said = until(ask, f"{name} is certain")
    return found


@some(6)
@given(history=histories("kill"))
def test_a_history_in_the_daemon(home: Home, history: list[list[Step]]) -> None:
    name = f"{next(_numbers)}"
    root = home.folder / "trees" / name
    shutil.copytree(home.folder / "planted", root, symlinks=True)
    world = World(root, home.folder / f"aside{name}")
    agent = Agent(home, root)
    try:
        for chapter in history:
            for step, a, b in chapter:
                if step == "kill":
                    kill(home)
                elif step == "manifest" or (step == "shut" and os.geteuid()):
                    # A broken manifest leaves the last good one in force, which a fresh build never saw;
                    # and of a closed folder more is known than a fresh build can find out.
                    continue
                else:
                    STEPS[step](world, a, b)
            if not readable(root):
                continue
            expected = fresh_answers(root, home.folder / "fresh")
            head = vcs.head(root)
            for asked, said in answers(agent):
                assert said.words == Said(asked, expected[asked], 0, 0).words
                if said.revision:
                    assert f"commit {head.commit[:10]}" in said.text
    finally:
        agent.end()
        shutil.rmtree(root)


def readable(root: Path) -> bool:
    """Whether there is a tree of the framework left; one that is not is no tree to ask about."""
    try:
        return (root / "aten/src/ATen/native/native_functions.yaml").is_file() and bool(
            load("pytorch", tree=root)
        )
    except ManifestError:
        return False


def kill(home: Home) -> None:
    """kill -9 of the daemon, if it runs."""
    for running in home.daemons():
        pid = int(running.hello["pid"])
        os.kill(pid, signal.SIGKILL)
        until(lambda pid=pid: not alive(pid), "it ends")
