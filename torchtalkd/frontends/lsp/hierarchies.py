"""Call hierarchy across the languages, type hierarchy of modules and classes.

An item of the client carries what finds its subject again in a later revision: the operator's
name, or the place and the name of a definition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchtalkd.facts import FiledDefinition
from torchtalkd.frontends.lsp.desk import Asked, Desk, Reply
from torchtalkd.frontends.lsp.symbols import symbol_kind
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.calls import Call, Node, incoming, nodes, outgoing
from torchtalkd.queries.class_tree import classes, subtypes, supertypes
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.named_again import named_again
from torchtalkd.store.view import View


def add_to(server: LanguageServer, desk: Desk) -> None:
    """Adds the handlers."""

    @server.feature(types.TEXT_DOCUMENT_PREPARE_CALL_HIERARCHY)
    async def prepared(params: types.CallHierarchyPrepareParams) -> Any:
        if not desk.settings.features.callHierarchy:
            return None

        def answered(asked: Asked, meant: Meant) -> Reply | None:
            found = nodes(asked.view, meant)
            items = [node.item for node in found]
            return asked.reply([_item(asked, node, "") for node in found], items) if found else None

        return await desk.at(params.text_document.uri, params.position, answered)

    @server.feature(types.CALL_HIERARCHY_INCOMING_CALLS)
    async def came(params: types.CallHierarchyIncomingCallsParams) -> Any:
        return await calls(params.item, incoming, came=True)

    @server.feature(types.CALL_HIERARCHY_OUTGOING_CALLS)
    async def went(params: types.CallHierarchyOutgoingCallsParams) -> Any:
        return await calls(params.item, outgoing, came=False)

    async def calls(
        item: types.CallHierarchyItem, question: Callable[[View, Subject], list[Call]], *, came: bool
    ) -> Any:
        def answered(asked: Asked) -> Reply:
            subject = _subject(asked.view, item.data)
            found = question(asked.view, subject) if subject is not None else []
            own = item.data.get("file", "") if isinstance(item.data, dict) else ""
            made = [_call(asked, call, own, came=came) for call in found]
            return asked.reply(made, [call.node.item for call in found])

        return await desk.ask(item.uri, answered)

    @server.feature(types.TEXT_DOCUMENT_PREPARE_TYPE_HIERARCHY)
    async def prepared_types(params: types.TypeHierarchyPrepareParams) -> Any:
        if not desk.settings.features.typeHierarchy:
            return None

        def answered(asked: Asked, meant: Meant) -> Reply | None:
            found = classes(asked.view, meant)
            return asked.reply([_type(asked, d) for d in found]) if found else None

        return await desk.at(params.text_document.uri, params.position, answered)

    @server.feature(types.TYPE_HIERARCHY_SUPERTYPES)
    async def above(params: types.TypeHierarchySupertypesParams) -> Any:
        return await relatives(params.item, supertypes)

    @server.feature(types.TYPE_HIERARCHY_SUBTYPES)
    async def below(params: types.TypeHierarchySubtypesParams) -> Any:
        return await relatives(params.item, subtypes)

    async def relatives(
        item: types.TypeHierarchyItem, question: Callable[[View, FiledDefinition], list[FiledDefinition]]
    ) -> Any:
        def answered(asked: Asked) -> Reply:
            subject = _subject(asked.view, item.data)
            own = [d for n in subject.ids if (d := asked.view.definition(n))] if subject else []
            found = {d.id: d for each in own for d in question(asked.view, each)}
            return asked.reply([_type(asked, d) for d in found.values()])

        return await desk.ask(item.uri, answered)


def _subject(view: View, data: Any) -> Subject | None:
    if not isinstance(data, dict):
        return None
    values = {name: data.get(name) for name in ("kind", "name", "file", "line")}
    texts = all(isinstance(values[name], str) for name in ("kind", "name", "file"))
    if not texts or not isinstance(values["line"], int):
        return None
    return named_again(
        view, str(values["kind"]), str(values["name"]), str(values["file"]), int(values["line"])
    )


def _item(asked: Asked, node: Node, hop: str) -> types.CallHierarchyItem:
    item, subject = node.item, node.subject
    name = asked.places.range(item.file, item.line, item.column)
    last = max(node.end_line, item.line)
    end = types.Position(last - 1, 0) if last > item.line else name.end
    if subject.kind == "operator":
        detail, kind = item.signature, types.SymbolKind.Operator
    else:
        detail = item.file
        kind = types.SymbolKind.Class if item.kind == "class" else types.SymbolKind.Function
    return types.CallHierarchyItem(
        name=subject.name if subject.kind == "operator" else item.symbol,
        kind=kind,
        uri=asked.places.uri(item.file),
        range=types.Range(name.start, end),
        selection_range=name,
        detail=hop or detail or None,
        data={"kind": subject.kind, "name": subject.name, "file": item.file, "line": item.line},
    )


def _call(asked: Asked, call: Call, own: str, *, came: bool) -> Any:
    other = _item(asked, call.node, call.hop)
    # Ranges are of the caller's text; a site elsewhere (a registration) has none there.
    caller = call.node.item.file if came else own
    sites = [site for site in call.sites if site.file == caller]
    ranges = [_site(asked, site) for site in sites]
    if came:
        return types.CallHierarchyIncomingCall(other, ranges or [other.selection_range])
    return types.CallHierarchyOutgoingCall(other, ranges)


def _site(asked: Asked, site: Item) -> types.Range:
    return asked.places.range(site.file, site.line, site.column)


def _type(asked: Asked, definition: FiledDefinition) -> types.TypeHierarchyItem:
    fact, path = definition.fact, definition.file.path
    name = asked.places.range(path, fact.line, fact.column)
    end = types.Position(fact.end_line - 1, 0) if fact.end_line > fact.line else name.end
    return types.TypeHierarchyItem(
        name=fact.name,
        kind=symbol_kind(definition),
        uri=asked.places.uri(path),
        range=types.Range(name.start, end),
        selection_range=name,
        detail=path,
        data={"kind": "class", "name": fact.name, "file": path, "line": fact.line},
    )
