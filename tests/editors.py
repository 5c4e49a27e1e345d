"""A small editor for the tests: the real bridge as a process, messages both ways, a document or two."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.conftest import DEMO_TREE, _copy
from tests.daemons import Home, new_home
from torchtalkd.frontends.lsp.documents import uri_of

PATIENCE = 60.0
"""Seconds after which an answer that does not come is a failure."""

BARE: dict[str, Any] = {}
VS_CODE: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {"configuration": True, "workspaceFolders": True},
    "textDocument": {
        "definition": {"linkSupport": True},
        "declaration": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "diagnostic": {"dynamicRegistration": True},
    },
}
NEOVIM: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "window": {"workDoneProgress": True},
    "workspace": {"configuration": True, "workspaceFolders": True},
    "textDocument": {
        "definition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    },
}
HELIX: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-8", "utf-32", "utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {"configuration": True, "workspaceFolders": True},
    "textDocument": {"hover": {"contentFormat": ["markdown"]}},
}
EDITORS = {"bare": BARE, "vscode": VS_CODE, "neovim": NEOVIM, "helix": HELIX}


class Editor:
    """One editor with its server process."""

    def __init__(
        self,
        environment: dict[str, str],
        *arguments: object,
        cwd: str = "/",
        capabilities: dict[str, Any] | None = None,
        settings: Any = None,
    ) -> None:
        self.capabilities = BARE if capabilities is None else capabilities
        self.settings = settings
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "torchtalkd", "lsp", *map(str, arguments)],
            env=environment,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.notifications: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.encoding = "utf-16"
        self._answers: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._kept: dict[Any, dict[str, Any]] = {}
        self._next = 0
        self._versions: dict[str, int] = {}
        threading.Thread(target=self._read, daemon=True).start()

    # -- messages

    def raw(self, data: bytes) -> None:
        """Bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, **message: Any) -> None:
        """A message."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def notify(self, method: str, params: Any = None) -> None:
        """A notification."""
        self.send(method=method, **({"params": params} if params is not None else {}))

    def begin(self, method: str, params: Any = None) -> int:
        """A request; its id."""
        self._next += 1
        self.send(id=self._next, method=method, **({"params": params} if params is not None else {}))
        return self._next

    def wait(self, number: Any) -> dict[str, Any]:
        """The answer to a request."""
        while number not in self._kept:
            message = self._answers.get(timeout=PATIENCE)
            assert message is not None, "the server ended"
            self._kept[message.get("id")] = message
        return self._kept.pop(number)

    def ask(self, method: str, params: Any = None) -> Any:
        """The result of a request."""
        answer = self.wait(self.begin(method, params))
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method: str, params: Any = None) -> int:
        """The code of a request's error."""
        return int(self.wait(self.begin(method, params))["error"]["code"])

    def _read(self) -> None:
        assert self.process.stdout is not None
        stream = self.process.stdout
        while True:
            length = 0
            while (line := stream.readline().strip()) or not length:
                if not line and not length:
                    self._answers.put(None)
                    return
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            message = json.loads(stream.read(length))
            if "method" not in message:
                self._answers.put(message)
            elif "id" in message:
                self.requests.append(message)
                self._reply(message)
            else:
                self.notifications.append(message)

    def _reply(self, message: dict[str, Any]) -> None:
        result = [self.settings] if message["method"] == "workspace/configuration" else None
        self.send(id=message["id"], result=result)

    # -- a session

    def initialize(self, *folders: Path, **more: Any) -> dict[str, Any]:
        """Begins a session in some folders."""
        params = {
            "processId": os.getpid(),
            "rootUri": uri_of(str(folders[0])) if folders else None,
            "workspaceFolders": [{"uri": uri_of(str(f)), "name": f.name} for f in folders] or None,
            "capabilities": self.capabilities,
            **more,
        }
        result: dict[str, Any] = self.ask("initialize", params)
        self.encoding = result["capabilities"].get("positionEncoding", "utf-16")
        self.notify("initialized", {})
        return result

    def open(self, path: Path, text: str | None = None, language: str = "python") -> str:
        """Opens a file; its URI."""
        uri = uri_of(str(path))
        self._versions[uri] = 1
        content = path.read_bytes().decode() if text is None else text
        document = {"uri": uri, "languageId": language, "version": 1, "text": content}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def edit(self, uri: str, *changes: dict[str, Any]) -> None:
        """Changes a text."""
        self._versions[uri] += 1
        document = {"uri": uri, "version": self._versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """The result of a request about a position, both from 0."""
        position = {"line": line, "character": character}
        params = {"textDocument": {"uri": uri}, "position": position, **more}
        return self.ask(f"textDocument/{method}", params)

    def places(self, method: str, uri: str, line: int, character: int, **more: Any) -> list[tuple[str, int]]:
        """The places of an answer: file name and line from 1."""
        return places(self.at(method, uri, line, character, **more))

    def close(self) -> int:
        """Ends the session as editors do; the exit code."""
        if self.process.poll() is None:
            try:
                self.ask("shutdown")
                self.notify("exit")
            except (AssertionError, BrokenPipeError, OSError):
                # It has ended already: its code tells how.
                pass
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """Ends it at once."""
        self.process.kill()
        self.process.wait(PATIENCE)


def places(found: Any) -> list[tuple[str, int]]:
    """Locations or links as file name and line from 1."""
    listed = found if isinstance(found, list) else [found] if found else []
    return [
        (
            (one.get("targetUri") or one["uri"]).rpartition("/")[2],
            (one.get("targetSelectionRange") or one["range"])["start"]["line"] + 1,
        )
        for one in listed
    ]


def spot(text: str, needle: str, offset: int = 0) -> tuple[int, int]:
    """The position (from 0, in characters) of a piece of a text."""
    at = text.index(needle) + offset
    return text.count("\n", 0, at), at - (text.rfind("\n", 0, at) + 1)


@contextmanager
def indexed_home() -> Iterator[Home]:
    """A home with the demo tree in it, indexed; its daemon ends with it."""
    with new_home() as made:
        _copy(DEMO_TREE, made.folder / "tree")
        assert made.run("index", "build", "--source", made.folder / "tree", "--workers", "1").returncode == 0
        yield made
        made.run("stop")
