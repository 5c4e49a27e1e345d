"""Definitions in a C++ text: namespaces, classes, functions, declarations, method tables.

One handler for each kind of match; a handler returns the scope that it opens, if any. Names
that a manifest gives a shape go to `torchtalkd.parse.shapes`.
"""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse.collector import Collector, Scope
from torchtalkd.parse.cpp_calls import CAPITALS, called, named, use_of
from torchtalkd.parse.cpp_lone_uses import is_member
from torchtalkd.parse.cpp_names import STATEMENTS, Declarator, declarator, head
from torchtalkd.parse.macros import arguments as split_arguments
from torchtalkd.parse.macros import substitute
from torchtalkd.parse.shapes import (
    gtest,
    macro_use,
    method_table,
    pybind11,
    register_operators,
    structured,
    torch_library,
)

Captures = dict[str, list[Node]]

_AUTOGRAD_BASE: Final = re.compile(r"\bFunction<\s*(?:\w+::)*(\w+)")


def namespace(collector: Collector, scope: Scope, captures: Captures) -> Scope:
    """A namespace; one in capitals leaves no trace in names."""
    node = captures["s"][0]
    named = node.child_by_field_name("name")
    name = "".join(collector.slice(named).split()) if named is not None else ""
    prefix, local = scope.prefix, scope.local or not name
    # `inline namespace CPU_CAPABILITY`: the compiler's flags name it, no text refers to it.
    unnamed = CAPITALS.match(name) and collector.data.startswith(b"inline", node.start_byte)
    if name and not unnamed:
        prefix = f"{prefix}{name}::"
    return _noted(collector, node, Scope(node.end_byte, prefix, scope.ordinal, local=local))


def _noted(collector: Collector, node: Node, scope: Scope) -> Scope:
    """Keep a scope that is no function's, for what is found in the text afterwards."""
    collector.scopes.append((node.start_byte, scope))
    return scope


def class_(collector: Collector, scope: Scope, captures: Captures) -> Scope:
    """A class or struct with a body."""
    node, named = captures["s"][0], captures["n"][0]
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


def function(collector: Collector, scope: Scope, captures: Captures) -> Scope | None:
    """A function with a body, or what a macro makes of one."""
    node = captures["s"][0]
    body = node.child_by_field_name("body")
    if node.type == "declaration":
        # A body whose last statement lacks its semicolon reads as an initialiser.
        if scope.body:
            return None
        body = node
    outer = captures["d"][0]
    found = declarator(outer, collector.data)
    if found is None:
        return None
    before = collector.data[node.start_byte : outer.start_byte]
    bare = not before or before.isspace()
    if found.macro_arguments is not None or (bare and _is_macro(collector, scope, found, node)):
        opened = _macro_head(collector, scope, node, found)
        if opened is not None:
            return _with_body(collector, body, opened)
    if scope.body and not scope.inside_class and bare:
        # `f<T>(x, typename T::U{});` reads like a definition, as does a loop made by a macro.
        called(collector, scope, found.name, found.offset)
        return None
    if body is None and not any(child.type == "try_statement" for child in node.children):
        return None  # = default, = delete
    if found.name in STATEMENTS or found.macro_arguments is not None:
        return None
    known = head(before)
    kernel = known.kernel or node.start_byte in collector.metal_kernels
    full = found.name[2:] if found.name.startswith("::") else scope.prefix + found.name
    ordinal = collector.define(
        "kernel" if kernel else "function",
        keys.cpp(found.name),
        full,
        found.offset,
        node.end_byte,
        scope=scope.ordinal,
        local=scope.local or (known.static and not scope.inside_class),
        signature=_signature(found, known.result),
        detail={"method": True} if scope.inside_class else None,
    )
    prefix = full.rpartition("::")[0]
    opened = Scope(node.end_byte, f"{prefix}::" if prefix else "", ordinal, True, local=scope.local)
    pybind11.parameters(collector, opened, found.parameters)
    torch_library.parameters(opened, found.parameters)
    return _with_body(collector, body, opened)


def _with_body(collector: Collector, body: Node | None, opened: Scope) -> Scope:
    """Keep where the body stands: what was read well needs no second reading."""
    if body is not None:
        collector.bodies[body.start_byte] = opened.end, opened.ordinal
    return opened


