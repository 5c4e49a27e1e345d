"""The words of a bridge, which are read twice: plainly at its start, and by argparse with all others."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY
from torchtalkd import cli
from torchtalkd.bridge_arguments import BRIDGES, TOOLS, Asked, plain

SOURCE, TORCH, HARNESS = "--source", "--pytorch-source", "--harness"
PLAIN = [
    [],
    [SOURCE, "/a b"],
    ["--source=/a=b"],
    ["--source="],
    [TORCH, "relative", HARNESS, "vllm"],
    [SOURCE, "one", TORCH, "two", SOURCE, "three"],
    ["--harness=x", "--source", "ünïcode\udcff"],
]
ODD = [
    ["--help"],
    ["--sour", "x"],
    [SOURCE],
    [SOURCE, "-x"],
    [SOURCE, "--harness"],
    ["more"],
    ["--"],
    ["--no-daemon"],
    ["--stdio=yes"],
    ["--tools", "none"],
]


def told(asked: Asked | None) -> tuple[str | None, str | None, str] | None:
    return None if asked is None else (asked.source, asked.harness, asked.tools)


@pytest.mark.parametrize("command", BRIDGES)
@pytest.mark.parametrize("words", PLAIN, ids=" ".join)
def test_plain_words_mean_what_argparse_makes_of_them(command: str, words: list[str]) -> None:
    more = ["--stdio"] if command == "lsp" else ["--tools", "classic"]
    for argv in ([command, *words], [command, *more, *words], [command, *words, *more]):
        arguments = cli.parser().parse_args(argv)
        expected = (arguments.source, arguments.harness, getattr(arguments, "tools", TOOLS[-1]))
        assert told(plain(argv)) == expected


@pytest.mark.parametrize("command", BRIDGES)
@pytest.mark.parametrize("words", ODD, ids=" ".join)
def test_all_else_is_left_to_argparse(command: str, words: list[str]) -> None:
    assert plain([command, *words]) is None


def test_the_words_of_other_commands_are_theirs() -> None:
    for argv in ([], ["trace", "add"], ["--version"], ["mcp-config", "claude"]):
        assert plain(argv) is None


def test_every_set_of_tools_can_be_asked_for() -> None:
    for tools in TOOLS:
        assert told(plain(["mcp-serve", "--tools", tools])) == (None, None, tools)
        assert cli.parser().parse_args(["mcp-serve", "--tools", tools]).tools == tools
    assert plain(["lsp", "--tools", "core"]) is None


def test_a_bridge_loads_nothing_that_it_does_not_need() -> None:
    """Each module more is waited for at each start of each client."""
    program = (
        "import sys; from torchtalkd import bridge_arguments as b; b._client('bridge');"
        " print(*sorted(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    loaded = set(done.stdout.split())
    assert {"torchtalkd_clients.bridge", "torchtalkd.wire"} <= loaded
    assert not loaded & {"argparse", "typing", "pathlib", "subprocess", "dataclasses", "asyncio", "logging"}
    ours = {name for name in loaded if name.startswith("torchtalkd")}
    assert ours == {
        *("torchtalkd", "torchtalkd.bridge_arguments", "torchtalkd.run_folder", "torchtalkd.wire"),
        *("torchtalkd_clients", "torchtalkd_clients.bridge", "torchtalkd_clients.messages"),
    }
