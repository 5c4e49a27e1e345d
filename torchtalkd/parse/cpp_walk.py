"""One walk over a C++ tree: every match of the combined query, in document order.

The query does the walking (walking nodes in Python costs many times that). What a match
means depends on where it stands, so a stack of scopes is kept: namespaces, classes, function
bodies, library blocks. Names that a manifest gives a shape go to `torchtalkd.parse.shapes`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Final

import tree_sitter_cpp
import tree_sitter_cuda
from tree_sitter import Language, Node, Query, QueryCursor

from torchtalkd import keys
from torchtalkd.facts import Reference
from torchtalkd.parse.collector import Collector, MacroUse, Scope
from torchtalkd.parse.cpp_names import STATEMENTS, Declarator, declarator, result_type
from torchtalkd.parse.shapes import (
    dispatch_stub,
    macro_use,
    method_table,
    pybind11,
    register_operators,
    structured,
    torch_library,
)

CPP: Final = Language(tree_sitter_cpp.language())
CUDA: Final = Language(tree_sitter_cuda.language())
_CPP_PATTERNS = files(__package__).joinpath("queries/cpp.scm").read_text()
_CUDA_PATTERNS = files(__package__).joinpath("queries/cuda.scm").read_text()
_QUERIES: Final = {
    "cpp": Query(CPP, _CPP_PATTERNS),
    "cuda": Query(CUDA, _CPP_PATTERNS + _CUDA_PATTERNS),
}
Captures = dict[str, list[Node]]

_UPPER = re.compile(r"[A-Z][A-Z0-9_]+$")
_HEAD_STATIC = re.compile(rb"\bstatic\b")
_AUTOGRAD_BASE = re.compile(r"\bFunction<\s*(?:\w+::)*(\w+)")
_STATEMENT_PARENTS = frozenset({"expression_statement", "ERROR", "translation_unit", "declaration_list"})
"""What a use that can define something stands in directly; another use is part of an expression."""
_FAR = 1 << 62
_CPP_SPACE: Final = keys.cpp("")
"""Put before a plain name, it is what `keys.cpp` gives; the call would double the cost of a method call."""


Chunk = tuple[int, Scope, tuple[int, int] | None, str]


def walk(collector: Collector, root: Node, grammar: str, chunks: Sequence[Chunk] = ()) -> None:
    """Add the facts of a tree to the collector.

    `chunks`, for text put together from pieces: (offset, scope, place, macro) of each, by offset.
    What an expanded macro makes has the one place of its use; a piece of the file itself has none.
    """
    stack = [Scope(_FAR, "")]
    launches: set[int] = set()
    next_chunk, boundary = 0, chunks[0][0] if chunks else _FAR
    references, data, starts, fixed = (
        collector.references,
        collector.data,
        collector.text.line_starts,
        collector.fixed,
    )
    for pattern, captures in QueryCursor(_QUERIES[grammar]).matches(root):
        named = captures.get("scope") or captures["name"]
        start = named[0].start_byte
        while start >= boundary:
            _, scope, fixed, collector.macro = chunks[next_chunk]
            collector.fixed = fixed
            stack = [scope]
            next_chunk += 1
            boundary = chunks[next_chunk][0] if next_chunk < len(chunks) else _FAR
        while start >= stack[-1].end:
            stack.pop()
        scope = stack[-1]
        if pattern == _METHOD:
            name = data[start : named[0].end_byte].decode("utf-8", "replace")
            if "<" in name:
                name = keys.without_template_arguments(name)
            arguments = captures["arguments"][0]
            reader = _METHODS.get(name)
            if reader is not None and reader(collector, scope, _call_of(arguments), name, arguments):
                continue
            if fixed is not None:
                line, column = fixed
            else:
                line = bisect_right(starts, start)
                column = start - starts[line - 1]
            references.append(
                Reference(
                    "cpp:" + name, name, "method", line, column, scope.ordinal, arguments.named_child_count
                )
            )
        elif pattern == _CALL:
            _call(collector, scope, named[0], start, captures, launches)
        elif pattern == _LAUNCH:
            launches.add(start)
        else:
            opened = _HANDLERS[pattern](collector, scope, captures)
            if opened is not None:
                stack.append(opened)


_CALL: Final = 6
_METHOD: Final = 7
_LAUNCH: Final = 13


def _call(
    collector: Collector, scope: Scope, node: Node, start: int, captures: Captures, launches: set[int]
) -> None:
    name = collector.data[start : node.end_byte].decode("utf-8", "replace")
    if "<" in name:
        name = keys.without_template_arguments(name)
    arguments = captures["arguments"][0]
    count = arguments.named_child_count
    if start in launches:
        collector.refer("launch", keys.cpp(name), name, start, scope.ordinal, count)
        return
    spelling = collector.spelling
    if _UPPER.match(name):
        at_file_scope = not scope.body or scope.library is not None
        if at_file_scope and _file_scope_macro(collector, scope, name, _call_of(arguments), arguments):
            return
        if name.startswith(spelling.dispatch_macros):
            _dispatch_name(collector, scope, arguments)
        collector.refer("macro", keys.macro(name), name, start, scope.ordinal, count)
        return
    if name in spelling.launchers:
        collector.refer("launch", keys.cpp(name), name, start, scope.ordinal, count)
        return
    key = keys.cpp(name)
    shape = spelling.shapes.get(key[4:])
    if shape is not None:
        if shape.shape == "register_operators":
            register_operators.constructor(collector, scope, arguments)
            return
        if shape.shape == "pybind11":
            pybind11.constructor(collector, scope, _call_of(arguments), arguments)
            return
    collector.refer("call", key, name, start, scope.ordinal, count)


def _file_scope_macro(collector: Collector, scope: Scope, name: str, call: Node, arguments: Node) -> bool:
    """A macro used where it can define something. True when it was read as a binding."""
    parent = call.parent
    if parent is not None and parent.type not in _STATEMENT_PARENTS:
        return False
    spelling = collector.spelling
    collector.macro_offsets.add(call.start_byte)
    shape = spelling.shapes.get(name)
    if shape is not None and shape.shape == "dispatch_stub":
        dispatch_stub.read(collector, scope, shape, call, arguments)
        return True
    if name in collector.macros:
        collector.uses.append(_use(collector, scope, name, call, call.end_byte, 0))
        return False
    if not spelling.makes_nothing(name):
        macro_use.read(collector, scope, name, call, arguments)
    return False


def _use(collector: Collector, scope: Scope, name: str, node: Node, end: int, body_owner: int) -> MacroUse:
    text = collector.data[node.start_byte : end].decode("utf-8", "replace")
    return MacroUse(
        text,
        node.start_byte,
        scope.prefix,
        scope.ordinal,
        scope.local,
        scope.library,
        name,
        body_owner,
        node.end_byte,
    )


def _dispatch_name(collector: Collector, scope: Scope, arguments: Node) -> None:
    for argument in arguments.named_children[:6]:
        if argument.type == "string_literal":
            text = collector.slice(argument)[1:-1]
            collector.refer("dispatch_name", keys.cpp(text), text, argument.start_byte, scope.ordinal)
            return


def _call_of(arguments: Node) -> Node:
    """The call expression that an argument list belongs to."""
    call = arguments.parent
    assert call is not None, "the query matches argument lists inside calls"
    return call


def _binding_method(collector: Collector, scope: Scope, call: Node, name: str, arguments: Node) -> bool:
    """A method that binds a name, on a library, a pybind module or class, or RegisterOperators."""
    return (
        torch_library.method(collector, scope, call, name, arguments)
        or register_operators.method(collector, scope, call, name, arguments)
        or pybind11.method(collector, scope, call, name, arguments)
    )


_METHODS: Final[dict[str, Callable[[Collector, Scope, Node, str, Node], bool]]] = dict.fromkeys(
    (*torch_library.METHODS, *register_operators.METHODS, *pybind11.METHODS), _binding_method
)


def _namespace(collector: Collector, scope: Scope, captures: Captures) -> Scope:
    node = captures["scope"][0]
    named = node.child_by_field_name("name")
    name = "".join(collector.slice(named).split()) if named is not None else ""
    prefix, local = scope.prefix, scope.local or not name
    # `inline namespace CPU_CAPABILITY`: the compiler's flags name it, no text refers to it.
    unnamed = _UPPER.match(name) and collector.data.startswith(b"inline", node.start_byte)
    if name and not unnamed:
        prefix = f"{prefix}{name}::"
    return _noted(collector, node, Scope(node.end_byte, prefix, scope.ordinal, local=local))


def _noted(collector: Collector, node: Node, scope: Scope) -> Scope:
    """Keep a scope that is no function's, for what is found in the text afterwards."""
    collector.scopes.append((node.start_byte, scope))
    return scope


