"""One editor's session: its folders and texts, and how a request about them is answered.

A request is answered in a thread, with a view of the newest revision on which the editor's unsaved
texts are laid. Everything else happens on the event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, cast

from lsprotocol import types

from torchtalkd.columns import Encoding, to_bytes
from torchtalkd.facts import File
from torchtalkd.frontends.host import EditorHost, NotReady, OpenRoot
from torchtalkd.frontends.lsp.documents import Document, overlays, packaged_from, packages_around, path_of
from torchtalkd.frontends.lsp.places import Lines, Places
from torchtalkd.frontends.lsp.settings import Settings
from torchtalkd.queries.answers import Answer, Item, Subject, standing
from torchtalkd.queries.at import at
from torchtalkd.queries.meant import Meant
from torchtalkd.store.overlaid import overlaid
from torchtalkd.store.view import View

PATIENCE: Final = 0.004
"""Seconds that a request waits for what has changed on the disk: an editor asks at each movement of the
mouse. What an answer cites is looked at all the same."""
CONFIGURED_SECONDS: Final = 5.0
PAUSE: Final = 0.4
"""Seconds without a keystroke after which a text that was read in part is read whole."""


@dataclass(frozen=True, slots=True)
class Reply(Answer):
    """An answer with what is sent: `items` are the places that it cites."""

    result: Any = None


class Asked(NamedTuple):
    """What a question about a text may look at."""

    view: View
    root: OpenRoot
    document: Document
    file: File | None
    places: Places
    unsaved: frozenset[str]
    """The paths of texts that are laid over the view: of these the disk says nothing."""

    def reply(self, result: Any, items: Sequence[Item] = ()) -> Reply:
        """The answer, with the places on the disk that it cites."""
        items = [item for item in items if item.file not in self.unsaved]
        subjects = (Subject("place", self.document.path),)
        return Reply("place", "", "", subjects, tuple(items), len(items), standing(self.view), result=result)


class Desk:
    """See the module."""

    def __init__(self, host: EditorHost) -> None:
        self.host = host
        self.encoding: Encoding = "utf-16"
        self.settings = Settings()
        self.documents: dict[str, Document] = {}
        self.folders: dict[str, OpenRoot] = {}
        """By the URI of the client's folder: the root that it is in."""
        self._folders: dict[str, asyncio.Task[OpenRoot | None]] = {}
        self._around: dict[str, OpenRoot | None] = {}
        self._installed: dict[tuple[str, str], OpenRoot | None] = {}
        self._lines: Lines = {}
        self._configured: tuple[OpenRoot | None, float] = (None, 0.0)
        self._pausing: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._said_open: dict[str, set[str]] = {}
        self.after_pause: Callable[[str], None] = _nothing
        """What follows when a text was opened, or its writer pauses."""
        self.tell: Callable[[str], None] = _nothing
        """How a sentence is shown to the user."""

    # -- folders and roots

    def open_folder(self, uri: str) -> None:
        """Begins to look for the root of a client's folder."""
        if uri not in self._folders:
            self._folders[uri] = asyncio.get_running_loop().create_task(self._root_of(uri))

    def close_folder(self, uri: str) -> None:
        """Forgets a folder."""
        task = self._folders.pop(uri, None)
        if task is not None:
            task.cancel()
        self.folders.pop(uri, None)
        self._place_anew()

    async def _root_of(self, uri: str) -> OpenRoot | None:
        path = path_of(uri)
        if not path:
            return None
        try:
            found = await (self.host.configured() if self.host.is_named else self.host.around(path))
        except NotReady:
            return None
        self.folders[uri] = found
        self._place_anew()
        return found

    async def roots(self) -> list[OpenRoot]:
        """The roots of all folders, each once; the configured one where there are none."""
        found = [root for task in list(self._folders.values()) if (root := await asyncio.shield(task))]
        if not found and (configured := await self.configured()) is not None:
            found.append(configured)
        return list({root.path: root for root in found}.values())

    async def configured(self) -> OpenRoot | None:
        """The root for texts that are in none; None where none is meant. Looked for again after a while:
        it may be configured meanwhile."""
        found, until = self._configured
        now = asyncio.get_running_loop().time()
        if now >= until:
            try:
                found = await self.host.configured()
            except NotReady:
                found = None
            self._configured = (found, now + CONFIGURED_SECONDS)
        return found

    async def root_of(self, document: Document) -> OpenRoot | None:
        """The root that a text is answered from: the nearest around it, else the configured one."""
        if document.root is not None:
            return document.root
        path = os.path.realpath(path_of(document.uri) or "/")
        known = [root for root in await self.roots() if _is_in(path, root.path)]
        found = max(known, key=lambda root: len(root.path), default=None)
        packages = packages_around(path)
        document.packaged = document.stands_for = ""
        # Also where the environment lies in somebody's work tree: its packages are not of that tree.
        apart = packages and packages_around(found.path if found else "") != packages
        if apart and (other := await self._for_packages(packages)) is not None:
            document.root, document.path = other, path
            document.packaged = os.path.relpath(path, packages)
            return other
        if found is None and path != "/" and not self.host.is_named:
            found = await self._nearest(os.path.dirname(path))
        if found is not None:
            document.path = os.path.relpath(path, found.path)
        else:
            found = await self.configured()
            inside = found is not None and _is_in(path, found.path)
            document.path = os.path.relpath(path, found.path) if found and inside else path
        document.root = found
        return found

    async def _nearest(self, folder: str) -> OpenRoot | None:
        if folder not in self._around:
            try:
                self._around[folder] = await self.host.around(folder)
            except NotReady:
                self._around[folder] = None
        return self._around[folder]

    async def _for_packages(self, folder: str) -> OpenRoot | None:
        key = (folder, self.settings.interpreter)
        if key not in self._installed:
            try:
                found = await self.host.installed(folder, key[1], list(self.folders.values()))
            except NotReady:
                return None
            self._installed[key] = found.root
            if found.note:
                self.tell(found.note)
        return self._installed[key]

    def use(self, settings: Settings) -> None:
        """Goes by these settings from now on."""
        moved = settings.interpreter != self.settings.interpreter
        self.settings = settings
        if moved:
            self._place_anew()

    def _place_anew(self) -> None:
        for document in self.documents.values():
            document.root = None

    # -- texts

    def open_document(self, uri: str, text: str, version: int | None) -> None:
        """A text is open."""
        self.documents[uri] = Document(uri, text, version)
        self.pause(uri)

    def close_document(self, uri: str) -> None:
        """It is not open any more."""
        self.documents.pop(uri, None)
        self._say_open()

    def pause(self, uri: str) -> None:
        """After a keystroke: a whole reading follows when none comes for a while."""
        loop = asyncio.get_running_loop()
        if (former := self._pausing.pop(uri, None)) is not None:
            former.cancel()
        self._pausing[uri] = loop.call_later(PAUSE, self._read_whole, uri)

    def _read_whole(self, uri: str) -> None:
        document = self.documents.get(uri)
        self._pausing.pop(uri, None)
        if document is not None:
            self.start(self._paused(document))
            self.after_pause(uri)

    async def _paused(self, document: Document) -> None:
        root = await self.root_of(document)
        self._say_open()
        # What stands at a place of Python is read from the text itself each time.
        if root is not None and root.reader.language(document.path) not in ("", "python"):
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(None, document.read_whole, root.reader)

    def _say_open(self) -> None:
        """Says which files are open, as far as it is known whose they are."""
        found: dict[str, set[str]] = {}
        for document in self.documents.values():
            if document.root is not None and not (document.is_outside or document.packaged):
                found.setdefault(document.root.path, set()).add(document.path)
            elif document.root is not None and document.stands_for:
                found.setdefault(document.root.path, set()).add(document.stands_for)
        if found != self._said_open:
            self._said_open = found
            self.host.has_open(found)

    # -- requests

    async def ask(self, uri: str, question: Callable[[Asked], Reply]) -> Any:
        """The result of a question about an open text, or a file of a root; None where there is no index."""
        document = self.documents.get(uri)
        if document is None:
            document = await asyncio.get_running_loop().run_in_executor(None, self._closed, uri)
        if document is None or (root := await self.root_of(document)) is None:
            return None
        for other in list(self.documents.values()):
            # What another open text says counts for this one, so its root must be known, too.
            await self.root_of(other)
        result = await self._asked(document, root, question)
        if result is None and document.path.endswith((".py", ".pyi")):
            # What an extension or a script calls may be the framework's, in a tree of its own.
            beside = await self.configured()
            if beside is not None and beside.path != root.path:
                return await self._asked(document, beside, question)
        return result

    async def _asked(self, document: Document, root: OpenRoot, question: Callable[[Asked], Reply]) -> Any:
        documents = dict(self.documents)
        own = document.root is not None and document.root.path == root.path

        def asked(view: View) -> Reply:
            laid = overlays(view, root, documents.values())
            if document.is_outside and root.reader.language(document.path) not in ("", "python"):
                laid.append(document.overlay(root.reader))
            if own and document.packaged and not document.path.endswith((".py", ".pyi")):
                document.stands_for = document.stands_for or packaged_from(view, document.packaged)
            if document.stands_for:
                laid = [other for other in laid if other.path != document.stands_for]
                laid.append(document.overlay(root.reader))
            shown = overlaid(view, laid)
            places = Places(root, documents, self.encoding, self._lines, document)
            file = shown.file(document.stands_for or document.path) if own else None
            unsaved = frozenset(overlay.path for overlay in laid)
            return question(Asked(shown, root, document, file, places, unsaved))

        try:
            reply = await root.handle.ask(asked, PATIENCE)
        except NotReady:
            return None
        return reply.result

    async def ask_root(self, root: OpenRoot, question: Callable[[Asked], Reply]) -> Any:
        """The result of a question about a root as a whole."""
        document = Document("", "", None)
        document.root, document.path = root, "/"
        return await self._asked(document, root, question)

    async def at(
        self, uri: str, position: types.Position, question: Callable[[Asked, Meant], Reply | None]
    ) -> Any:
        """The result of a question about the name at a position; None where we know none there."""

        def asked(asked: Asked) -> Reply:
            meant = self.meant(asked, position)
            found = question(asked, meant) if meant is not None else None
            return found if found is not None else asked.reply(None)

        return await self.ask(uri, asked)

    def meant(self, asked: Asked, position: types.Position) -> Meant | None:
        """What the name at a position means."""
        document = asked.document
        line = position.line + 1
        if line > len(document.lines):
            return None
        column = to_bytes(document.line(line), position.character, self.encoding)
        spot = None
        if document.path.endswith((".py", ".pyi")):
            spot = asked.root.reader.spot(document.packaged or document.path, document.data, line, column)
            if spot is None:
                return None
        elif asked.file is None:
            return None
        meant = at(asked.view, asked.file, document.lines, line, column, spot, python=self.settings.python)
        if meant is not None and meant.evidence == "candidate" and not self.settings.candidates:
            return None
        return meant

    def origin(self, asked: Asked, meant: Meant) -> types.Range:
        """The range of the name that is asked about."""
        return asked.places.range(asked.document.path, meant.line, meant.column, meant.end)

    def _closed(self, uri: str) -> Document | None:
        """A file that is not open in the editor: only of a folder's own root."""
        path = os.path.realpath(path_of(uri) or "/")
        if not any(_is_in(path, root.path) for root in self.folders.values()):
            return None
        try:
            with open(path, "rb") as file:
                return Document(uri, file.read().decode("utf-8", "replace"), None)
        except OSError:
            return None

    # -- the end

    def start(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs something beside the requests until it is done, or the session ends."""
        task = asyncio.get_running_loop().create_task(cast(Any, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    def close(self) -> None:
        """Ends what runs."""
        self.documents.clear()
        self._say_open()
        for handle in self._pausing.values():
            handle.cancel()
        for task in [*self._tasks, *self._folders.values()]:
            task.cancel()


def _nothing(uri: str) -> None:
    """Before a server says otherwise."""


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
