"""The server of one connection: what it can do, and its texts.

The texts are ours, not pygls': they are kept as lines of bytes, and a keystroke costs what it
changes. Each group of requests adds its handlers (`navigation`, `symbols`, `hierarchies`, …).
"""

from __future__ import annotations

import asyncio
import functools
from typing import Any, Final, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.protocol.language_server import lsp_method

from torchtalkd import __version__
from torchtalkd.columns import Change, Encoding
from torchtalkd.frontends.lsp import hierarchies, hints, navigation, outside, problems, progress, symbols
from torchtalkd.frontends.lsp.desk import Desk
from torchtalkd.frontends.lsp.documents import uri_of
from torchtalkd.frontends.lsp.settings import settings_of


class _Protocol(LanguageServerProtocol):
    """pygls' protocol with the editor's texts where we keep them."""

    desk: Desk

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        opened = params.text_document
        self.desk.open_document(opened.uri, opened.text, opened.version)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = self.desk.documents.get(params.text_document.uri)
        if document is None:
            return
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                first, last = change.range.start, change.range.end
                piece = Change(first.line, first.character, last.line, last.character, change.text)
                document.change(piece, self.desk.encoding)
            else:
                document.change(change.text, self.desk.encoding)
        document.version = params.text_document.version
        self.desk.pause(document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self.desk.close_document(params.text_document.uri)


class _Server(LanguageServer):
    def report_server_error(self, error: Exception, source: Any) -> None:
        """A failure belongs into the log; a window in front of the user helps nobody."""


@functools.cache
def _converter() -> Any:
    """Made once: it takes longer than all the rest of a connection's start."""
    return default_converter()  # type: ignore[no-untyped-call]


def build_server(desk: Desk, note: str = "") -> LanguageServer:
    """The server for one connection; `note` is shown to the user once."""
    server = _Server(
        "torchtalkd",
        __version__,
        protocol_cls=_Protocol,
        converter_factory=_converter,
        text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
    )
    protocol = server.protocol
    assert isinstance(protocol, _Protocol)
    protocol.desk = desk

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        chosen = server.workspace.position_encoding
        desk.encoding = cast(Encoding, getattr(chosen, "value", chosen))
        desk.settings, _ = settings_of(params.initialization_options)
        folders = [folder.uri for folder in params.workspace_folders or ()]
        if not folders and (params.root_uri or params.root_path):
            folders = [params.root_uri or uri_of(params.root_path or "/")]
        for uri in folders:
            desk.open_folder(uri)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        if note:
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, note))
        await _read_configuration(server, desk)
        desk.start(progress.report(server, desk))

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configured(params: types.DidChangeConfigurationParams) -> None:
        if not await _read_configuration(server, desk):
            desk.settings, wrong = settings_of(_plain(params.settings), desk.settings)
            _tell(server, wrong)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders_changed(params: types.DidChangeWorkspaceFoldersParams) -> None:
        for folder in params.event.removed:
            desk.close_folder(folder.uri)
        for folder in params.event.added:
            desk.open_folder(folder.uri)

    for group in (navigation, symbols, hierarchies, hints, problems, outside):
        group.add_to(server, desk)
    return server


_SECTION: Final = "torchtalk"
CONFIGURATION_SECONDS: Final = 5.0
"""For a client to answer what its configuration is."""


async def _read_configuration(server: LanguageServer, desk: Desk) -> bool:
    """Asks the client for its settings; whether it has any to say."""
    workspace = server.client_capabilities.workspace
    if workspace is None or not workspace.configuration:
        return False
    asked = types.ConfigurationParams([types.ConfigurationItem(section=_SECTION)])
    try:
        async with asyncio.timeout(CONFIGURATION_SECONDS):
            found = await server.workspace_configuration_async(asked)
    except (TimeoutError, JsonRpcException):
        # It said that it can, and does not: the options of the start stay.
        return False
    value = _plain(found[0]) if found else None
    desk.settings, wrong = settings_of(value, desk.settings)
    _tell(server, wrong)
    return isinstance(value, dict)


def _tell(server: LanguageServer, wrong: list[str]) -> None:
    for sentence in wrong:
        server.window_show_message(types.ShowMessageParams(types.MessageType.Warning, sentence))


def _plain(value: Any) -> Any:
    """A value of JSON, where pygls has made named tuples of its objects."""
    if hasattr(value, "_asdict"):
        return {name: _plain(inner) for name, inner in value._asdict().items()}
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value
