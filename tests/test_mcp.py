"""The agents' protocol in memory: the library's own client, in both eras, against our tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp.types import CallToolResult, TextContent

from tests.conftest import DEMO_TREE, _copy
from tests.rpc import INITIALIZE, INITIALIZED, call, line
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.facts import ExactShare
from torchtalkd.frontends.host import NotReady, RootState
from torchtalkd.frontends.mcp import replies, serve
from torchtalkd.frontends.mcp import standing as told_of_index
from torchtalkd.frontends.mcp.arguments import Refused, checked, usage
from torchtalkd.frontends.mcp.descriptions import DESCRIPTIONS, INSTRUCTIONS, PARAMETERS
from torchtalkd.frontends.mcp.server import build_server
from torchtalkd.frontends.mcp.tools import CORE, SETS, TOOLS
from torchtalkd.queries.answers import Answer, Item, Standing, StatusAnswer, Subject
from torchtalkd.queries.others import NONE, Others
from torchtalkd.queries.ready import Ready
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

T = TypeVar("T")
ERAS = ["legacy", "2026-07-28", "auto"]
READY = RootState("/tree", "pytorch", 1, False, 0, 0, 0, "", "")


class Root:
    """A root whose state the test sets."""

    def __init__(self, folder: Path | None, state: RootState = READY) -> None:
        self.folder = folder
        self.now = state
        self.asked = 0
        self.waited: list[bool] = []
        self.crossed: list[bool] = []
        self.blocks: asyncio.Event | None = None
        self.cancelled = asyncio.Event()

    async def _answer(self, question: Callable[[View], T]) -> T:
        self.asked += 1
        if self.blocks is not None:
            try:
                await self.blocks.wait()
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        if self.folder is None:
            raise NotReady(self.now.error or "the index is not there yet")
        with open_view(self.folder) as view:
            return question(view)

    def ask(self, question: Callable[[View], T], *, wait: bool = False) -> Awaitable[T]:
        self.waited.append(wait)
        return self._answer(question)

    def across(
        self, question: Callable[[View, Others], Answer], *, wait: bool = False, all_roots: bool = False
    ) -> Awaitable[Answer]:
        self.waited.append(wait)
        self.crossed.append(all_roots)
        return self._answer(lambda view: question(view, NONE))

    async def bases(self) -> dict[str, str]:
        return {"pytorch": "/src/pytorch"}

    def state(self) -> RootState:
        return self.now


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the small tree."""
    tree = _copy(DEMO_TREE, tmp_path_factory.mktemp("tree") / "mini")
    folder = tmp_path_factory.mktemp("index")
    build(tree, folder, load("pytorch", tree=tree), workers=1)
    return folder


def with_client(
    root: Root,
    do: Callable[[Client], Coroutine[Any, Any, T]],
    *,
    mode: str = "legacy",
    note: str = "",
    tools: str = "all",
) -> T:
    async def run() -> T:
        async with Client(build_server(root, note, tools), mode=mode) as client:
            return await do(client)

    return asyncio.run(run())


def text(result: Any) -> str:
    assert isinstance(result, CallToolResult)
    assert result.structured_content is None
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert len(content.text.encode()) < 10_000
    assert content.text.count("\n") < 255
    return content.text


def called(root: Root, tool: str, /, *, era: str = "legacy", **arguments: Any) -> tuple[bool, str]:
    result = with_client(root, lambda client: client.call_tool(tool, arguments), mode=era)
    assert isinstance(result, CallToolResult)
    return bool(result.is_error), text(result)


# -- what a client is told first


