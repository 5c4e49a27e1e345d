"""What stands beside the text: code lenses, inlay hints, links of yaml to the kernels."""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchtalkd.frontends.lsp.desk import Asked, Desk, Reply
from torchtalkd.queries.beside import Lens, bound_names, kernel_links, lenses

MOST: Final = 2_000
COMMAND: Final = "torchtalk.showOperator"
"""Of the client: shows an operator's chain. A client without it shows the lens as text."""


def add_to(server: LanguageServer, desk: Desk) -> None:
    """Adds the handlers."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensOptions(resolve_provider=False))
    async def lensed(params: types.CodeLensParams) -> Any:
        if not desk.settings.features.codeLens:
            return None

        def answered(asked: Asked) -> Reply:
            if asked.file is None:
                return asked.reply(None)
            found = lenses(asked.view, asked.file)[:MOST]
            return asked.reply([_lens(asked, lens) for lens in found] or None)

        return await desk.ask(params.text_document.uri, answered)

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def hinted(params: types.InlayHintParams) -> Any:
        if not desk.settings.features.inlayHint:
            return None
        first, last = params.range.start.line + 1, params.range.end.line + 1

        def answered(asked: Asked) -> Reply:
            if asked.file is None:
                return asked.reply(None)
            found = bound_names(asked.view, asked.file, first, last)[:MOST]
            hints = [
                types.InlayHint(
                    position=asked.places.range(asked.file.path, line, column, whole=True).end,
                    label=f" ⟶ {operator}",
                    padding_left=False,
                )
                for line, column, operator in found
            ]
            return asked.reply(hints or None)

        return await desk.ask(params.text_document.uri, answered)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def linked(params: types.DocumentLinkParams) -> Any:
        if not desk.settings.features.documentLink:
            return None

        def answered(asked: Asked) -> Reply:
            if asked.file is None:
                return asked.reply(None)
            found = [
                types.DocumentLink(
                    range=asked.places.range(asked.file.path, line, column),
                    target=f"{asked.places.uri(item.file)}#L{item.line}",
                    tooltip=item.symbol,
                )
                for line, column, item in kernel_links(asked.view, asked.file)
            ]
            return asked.reply(found or None)

        return await desk.ask(params.text_document.uri, answered)


def _lens(asked: Asked, lens: Lens) -> types.CodeLens:
    path = asked.document.path
    title = " · ".join(part for part in (lens.operator, " ".join(lens.keys), lens.more) if part)
    return types.CodeLens(
        range=asked.places.range(path, lens.line, lens.column),
        command=types.Command(title, COMMAND, arguments=[lens.operator]),
    )
