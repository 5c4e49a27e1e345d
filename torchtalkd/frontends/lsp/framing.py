"""Messages with headers on a stream, as clients write them: `Content-Length: 5`, a blank line, the body.

Case, white space and other headers do not matter. What is no message is told apart by whether the
next one can be found behind it. The tests are in `tests/test_lsp_protocol.py`.
"""

from __future__ import annotations

import asyncio
from typing import Final

MOST_BYTES: Final = 128 << 20
"""Of a message; a text of that size is read by no parser of ours."""
_MOST_HEADER: Final = 16 << 10
_PIECE: Final = 1 << 18


class BadFrame(Exception):
    """Bytes that are no message; `str()` says why. With `fatal` the next message cannot be found."""

    def __init__(self, sentence: str, *, fatal: bool) -> None:
        super().__init__(sentence)
        self.fatal = fatal


class Frames:
    """The messages of one stream."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader
        self._rest = bytearray()

    async def next(self) -> bytes | None:
        """The body of the next message, None at the end. Raises BadFrame."""
        length, seen = -1, 0
        while True:
            line = await self._line()
            if line is None:
                return None
            seen += len(line)
            if seen > _MOST_HEADER:
                raise BadFrame("a header without an end", fatal=True)
            if not line.strip():
                if length >= 0:
                    break
                if seen > len(line):
                    raise BadFrame("a header without Content-Length", fatal=False)
                seen = 0
                continue
            name, colon, value = line.partition(b":")
            if not colon:
                raise BadFrame("a line of a header is `Name: value`", fatal=False)
            if name.strip().lower() == b"content-length":
                if not value.strip().isdigit():
                    raise BadFrame("Content-Length must be a number", fatal=False)
                length = int(value)
        if length > MOST_BYTES:
            raise BadFrame(f"a message has at most {MOST_BYTES} bytes", fatal=True)
        return await self._exactly(length)

    async def _line(self) -> bytes | None:
        while (at := self._rest.find(b"\n")) < 0:
            if len(self._rest) > _MOST_HEADER:
                raise BadFrame("a header without an end", fatal=True)
            if not await self._more():
                return None
        line = bytes(self._rest[: at + 1])
        del self._rest[: at + 1]
        return line

    async def _exactly(self, length: int) -> bytes | None:
        while len(self._rest) < length:
            if not await self._more():
                return None
        body = bytes(self._rest[:length])
        del self._rest[:length]
        return body

    async def _more(self) -> bool:
        try:
            data = await self._reader.read(_PIECE)
        except ConnectionError:
            data = b""
        self._rest += data
        return bool(data)