def _is_macro(collector: Collector, scope: Scope, found: Declarator, node: Node) -> bool:
    """Whether what begins with a name and has no type before it is a macro's use: in capitals anywhere, and
    in a class all but its constructors, its destructor and its conversions."""
    name = found.name
    capitals = CAPITALS.match(name) is not None
    if not scope.inside_class:
        return capitals
    if not name.isidentifier() or scope.is_constructor(name) or collector.is_class(name):
        return False
    if capitals:
        return True
    start, end = node.start_byte, found.head.start_byte
    if name in STATEMENTS or collector.data[start:end].rstrip() != name.encode():
        return False
    return is_member(collector.data, start, found.head.end_byte)


def _signature(found: Declarator, result: str) -> str:
    if not result or "->" in found.parameters:
        return found.parameters
    # The declarator's own & and * stand before the name.
    return f"{found.parameters} -> {result}"


def _macro_head(collector: Collector, scope: Scope, node: Node, found: Declarator) -> Scope | None:
    """`NAME(arguments) {…}` or `NAME(arguments)(parameters) {…}`: a macro makes the head."""
    spelling = collector.spelling
    collector.macro_offsets.add(node.start_byte)
    name, arguments = _behind_macros(collector, found)
    shape = spelling.shapes.get(name) or torch_library.unnamed(name, len(arguments))
    if shape is not None:
        if shape.shape == "structured":
            return structured.read(collector, scope, shape, node, found)
        if shape.shape == "gtest":
            return gtest.read(collector, scope, shape, node, found)
        if shape.shape == "torch_library":
            opened = torch_library.block(collector, scope, shape, node, arguments)
            return _noted(collector, node, opened) if opened is not None else None
        if shape.shape == "pybind11":
            return pybind11.module(collector, scope, node, found.head, arguments)
        return None
    body = node.child_by_field_name("body")
    if found.name in collector.macros and not scope.body:
        owner = -(len(collector.uses) + 10)
        end = body.start_byte if body is not None else node.end_byte
        collector.uses.append(use_of(collector, scope, found.name, node, end, owner))
        return Scope(node.end_byte, scope.prefix, owner, True, local=scope.local)
    if scope.body or spelling.makes_nothing(found.name):
        return None
    ordinal = macro_use.read(collector, scope, found.name, node, found.head)
    return Scope(node.end_byte, scope.prefix, ordinal, True, local=scope.local)


def _behind_macros(collector: Collector, found: Declarator) -> tuple[str, list[str]]:
    """The head's name and arguments; those of the block that a macro of this file makes of it:
    `#define OPS(m) TORCH_LIBRARY(mine, m)`."""
    arguments = [collector.slice(argument) for argument in collector.arguments(found.head)]
    macro = collector.macros.get(found.name)
    if macro is None or ("LIBRARY" not in macro.body and "MODULE" not in macro.body):
        return found.name, arguments
    text = substitute(macro, arguments)
    name, opening, _ = text.partition("(")
    inner = split_arguments(text, len(name)) if opening else None
    shape = collector.spelling.shapes.get(name.strip())
    if inner is None or text[inner[1] :].strip() or shape is None:
        return found.name, arguments
    return shape.name, inner[0]


def declaration(collector: Collector, scope: Scope, captures: Captures) -> Scope | None:
    """A function without a body."""
    if scope.body:
        return None
    node, outer = captures["s"][0], captures["d"][0]
    found = declarator(outer, collector.data)
    if found is None or found.name in STATEMENTS or found.macro_arguments is not None:
        return None
    before = collector.data[node.start_byte : outer.start_byte].rstrip()
    if before.endswith(b"=") or (not before and scope.inside_class and _is_value(collector, node)):
        return None  # MACRO(type, name) = Tensor();
    if not before and _is_macro(collector, scope, found, node):
        _use_without_body(collector, scope, found, node)
        return None
    known = head(before)
    collector.define(
        "kernel" if known.kernel else "function",
        keys.cpp(found.name),
        scope.prefix + found.name,
        found.offset,
        node.end_byte,
        scope=scope.ordinal,
        declares=True,
        local=scope.local or (known.static and not scope.inside_class),
        signature=_signature(found, known.result),
        detail={"method": True} if scope.inside_class else None,
    )
    return None


