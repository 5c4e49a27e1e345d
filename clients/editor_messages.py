"""What the bridge must know of an editor's messages: JSON-RPC with headers, and the texts in them.

So that a new daemon can go on where the last one was killed, the bridge keeps how the session began
and the text of each open document as the editor has it. Everything else is bytes of others. The tests
are in `tests/test_editor_bridge.py`.
"""

from __future__ import annotations

import json
from typing import Any, Final, cast

from torchtalkd.columns import Change, Encoding, changed, lines_of

from .messages import PARSE_ERROR, Dialect, Exchange, error, is_request, key

SERVER_CANCELLED: Final = -32802
"""The code for a request that the daemon took with it (LSP 3.17, `ErrorCodes.ServerCancelled`)."""
MOST_BYTES: Final = 128 << 20
_MOST_DIGITS: Final = 18
_MOST_HEADER: Final = 16 << 10
_REPLAY: Final = "torchtalkd-replay"


class Frames:
    """Cuts a stream into bodies. A header that says no length is skipped and counted as no message."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._needed = -1
        """Bytes of the body that is being read; -1 while its header is."""

    def fed(self, data: bytes) -> list[bytes | None]:
        """The bodies that are whole now; None stands for bytes that are no message."""
        self._rest += data
        found: list[bytes | None] = []
        while True:
            if self._needed < 0:
                head, end, _ = self._rest.partition(b"\n\r\n" if b"\n\r\n" in self._rest else b"\n\n")
                if not end:
                    if len(self._rest) > _MOST_HEADER:
                        self._rest.clear()
                        found.append(None)
                    return found
                del self._rest[: len(head) + len(end)]
                self._needed = _length(bytes(head))
                if not 0 <= self._needed <= MOST_BYTES:
                    self._needed = -1
                    if head.strip():
                        found.append(None)
                    continue
            if len(self._rest) < self._needed:
                return found
            found.append(bytes(self._rest[: self._needed]))
            del self._rest[: self._needed]
            self._needed = -1

    def last(self) -> bytes:
        """A message that was cut off is none."""
        return b""


def _length(head: bytes) -> int:
    for line in head.split(b"\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            # Of thousands of digits Python makes no number.
            return int(value) if len(value) <= _MOST_DIGITS else -1
    return -1


def framed(body: bytes) -> bytes:
    """A message as it stands on the wire."""
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Session(Exchange):
    """One editor's conversation, and what its texts are."""

    def __init__(self) -> None:
        super().__init__()
        self._configuration: bytes = b""
        self._encoding: Encoding = "utf-16"
        self._folders: list[dict[str, Any]] | None = None
        self._texts: dict[str, dict[str, Any]] = {}
        """By URI: the `textDocument` of didOpen, with `lines` in place of its text."""
        self._progress: dict[str, Any] = {}
        """Tokens whose progress has begun and not ended."""
        self._down = False

    @property
    def exit(self) -> int:
        """The exit code where the editor ends without `exit`: 0 after `shutdown`."""
        return 0 if self._down else 1

    def ends(self, message: dict[str, Any]) -> int | None:
        """The exit code, for `exit`: 0 after `shutdown`, else 1 (LSP 3.17, "Exit Notification")."""
        return self.exit if message.get("method") == "exit" else None

    def asked(self, message: dict[str, Any], body: bytes) -> None:
        """Takes note of what the editor sends."""
        if self._is_beginning(message, body):
            return
        method = message.get("method")
        if method == "shutdown" and is_request(message):
            self._down = True
        if is_request(message):
            self.pending[key(message["id"])] = message["id"]
        elif method == "initialized":
            self._initialized = body
        elif isinstance(method, str) and isinstance(message.get("params"), dict):
            self._notified(method, message["params"], body)

    def _notified(self, method: str, params: dict[str, Any], body: bytes) -> None:
        document = params.get("textDocument")
        if method == "textDocument/didOpen" and isinstance(document, dict):
            text = str(document.get("text") or "")
            self._texts[str(document.get("uri"))] = {**document, "lines": lines_of(text)}
        elif method == "textDocument/didClose" and isinstance(document, dict):
            self._texts.pop(str(document.get("uri")), None)
        elif method == "textDocument/didChange" and isinstance(document, dict):
            known = self._texts.get(str(document.get("uri")))
            if known is not None:
                known["version"] = document.get("version")
                for change in params.get("contentChanges") or ():
                    known["lines"] = _applied(known["lines"], change, self._encoding)
        elif method == "workspace/didChangeConfiguration":
            self._configuration = body
        elif method == "workspace/didChangeWorkspaceFolders":
            self._change_folders(params.get("event") or {})

    def _change_folders(self, event: dict[str, Any]) -> None:
        begun = ((self._initialize or {}).get("params") or {}).get("workspaceFolders") or []
        gone = {folder.get("uri") for folder in event.get("removed") or ()}
        kept = [folder for folder in (self._folders or begun) if folder.get("uri") not in gone]
        self._folders = [*kept, *(event.get("added") or ())]

    def answered(self, message: dict[str, Any]) -> None:
        """Takes note of what the daemon sends."""
        method = message.get("method")
        if method == "$/progress":
            params = message.get("params") or {}
            kind = (params.get("value") or {}).get("kind") if isinstance(params.get("value"), dict) else None
            if kind == "begin":
                self._progress[key(params.get("token"))] = params.get("token")
            elif kind == "end":
                self._progress.pop(key(params.get("token")), None)
        if method is not None or "id" not in message:
            return
        if self._is_answer(message) and "error" not in message:
            capabilities = (message.get("result") or {}).get("capabilities") or {}
            self._encoding = cast(Encoding, capabilities.get("positionEncoding") or "utf-16")

    def hides(self, message: dict[str, Any]) -> bool:
        """Whether a message answers the `initialize` that was said again."""
        return message.get("id") == _REPLAY and "method" not in message

    def own_answer(self, message: dict[str, Any]) -> bytes:
        """`shutdown` needs no daemon where none is connected."""
        if message.get("method") != "shutdown" or self._initialize is None:
            return b""
        self._down = True
        return framed(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": None}).encode())

    def refused(self, message: dict[str, Any], why: str) -> bytes:
        """The error for a request that reaches no daemon."""
        return framed(error(SERVER_CANCELLED, why, message["id"]))

    def lost(self) -> list[bytes]:
        """The daemon went: an error for each request that it took with it, an end for each progress."""
        why = "torchtalkd's daemon went away before it answered"
        said = [framed(error(SERVER_CANCELLED, why, asked)) for asked in self.pending.values()]
        for token in self._progress.values():
            ended = {"token": token, "value": {"kind": "end"}}
            note = {"jsonrpc": "2.0", "method": "$/progress", "params": ended}
            said.append(framed(json.dumps(note).encode()))
        self.pending.clear()
        self._progress.clear()
        return said

    def given_up(self, why: str) -> bytes:
        """An error for the `initialize` that cannot be said anew; the editor may try it again."""
        return framed(error(SERVER_CANCELLED, why, self._give_up()))

    def again(self) -> bytes:
        """What a new daemon must hear: how the session began, and the texts as they are now."""
        if self._unanswered:
            return framed(self._unanswered)
        if self._initialize is None:
            return b""
        params = dict(self._initialize.get("params") or {})
        # The encoding was agreed with the first daemon: the next one must choose the same.
        capabilities = dict(params.get("capabilities") or {})
        general = {**(capabilities.get("general") or {}), "positionEncodings": [self._encoding]}
        params["capabilities"] = {**capabilities, "general": general}
        if self._folders is not None:
            params["workspaceFolders"] = self._folders
        said = [json.dumps({**self._initialize, "id": _REPLAY, "params": params}).encode()]
        said.extend(body for body in (self._initialized, self._configuration) if body)
        for text in self._texts.values():
            document = {name: value for name, value in text.items() if name != "lines"}
            document["text"] = b"\n".join(text["lines"]).decode("utf-8")
            opened = {"method": "textDocument/didOpen", "params": {"textDocument": document}}
            said.append(json.dumps({"jsonrpc": "2.0", **opened}).encode())
        return b"".join(framed(body) for body in said)


def _applied(lines: list[bytes], change: Any, encoding: Encoding) -> list[bytes]:
    """The lines after one content change; one that is none changes nothing."""
    if not isinstance(change, dict) or not isinstance(change.get("text"), str):
        return lines
    where = change.get("range")
    if where is None:
        return lines_of(change["text"])
    try:
        first, last = where["start"], where["end"]
        begin, end = (first["line"], first["character"]), (last["line"], last["character"])
        return changed(lines, Change(*begin, *end, change["text"]), encoding)
    except (KeyError, TypeError, ValueError):
        return lines


EDITOR: Final = Dialect(
    want="lsp",
    hint="this speaks LSP over stdin and stdout: an editor starts it, see docs/editors.md",
    frames=Frames,
    framed=framed,
    session=Session,
    no_message=(PARSE_ERROR, "a message is a header with Content-Length, a blank line and its body"),
    no_json="a message is one object of JSON",
)
"""LSP: a message is a header and a body."""