def _class(collector: Collector, scope: Scope, captures: Captures) -> Scope:
    node, named = captures["scope"][0], captures["name"][0]
    name = "".join(collector.slice(named).split())
    if "<" in name:
        name = keys.without_template_arguments(name)
    full = scope.prefix + name
    ordinal = collector.define(
        "class", keys.cpp(name), full, named.start_byte, node.end_byte, scope=scope.ordinal, local=scope.local
    )
    bases = next((child for child in node.children if child.type == "base_class_clause"), None)
    if bases is not None:
        for base in bases.named_children:
            if base.type not in ("access_specifier", "comment"):
                text = collector.slice(base)
                written = keys.without_template_arguments(text)
                collector.refer("base", keys.cpp(written), written, base.start_byte, ordinal)
                match = _AUTOGRAD_BASE.search(text)
                if match and match.group(1) == keys.cpp_last(name):
                    collector.define(
                        "autograd_function",
                        keys.cpp(name),
                        full,
                        named.start_byte,
                        node.end_byte,
                        scope=scope.ordinal,
                        convention="autograd_function",
                    )
    inner = Scope(node.end_byte, full + "::", ordinal, scope.body, inside_class=True, local=scope.local)
    return _noted(collector, node, inner)


def _function(collector: Collector, scope: Scope, captures: Captures) -> Scope | None:
    node = captures["scope"][0]
    body = node.child_by_field_name("body")
    if node.type == "declaration":
        # A body whose last statement lacks its semicolon reads as an initialiser.
        if scope.body:
            return None
        body = node
    found = declarator(captures["declarator"][0], collector.data)
    if found is None:
        return None
    head = collector.data[node.start_byte : captures["declarator"][0].start_byte]
    if found.macro_arguments is not None or (_UPPER.match(found.name) and not head.strip()):
        opened = _macro_head(collector, scope, node, found)
        if opened is not None:
            return opened
    if body is None and not any(child.type == "try_statement" for child in node.children):
        return None  # = default, = delete
    if found.name in STATEMENTS or found.macro_arguments is not None:
        return None
    text = head.decode("utf-8", "replace")
    kernel = "__global__" in text or node.start_byte in collector.metal_kernels
    full = scope.prefix + found.name.removeprefix("::") if not found.name.startswith("::") else found.name[2:]
    ordinal = collector.define(
        "kernel" if kernel else "function",
        keys.cpp(found.name),
        full,
        found.offset,
        node.end_byte,
        scope=scope.ordinal,
        local=scope.local or (not scope.inside_class and _HEAD_STATIC.search(head) is not None),
        signature=_signature(found, text),
        detail={"method": True} if scope.inside_class else None,
    )
    prefix = full.rpartition("::")[0]
    opened = Scope(node.end_byte, f"{prefix}::" if prefix else "", ordinal, True, local=scope.local)
    pybind11.parameters(collector, opened, found.parameters)
    torch_library.parameters(opened, found.parameters)
    return opened


