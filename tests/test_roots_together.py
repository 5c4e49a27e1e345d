"""Several roots in one daemon: an answer about one looks into the others, each at one revision."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemons import Home, new_home
from tests.rpc import INITIALIZE, INITIALIZED, call
from tests.test_daemon import hosted, opened
from torchtalkd.config import config_path, remember_source
from torchtalkd.daemon.freshness import Freshness
from torchtalkd.daemon.host import Handle, Host
from torchtalkd.frontends.host import NotReady
from torchtalkd.queries import across
from torchtalkd.queries.answers import Answer
from torchtalkd.queries.others import Others
from torchtalkd.store.view import View

LONG = 30.0
KERNELS = "aten/src/ATen/native/cpu/BinaryOpsKernel.cpp"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def waves(extension_tree: Path) -> Path:
    """The small extension, with a function that calls names of the framework."""
    source = extension_tree / "waves" / "more.py"
    source.write_text("import torch\n\n\ndef double(x):\n    return torch.mul(x, torch.relu(x))\n", "utf-8")
    return extension_tree


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as home:
        yield home


def named(name: str) -> Callable[[View, Others], Answer]:
    """The question of a trace."""
    return lambda view, others: across.trace(view, name, "full", others)


async def traced(handle: Handle, name: str, **more: Any) -> Answer:
    return await handle.across(named(name), LONG, **more)


def lines(answer: Answer, root: Path) -> list[int]:
    """The lines of the kernels' file that the answer cites."""
    return [i.line for i in answer.items if i.root == str(root) and i.file == KERNELS]


def test_a_name_of_the_base_is_answered_from_its_root(
    environ: dict[str, str], mini_tree: Path, waves: Path
) -> None:
    async def work(host: Host) -> None:
        base = await opened(host, mini_tree, environ)
        handle = await opened(host, waves, environ)
        answer = await traced(handle, "torch.mul")
        assert lines(answer, mini_tree)
        (other,) = answer.others
        assert (other.root, other.standing.revision, answer.waiting) == (str(mini_tree), 1, 0)
        assert await handle.bases() == {"pytorch": str(mini_tree)}
        assert await base.bases() == {}
        # What the tree has itself is asked of nobody else.
        assert (await traced(handle, "waves.ripple")).others == ()
        back = await traced(base, "torch.mul", all_roots=True)
        assert [(i.root, i.file, i.line) for i in back.items if i.role == "external"] == [
            (str(waves), "waves/more.py", 5)
        ]
        assert [other.root for other in back.others] == [str(waves)]

    hosted(work)


def test_edits_of_each_root_are_in_the_next_answer(
    environ: dict[str, str], mini_tree: Path, waves: Path
) -> None:
    async def work(host: Host) -> None:
        base = await opened(host, mini_tree, environ)
        handle = await opened(host, waves, environ)
        before = lines(await traced(handle, "torch.mul"), mini_tree)
        path = mini_tree / KERNELS
        path.write_text("\n\n\n" + path.read_text("utf-8"), "utf-8")
        answer = await traced(handle, "torch.mul")
        assert lines(answer, mini_tree) == [line + 3 for line in before]
        assert answer.others[0].standing.revision == 2
        assert answer.standing.revision == 1
        (waves / "waves" / "new.py").write_text("from torch import mul\n", "utf-8")
        back = await traced(base, "torch.mul", all_roots=True)
        assert back.uses[0].places == 2
        assert back.waiting == 0

    hosted(work)


def test_what_cannot_be_read_in_time_waits_and_is_left_out(
    environ: dict[str, str], mini_tree: Path, waves: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> bool:
        return False

    async def work(host: Host) -> None:
        await opened(host, mini_tree, environ)
        handle = await opened(host, waves, environ)
        whole = await traced(handle, "torch.mul")
        monkeypatch.setattr(Freshness, "settled", never)
        monkeypatch.setattr(Freshness, "reread", never)
        path = mini_tree / KERNELS
        path.write_text("\n" + path.read_text("utf-8"), "utf-8")
        answer = await traced(handle, "torch.mul")
        assert lines(whole, mini_tree) and not lines(answer, mini_tree)
        assert answer.others[0].standing.waiting == 1
        assert answer.waiting == answer.standing.waiting + 1
        assert answer.total < whole.total

    hosted(work)


def test_nobody_waits_for_a_base_that_is_read_for_the_first_time(
    environ: dict[str, str], mini_tree: Path, waves: Path
) -> None:
    remember_source(environ, str(mini_tree), "pytorch", default=True)
    held: list[Any] = []

    def holds(self: Freshness) -> None:
        held.append(self)

    async def work(host: Host) -> None:
        handle = await opened(host, waves, environ)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Freshness, "open", holds)
            answer = await traced(handle, "torch.mul")
        assert not answer.found
        (note,) = answer.notes
        assert note.startswith("without pytorch:") and "indexed for the first time" in note
        # It was begun, so it is there some time later.
        (waiting,) = held
        waiting.open()
        base = await opened(host, mini_tree, environ)
        assert (await traced(base, "torch.mul")).found
        assert (await traced(handle, "torch.mul")).found

    hosted(work)