@pytest.mark.parametrize("mode", ERAS)
def test_the_tools_and_what_is_said_of_them(index: Path, mode: str) -> None:
    root = Root(index)

    async def do(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert [tool.name for tool in tools] == list(SETS["all"])
        for tool in tools:
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is True
            assert tool.annotations.destructive_hint is False
            assert tool.annotations.idempotent_hint is True
            assert tool.annotations.open_world_hint is False
            assert tool.output_schema is None
            assert tool.description
            assert tool.description.index("?") < 100
            assert tool.name in CORE or len(tool.description) < 130
            schema = json.dumps(tool.input_schema)
            for word in ("anyOf", "oneOf", "allOf", "$ref", "title"):
                assert word not in schema
            older = tool.name in CORE and ("function_name" in schema or "module_name" in schema)
            assert not older, "names that a schema declares are not declared twice"
            assert list(tool.input_schema["properties"]) == list(TOOLS[tool.name])
            required = [name for name, parameter in TOOLS[tool.name].items() if parameter.required]
            assert tool.input_schema.get("required", []) == required
            for name, parameter in TOOLS[tool.name].items():
                shown = tool.input_schema["properties"][name]
                assert shown["description"] in (PARAMETERS.get(name), PARAMETERS.get(f"{tool.name}.{name}"))
                assert tuple(shown.get("enum", ())) == parameter.choices
        assert client.instructions == INSTRUCTIONS

    with_client(root, do, mode="legacy" if mode == "legacy" else "auto")
    assert root.asked == 0


def test_what_is_said_is_short_enough() -> None:
    assert len(INSTRUCTIONS) < 1_800
    assert set(DESCRIPTIONS) == set(TOOLS)
    for tool in CORE:
        assert tool in INSTRUCTIONS
    noted = build_server(Root(None), "named was /a, served is /b").instructions
    assert noted is not None and noted.endswith("Note: named was /a, served is /b") and len(noted) < 2_048
    long = build_server(Root(None), "x" * 900).instructions
    assert long == INSTRUCTIONS


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_the_handshake_never_waits_for_an_index(mode: str) -> None:
    root = Root(None, replace(READY, revision=0, indexing=True))
    root.blocks = asyncio.Event()

    async def do(client: Client) -> None:
        assert len((await client.list_tools()).tools) == len(TOOLS)

    with_client(root, do, mode=mode)
    assert root.asked == 0


# -- answers


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_an_answer_and_what_to_ask_next(index: Path, mode: str) -> None:
    is_error, said = called(Root(index), "trace", func="torch.mul", era=mode)
    assert not is_error
    first, *rest = said.splitlines()
    assert "aten::mul" in first and "places" in first and "revision 1" in first
    assert any("BinaryOpsKernel.cpp" in line for line in rest)
    assert rest[-1].startswith("Next: ") and 'trace(func="aten::mul", focus="dispatch")' in rest[-1]
    assert "--" not in said.splitlines()[-1]


def test_each_focus_and_the_older_argument(index: Path) -> None:
    for focus, word in (("yaml", "schema:"), ("dispatch", "kernels"), ("full", "Python:")):
        is_error, said = called(Root(index), "trace", function_name="mul", focus=focus)
        assert not is_error and word in said
        assert f'focus="{focus}"' not in said.splitlines()[-1]
    with_default = called(Root(index), "trace", func="mul")
    assert with_default == called(Root(index), "trace", func=" mul ", focus=None)
    assert with_default == called(Root(index), "trace", func="mul", function_name="other", focus="")
    assert with_default == called(Root(index), "trace", func="mul", focus="FULL")


def test_search_pages_and_says_where_to_go(index: Path) -> None:
    _, said = called(Root(index), "search", query="m", limit="2")
    *_, last = said.splitlines()
    assert "2 of" in said.splitlines()[0]
    assert 'search(query="m", limit=40)' in last and "trace(func=" in last
    is_error, kernels = called(Root(index), "search", query="mul", mode="kernels", backend="cuda", limit=5.0)
    assert not is_error and "[CUDA]" in kernels
    is_error, none = called(Root(index), "search", query="zzzz")
    assert not is_error and none.startswith("Nothing found")
    is_error, bad = called(Root(index), "search", query="mul", backend="TPU9")
    assert is_error and "CUDA" in bad


def test_a_name_that_does_not_exist(index: Path) -> None:
    is_error, said = called(Root(index), "trace", func="matmull")
    assert is_error and said.startswith("Function not found") and "matmul" in said.splitlines()[1]


def test_the_status_has_the_lines_that_instructions_look_for(index: Path) -> None:
    is_error, said = called(Root(index), "get_status")
    assert not is_error
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line and line[0] != " ")
    assert int(lines["Bindings"]) > 10
    assert int(lines["Native functions"]) == (
        (DEMO_TREE / "aten/src/ATen/native/native_functions.yaml").read_text("utf-8").count("- func:")
    )
    assert lines["C++ call graph"].startswith("by name only, because ")
    assert lines["Python modules"] == lines["Tests"] == "Ready"
    assert lines["Revision"] == "1" and lines["Waiting"] == "0 files" and lines["Branch"] and lines["Commit"]


