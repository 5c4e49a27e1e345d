"""Code in the arguments of macros that were lifted out of a text: `REGISTER_FUNCTOR(f, [](Node* n) { … })`.

The grammar has not seen it (see `cpp_uses`). Here it is read on its own, at its own place; what it calls
belongs to the use of the macro.
"""

from __future__ import annotations

from collections.abc import Sequence

from tree_sitter import Parser, Range

from torchtalkd.facts import ReferenceKind
from torchtalkd.parse.collector import Collector, Scope
from torchtalkd.parse.cpp_calls import CAPITALS
from torchtalkd.parse.cpp_uses import Use
from torchtalkd.parse.cpp_walk import LANGUAGES, walk


def read_lifted_code(collector: Collector, grammar: str, lifted: Sequence[Use]) -> None:
    """Add the references of the code in the arguments of lifted uses."""
    with_code = [use for use in lifted if _has_code(use)]
    if not with_code:
        return
    owners = {
        (definition.line, definition.column): ordinal
        for ordinal, definition in enumerate(collector.definitions)
        if definition.kind == "macro_use"
    }
    # Where something is known already: made once, as a generated file has hundreds of such uses.
    known = {(reference.line, reference.column, reference.kind) for reference in collector.references}
    for use in with_code:
        ordinal = owners.get(collector.text.place(use.offset), -1)
        # What a file's own macro makes is read where it is expanded.
        if ordinal >= 0 and use.name not in collector.macros:
            _read(collector, grammar, use, ordinal, known)


def _has_code(use: Use) -> bool:
    """What has a name in capitals and no braces is a list of names and types mostly."""
    marks = "{" if CAPITALS.match(use.name) else "({"
    return any(mark in text for text in use.arguments for mark in marks)


def _read(
    collector: Collector, grammar: str, use: Use, ordinal: int, known: set[tuple[int, int, ReferenceKind]]
) -> None:
    start = use.offset + len(use.name)
    first, last = collector.text.place(start), collector.text.place(use.end)
    stretches = [Range((first[0] - 1, first[1]), (last[0] - 1, last[1]), start, use.end)]
    semicolon = collector.source.find(b";", use.end)
    if semicolon >= 0:
        # Any semicolon behind makes a statement of it: to make up for a missing one takes the grammar longer.
        row, column = collector.text.place(semicolon)
        stretches.append(Range((row - 1, column), (row - 1, column + 1), semicolon, semicolon + 1))
    text = collector.text.with_data(collector.source)
    reading = Collector(
        collector.path, collector.language, text, collector.spelling, collector.directives, collector.macros
    )
    around = collector.scope_at(use.offset)
    scope = Scope(use.end, around.prefix, ordinal, body=True, local=around.local)
    tree = Parser(LANGUAGES[grammar], included_ranges=stretches).parse(collector.source)
    walk(reading, tree.root_node, grammar, [(start, scope, None, "")])
    new = [r for r in reading.references if (r.line, r.column, r.kind) not in known]
    known.update((r.line, r.column, r.kind) for r in new)
    collector.references.extend(reference._replace(owner=ordinal) for reference in new)