def test_a_base_that_goes_away_is_left_out(environ: dict[str, str], mini_tree: Path, waves: Path) -> None:
    async def work(host: Host) -> None:
        await opened(host, mini_tree, environ)
        handle = await opened(host, waves, environ)
        assert (await traced(handle, "torch.mul")).found
        shutil.rmtree(mini_tree)
        answer = await traced(handle, "torch.mul")
        assert not answer.found
        assert (await traced(handle, "waves.more.double")).found

    hosted(work)


def test_a_base_that_is_named_must_be_one(environ: dict[str, str], mini_tree: Path, waves: Path) -> None:
    async def work(host: Host) -> None:
        base = await opened(host, mini_tree, environ)
        handle = host.root(str(waves), None, cwd=str(mini_tree.parent), environment=environ)
        await (await handle.tree()).first()
        assert (await traced(handle, "torch.mul", base=mini_tree.name)).found
        with pytest.raises(NotReady, match="--base names"):
            await traced(base, "torch.mul", base=str(waves))

    hosted(work)


def test_a_configuration_that_is_wrong_costs_the_other_roots_alone(
    environ: dict[str, str], mini_tree: Path, waves: Path
) -> None:
    async def work(host: Host) -> None:
        await opened(host, mini_tree, environ)
        handle = await opened(host, waves, environ)
        path = config_path(environ)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("wrong = [", "utf-8")
        answer = await traced(handle, "waves.more.double")
        assert answer.found and str(path) in answer.notes[0]
        with pytest.raises(NotReady, match="not valid TOML"):
            await handle.bases()

    hosted(work)


def test_questions_about_two_roots_in_both_directions_do_not_stop_each_other(
    environ: dict[str, str], mini_tree: Path, waves: Path
) -> None:
    async def work(host: Host) -> None:
        base = await opened(host, mini_tree, environ)
        handle = await opened(host, waves, environ)
        down = [traced(base, name, all_roots=True) for name in ("mul", "relu", "add") * 4]
        up = [traced(handle, f"torch.{name}") for name in ("mul", "relu", "add") * 4]
        answers = await asyncio.gather(*down, *up)
        assert all(answer.found for answer in answers)

    hosted(work)


def test_the_commands_say_the_same_with_and_without_a_daemon(
    home: Home, mini_tree: Path, waves: Path
) -> None:
    home.run("index", "build", "--source", mini_tree)
    home.run("index", "build", "--source", waves)
    for words in (
        ("trace", "torch.mul", "--source", waves),
        ("trace", "torch.mul", "--source", waves, "--json", "--all-roots"),
        ("trace", "waves.more.double", "--source", waves),
        ("trace", "torch.mul", "--source", mini_tree, "--all-roots"),
        ("search", "mul", "--mode", "external", "--source", waves, "--json"),
        ("search", "mul", "--all-roots", "--source", waves),
        ("trace", "torch.mul", "--source", mini_tree, "--base", waves),
        ("trace", "torch.nothing", "--source", waves),
    ):
        with_it, without = home.run(*words), home.run(*words, "--no-daemon")
        assert (with_it.returncode, with_it.stdout, with_it.stderr) == (
            without.returncode,
            without.stdout,
            without.stderr,
        ), words
    assert len(home.daemons()) == 1


def test_an_agent_may_ask_all_roots(home: Home, mini_tree: Path, waves: Path) -> None:
    home.run("trace", "mul", "--source", mini_tree)
    home.run("trace", "waves::ripple", "--source", waves)
    with home.connected("mcp", source=str(mini_tree)) as agent:
        for said in (INITIALIZE, INITIALIZED, call(1, "trace", func="torch.mul", all_roots=True)):
            agent.send(json.loads(said))
        answer = agent.read()
        while answer.get("id") != 1:
            answer = agent.read()
    text = answer["result"]["content"][0]["text"]
    assert f"used in {waves} (torch-extension): 1 place in 1 file" in text
    assert f"{waves}/waves/more.py:5" in text
