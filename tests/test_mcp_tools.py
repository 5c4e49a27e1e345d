"""Each tool on the small tree: the core ones, the older ones made of them, and what none can answer."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.test_mcp import Root, called, index, text, with_client
from tests.test_real_clients import CALLS
from torchtalkd.frontends.mcp import desk
from torchtalkd.frontends.mcp.tools import OLDER, SETS, TOOLS
from torchtalkd.store.view import View

__all__ = ["index"]


def given(arguments: list[str]) -> dict[str, Any]:
    return dict(argument.split("=", 1) for argument in arguments)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("tool", TOOLS)
def test_each_tool_answers(index: Path, tool: str, era: str) -> None:
    arguments, word = CALLS[tool]
    is_error, said = called(Root(index), tool, era=era, **given(arguments))
    assert not is_error and word in said, said
    first = said.split("\n")[0]
    if tool != "get_status" and "this tree has no" not in first:
        assert "revision 1" in first
        assert re.search(r"certain|candidate|by name|exact|found|shown", first), first


@pytest.mark.parametrize("tool", [name for name, older in OLDER.items() if older.tool != name])
def test_an_older_tool_says_what_the_core_one_says(index: Path, tool: str) -> None:
    older = OLDER[tool]
    arguments = given(CALLS[tool][0])
    defaults = {n: p.default for n, p in TOOLS[tool].items() if p.default not in ("", False, 1)}
    core = {older.names.get(n, n): v for n, v in (defaults | arguments).items()} | dict(older.fixed)
    mine, theirs = called(Root(index), tool, **arguments), called(Root(index), older.tool, **core)
    assert mine[0] == theirs[0]
    keep = [line for line in theirs[1].split("\n") if not line.startswith(("Next: ", "More: "))]
    assert [line for line in mine[1].split("\n") if not line.startswith(("Next: ", "More: "))] == keep


@pytest.mark.parametrize(
    ("tool", "arguments", "begins"),
    [
        ("trace", {"func": "matmull"}, "Function not found"),
        ("graph", {"func": "matmull"}, "Function not found"),
        ("graph", {"function_name": "matmull", "mode": "impact"}, "Function not found"),
        ("modules", {"name": "Linearr"}, "Module not found"),
        ("modules", {"module_name": "Linearr"}, "Module not found"),
        ("tests", {"query": "matmull"}, "No tests found"),
        ("affected", {"funcs": "matmull"}, "Function not found"),
        ("affected", {"func": "matmul, matmull"}, "Function not found"),
        ("calls", {"function_name": "matmull"}, "Function not found"),
    ],
)
def test_what_is_not_found_comes_with_names_and_a_call(
    index: Path, tool: str, arguments: dict[str, Any], begins: str
) -> None:
    is_error, said = called(Root(index), tool, **arguments)
    assert is_error and said.startswith(begins), said
    assert "Linear" in said or "matmul" in said.replace("matmull", ""), said
    assert said.split("\n")[-1].startswith("Next: ")


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("graph", {"func": "mul", "mode": "backwards"}, "callers, calls, impact"),
        ("graph", {"func": "mul", "depth": 0}, "1 to 5"),
        ("graph", {"func": "mul", "walk_python": "maybe"}, "true or false"),
        ("modules", {"name": "Linear", "focus": "all"}, "methods, full"),
        ("tests", {"query": "mul", "mode": "all"}, "find, utils, file_info"),
        ("tests", {"query": "mul", "focus": "fixtures"}, "all, functions, classes, files"),
        ("affected", {}, "needs funcs"),
        ("affected", {"funcs": "mul", "depth": "deep"}, "1 to 20"),
        ("list_test_utils", {"category": "everything"}, "fixtures, assertions, decorators"),
        ("trace", {"func": "mul", "page": 7}, "one page"),
    ],
)
def test_wrong_arguments_are_told_what_is_allowed(
    index: Path, tool: str, arguments: dict[str, Any], word: str
) -> None:
    is_error, said = called(Root(index), tool, **arguments)
    assert is_error and word in said, said


def test_names_of_other_instructions_are_understood(index: Path) -> None:
    root = Root(index)
    for tool, older, own in (
        ("search", {"function_name": "mul"}, {"query": "mul"}),
        ("tests", {"file_path": "test_ops", "mode": "file_info"}, {"query": "test_ops", "mode": "file_info"}),
        ("affected", {"functions": ["mul_kernel", "mul"]}, {"funcs": "mul_kernel, mul"}),
        ("modules", {"category": "nn", "mode": "list"}, {"name": "nn", "mode": "list"}),
    ):
        assert called(root, tool, **older) == called(root, tool, **own)


def test_the_next_calls_are_of_tools_that_the_client_has(index: Path) -> None:
    for name, tools in SETS.items():
        for tool in tools:
            arguments = given(CALLS[tool][0])

            async def do(client: Client, tool: str = tool, arguments: dict[str, Any] = arguments) -> str:
                return text(await client.call_tool(tool, arguments))

            last = with_client(Root(index), do, tools=name).split("\n")[-1]
            named = re.findall(r": ([a-z_]+)\(", last) if last.startswith(("Next: ", "More: ")) else []
            assert set(named) <= set(tools), (name, tool, last)


def test_a_long_question_says_that_it_goes_on(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk, "_TELL_SECONDS", 0.05)
    root = Root(index)
    root.blocks = asyncio.Event()
    told: list[str | None] = []

    async def do(client: Client) -> str:
        async def progress(done: float, total: float | None, message: str | None) -> None:
            told.append(message)
            assert root.blocks is not None
            root.blocks.set()

        return text(await client.call_tool("graph", {"func": "mul"}, progress_callback=progress))

    assert "aten::mul" in with_client(root, do)
    assert told and told[0] and told[0].startswith("still looking")


def test_a_mistake_of_ours_is_told_in_words(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(desk.Desk, "_standalone", broken)
    is_error, said = called(Root(index), "graph", func="mul")
    assert is_error and "mistake in torchtalkd (ZeroDivisionError)" in said and "get_status()" in said


@pytest.mark.parametrize("tool", TOOLS)
def test_no_answer_is_longer_for_a_long_question(index: Path, tool: str) -> None:
    for name, parameter in TOOLS[tool].items():
        if not (parameter.flag or parameter.number or parameter.choices):
            # `called` asserts the size of what comes back.
            _, said = called(Root(index), tool, **{**given(CALLS[tool][0]), name: "mul" * 20_000})
            assert said


@pytest.mark.parametrize(
    ("tool", "arguments", "wanted"),
    [
        # A file is no name: what it defines is.
        ("trace", {"func": "LinearAlgebra.cpp"}, "Defined in that file: "),
        ("graph", {"func": "aten/src/ATen/native/LinearAlgebra.cpp"}, "defined in that file: "),
        ("trace", {"func": "nowhere/NoSuchFile.cu"}, 'search(query="NoSuchFile")'),
        # A star is no letter of a name.
        ("search", {"query": "*_nosuch*xx"}, 'search(query="_nosuch")'),
        ("search", {"query": "qqqzzz"}, 'search(query="qqqzzz", mode="kernels")'),
        # Who asks what a function calls is led to functions, of an operator to its kernels.
        ("graph", {"func": "mul_kernel", "mode": "calls"}, 'graph(func="mul_kernel", mode="callers")'),
        ("graph", {"func": "aten::mul", "mode": "calls"}, 'trace(func="aten::mul", focus="dispatch")'),
    ],
)
def test_each_answer_leads_on(index: Path, tool: str, arguments: dict[str, Any], wanted: str) -> None:
    _, said = called(Root(index), tool, **arguments)
    assert wanted in said
    assert re.search(r" · revision 1( ·|$)", said.split("\n")[0]), said


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("trace", {"func": "mul"}),
        ("graph", {"func": "mul_kernel"}),
        ("tests", {"query": "mul"}),
        ("modules", {"name": "Linear"}),
        ("affected", {"funcs": "mul_kernel"}),
        ("graph", {"func": "nosuch"}),
        ("tests", {"query": "nosuchqq"}),
        ("modules", {"name": "NoSuchQq"}),
        ("affected", {"funcs": "nosuchqq"}),
    ],
)
def test_line_1_says_which_commit(
    index: Path, tool: str, arguments: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def meta(view: View, name: str, default: str = "") -> str:
        return "c0ffee" if name == "commit" else default

    monkeypatch.setattr(View, "meta", meta)
    _, said = called(Root(index), tool, **arguments)
    assert "commit c0ffee" in said.split("\n")[0]
