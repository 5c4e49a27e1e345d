"""The clients that people use, against the real bridge and a real daemon.

`$TORCHTALK_CLIENTS` names a folder that has them: `claude`, `inspector`, `codex` and `conformance`, each
with its `node_modules/.bin`. No model is reached. The library's own client is always there.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from tests.conftest import DEMO_TREE, REPOSITORY, _copy
from tests.http_rig import http_rig
from tests.test_bridge import Home
from torchtalkd.frontends.mcp.tools import SETS

TOOLS = list(SETS["all"])
CALLS = {
    "get_status": ([], "Native functions: "),
    "trace": (["func=mul", "focus=dispatch"], "BinaryOpsKernel.cpp"),
    "search": (["query=m", "limit=3"], "3 of"),
    "graph": (["func=mul_kernel", "mode=impact", "depth=3"], "aten::mul"),
    "modules": (["name=Linear"], "torch/nn/modules.py"),
    "affected": (["funcs=mul_kernel"], "test_ops.py"),
    "cuda_kernels": ([], "CUDA kernels"),
    "calls": (["function_name=mul_out"], "mul_stub"),
    "called_by": (["function_name=mul_kernel"], "BinaryOpsKernel.cpp"),
    "impact": (["function_name=mul_kernel"], "from Python"),
    "trace_module": (["module_name=Linear"], "forward"),
    "list_modules": ([], "nn"),
    "tests": (["query=mul"], "test_ops.py"),
    "find_similar_tests": (["query=mul", "limit=5"], "test_ops.py"),
    "list_test_utils": (["category=all"], "this tree has no equipment"),
    "test_file_info": (["file_path=test_ops"], "test/test_ops.py"),
}
"""For each tool a call on the small tree, and what its answer has."""
PROMPTS = {
    "trace": ["function=torch.mul"],
    "impact": ["function=mul_kernel"],
    "add-backend-kernel": ["operator=relu", "backend=MPS"],
    "what-tests": ["change=mul_kernel"],
}
CONFORMANCE = (
    *("server-initialize", "ping", "tools-list", "prompts-list", "resources-list"),
    *("completion-complete", "tools-call-error", "server-sse-multiple-streams"),
)


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
def test_claude_code_takes_the_plugin(tmp_path: Path) -> None:
    claude = program("claude", "claude")
    plugin = str(REPOSITORY / "clients" / "claude-code")
    for what in (plugin, f"{plugin}/.claude-plugin/plugin.json"):
        assert "Validation passed" in run(tmp_path, claude, "plugin", "validate", "--strict", what)
    run(tmp_path, claude, "plugin", "marketplace", "add", plugin)
    run(tmp_path, claude, "plugin", "install", "torchtalk@torchtalkd")
    assert "enabled" in run(tmp_path, claude, "plugin", "list")
    # A server within the plugin would have another name than instructions say.
    assert "torchtalk" not in run(tmp_path, claude, "mcp", "list")


class Inspector:
    """The inspector's command line against one server."""

    def __init__(self, serve: list[str], folder: Path) -> None:
        self._command = [program("inspector", "mcp-inspector"), "--cli", *serve, "--method"]
        self._folder = folder

    def ask(self, method: str, *arguments: str) -> Any:
        return json.loads(run(self._folder, *self._command, method, *arguments))

    def call(self, tool: str, *arguments: str) -> Any:
        given = [word for argument in arguments for word in ("--tool-arg", argument)]
        return self.ask("tools/call", "--tool-name", tool, *given)


@pytest.mark.full
def test_the_inspector_calls_every_tool(serve: list[str], tmp_path: Path) -> None:
    inspector = Inspector(serve, tmp_path)
    listed = inspector.ask("tools/list")["tools"]
    assert [tool["name"] for tool in listed] == TOOLS
    assert set(CALLS) == set(TOOLS)
    for tool, (arguments, word) in CALLS.items():
        answer = inspector.call(tool, *arguments)
        assert not answer.get("isError"), (tool, answer)
        assert word in answer["content"][0]["text"], (tool, answer)
        assert "structuredContent" not in answer
    assert "aten::mul" in inspector.call("trace", "function_name=mul")["content"][0]["text"]
    assert inspector.call("trace", "func=no_such_thing")["isError"]


@pytest.mark.full
def test_the_inspector_gets_every_prompt_and_resource(serve: list[str], tmp_path: Path) -> None:
    inspector = Inspector(serve, tmp_path)
    prompts = inspector.ask("prompts/list")["prompts"]
    assert [prompt["name"] for prompt in prompts] == list(PROMPTS)
    for name, given in PROMPTS.items():
        arguments = [word for one in given for word in ("--prompt-args", one)]
        (message,) = inspector.ask("prompts/get", "--prompt-name", name, *arguments)["messages"]
        assert given[0].partition("=")[2] in message["content"]["text"]
    assert [r["uri"] for r in inspector.ask("resources/list")["resources"]] == ["torchtalk://status"]
    (template,) = inspector.ask("resources/templates/list")["resourceTemplates"]
    assert template["uriTemplate"] == "torchtalk://operator/{name}"
    for uri, word in (
        ("torchtalk://status", "Native functions: "),
        ("torchtalk://operator/aten::mul.Tensor", "BinaryOps.cpp:"),
    ):
        (read,) = inspector.ask("resources/read", "--uri", uri)["contents"]
        assert word in read["text"]


@pytest.mark.full
def test_the_conformance_suite_as_far_as_it_applies(serve: list[str], tmp_path: Path) -> None:
    """The suite's other scenarios call tools, prompts and resources that only its own server has, or ask for
    what this server does not do: subscriptions, sampling, elicitation, logging."""
    conformance = program("conformance", "conformance")
    own = Path(conformance).with_name("node")
    node = [str(own), str(Path(conformance).resolve())] if own.exists() else [conformance]
    with http_rig(serve) as url:
        for scenario in CONFORMANCE:
            said = run(tmp_path, *node, "server", "--url", url, "--scenario", scenario)
            assert "1 passed, 0 failed" in said or "Passed: 1/1" in said, said


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