def _is_value(collector: Collector, node: Node) -> bool:
    """Whether what the grammar takes for a member is what one before it is initialised with."""
    return collector.data[max(node.start_byte - 100, 0) : node.start_byte].rstrip().endswith(b"=")


def _use_without_body(collector: Collector, scope: Scope, found: Declarator, node: Node) -> None:
    """`NAME(arguments);` of a macro. Outside of classes `cpp_uses` reads those of other files' macros."""
    name, spelling = found.name, collector.spelling
    if name in collector.macros:
        collector.macro_offsets.add(node.start_byte)
        collector.uses.append(use_of(collector, scope, name, node, node.end_byte, 0))
    elif scope.inside_class and name not in spelling.shapes and not spelling.makes_nothing(name):
        start = node.start_byte
        use = split_arguments(collector.slice(found.head), 0)
        if use is not None:
            collector.macro_offsets.add(start)
            macro_use.note(collector, scope, name, start, found.head.end_byte, use[0])


def address(collector: Collector, scope: Scope, captures: Captures) -> None:
    """A function whose address is taken."""
    node = captures["n"][0]
    key, name, *_ = named(collector, node)
    collector.refer("address", key, name, node.start_byte, scope.ordinal)


def construction(collector: Collector, scope: Scope, captures: Captures) -> None:
    """`new T(x)` or `T t(x)`: a call of the constructor, or a shape."""
    node, arguments = captures["n"][0], captures["a"][0]
    key, name, *_ = named(collector, node)
    shape = collector.spelling.shapes.get(name.rpartition("::")[2])
    if shape is not None and shape.shape == "register_operators":
        register_operators.constructor(collector, scope, arguments, shape.options.get("form", ""))
    elif shape is not None and shape.shape == "pybind11" and "d" in captures:
        pybind11.constructor(collector, scope, captures["s"][0], arguments, captures["d"][0])
    else:
        collector.refer("call", key, name, node.start_byte, scope.ordinal, arguments.named_child_count)


def namespace_alias(collector: Collector, scope: Scope, captures: Captures) -> None:
    """`namespace F = torch::nn::functional;`"""
    node = captures["n"][0]
    name, meant = collector.slice(node), collector.slice(captures["s"][-1])
    if name != meant:
        full, end = scope.prefix + name, captures["s"][-1].end_byte
        collector.define(
            "alias",
            keys.cpp(name),
            full,
            node.start_byte,
            end,
            scope=scope.ordinal,
            detail={"namespace": "".join(meant.split())},
        )


def default_construction(collector: Collector, scope: Scope, captures: Captures) -> None:
    """`Guard guard;` in a body: a call of the constructor without arguments."""
    if scope.body:
        node = captures["n"][0]
        key, name, *_ = named(collector, node)
        collector.refer("call", key, name, node.start_byte, scope.ordinal, 0)


def call_with_call(collector: Collector, scope: Scope, captures: Captures) -> None:
    """`f<double>(ARGUMENTS(double));` in a body, which the grammar takes for a declaration: two
    calls."""
    if scope.body:
        outer, inner, count = captures["n"][0], captures["d"][0], captures["a"][0].named_child_count
        key, name, *_ = named(collector, outer)
        collector.refer("call", key, name, outer.start_byte, scope.ordinal, 1)
        called(collector, scope, collector.slice(inner), inner.start_byte, count)


def initializer(collector: Collector, scope: Scope, captures: Captures) -> None:
    """`: Base(x)` of a constructor: a call of the base's. A member is one for a reader who does not see the
    class; so what is plain and in small letters is left out, as members are."""
    node, arguments = captures["n"][0], captures["a"][0]
    key, name, *_ = named(collector, node)
    if name[:1].isupper() or node.type != "field_identifier":
        collector.refer("call", key, name, node.start_byte, scope.ordinal, arguments.named_child_count)


def table(collector: Collector, scope: Scope, captures: Captures) -> None:
    """An array with an initialiser: a method table, perhaps."""
    method_table.read(collector, scope, captures["n"][0], captures["a"][0])