# -- while it indexes


def test_status_of_a_first_index() -> None:
    root = Root(None, RootState("/tree", "pytorch", 0, True, 420, 1000, 580, "", ""))
    is_error, said = called(root, "get_status")
    assert not is_error
    assert "C++ call graph: Building 42 %" in said and "Tests: Building 42 %" in said
    assert "Bindings: 0" in said and "Waiting: 580 files" in said


def test_a_question_before_there_is_an_index() -> None:
    root = Root(None, RootState("/tree", "pytorch", 0, True, 4200, 10000, 5800, "", ""))
    for tool, arguments in (("trace", {"func": "mul"}), ("search", {"query": "mul"})):
        is_error, said = called(root, tool, **arguments)
        assert is_error and "42 %" in said and "4200 of 10000" in said and "Ask again" in said


def test_the_first_index_of_a_small_tree_is_waited_for(index: Path) -> None:
    root = Root(None, RootState("/tree", "pytorch", 0, True, 0, 0, 0, "", ""))

    async def do(client: Client) -> Any:
        async def appear() -> None:
            while root.asked < 2:
                await _turn()
            root.folder, root.now = index, READY

        appearing = asyncio.create_task(appear())
        result = await client.call_tool("trace", {"func": "mul"})
        await appearing
        return result

    result = with_client(root, do)
    assert not result.is_error and "aten::mul" in text(result)


async def _turn() -> None:
    """Lets the event loop go round once."""
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, None)
    await future


def test_an_answer_says_what_is_missing(index: Path) -> None:
    behind = RootState("/tree", "pytorch", 1, True, 30, 60, 30, "", "")
    for tool, arguments in (
        ("trace", {"func": "mul"}),
        ("trace", {"func": "nono"}),
        ("search", {"query": "m"}),
    ):
        _, said = called(Root(index, behind), tool, **arguments)
        note = said.splitlines()[1]
        assert note.startswith("NOTE: ") and "30 files" in note and "50 %" in note
    _, said = called(Root(index, behind), "get_status")
    assert "C++ call graph: Building 50 %" in said and "Waiting: 30 files" in said
    failing = replace(READY, error="the disk is full")
    assert "NOTE: not up to date: the disk is full" in called(Root(index, failing), "trace", func="mul")[1]


def test_who_wants_to_wait_is_told_of_a_tree_that_does_not_settle(index: Path) -> None:
    class Restless(Root):
        async def _answer(self, question: Callable[[View], T]) -> T:
            found = await super()._answer(question)
            answer: Any = found[0] if isinstance(found, tuple) else found
            waiting = replace(answer, standing=replace(answer.standing, waiting=3))
            made: Any = (waiting, *found[1:]) if isinstance(found, tuple) else waiting
            return made  # type: ignore[no-any-return]

    for tool, arguments in (("trace", {"func": "mul"}), ("search", {"query": "m"}), ("get_status", {})):
        for wait, meant in ((True, True), ("true", True), (False, False), ("False", False)):
            root = Restless(index)
            is_error, said = called(root, tool, wait=wait, **arguments)
            assert not is_error and root.waited == [meant]
            assert ("does not settle: after 2 s 3 files" in said) == meant
        assert "does not settle" not in called(Root(index), tool, wait=True, **arguments)[1]
        assert called(Root(index), tool, wait="soon", **arguments)[0]