def _signature(found: Declarator, before: str) -> str:
    if "->" in found.parameters:
        return found.parameters
    kind = result_type(before)
    # The declarator's own & and * stand before the name.
    return f"{found.parameters} -> {kind}" if kind else found.parameters


def _macro_head(collector: Collector, scope: Scope, node: Node, found: Declarator) -> Scope | None:
    """`NAME(arguments) {…}` or `NAME(arguments)(parameters) {…}`: a macro makes the head."""
    spelling = collector.spelling
    collector.macro_offsets.add(node.start_byte)
    shape = spelling.shapes.get(found.name)
    if shape is not None:
        if shape.shape == "structured":
            return structured.read(collector, scope, shape, node, found)
        if shape.shape == "torch_library":
            opened = torch_library.block(collector, scope, shape, node, found.head)
            return _noted(collector, node, opened) if opened is not None else None
        if shape.shape == "pybind11":
            return pybind11.module(collector, scope, node, found.head)
        return None
    body = node.child_by_field_name("body")
    if found.name in collector.macros and not scope.body:
        owner = -(len(collector.uses) + 10)
        end = body.start_byte if body is not None else node.end_byte
        collector.uses.append(_use(collector, scope, found.name, node, end, owner))
        return Scope(node.end_byte, scope.prefix, owner, True, local=scope.local)
    if scope.body or spelling.makes_nothing(found.name):
        return None
    ordinal = macro_use.read(collector, scope, found.name, node, found.head)
    return Scope(node.end_byte, scope.prefix, ordinal, True, local=scope.local)


