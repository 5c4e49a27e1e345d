"""`TORCH_LIBRARY(ns, m) {…}`, `_FRAGMENT`, `_IMPL`, their stable and expanding kin, and what
`m.def`, `m.impl` and `m.fallback` say inside.

torch/library.h and torch/csrc/stable/library.h define them. Options of the shape: `form` =
def | fragment | impl. A namespace that is itself a macro stays a hole in the name:
`{TORCH_EXTENSION_NAME}::x`, filled in by `torchtalkd.link`.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions.values import Shape
from torchtalkd.facts import Kind
from torchtalkd.parse.collector import (
    DISPATCH_KEY_HOLE,
    LIBRARY_HOLE,
    Collector,
    Library,
    Scope,
    string_value,
)
from torchtalkd.parse.macros import arguments as split
from torchtalkd.parse.shapes.callee import Callee, callee, dispatch_key

METHODS: Final = ("def", "impl", "fallback", "impl_UNBOXED", "define")
_PARAMETER = re.compile(r"\b(?:torch::)?(?:Stable)?Library\s*&\s*(\w+)")
_WRAPPER = re.compile(r"[A-Za-z_][\w:]*\s*\(")
CATCH_ALL: Final = "CatchAll"
"""The key of a kernel given with `m.def` and no dispatch key (torch/library.h: a catch-all kernel)."""


def block(collector: Collector, scope: Scope, shape: Shape, node: Node, arguments: list[str]) -> Scope | None:
    """Define the block; the scope in which its variable registers."""
    form = shape.options.get("form", "def")
    if len(arguments) < (3 if form == "impl" else 2):
        return None
    namespace = collector.macro_name(arguments[0], node.start_byte)
    library_key = dispatch_key(arguments[1]) if form == "impl" else ""
    ordinal = collector.define(
        "library",
        keys.op(namespace),
        namespace,
        node.start_byte,
        node.end_byte,
        scope=scope.ordinal,
        dispatch_key=library_key,
        convention="torch_library",
        detail={"form": shape.name},
    )
    library = Library(arguments[2 if form == "impl" else 1], namespace, library_key)
    return Scope(node.end_byte, scope.prefix, ordinal, True, local=scope.local, library=library)


def unnamed(name: str, arguments: int) -> Shape | None:
    """The shape of a head that no manifest lists but that is spelled like one of the family:
    `MY_TORCH_LIBRARY_IMPL(ns, key, m)`, a macro of another file around the real one. None for others."""
    if "TORCH_LIBRARY" not in name:
        return None
    form = "impl" if "IMPL" in name and arguments > 2 else "fragment" if "FRAGMENT" in name else "def"
    return Shape(name, "torch_library", options={"form": form})


def parameters(scope: Scope, text: str) -> None:
    """A function that takes a torch::Library registers on it; for whom, its callers know."""
    match = _PARAMETER.search(text) if "Library" in text else None
    if match:
        scope.library = Library(match.group(1), LIBRARY_HOLE, DISPATCH_KEY_HOLE)


def method(collector: Collector, scope: Scope, call: Node, name: str, arguments: Node) -> bool:
    """Read a registration. False when the receiver is no library."""
    library = scope.library
    if library is None or name in ("define", "class_"):
        return False  # Classes of either kind are read by torchtalkd.parse.shapes.pybind11.
    if library.variable and _receiver(collector, call) != library.variable:
        return False
    values = collector.arguments(arguments)
    if not values:
        return False
    if name == "fallback":
        _register(collector, scope, library, "registration", "*", values[0], callee(collector, values[0]))
        return True
    text = literal(collector, values[0])
    if text is None:
        return False
    if name == "def":
        # `m.def(schema, {at::Tag::pt2_compliant_tag}, f)`: a list of tags is no function.
        functions = [value for value in values[1:] if value.type != "initializer_list"]
        target = callee(collector, functions[0]) if functions else None
        _register(collector, scope, library, "schema", text, values[0], target)
        return True
    explicit = ""
    if len(values) > 2:
        explicit = dispatch_key(collector.slice(values[1]))
    target = callee(collector, values[-1]) if len(values) > 1 else None
    if target is not None and explicit:
        target = target._replace(dispatch_key=explicit)
    _register(collector, scope, library, "registration", text, values[0], target)
    return True


def literal(collector: Collector, node: Node) -> str | None:
    """The string of a name or schema argument: a literal of any form, or one that a macro or function
    takes first, such as TORCH_SELECTIVE_NAME or torch::schema. None for anything else."""
    text = collector.slice(node).strip()
    wrapper = _WRAPPER.match(text)
    if wrapper:
        wrapped = split(text, wrapper.end() - 1)
        text = wrapped[0][0] if wrapped is not None and wrapped[0] else ""
    return string_value(text)


def _receiver(collector: Collector, call: Node) -> str:
    """The variable at the head of `m.def(…).def(…)`; that of `m.class_<T>("T").def(…)` is the class."""
    node: Node | None = call
    while node is not None and node.type == "call_expression":
        function = node.child_by_field_name("function")
        field = function.child_by_field_name("field") if function is not None else None
        if node is not call and field is not None and collector.slice(field).startswith("class_"):
            return ""
        lost = [child for child in function.children if child.is_error] if function is not None else []
        if lost:
            # `LIST_OF_KERNELS(X)` without a semicolon, then `m.impl(…)`: one long call to the grammar.
            return collector.slice(lost[-1]).strip()
        node = function.child_by_field_name("argument") if function is not None else None
    return collector.slice(node) if node is not None else ""


def _register(
    collector: Collector,
    scope: Scope,
    library: Library,
    kind: Kind,
    text: str,
    place: Node,
    target: Callee | None,
) -> None:
    written = keys.operator_name(text)
    qualified = f"{library.namespace}::{written}" if not written.namespace else str(written)
    detail: dict[str, Any] = scope.stands_in()
    key = target.dispatch_key if target and target.dispatch_key else library.dispatch_key
    if target is not None:
        if target.form in ("lambda", "fallthrough", "boxed"):
            detail[target.form] = True
        if kind == "schema" and not key:
            key = CATCH_ALL
    elif kind == "schema":
        key = ""
    ordinal = collector.define(
        kind,
        keys.op(qualified),
        qualified,
        place.start_byte,
        place.end_byte,
        scope=scope.ordinal,
        signature=text if kind == "schema" and "(" in text else "",
        dispatch_key=key,
        convention="torch_library",
        detail=detail or None,
    )
    if target is not None and target.name:
        collector.target(ordinal, target.name, target.offset)
