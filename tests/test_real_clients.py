"""The clients that people use, against the real bridge and a real daemon.

`$TORCHTALK_CLIENTS` names a folder that has them: `claude`, `inspector` and `codex`, each with its
`node_modules/.bin`. No model is reached. The library's own client is always there.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from tests.conftest import DEMO_TREE, _copy
from tests.test_bridge import Home

TOOLS = ["get_status", "trace", "search"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def serve(home: Home, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that is registered: a program of one word, as an installed one is."""
    folder = tmp_path_factory.mktemp("program")
    tree = _copy(DEMO_TREE, folder / "mini")
    program = folder / "torchtalkd"
    # Clients hand on little of their environment.
    names = ("PYTHONPATH", *(name for name in home.environ if name.startswith("XDG_")))
    settings = " ".join(f"{name}={shlex.quote(home.environ[name])}" for name in names)
    program.write_text(f'#!/bin/sh\nexec env {settings} {shlex.join(home.command())} "$@"\n', "utf-8")
    program.chmod(0o755)
    return [str(program), "mcp-serve", "--source", str(tree)]


def program(client: str, name: str) -> str:
    """A client's program; skips where it is not installed."""
    folder = os.environ.get("TORCHTALK_CLIENTS")
    if not folder:
        pytest.skip("needs real clients: set TORCHTALK_CLIENTS to a folder that holds them")
    path = Path(folder) / client / "node_modules" / ".bin" / name
    if not path.exists():
        pytest.skip(f"needs {path}")
    return str(path)


def run(folder: Path, *command: str) -> str:
    """What a client's command prints, with a home of its own; it must succeed."""
    environ = {**os.environ, "HOME": str(folder), "CODEX_HOME": str(folder / ".codex"), "NO_COLOR": "1"}
    (folder / ".codex").mkdir(exist_ok=True)
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.full
def test_claude_code_connects(serve: list[str], tmp_path: Path) -> None:
    claude = program("claude", "claude")
    run(tmp_path, claude, "mcp", "add", "torchtalk", "-s", "user", "--", *serve)
    listed = run(tmp_path, claude, "mcp", "list")
    (row,) = [line for line in listed.splitlines() if line.startswith("torchtalk:")]
    assert "Connected" in row


@pytest.mark.full
def test_the_inspector_lists_and_calls(serve: list[str], tmp_path: Path) -> None:
    inspector = program("inspector", "mcp-inspector")
    listed = json.loads(run(tmp_path, inspector, "--cli", *serve, "--method", "tools/list"))
    assert [tool["name"] for tool in listed["tools"]] == TOOLS
    for tool, arguments, word in (
        ("trace", ["func=mul", "focus=dispatch"], "BinaryOpsKernel.cpp"),
        ("trace", ["function_name=mul"], "aten::mul"),
        ("search", ["query=m", "limit=3"], "3 of"),
        ("get_status", [], "Native functions: "),
    ):
        given = [word for argument in arguments for word in ("--tool-arg", argument)]
        said = run(
            tmp_path, inspector, "--cli", *serve, "--method", "tools/call", "--tool-name", tool, *given
        )
        answer = json.loads(said)
        assert not answer.get("isError"), answer
        assert word in answer["content"][0]["text"]
        assert "structuredContent" not in answer


@pytest.mark.full
def test_codex_takes_it(serve: list[str], tmp_path: Path) -> None:
    codex = program("codex", "codex")
    run(tmp_path, codex, "mcp", "add", "torchtalk", "--", *serve)
    listed = run(tmp_path, codex, "mcp", "list")
    assert any(line.startswith("torchtalk") and "enabled" in line for line in listed.splitlines())


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
def test_the_library_s_client_in_each_era(serve: list[str], mode: str) -> None:
    async def asked() -> None:
        parameters = StdioServerParameters(command=serve[0], args=serve[1:])
        async with Client(parameters, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            answers = await asyncio.gather(
                *(client.call_tool("trace", {"func": name}) for name in ("mul", "matmul", "softmax"))
            )
            for answer in answers:
                assert isinstance(answer, CallToolResult)
                assert not answer.is_error
                assert isinstance(answer.content[0], TextContent)
                assert "revision" in answer.content[0].text.splitlines()[0]

    asyncio.run(asked())


def test_help_and_a_wrong_call(home: Home) -> None:
    """`--help` works where nothing else does, so it proves little; a wrong call must not hang."""
    done = subprocess.run(
        home.command("mcp-serve", "--help"), env=home.environ, capture_output=True, timeout=30, check=False
    )
    assert done.returncode == 0 and b"--source" in done.stdout
    done = subprocess.run(
        home.command("mcp-serve", "--port", "1"),
        env=home.environ,
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, b"")
