"""The rules of a session: its life, its columns, and messages that are none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE, _copy
from tests.daemons import Home, until
from tests.editors import BARE, VS_CODE, Editor, indexed_home, places
from tests.test_lsp import MM, NATIVE, SCRIPT, ask, ready

INVALID, NOT_FOUND, NOT_INITIALIZED, CANCELLED, PARSE = -32600, -32601, -32002, -32800, -32700
ENCODINGS = ["utf-8", "utf-16", "utf-32"]


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with indexed_home() as made:
        yield made


@pytest.fixture(scope="module")
def tree(home: Home) -> Path:
    return home.folder / "tree"


@pytest.fixture
def editor(home: Home) -> Iterator[Editor]:
    made = Editor(home.environ)
    yield made
    made.kill()


def test_life(editor: Editor, home: Home, tree: Path) -> None:
    assert editor.error("textDocument/definition", {}) == NOT_INITIALIZED
    assert editor.error("shutdown") == NOT_INITIALIZED
    editor.notify("textDocument/didOpen", {"textDocument": {}})
    editor.initialize(tree)
    assert editor.error("initialize", {"capabilities": {}, "processId": None, "rootUri": None}) == INVALID
    assert editor.error("no/such/method", {}) == NOT_FOUND
    assert editor.error("$/noSuchRequest", {}) == NOT_FOUND
    editor.notify("$/noSuchNotification", {"x": 1})
    editor.notify("no/such/notification")
    assert editor.error("textDocument/definition", {"textDocument": 7}) == -32602
    editor.notify("textDocument/didChange", {"nonsense": True})
    pid = home.pid()
    assert editor.ask("shutdown") is None
    assert editor.error("textDocument/hover", {}) == INVALID
    assert editor.error("shutdown") == INVALID
    editor.notify("exit")
    assert editor.process.wait(30) == 0
    assert home.pid() == pid, "the daemon stays"


def test_exit_without_shutdown_is_one(editor: Editor, tree: Path) -> None:
    editor.initialize(tree)
    editor.notify("exit")
    assert editor.process.wait(30) == 1


@pytest.mark.parametrize("how", ["exit", "kill", "eof"])
def test_one_clients_end_leaves_the_others(home: Home, tree: Path, how: str) -> None:
    staying, going = Editor(home.environ), Editor(home.environ)
    for one in (staying, going):
        one.initialize(tree)
        ready(one)
    pid = home.pid()
    if how == "exit":
        going.notify("exit")
    elif how == "kill":
        going.kill()
    else:
        assert going.process.stdin is not None
        going.process.stdin.close()
    going.process.wait(30)
    uri = staying.open(tree / "scratch.py", SCRIPT)
    assert places(ask(staying, "definition", uri, SCRIPT, "torch.mm", 6)) == [MM]
    assert home.pid() == pid
    assert staying.close() == 0


def test_headers_as_clients_write_them(editor: Editor, tree: Path) -> None:
    def framed(header: bytes, **message: Any) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return header % len(body) + body

    params = {"processId": None, "rootUri": None, "capabilities": {}}
    editor.raw(
        framed(
            b"content-length:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
            id="a",
            method="initialize",
            params=params,
        )
    )
    assert "capabilities" in editor.wait("a")["result"]
    editor.raw(framed(b"CONTENT-LENGTH:   %d  \n\n", id="b", method="torchtalk/status", params={}))
    assert "roots" in editor.wait("b")["result"]
    editor.raw(b"X-Nothing: 1\r\n\r\n")
    assert editor.wait(None)["error"]["code"] == PARSE
    for number in (b"none", b"9" * 5000):
        editor.raw(b"Content-Length: %s\r\n\r\n" % number)
        assert editor.wait(None)["error"]["code"] == PARSE
    editor.raw(b"Content-Length: 5\r\n\r\n{nono")
    assert editor.wait(None)["error"]["code"] == PARSE
    for body in (b"[1,2]", b"{}", b"7", b'{"jsonrpc":"2.0","id":4}'):
        editor.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        assert editor.wait(None)["error"]["code"] == INVALID
    editor.raw(framed(b"Content-Length: %d\r\n\r\n", id="c", method="torchtalk/status", params={}))
    assert "roots" in editor.wait("c")["result"]


def test_a_request_can_be_called_off(editor: Editor, tree: Path) -> None:
    editor.initialize(tree)
    ready(editor)
    numbers = [editor.begin("workspace/symbol", {"query": "e"}) for _ in range(20)]
    for number in numbers:
        editor.notify("$/cancelRequest", {"id": number})
    editor.notify("$/cancelRequest", {"id": 99_999})
    answers = [editor.wait(number) for number in numbers]
    codes = {answer["error"]["code"] for answer in answers if "error" in answer}
    assert codes == {CANCELLED}
    assert editor.ask("torchtalk/status", {})


TEXT = 'é = "𝛼𝛼"; import torch\r\n\ttorch.mm(é, é)\r\nx = "𝛼"; torch.mm(x, x)\r\n'


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_columns_count_as_agreed(home: Home, tree: Path, encoding: str) -> None:
    editor = Editor(home.environ, capabilities={"general": {"positionEncodings": [encoding]}})
    editor.initialize(tree)
    assert editor.encoding == encoding
    ready(editor)
    uri = editor.open(tree / "columns.py", TEXT)

    def width(text: str) -> int:
        return {
            "utf-8": len(text.encode()),
            "utf-16": len(text.encode("utf-16-le")) // 2,
            "utf-32": len(text),
        }[encoding]

    line = TEXT.split("\r\n")[2]
    column = width(line[: line.index("mm(")])
    assert editor.places("definition", uri, 2, column) == [MM]
    assert editor.places("definition", uri, 2, column + 1) == [MM]
    assert editor.places("definition", uri, 2, column - 2) == []
    hover = editor.at("hover", uri, 2, column)
    assert hover["range"]["start"] == {"line": 2, "character": column}
    assert hover["range"]["end"] == {"line": 2, "character": column + 2}
    # Behind the pair of surrogates another is written, then taken away again.
    at = width(line[: line.index('"; torch')])
    spot = {"line": 2, "character": at}
    editor.edit(uri, {"range": {"start": spot, "end": spot}, "text": "𝛼é"})
    assert editor.places("definition", uri, 2, column + width("𝛼é")) == [MM]
    gone = {"start": spot, "end": {"line": 2, "character": at + width("𝛼é")}}
    editor.edit(uri, {"range": gone, "text": ""}, {"range": {"start": spot, "end": spot}, "text": ""})
    assert editor.places("definition", uri, 2, column) == [MM]
    references = editor.at("references", uri, 2, column, context={"includeDeclaration": False})
    own = [one["range"] for one in references if one["uri"] == uri]
    assert {"line": 2, "character": column - 6} in [one["start"] for one in own]
    assert editor.close() == 0


@pytest.mark.parametrize(("line", "column"), [(0, 10_000), (10_000, 0), (3, 0), (2**31 - 1, 2**31 - 1)])
def test_positions_past_the_end_are_nothing(editor: Editor, tree: Path, line: int, column: int) -> None:
    editor.initialize(tree)
    ready(editor)
    uri = editor.open(tree / "columns.py", TEXT)
    assert editor.places("definition", uri, line, column) == []
    end = {"line": line, "character": column}
    editor.edit(uri, {"range": {"start": end, "end": end}, "text": "x = 1\n"})
    assert editor.at("hover", uri, 0, 0) is None


def test_a_large_text(editor: Editor, tree: Path) -> None:
    editor.initialize(tree)
    ready(editor)
    text = "namespace at::native {\n" + "int filler(int value) { return value; }\n" * 130_000
    assert len(text) > 5_000_000
    text += "Tensor last_one(const Tensor& self) {\n  return at::relu(self);\n}\n}\n"
    uri = editor.open(tree / NATIVE / "Large.cpp", text, "cpp")
    line = text.count("\n") - 3
    found = editor.at("definition", uri, line, 15)
    assert found is None or places(found) == [("Activation.cpp", 5)]
    end = {"line": 0, "character": 0}
    editor.edit(uri, {"range": {"start": end, "end": end}, "text": "\n"})
    assert editor.ask("torchtalk/status", {})


def test_a_whole_text_replaces_all(editor: Editor, tree: Path) -> None:
    editor.initialize(tree)
    ready(editor)
    uri = editor.open(tree / "whole.py", "pass\n")
    editor.edit(uri, {"text": SCRIPT})
    assert places(ask(editor, "definition", uri, SCRIPT, "torch.mm", 6)) == [MM]


def test_pages_of_references(home: Home, tree: Path) -> None:
    editor = Editor(home.environ, capabilities=BARE)
    editor.initialize(tree)
    ready(editor)
    uri = editor.open(tree / "scratch.py", SCRIPT)
    more = {"context": {"includeDeclaration": True}, "partialResultToken": "t"}
    assert ask(editor, "references", uri, SCRIPT, "torch.mm", 6, **more) == []
    pages = [n["params"] for n in editor.notifications if n["method"] == "$/progress"]
    assert pages and all(page["token"] == "t" for page in pages)
    assert sum(len(page["value"]) for page in pages) > 2
    assert editor.close() == 0


def test_progress_only_where_it_is_shown(home: Home) -> None:
    fresh = home.folder / "fresh"
    _copy(DEMO_TREE, fresh)
    shown = Editor(home.environ, capabilities=VS_CODE)
    shown.initialize(fresh)
    ready(shown)
    begun = [n for n in shown.notifications if n["method"] == "$/progress"]
    created = [r for r in shown.requests if r["method"] == "window/workDoneProgress/create"]
    assert bool(begun) <= bool(created)
    until(lambda: any(n["method"] == "torchtalk/status" for n in shown.notifications), "a state")
    assert shown.close() == 0
