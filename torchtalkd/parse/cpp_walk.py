"""One walk over a C++ tree: every match of the combined query, in document order.

The query does the walking (walking nodes in Python costs many times that). What a match
means depends on where it stands, so a stack of scopes is kept: namespaces, classes, function
bodies, library blocks. Definitions are read by `cpp_definitions`, calls that are more than
plain calls by `cpp_calls`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import tree_sitter_cpp
import tree_sitter_cuda
from tree_sitter import Language, Node, Query, QueryCursor

from torchtalkd.facts import Reference, ReferenceKind
from torchtalkd.parse import cpp_definitions
from torchtalkd.parse.collector import Collector, Scope
from torchtalkd.parse.cpp_calls import METHODS, binding_method, not_plain, understood
from torchtalkd.parse.cpp_definitions import Captures
from torchtalkd.parse.query_text import query_text

CPP: Final = Language(tree_sitter_cpp.language())
CUDA: Final = Language(tree_sitter_cuda.language())
LANGUAGES: Final = {"cpp": CPP, "cuda": CUDA}
_QUERIES: Final = {
    "cpp": Query(CPP, query_text("cpp")),
    "cuda": Query(CUDA, query_text("cpp") + query_text("cuda")),
}
_FAR: Final = 1 << 62

Chunk = tuple[int, Scope, tuple[int, int] | None, str]
"""A piece of a text: (offset, scope, place, macro); see `walk`."""

_CALL: Final = 6
_METHOD: Final = 7
_LAUNCH: Final = 17
"""Positions of patterns in queries/cpp.scm, and of the one of cuda.scm behind them."""
_HANDLERS: Final[dict[int, Callable[[Collector, Scope, Captures], Scope | None]]] = {
    0: cpp_definitions.namespace,
    1: cpp_definitions.function,
    2: cpp_definitions.class_,
    3: cpp_definitions.class_,
    4: cpp_definitions.declaration,
    5: cpp_definitions.declaration,
    8: cpp_definitions.address,
    9: cpp_definitions.construction,
    10: cpp_definitions.construction,
    11: cpp_definitions.table,
    12: cpp_definitions.function,
    13: cpp_definitions.default_construction,
    14: cpp_definitions.initializer,
    15: cpp_definitions.namespace_alias,
    16: cpp_definitions.call_with_call,
}


def walk(collector: Collector, root: Node, grammar: str, chunks: Sequence[Chunk] = ()) -> None:
    """Add the facts of a tree to the collector.

    `chunks`, for text put together from pieces: (offset, scope, place, macro) of each, by offset.
    What an expanded macro makes has the one place of its use; a piece of the file itself has none.
    """
    stack = [Scope(_FAR, "")]
    end = _FAR
    launches: set[int] = set()
    next_chunk, boundary = 0, chunks[0][0] if chunks else _FAR
    references, data, fixed = collector.references, collector.data, collector.fixed
    callees, append, make = collector.spelling.callees, references.append, tuple.__new__
    matches = QueryCursor(_QUERIES[grammar]).matches(root)
    matches.reverse()
    while matches:
        # Taken out one by one: what is freed while it is still in a cache costs less.
        pattern, captures = matches.pop()
        is_method = pattern == _METHOD
        plain_use = is_method or pattern == _CALL
        node = (captures["n"] if plain_use else captures.get("s") or captures["n"])[0]
        start = node.start_byte
        while start >= boundary:
            _, scope, fixed, collector.macro = chunks[next_chunk]
            collector.fixed = fixed
            stack, end = [scope], scope.end
            next_chunk += 1
            boundary = chunks[next_chunk][0] if next_chunk < len(chunks) else _FAR
        while start >= end:
            stack.pop()
            end = stack[-1].end
        scope = stack[-1]
        if not plain_use:
            if pattern == _LAUNCH:
                launches.add(start)
                continue
            opened = _HANDLERS[pattern](collector, scope, captures)
            if opened is not None:
                stack.append(opened)
                end = opened.end
            continue
        raw = data[start : node.end_byte]
        key, name, plain, member = callees.get(raw) or understood(collector, raw)
        count = -1
        kind: ReferenceKind = "call"
        if is_method:
            if name in METHODS and binding_method(collector, scope, node, name):
                continue
            key, kind = member, "method"
            count = captures["a"][0].named_child_count
        elif plain and start not in launches:
            count = captures["a"][0].named_child_count
        else:
            not_plain(collector, scope, key, name, start, captures["a"][0], launches)
            continue
        if fixed is not None:
            line, column = fixed
        else:
            row, column = node.start_point
            line = row + 1
        append(make(Reference, (key, name, kind, line, column, scope.ordinal, count)))
