"""One client's connection: lines of JSON-RPC on a socket, in both eras of the protocol.

A message that is none is answered with an error and costs nothing else; a client that asks
without reading the answers is not read any further.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final, cast

from mcp.server.stdio import stdio_server
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)

from torchtalkd.frontends.host import RootHandle
from torchtalkd.frontends.mcp.server import build_server

MOST_LINE: Final = 4 << 20
"""Bytes of one message of a client."""
MOST_OPEN: Final = 64
"""Requests of one client that are answered at the same time; more wait in its socket."""
_PIECE: Final = 1 << 16


async def serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    root: RootHandle,
    note: str,
    tools: str = "all",
) -> None:
    """Serves one client until it ends; what it did not wait for is cancelled. Does not close `writer`.

    `note` is something to tell the model once: which tree is served in place of another. `tools` is the
    set of tools (`tools.SETS`).
    """
    wire = _Wire(reader, writer)
    server = build_server(root, note, tools)
    # The library asks of these two no more than lines to iterate over, `write` and `flush`.
    async with stdio_server(cast(Any, wire), cast(Any, wire)) as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class _Wire:
    """Both directions of a connection, as text streams."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._open: set[str] = set()
        """The ids of requests without an answer, as JSON."""
        self._answered = asyncio.Event()
        self._gone = False
        """Whether nobody reads what is written; reading comes to its end then, too."""

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines():
            if line is None:
                await self._refuse(INVALID_REQUEST, f"a message has at most {MOST_LINE} bytes", None)
                continue
            if not line.strip():
                continue
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                await self._refuse(*_mistake(line))
                continue
            if isinstance(message, JSONRPCRequest):
                await self._room()
                self._open.add(json.dumps(message.id))
            elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
                # A cancelled request may stay without an answer.
                self._close((message.params or {}).get("requestId"))
            yield line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        """Sends one message."""
        self._put(text.encode("utf-8"))
        message = json.loads(text)
        if "method" not in message:
            self._close(message.get("id"))

    async def flush(self) -> None:
        """Waits until the client has room for more."""
        try:
            await self._writer.drain()
        except ConnectionError:
            self._gone = True

    async def _lines(self) -> AsyncIterator[bytes | None]:
        """Whole lines; None for one that is too long."""
        piece, skipping = bytearray(), False
        while data := await self._read():
            *ends, rest = data.split(b"\n")
            for end in ends:
                whole = not skipping and len(piece) + len(end) <= MOST_LINE
                yield bytes(piece) + end if whole else None
                piece.clear()
                skipping = False
            if not skipping:
                piece += rest
                if skipping := len(piece) > MOST_LINE:
                    piece.clear()

    async def _read(self) -> bytes:
        try:
            return await self._reader.read(_PIECE)
        except ConnectionError:
            return b""

    def _put(self, data: bytes) -> None:
        if not self._gone:
            self._writer.write(data)

    async def _room(self) -> None:
        while len(self._open) >= MOST_OPEN:
            self._answered.clear()
            await self._answered.wait()

    def _close(self, id: object) -> None:
        self._open.discard(json.dumps(id))
        self._answered.set()

    async def _refuse(self, code: int, why: str, id: object) -> None:
        said = {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": why}}
        self._put(json.dumps(said).encode() + b"\n")
        await self.flush()


def _mistake(line: bytes) -> tuple[int, str, object]:
    """What is wrong with a line: the error's code, its message, the id it is about."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return PARSE_ERROR, "Parse error: a message is one line of JSON", None
    given = found.get("id") if isinstance(found, dict) else None
    known = given if isinstance(given, str | int) and not isinstance(given, bool) else None
    return INVALID_REQUEST, "Invalid request: a message is one JSON-RPC object", known