def test_a_root_that_cannot_be() -> None:
    gone = RootState("", "", 0, False, 0, 0, 0, "/nowhere does not exist", "")
    assert called(Root(None, gone), "trace", func="mul") == (True, "Not available: /nowhere does not exist")
    is_error, said = called(Root(None, gone), "get_status")
    assert not is_error and "/nowhere does not exist" in said and "C++ call graph: not available" in said


def test_a_note_is_told_once(index: Path) -> None:
    async def do(client: Client) -> list[str]:
        said = [text(await client.call_tool("trace", {"func": "mul"})) for _ in range(2)]
        return [*said, text(await client.call_tool("get_status", {}))]

    first, second, status = with_client(Root(index), do, note="named was /a, served is /b")
    assert "NOTE: named was /a, served is /b" in first and "served is" not in second
    assert "served is /b" in status


# -- calls that no tool takes


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("trace", {}, ("needs func", "trace(func, focus=full|yaml|dispatch, page=1…1000, wait=true|false, ")),
        ("trace", {"func": "  "}, ("needs func",)),
        ("trace", {"func": ["add"]}, ("func is a text",)),
        ("trace", {"func": "add", "depth": 3}, ("no argument 'depth'", "focus=full|yaml|dispatch")),
        ("trace", {"func": "add", "focus": "all"}, ("full, yaml, dispatch", "'all'")),
        ("search", {"query": "add", "limit": 0}, ("1 to 1000",)),
        ("search", {"query": "add", "limit": True}, ("1 to 1000",)),
        ("search", {"query": "add", "limit": "9" * 9000}, ("1 to 1000",)),
        ("search", {"query": "add", "limit": -(10**400)}, ("1 to 1000",)),
        ("search", {"query": "add", "limit": 1.5}, ("1 to 1000",)),
        ("search", {"query": "add", "mode": "x" * 5000}, ("bindings, kernels",)),
        ("get_status", {"verbose": True}, ("get_status(wait=true|false)",)),
        ("tracer", {}, ("Unknown tool 'tracer'", "trace(func)", "search(query)", "get_status()")),
    ],
)
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_wrong_call_is_told_what_is_right(
    tool: str, arguments: dict[str, Any], words: tuple[str, ...], mode: str
) -> None:
    root = Root(None)
    result = with_client(root, lambda client: client.call_tool(tool, arguments), mode=mode)
    said = text(result)
    assert result.is_error
    assert len(said) < 1_000
    for word in words:
        assert word in said
    assert root.asked == 0


def test_arguments_are_checked_and_cleaned() -> None:
    assert checked("search", {"query": " a ", "limit": 5000, "backend": None}) == {
        "query": "a",
        "limit": 1000,
    }
    assert checked("trace", {"function_name": "\ud800x"}) == {"func": "\\ud800x"}
    with pytest.raises(Refused, match="no argument"):
        checked("search", {"func": "a"})
    assert usage("search") == (
        "search(query, mode=bindings|kernels|registries|external, backend=text, limit=1…1000, page=1…1000,"
        " wait=true|false, all_roots=true|false)"
    )


def test_all_roots_are_asked_for_by_a_flag(index: Path) -> None:
    root = Root(index)
    called(root, "trace", func="mul")
    called(root, "trace", func="mul", all_roots=True)
    called(root, "search", query="mul", all_roots="true")
    assert root.crossed == [False, True, True]


# -- size


def long_answer(items: int, width: int) -> Answer:
    found = tuple(Item("python", "f" * width, f"torch/{n}.py", n + 1) for n in range(items))
    return Answer("trace", "f", "full", (Subject("operator", "aten::f"),), found, items, Standing(1))


@pytest.mark.parametrize(("items", "width"), [(3000, 10), (200, 240), (3, 100_000), (251, 5)])
def test_no_answer_is_longer_than_clients_take(items: int, width: int) -> None:
    notes = ["ü" * 5000, "x" * 300]
    said = replies.trace_text(long_answer(items, width), notes)
    assert len(said.encode()) < 10_240 and len(said.splitlines()) < 256
    assert f"{items} places" in said.splitlines()[0]
    assert said.splitlines()[1].startswith("NOTE: ü") and said.splitlines()[-1].startswith("Next: ")
    assert ("page=2" in said.splitlines()[-2]) == (f"page 1 of {items}"[:9] in said.splitlines()[0])
    assert "--json" not in said


