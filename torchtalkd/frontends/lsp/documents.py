"""The texts that an editor has open, and what they say.

A text that is as the index knows it is answered from the index. One that is not saved yet is read
when somebody asks about it, and laid over the index for this editor alone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from torchtalkd.columns import Change, Encoding, changed, lines_of
from torchtalkd.frontends.host import Draft, OpenRoot, Reader
from torchtalkd.overlay import Overlay
from torchtalkd.store.view import View

_SCHEME: Final = "file"


class Document:
    """One open text."""

    def __init__(self, uri: str, text: str, version: int | None) -> None:
        self.uri = uri
        self.version = version
        self.lines = lines_of(text)
        self.root: OpenRoot | None = None
        """The root that it is answered from."""
        self.path = ""
        """From that root; absolute where it lies outside of it."""
        self._data: bytes | None = None
        self._digests: dict[str, bool] = {}
        self._draft: Draft | None = None

    @property
    def data(self) -> bytes:
        """The text, in UTF-8."""
        if self._data is None:
            self._data = b"\n".join(self.lines)
        return self._data

    @property
    def is_outside(self) -> bool:
        """Whether its file lies outside of the root that it is answered from."""
        return self.path.startswith("/")

    def change(self, change: Change | str, encoding: Encoding) -> None:
        """Replaces a piece of the text, or all of it."""
        self.lines = lines_of(change) if isinstance(change, str) else changed(self.lines, change, encoding)
        self._data = None
        self._digests.clear()

    def line(self, number: int) -> bytes:
        """A line, counted from 1; empty behind the end."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else b""

    def is_saved(self, digest: str) -> bool:
        """Whether the text is what a file of the index with this digest holds."""
        found = self._digests.get(digest)
        if found is None:
            found = self._digests[digest] = digest_of(self.data) == digest
        return found

    def overlay(self, reader: Reader) -> Overlay:
        """What the text says, read as far as it changed since it was last asked for."""
        self._draft = reader.draft(self.path, self.data, self._draft, whole=False)
        return self._draft.overlay

    def read_whole(self, reader: Reader) -> None:
        """Reads all of the text: where only a part was read since it changed, and before the first
        keystroke, which then costs no more than the next."""
        former = self._draft
        if former is None or not former.is_whole:
            read = reader.draft(self.path, self.data, former, whole=True)
            if self._draft is former:
                self._draft = read


def overlays(view: View, root: OpenRoot, documents: Iterable[Document]) -> list[Overlay]:
    """The overlays of those texts of a root that are not what its index was made from."""
    found = []
    for document in documents:
        if document.root is None or document.root.path != root.path or document.is_outside:
            continue
        file = view.file(document.path)
        if file is None and not root.reader.language(document.path):
            continue
        if file is None or not document.is_saved(file.digest):
            found.append(document.overlay(root.reader))
    return found


def digest_of(data: bytes) -> str:
    """The digest that the index has of a file with these bytes (`engine.reading`)."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def path_of(uri: str) -> str:
    """The absolute path of a file: URI, '' for any other."""
    parts = urlsplit(uri)
    if parts.scheme != _SCHEME:
        return ""
    return os.path.normpath(unquote(parts.path)) if parts.path.startswith("/") else ""


def uri_of(path: str) -> str:
    """The URI of an absolute path."""
    return f"{_SCHEME}://" + quote(path, safe="/~!$&'()*+,;=:@._-")
