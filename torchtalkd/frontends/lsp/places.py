"""Places of the index as locations of the protocol. Reads the lines that they stand in."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from lsprotocol import types

from torchtalkd.columns import Encoding, from_bytes
from torchtalkd.frontends.host import OpenRoot
from torchtalkd.frontends.lsp.documents import Document, uri_of
from torchtalkd.queries.answers import Item

_NAME: Final = re.compile(
    rb"~?[A-Za-z_\x80-\xff][\w\x80-\xff]*(?:(?:::|\.)~?[A-Za-z_\x80-\xff][\w\x80-\xff]*)*"
)
MOST_BYTES: Final = 64 << 20
"""Of a file that is read for its lines."""


MOST_KEPT: Final = 256
"""Files whose lines are kept from one answer to the next."""

Lines: TypeAlias = dict[str, tuple[tuple[int, int, int], list[bytes]]]
"""By absolute path: size, time and inode of a file, and its lines."""


class Places:
    """Makes locations for one answer: what it has read of a file is read once, and kept in `kept`
    for the next answer."""

    def __init__(
        self,
        root: OpenRoot,
        documents: Mapping[str, Document],
        encoding: Encoding,
        kept: Lines | None = None,
    ) -> None:
        self._root, self._encoding = root, encoding
        self._kept: Lines = {} if kept is None else kept
        self._open = {d.path: d for d in documents.values() if d.root and d.root.path == root.path}
        self._lines: dict[str, list[bytes]] = {}

    def uri(self, path: str) -> str:
        """The URI of a file of the root: that of the editor's own document, where it is open."""
        known = self._open.get(path)
        return known.uri if known is not None else uri_of(os.path.join(self._root.path, path))

    def range(self, path: str, line: int, column: int, end: int = -1, *, whole: bool = False) -> types.Range:
        """The range of the name at a place, or up to `end`; of its last component unless `whole`."""
        text = self.line(path, line)
        start = min(column, len(text))
        if end < 0:
            found = _NAME.match(text, start)
            name = found[0] if found else b""
            cut = max(name.rfind(b"::") + 2, name.rfind(b".") + 1) if b"::" in name and not whole else 0
            start, end = start + cut, start + max(len(name), 0)
        row = max(line - 1, 0)
        return types.Range(
            types.Position(row, from_bytes(text, start, self._encoding)),
            types.Position(row, from_bytes(text, max(start, end), self._encoding)),
        )

    def location(self, item: Item) -> types.Location:
        """Where an item's name stands."""
        return types.Location(self.uri(item.file), self.range(item.file, item.line, item.column))

    def link(self, item: Item, origin: types.Range | None) -> types.LocationLink:
        """The same, with what it is a link from."""
        found = self.range(item.file, item.line, item.column)
        return types.LocationLink(self.uri(item.file), found, found, origin)

    def locations(
        self, items: Iterable[Item], origin: types.Range | None, *, links: bool
    ) -> list[types.Location] | list[types.LocationLink]:
        """All, in order."""
        return [self.link(i, origin) for i in items] if links else [self.location(i) for i in items]

    def line(self, path: str, number: int) -> bytes:
        """A line of a file as the editor has it, or the disk; empty where there is none."""
        lines = self._lines.get(path)
        if lines is None:
            known = self._open.get(path)
            lines = self._lines[path] = known.lines if known is not None else self._read(path)
        return lines[number - 1] if 0 < number <= len(lines) else b""

    def _read(self, path: str) -> list[bytes]:
        full = os.path.join(self._root.path, path)
        try:
            found = os.stat(full)
            signature = (found.st_size, found.st_mtime_ns, found.st_ino)
            known = self._kept.get(full)
            if known is not None and known[0] == signature:
                return known[1]
            if not os.path.realpath(full).startswith(self._root.path.rstrip("/") + "/"):
                # A link that leads out of the root: nothing is opened there.
                return []
            with open(full, "rb") as file:
                lines = file.read(MOST_BYTES).split(b"\n")
        except OSError:
            # It went since it was indexed: the place stays, without its name's length.
            return []
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[full] = (signature, lines)
        return lines
