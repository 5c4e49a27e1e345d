"""From a name to its places: definition, declaration, implementation, references, hover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchtalkd.frontends.lsp.desk import Asked, Desk, Reply
from torchtalkd.frontends.lsp.hover import markdown, plain_text
from torchtalkd.queries.answers import Item
from torchtalkd.queries.card import card
from torchtalkd.queries.declaration import declaration
from torchtalkd.queries.definition import definition
from torchtalkd.queries.implementation import implementation
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.references import references
from torchtalkd.store.view import View

MOST_REFERENCES: Final = 1_000
"""For a client that takes no partial results; the nearest ones."""
_PAGE: Final = 1_000

Question = Callable[[View, Meant], list[Item]]
_Positioned = types.DefinitionParams | types.DeclarationParams | types.ImplementationParams


def add_to(server: LanguageServer, desk: Desk) -> None:
    """Adds the handlers."""

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def defined(params: types.DefinitionParams) -> Any:
        way = {"kernels": implementation, "yaml": declaration}.get(desk.settings.definition, definition)
        return await found(params, way, "definition")

    @server.feature(types.TEXT_DOCUMENT_DECLARATION)
    async def declared(params: types.DeclarationParams) -> Any:
        return await found(params, declaration, "declaration")

    @server.feature(types.TEXT_DOCUMENT_IMPLEMENTATION)
    async def implemented(params: types.ImplementationParams) -> Any:
        return await found(params, implementation, "implementation")

    async def found(params: _Positioned, question: Question, feature: str) -> Any:
        if not getattr(desk.settings.features, feature):
            return None
        links = takes_links(server, feature)

        def answered(asked: Asked, meant: Meant) -> Reply | None:
            items = question(asked.view, meant)
            if not items:
                return None
            places = asked.places.locations(items, desk.origin(asked, meant), links=links)
            return asked.reply(places, items)

        return await desk.at(params.text_document.uri, params.position, answered)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def referred(params: types.ReferenceParams) -> Any:
        if not desk.settings.features.references:
            return None
        paged = params.partial_result_token is not None
        declared_too = params.context.include_declaration

        def answered(asked: Asked, meant: Meant) -> Reply | None:
            limit = None if paged else MOST_REFERENCES
            near = asked.document.path
            found = references(asked.view, meant, near, declared=declared_too, limit=limit)
            places = [asked.places.location(item) for item in found.items]
            return asked.reply((places, found.total), found.items[:_PAGE]) if found.items else None

        reply = await desk.at(params.text_document.uri, params.position, answered)
        if reply is None:
            return None
        places, total = reply
        if paged:
            for start in range(0, len(places), _PAGE):
                value = types.ProgressParams(params.partial_result_token, places[start : start + _PAGE])  # type: ignore[arg-type]
                server.protocol.notify(types.PROGRESS, value)
            return []
        if total > len(places):
            said = f"{total} references: the nearest {len(places)} are shown"
            server.window_show_message(types.ShowMessageParams(types.MessageType.Info, said))
        return places

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> Any:
        if not desk.settings.features.hover:
            return None
        rich = takes_markdown(server)

        def answered(asked: Asked, meant: Meant) -> Reply | None:
            cards = card(asked.view, meant)
            if not cards:
                return None
            state = asked.root.handle.state()
            text = (markdown if rich else plain_text)(cards, asked.places, state)
            kind = types.MarkupKind.Markdown if rich else types.MarkupKind.PlainText
            items = [item for each in cards for item in (*each.rows, *([each.place] if each.place else ()))]
            return asked.reply(types.Hover(types.MarkupContent(kind, text), desk.origin(asked, meant)), items)

        return await desk.at(params.text_document.uri, params.position, answered)


def takes_links(server: LanguageServer, feature: str) -> bool:
    """Whether the client takes links, which know what they are links from."""
    capability = getattr(server.client_capabilities.text_document, feature, None)
    return bool(capability is not None and capability.link_support)


def takes_markdown(server: LanguageServer) -> bool:
    """Whether the client shows markdown; one that does not say shows text as it stands."""
    text_document = server.client_capabilities.text_document
    formats = text_document.hover.content_format if text_document and text_document.hover else None
    return types.MarkupKind.Markdown in (formats or ())
