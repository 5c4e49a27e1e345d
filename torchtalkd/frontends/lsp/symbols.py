"""The names of a text as a tree, and the names of all roots that fit what somebody types."""

from __future__ import annotations

from typing import Any, Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.frontends.lsp.desk import Asked, Desk, Reply
from torchtalkd.frontends.lsp.places import Places
from torchtalkd.queries.symbols import symbols

MOST_SYMBOLS: Final = 128
MOST_OF_DOCUMENT: Final = 10_000

_KINDS: Final = {
    "operator": types.SymbolKind.Operator,
    "schema": types.SymbolKind.Operator,
    "registration": types.SymbolKind.Event,
    "python_binding": types.SymbolKind.Interface,
    "class": types.SymbolKind.Class,
    "autograd_function": types.SymbolKind.Class,
    "macro": types.SymbolKind.Constant,
    "library": types.SymbolKind.Namespace,
    "module": types.SymbolKind.Module,
    "stub": types.SymbolKind.Interface,
    "stub_kernel": types.SymbolKind.Event,
    "tag": types.SymbolKind.EnumMember,
    "derivative": types.SymbolKind.Operator,
    "variable": types.SymbolKind.Variable,
}
_LEFT_OUT: Final = frozenset(("macro_use", "module", "alias", "docs", "python_binding", "library"))


def symbol_kind(definition: FiledDefinition) -> types.SymbolKind:
    """The protocol's kind of a definition."""
    method = (definition.fact.detail or {}).get("method")
    if definition.fact.kind == "function" and method:
        return types.SymbolKind.Method
    return _KINDS.get(definition.fact.kind, types.SymbolKind.Function)


def add_to(server: LanguageServer, desk: Desk) -> None:
    """Adds the handlers."""

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def in_document(params: types.DocumentSymbolParams) -> Any:
        if not desk.settings.features.documentSymbol:
            return None
        text_document = server.client_capabilities.text_document
        capability = text_document.document_symbol if text_document else None
        nested = bool(capability and capability.hierarchical_document_symbol_support)

        def answered(asked: Asked) -> Reply:
            if asked.file is None or asked.file.language == "python":
                # A server for Python knows these; ours are the languages that few know.
                return asked.reply(None)
            found = [d for d in asked.view.definitions_in(asked.file) if _is_shown(d)][:MOST_OF_DOCUMENT]
            if not found:
                return asked.reply(None)
            return asked.reply(_tree(found, asked) if nested else _flat(found, asked))

        return await desk.ask(params.text_document.uri, answered)

    @server.feature(types.WORKSPACE_SYMBOL)
    async def in_workspace(params: types.WorkspaceSymbolParams) -> Any:
        if not desk.settings.features.workspaceSymbol:
            return None
        found: list[types.WorkspaceSymbol] = []

        def answered(asked: Asked) -> Reply:
            definitions = symbols(asked.view, params.query, MOST_SYMBOLS)
            return asked.reply([_symbol(d, asked.places) for d in definitions])

        for root in await desk.roots():
            found.extend(await desk.ask_root(root, answered) or ())
        return found or None


def _is_shown(definition: FiledDefinition) -> bool:
    fact = definition.fact
    hidden = fact.kind in _LEFT_OUT or (fact.detail or {}).get("implicit")
    return not hidden and not (fact.kind == "stub_kernel" and fact.convention == "native_functions")


def _detail(definition: FiledDefinition) -> str:
    fact = definition.fact
    return fact.dispatch_key or (fact.signature if len(fact.signature) <= 120 else fact.signature[:119] + "…")


def _shown_name(definition: FiledDefinition) -> str:
    fact = definition.fact
    if fact.kind == "registration":
        return f"{fact.dispatch_key or 'impl'}: {fact.name}"
    return fact.name or keys.last(fact.key)


def _symbol(definition: FiledDefinition, places: Places) -> types.WorkspaceSymbol:
    fact, path = definition.fact, definition.file.path
    where = types.Location(places.uri(path), places.range(path, fact.line, fact.column))
    return types.WorkspaceSymbol(
        location=where,
        name=_shown_name(definition),
        kind=symbol_kind(definition),
        container_name=_detail(definition) or None,
    )


def _tree(found: list[FiledDefinition], asked: Asked) -> list[types.DocumentSymbol]:
    top: list[types.DocumentSymbol] = []
    made: dict[int, types.DocumentSymbol] = {}
    for definition in sorted(found, key=lambda d: (d.fact.line, d.fact.column, d.id)):
        fact, path = definition.fact, definition.file.path
        name = asked.places.range(path, fact.line, fact.column)
        last = max(fact.end_line, fact.line)
        end = asked.places.range(path, last, len(asked.places.line(path, last)), 1 << 30).start
        whole = types.Range(types.Position(name.start.line, 0), max(end, name.end, key=_order))
        symbol = types.DocumentSymbol(
            name=_shown_name(definition),
            kind=symbol_kind(definition),
            range=whole,
            selection_range=name,
            detail=_detail(definition) or None,
            children=[],
        )
        made[definition.id] = symbol
        around = asked.view.scope(definition)
        parent = made.get(around.id) if around is not None else None
        # A child lies in its parent, or the client refuses them all.
        if parent is not None and _order(symbol.range.end) <= _order(parent.range.end):
            parent.children.append(symbol)  # type: ignore[union-attr]
        else:
            top.append(symbol)
    return top


def _order(position: types.Position) -> tuple[int, int]:
    return position.line, position.character


def _flat(found: list[FiledDefinition], asked: Asked) -> list[types.SymbolInformation]:
    return [
        types.SymbolInformation(
            location=types.Location(
                asked.places.uri(d.file.path), asked.places.range(d.file.path, d.fact.line, d.fact.column)
            ),
            name=_shown_name(d),
            kind=symbol_kind(d),
        )
        for d in found
    ]