def test_a_status_with_many_problems_is_short() -> None:
    problems = tuple((f"{'d' * 200}/{n}.py", n, "syntax", "m" * 500) for n in range(60))
    answer = StatusAnswer(Standing(3), "/tree", "pytorch", "2.6", 9, {}, 5000, problems)
    known = told_of_index.Known(answer, Ready(0, 0, 0, 0), ExactShare(1, 9, 8))
    said = told_of_index.status_text(known, READY, ["n" * 1000])
    assert len(said.encode()) < 10_000 and "left out" in said.splitlines()[-1]


# -- the connection itself


async def spoken(root: Root, send: bytes, answers: int, *, note: str = "", close: bool = True) -> list[Any]:
    """What is answered to bytes on a socket, as many lines as are wanted."""
    ended = asyncio.Event()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve(reader, writer, root, note)
        writer.close()
        ended.set()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), limit=1 << 24)
    writer.write(send)
    found = [json.loads(await asyncio.wait_for(reader.readline(), 20)) for _ in range(answers)]
    if close:
        writer.close()
    else:
        writer.transport.abort()
    await asyncio.wait_for(ended.wait(), 20)
    server.close()
    return found


def test_junk_is_answered_and_costs_nothing_else(index: Path) -> None:
    junk = [
        b"hello\n",
        b"\xff\xfe\n",
        b"[]\n",
        b'{"jsonrpc": "2.0", "id": 7, "method": 5}\n',
        b"[" * 50_000 + b"\n",
        b'{"a": "' + b"x" * (5 << 20) + b'"}\n',
    ]
    send = b"".join(junk) + b"\n\r\n" + INITIALIZE + INITIALIZED + call("a", "trace", func="mul")
    *refused, first, answer = asyncio.run(spoken(Root(index), send, len(junk) + 2))
    assert [said["error"]["code"] for said in refused] == [-32700, -32700, -32600, -32600, -32700, -32600]
    assert [said["id"] for said in refused] == [None, None, None, 7, None, None]
    assert first["id"] == 0 and first["result"]["serverInfo"]["name"] == "torchtalk"
    assert answer["id"] == "a" and not answer["result"].get("isError")


def test_a_question_ends_with_its_client_and_with_its_cancellation(index: Path) -> None:
    async def run() -> None:
        root = Root(index)
        root.blocks = asyncio.Event()
        cancel = line(method="notifications/cancelled", params={"requestId": 5})
        send = INITIALIZE + INITIALIZED + call(5, "trace", func="mul") + cancel + line(id=6, method="ping")
        _, pong = await spoken(root, send, 2)
        assert pong == {"jsonrpc": "2.0", "id": 6, "result": {}}
        await asyncio.wait_for(root.cancelled.wait(), 20)
        root.cancelled.clear()
        send = INITIALIZE + INITIALIZED + call(5, "trace", func="mul") + line(id=6, method="ping")
        await spoken(root, send, 2, close=False)
        await asyncio.wait_for(root.cancelled.wait(), 20)

    asyncio.run(run())


def test_a_flood_waits_in_the_socket(index: Path) -> None:
    async def run() -> None:
        root = Root(index)
        root.blocks = asyncio.Event()
        flood = b"".join(call(n, "search", query="mul") for n in range(1, 501))

        async def release() -> None:
            while root.asked < 64:
                await _turn()
            for _ in range(50):
                await _turn()
            assert root.asked == 64
            assert root.blocks is not None
            root.blocks.set()

        releasing = asyncio.create_task(release())
        answers = await spoken(root, INITIALIZE + INITIALIZED + flood, 501)
        await releasing
        assert {answer["id"] for answer in answers} == set(range(501))

    asyncio.run(run())
