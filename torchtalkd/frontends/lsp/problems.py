"""Diagnostics: what is certainly broken, and what of a yaml file could not be read.

A client that asks for them gets them when it asks; any other is sent them when it opens a text and
when the writing pauses.
"""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchtalkd.frontends.lsp.desk import Asked, Desk, Reply
from torchtalkd.queries.broken import broken

SOURCE: Final = "torchtalk"
MOST: Final = 500


def add_to(server: LanguageServer, desk: Desk) -> None:
    """Adds the handlers."""

    @server.feature(
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE),
    )
    async def asked_for(params: types.DocumentDiagnosticParams) -> Any:
        found = await desk.ask(params.text_document.uri, _found) if desk.settings.features.diagnostics else []
        return types.RelatedFullDocumentDiagnosticReport(items=found or [])

    async def sent(uri: str) -> None:
        if pulls(server) or not desk.settings.features.diagnostics:
            return
        document = desk.documents.get(uri)
        version = document.version if document is not None else None
        found = await desk.ask(uri, _found) or []
        if uri in desk.documents:
            server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    desk.after_pause = lambda uri: desk.start(sent(uri))


def pulls(server: LanguageServer) -> bool:
    """Whether the client asks for diagnostics itself."""
    text_document = server.client_capabilities.text_document
    return text_document is not None and text_document.diagnostic is not None


def _found(asked: Asked) -> Reply:
    if asked.file is None:
        return asked.reply([])
    found = [
        types.Diagnostic(
            range=asked.places.range(asked.file.path, one.line, one.column),
            message=one.message,
            severity=types.DiagnosticSeverity.Error,
            code=one.code,
            source=SOURCE,
        )
        for one in broken(asked.view, asked.file)[:MOST]
    ]
    return asked.reply(found)
