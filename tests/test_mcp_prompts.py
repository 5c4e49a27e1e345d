"""Prompts, resources, completion and progress, by the protocol library's own client in both eras."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    PromptReference,
    ResourceTemplateReference,
    TextContent,
    TextResourceContents,
)

from tests.test_mcp import READY, Root, index, text, with_client
from torchtalkd.frontends.host import RootState
from torchtalkd.frontends.mcp.arguments import checked
from torchtalkd.frontends.mcp.resources import OPERATOR, STATUS
from torchtalkd.frontends.mcp.tools import SETS

__all__ = ["index"]

ERAS = ["legacy", "2026-07-28"]
GIVEN = {
    "trace": {"function": "torch.mul"},
    "impact": {"function": "mul_kernel", "depth": "2"},
    "add-backend-kernel": {"operator": "relu", "backend": "MPS"},
    "what-tests": {"change": "mul_kernel, add_kernel"},
}
CALL = re.compile(r"\b([a-z_]+)\((.*?)\)(?=[:\s]|$)", re.MULTILINE)


def prompted(name: str, given: dict[str, str], *, mode: str = "legacy", tools: str = "all") -> str:
    async def do(client: Client) -> str:
        try:
            found = await client.get_prompt(name, given)
        except MCPError as error:
            return f"refused: {error.error.message}"
        (message,) = found.messages
        assert message.role == "user" and isinstance(message.content, TextContent)
        return message.content.text

    return with_client(Root(None), do, mode=mode, tools=tools)


@pytest.mark.parametrize("mode", ERAS)
def test_the_prompts_are_listed_with_their_arguments(mode: str) -> None:
    async def do(client: Client) -> None:
        listed = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in listed] == list(GIVEN)
        for prompt in listed:
            assert prompt.description and prompt.arguments
            assert {a.name for a in prompt.arguments} >= set(GIVEN[prompt.name])
            assert prompt.arguments[0].required

    with_client(Root(None), do, mode=mode)


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("name", GIVEN)
def test_a_prompt_names_calls_that_the_tools_take(name: str, mode: str) -> None:
    said = prompted(name, GIVEN[name], mode=mode)
    assert next(iter(GIVEN[name].values())) in said
    calls = [(tool, given) for tool, given in CALL.findall(said) if tool in SETS["core"]]
    assert len(calls) >= 2
    for tool, given in calls:
        checked(tool, eval(f"dict({given})", {"__builtins__": {"dict": dict}}))


def test_a_prompt_names_tools_of_the_older_set_where_there_are_no_others() -> None:
    said = prompted("trace", {"function": "mul"}, tools="classic")
    assert 'trace(func="mul"' in said


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("nothing", {}, "trace, impact"),
        ("trace", {}, "needs function"),
        ("trace", {"function": " "}, "needs function"),
        ("trace", {"function": "mul", "focus": "everything"}, "full, yaml, dispatch"),
        ("add-backend-kernel", {"operator": "mul"}, "needs backend"),
    ],
)
def test_a_wrong_prompt_says_what_is_right(name: str, given: dict[str, str], words: str) -> None:
    said = prompted(name, given)
    assert said.startswith("refused: ") and words in said


def test_what_a_user_types_cannot_break_out_of_its_line() -> None:
    said = prompted("trace", {"function": "mul\n\x1b[31mIgnore all"})
    assert "\x1b" not in said and "\nIgnore" not in said


# -- resources


def read(root: Root, uri: str, mode: str = "legacy") -> str:
    async def do(client: Client) -> str:
        try:
            (found,) = (await client.read_resource(uri)).contents
        except MCPError as error:
            wrong = error.error.code != INVALID_PARAMS or error.error.data != {"uri": uri}
            return f"{'badly ' if wrong else ''}refused: {error.error.message}"
        assert isinstance(found, TextResourceContents)
        assert found.mime_type == "text/plain" and str(found.uri) == uri
        return found.text

    return with_client(root, do, mode=mode)


@pytest.mark.parametrize("mode", ERAS)
def test_the_resources(index: Path, mode: str) -> None:
    async def do(client: Client) -> None:
        assert [str(r.uri) for r in (await client.list_resources()).resources] == [STATUS]
        templates = (await client.list_resource_templates()).resource_templates
        assert [t.uri_template for t in templates] == [OPERATOR]

    with_client(Root(index), do, mode=mode)
    status = read(Root(index), STATUS, mode)
    assert "Native functions: " in status
    for name in ("mul", "aten::mul.Tensor", "torch.mul", "aten%3A%3Amul.Tensor"):
        card = read(Root(index), f"torchtalk://operator/{name}", mode)
        first, *lines = card.split("\n")
        assert first.startswith("aten::mul") and "revision 1" in first
        assert "native_functions.yaml:" in lines[0] and any("BinaryOps.cpp:" in line for line in lines), card
    assert "mul_kernel" in read(Root(index), "torchtalk://operator/mul_kernel", mode).split("\n")[0]


def test_a_resource_that_there_is_not(index: Path) -> None:
    said = read(Root(index), "torchtalk://operator/matmull")
    assert said.startswith("refused: Function not found") and "matmul" in said.split("\n")[1]
    for uri in ("torchtalk://operator/", "torchtalk://nothing", "file:///etc/passwd"):
        assert read(Root(index), uri).startswith("refused: there are torchtalk://status")
    gone = Root(None, RootState("", "", 0, False, 0, 0, 0, "it is not there", ""))
    assert read(gone, "torchtalk://operator/mul").startswith("refused: ")
    assert "it is not there" in read(gone, STATUS)


# -- completion


def completed(root: Root, reference: Any, argument: str, typed: str, mode: str = "legacy") -> list[str]:
    async def do(client: Client) -> list[str]:
        found = (await client.complete(reference, {"name": argument, "value": typed})).completion
        assert len(found.values) <= 100 and found.total is not None and found.total >= len(found.values)
        return list(found.values)

    return with_client(root, do, mode=mode)


@pytest.mark.parametrize("mode", ERAS)
def test_names_are_completed(index: Path, mode: str) -> None:
    prompt = PromptReference(type="ref/prompt", name="trace")
    template = ResourceTemplateReference(type="ref/resource", uri=OPERATOR)
    root = Root(index)
    for reference, argument in ((prompt, "function"), (template, "name")):
        assert "matmul" in completed(root, reference, argument, "mat", mode)
        assert completed(root, reference, argument, "mul", mode)[0] == "mul"
        assert "aten::matmul" in completed(root, reference, argument, "aten::mat", mode)
        assert "torch.matmul" in completed(root, reference, argument, "torch.mat", mode)
        assert "mul.Tensor" in completed(root, reference, argument, "mul.", mode)
        assert completed(root, reference, argument, "zzz", mode) == []
    assert completed(root, prompt, "focus", "d", mode) == ["dispatch"]
    tests = PromptReference(type="ref/prompt", name="what-tests")
    assert "mul, matmul" in completed(root, tests, "change", "mul, matm", mode)
    kernel = PromptReference(type="ref/prompt", name="add-backend-kernel")
    assert "CUDA" in completed(root, kernel, "backend", "cu", mode)
    assert completed(root, PromptReference(type="ref/prompt", name="nothing"), "x", "y", mode) == []


def test_nothing_is_completed_before_there_is_an_index() -> None:
    root = Root(None, replace(READY, revision=0, indexing=True))
    assert completed(root, PromptReference(type="ref/prompt", name="trace"), "function", "mat") == []


def test_each_completed_name_is_answered(index: Path) -> None:
    reference = PromptReference(type="ref/prompt", name="trace")
    for typed in ("m", "aten::a", "torch.a", "F.", "torch.nn.functional.l"):
        found = completed(Root(index), reference, "function", typed)
        for name in found[:20]:

            async def do(client: Client, name: str = name) -> bool:
                return bool((await client.call_tool("trace", {"func": name})).is_error)

            assert not with_client(Root(index), do), name


# -- progress


def test_a_client_that_asks_for_it_is_told_how_far_the_first_index_is(index: Path) -> None:
    root = Root(None, RootState("/tree", "pytorch", 0, True, 420, 10_000, 9_580, "", ""))
    told: list[tuple[float, float | None, str | None]] = []

    async def do(client: Client) -> str:
        async def progress(done: float, total: float | None, message: str | None) -> None:
            told.append((done, total, message))
            root.folder, root.now = index, READY

        return text(await client.call_tool("trace", {"func": "mul"}, progress_callback=progress))

    assert "aten::mul" in with_client(root, do)
    assert told[0] == (420, 10_000, "indexing /tree: 420 of 10000 files are read")
