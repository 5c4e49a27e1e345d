"""The editors' bridge: a daemon that is killed, texts that are not saved, and what must not be lost."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator

import pytest

from clients.editor_messages import Frames, Session, framed
from tests.conftest import DEMO_TREE, _copy
from tests.daemons import Home, alive, children, new_home, until
from tests.editors import NEOVIM, VS_CODE, Editor, places
from tests.test_lsp import MM, NATIVE, SCRIPT, ask, ready


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as made:
        _copy(DEMO_TREE, made.folder / "tree")
        assert made.run("index", "build", "--source", made.folder / "tree", "--workers", "1").returncode == 0
        yield made
        made.run("stop")


def kill(home: Home) -> int:
    """Kills the daemon; its process id. Waits until nobody of it writes any more."""
    pid = home.pid()
    keepers = children(pid)
    os.kill(pid, signal.SIGKILL)
    # Its last thread lets go of its sockets somewhat later than the process counts as dead.
    until(lambda: not home.daemons() and not any(map(alive, keepers)), "the daemon ends")
    return pid


@pytest.mark.parametrize("capabilities", [NEOVIM, VS_CODE], ids=["utf-8", "utf-16"])
def test_an_unsaved_text_outlives_the_daemon(home: Home, capabilities: dict[str, object]) -> None:
    tree = home.folder / "tree"
    editor = Editor(home.environ, capabilities=capabilities)
    editor.initialize(tree)
    ready(editor)
    script = editor.open(tree / "scratch.py", SCRIPT)
    uri = editor.open(tree / NATIVE / "Activation.cpp", language="cpp")
    start = {"line": 4, "character": 0}
    editor.edit(uri, {"range": {"start": start, "end": start}, "text": "// é𝛼\n"})
    closed = editor.open(tree / "closed.py", "import torch\n")
    editor.notify("textDocument/didClose", {"textDocument": {"uri": closed}})
    assert places(ask(editor, "definition", script, SCRIPT, "y.relu", 2)) == [("Activation.cpp", 6)]
    first = kill(home)
    # Written while there is no daemon, behind letters that count differently in each encoding.
    column = len("// é𝛼".encode()) if editor.encoding == "utf-8" else len("// é𝛼") + 1
    end = {"line": 4, "character": column}
    editor.edit(uri, {"range": {"start": end, "end": end}, "text": "\n\n"})
    found = ask(editor, "definition", script, SCRIPT, "y.relu", 2)
    assert places(found) == [("Activation.cpp", 8)]
    assert home.pid() != first
    assert editor.close() == 0


def test_what_was_pending_is_cancelled(home: Home) -> None:
    tree = home.folder / "tree"
    editor = Editor(home.environ, capabilities=VS_CODE)
    editor.initialize(tree)
    ready(editor)
    uri = editor.open(tree / "scratch.py", SCRIPT)
    pid = home.pid()
    keepers = children(pid)
    os.kill(pid, signal.SIGSTOP)
    number = editor.begin(
        "textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 5, "character": 11}}
    )
    os.kill(pid, signal.SIGKILL)
    assert editor.wait(number)["error"]["code"] == -32802
    until(lambda: not any(map(alive, keepers)), "the keepers end")
    assert places(ask(editor, "definition", uri, SCRIPT, "torch.mm", 6)) == [MM]
    replays = [message for message in editor.notifications if "replay" in json.dumps(message)]
    assert replays == [], "the handshake's second answer is not the editor's"
    assert editor.close() == 0


def test_an_end_without_a_daemon(home: Home) -> None:
    editor = Editor(home.environ)
    editor.initialize(home.folder / "tree")
    kill(home)
    assert editor.close() == 0
    assert home.daemons() == [], "nothing is started to say goodbye"


def test_frames() -> None:
    frames = Frames()
    whole = (
        framed(b'{"a":1}')
        + b"Content-Type: x\r\ncontent-length: 2\n\n{}"
        + b"Nothing: 1\r\n\r\n"
        + framed(b"[]")
    )
    found = [body for at in range(len(whole)) for body in frames.fed(whole[at : at + 1])]
    assert found == [b'{"a":1}', b"{}", None, b"[]"]
    assert Frames().fed(b"x" * 20_000) == [None]


def session(**capabilities: object) -> Session:
    made = Session()
    params = {"workspaceFolders": [{"uri": "file:///a"}], "capabilities": {}}
    made.asked({"id": 0, "method": "initialize", "params": params}, b"{}")
    made.answered({"id": 0, "result": {"capabilities": capabilities}})
    made.asked({"method": "initialized"}, b'{"method":"initialized"}')
    return made


def test_a_session_is_said_again() -> None:
    made = session(positionEncoding="utf-32")
    document = {"uri": "file:///a/x.py", "languageId": "python", "version": 1, "text": "a𝛼b\nc"}
    made.asked({"method": "textDocument/didOpen", "params": {"textDocument": document}}, b"")
    place = {"start": {"line": 0, "character": 2}, "end": {"line": 1, "character": 0}}
    change = {
        "textDocument": {"uri": "file:///a/x.py", "version": 5},
        "contentChanges": [{"range": place, "text": "-"}, {"nonsense": 1}],
    }
    made.asked({"method": "textDocument/didChange", "params": change}, b"")
    event = {"added": [{"uri": "file:///b"}], "removed": [{"uri": "file:///a"}]}
    made.asked({"method": "workspace/didChangeWorkspaceFolders", "params": {"event": event}}, b"")
    initialize, _, opened = (json.loads(body or b"") for body in Frames().fed(made.again()))
    assert initialize["params"]["workspaceFolders"] == [{"uri": "file:///b"}]
    assert initialize["params"]["capabilities"]["general"]["positionEncodings"] == ["utf-32"]
    assert made.hides({"id": initialize["id"], "result": {}}) and not made.hides({"id": 1, "result": {}})
    assert opened["params"]["textDocument"] == {**document, "version": 5, "text": "a𝛼-c"}


def test_a_lost_daemon_ends_what_it_has_begun() -> None:
    made = session()
    made.asked({"id": 1, "method": "textDocument/hover"}, b"")
    made.answered({"method": "$/progress", "params": {"token": "t", "value": {"kind": "begin"}}})
    error, ended = (json.loads(body or b"") for said in made.lost() for body in Frames().fed(said))
    assert (error["id"], error["error"]["code"]) == (1, -32802)
    assert ended["params"] == {"token": "t", "value": {"kind": "end"}}
    assert made.lost() == [] and not made.waits