def _declaration(collector: Collector, scope: Scope, captures: Captures) -> Scope | None:
    if scope.body:
        return None
    node, outer = captures["scope"][0], captures["declarator"][0]
    found = declarator(outer, collector.data)
    if found is None or found.name in STATEMENTS or found.macro_arguments is not None:
        return None
    head = collector.data[node.start_byte : outer.start_byte]
    if _UPPER.match(found.name) and not head.strip():
        if found.name in collector.macros:
            collector.macro_offsets.add(node.start_byte)
            collector.uses.append(_use(collector, scope, found.name, node, node.end_byte, 0))
        return None
    text = head.decode("utf-8", "replace")
    collector.define(
        "kernel" if "__global__" in text else "function",
        keys.cpp(found.name),
        scope.prefix + found.name,
        found.offset,
        node.end_byte,
        scope=scope.ordinal,
        declares=True,
        local=scope.local or (not scope.inside_class and _HEAD_STATIC.search(head) is not None),
        signature=_signature(found, text),
        detail={"method": True} if scope.inside_class else None,
    )
    return None


def _address(collector: Collector, scope: Scope, captures: Captures) -> None:
    node = captures["name"][0]
    name = keys.without_template_arguments(collector.slice(node))
    collector.refer("address", keys.cpp(name), name, node.start_byte, scope.ordinal)


def _construction(collector: Collector, scope: Scope, captures: Captures) -> None:
    node, arguments = captures["name"][0], captures["arguments"][0]
    name = keys.without_template_arguments(collector.slice(node))
    shape = collector.spelling.shapes.get(name.rpartition("::")[2])
    if shape is not None and shape.shape == "register_operators":
        register_operators.constructor(collector, scope, arguments)
    elif shape is not None and shape.shape == "pybind11" and "declarator" in captures:
        pybind11.constructor(collector, scope, captures["scope"][0], arguments, captures["declarator"][0])
    else:
        collector.refer(
            "call", keys.cpp(name), name, node.start_byte, scope.ordinal, arguments.named_child_count
        )


def _table(collector: Collector, scope: Scope, captures: Captures) -> None:
    method_table.read(collector, scope, captures["name"][0], captures["arguments"][0])


_HANDLERS: Final[dict[int, Callable[[Collector, Scope, Captures], Scope | None]]] = {
    0: _namespace,
    1: _function,
    2: _class,
    3: _class,
    4: _declaration,
    5: _declaration,
    8: _address,
    9: _construction,
    10: _construction,
    11: _table,
    12: _function,
}
