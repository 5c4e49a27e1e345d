"""One editor's connection: messages in, the rules of a session's life, messages out.

pygls serves one connection with one server object. What it leaves open is closed here: requests
before `initialize` and after `shutdown` are refused with the codes of the protocol, a message that is
none is answered and costs nothing else, and `exit` ends this session, not the daemon.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Final

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from torchtalkd.frontends.host import EditorHost
from torchtalkd.frontends.lsp.desk import Desk
from torchtalkd.frontends.lsp.framing import BadFrame, Frames
from torchtalkd.frontends.lsp.server import build_server

_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_NOT_INITIALIZED: Final = -32002

# It would write each message that passes through it into the daemon's log, at a level that is shown.
logging.getLogger("pygls").setLevel(logging.ERROR)


async def serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: EditorHost, note: str
) -> None:
    """Serves one editor until it exits or goes away; what it did not wait for is cancelled.

    `note` is a sentence for its user: which tree is served in place of another. Does not close `writer`.
    """
    session = _Session(reader, writer, host, note)
    try:
        await session.run()
    finally:
        session.close()


class _Session:
    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: EditorHost, note: str
    ) -> None:
        self._frames = Frames(reader)
        self._writer = writer
        self._desk = Desk(host)
        self._server = build_server(self._desk, note)
        self._server.protocol.set_writer(_Out(writer))
        self._initialized = self._down = False

    async def run(self) -> None:
        while True:
            try:
                body = await self._frames.next()
            except BadFrame as error:
                self._refuse(_PARSE_ERROR, str(error), None)
                if error.fatal:
                    return
                continue
            if body is None:
                return
            try:
                message = json.loads(body)
            except (ValueError, RecursionError):
                self._refuse(_PARSE_ERROR, "a message is one object of JSON", None)
                continue
            if not isinstance(message, dict) or not {"method", "result", "error"} & message.keys():
                self._refuse(_INVALID_REQUEST, "a message is one JSON-RPC object", None)
                continue
            if message.get("method") == types.EXIT:
                return
            self._heard(message)
            try:
                await self._writer.drain()
            except ConnectionError:
                return

    def close(self) -> None:
        """Calls off what still runs for this editor."""
        self._desk.close()
        for future in list(self._server.protocol._request_futures.values()):
            future.cancel()

    def _heard(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is not None and not isinstance(method, str):
            self._refuse(_INVALID_REQUEST, "a method is a text", number)
            return
        if method is not None and (why := self._untimely(method)):
            if "id" in message:
                self._refuse(*why, number)
            return
        if method == types.INITIALIZE:
            self._initialized = True
        elif method == types.SHUTDOWN:
            self._down = True
        message.setdefault("jsonrpc", "2.0")
        if method is not None and message.get("params") is None and method not in _WITHOUT_PARAMETERS:
            message.pop("params", None)
        try:
            self._server.protocol.handle_message(self._server.protocol.structure_message(message))
        except JsonRpcException as error:
            if method == types.INITIALIZE:
                self._initialized = False
            if method is not None and "id" in message:
                self._refuse(error.code, f"the parameters of {method} are not what the protocol says", number)

    def _untimely(self, method: str) -> tuple[int, str] | None:
        if self._down:
            return _INVALID_REQUEST, "the session is shut down: only exit may follow"
        if not self._initialized:
            return None if method == types.INITIALIZE else (_NOT_INITIALIZED, "initialize comes first")
        return (_INVALID_REQUEST, "initialize comes once") if method == types.INITIALIZE else None

    def _refuse(self, code: int, why: str, id: object) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}).encode()
        _Out(self._writer).write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


_WITHOUT_PARAMETERS: Final = (types.SHUTDOWN, types.INITIALIZED)


class _Out:
    """What pygls writes to. Nobody may be there any more to read it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(data)

    def close(self) -> None:
        """The connection is the daemon's to close."""
