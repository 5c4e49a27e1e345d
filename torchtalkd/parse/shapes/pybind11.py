"""pybind11: `PYBIND11_MODULE(name, m) {…}`, `m.def("f", &f)`, `py::class_<T>(m, "T").def(…)`.

A function that takes a `py::module`, or casts one from a PyObject, registers on the module
that the manifest names (`cpp.default_python_module`); variables are followed within the
function that declares them.
"""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse.collector import Collector, Scope, string_value
from torchtalkd.parse.shapes.callee import callee

METHODS: Final = (
    "def",
    "def_static",
    "def_submodule",
    "def_property",
    "def_property_readonly",
    "def_property_readonly_static",
    "def_property_static",
    "def_readwrite",
    "def_readonly",
    "def_readwrite_static",
    "def_readonly_static",
    "value",
    "cast",
)
_PARAMETER = re.compile(r"\b(?:py|pybind11)::module_?\s*&*\s*(\w+)")
_CLASSES: Final = ("class_", "enum_", "exception", "intrusive_ptr_class_", "shared_ptr_class_", "native_enum")


def module(collector: Collector, scope: Scope, node: Node, head: Node) -> Scope | None:
    """`PYBIND11_MODULE(name, m)`: the scope in which `m` is the module."""
    arguments = [collector.slice(argument) for argument in collector.arguments(head)]
    if len(arguments) < 2:
        return None
    name = arguments[0]
    name = f"{{{name}}}" if name.isupper() else name
    ordinal = collector.define(
        "module",
        keys.py(name),
        name,
        head.start_byte + 1,
        node.end_byte,
        scope=scope.ordinal,
        convention="pybind11",
    )
    return Scope(node.end_byte, scope.prefix, ordinal, True, local=scope.local, modules={arguments[1]: name})


def parameters(collector: Collector, scope: Scope, text: str) -> None:
    """Note the module that a function takes as parameter."""
    if "::module" in text:
        match = _PARAMETER.search(text)
        if match:
            scope.modules[match.group(1)] = collector.spelling.python_module


def constructor(
    collector: Collector, scope: Scope, call: Node, arguments: Node, variable: Node | None = None
) -> None:
    """`py::class_<T, …>(m, "T")`: a Python class bound to a C++ one."""
    if not collector.mentions_pybind11:
        return
    values = collector.arguments(arguments)
    if len(values) < 2:
        return
    name = string_value(collector.slice(values[1]))
    if name is None:
        return
    owner = scope.modules.get(collector.slice(values[0])) or collector.spelling.python_module
    full = f"{owner}.{name}" if owner else name
    template = _first_template_argument(collector, call)
    ordinal = collector.define(
        "python_binding",
        keys.py(full),
        full,
        values[1].start_byte + 1,
        values[1].end_byte,
        scope=scope.ordinal,
        convention="pybind11",
        detail={"class": True},
    )
    if template is not None:
        collector.target(
            ordinal, keys.without_template_arguments(collector.slice(template)), template.start_byte
        )
    scope.modules[f"@{call.start_byte}"] = full
    assigned = collector.slice(variable) if variable is not None else collector.assigned(call.start_byte)
    if assigned:
        scope.modules[assigned] = full


def method(collector: Collector, scope: Scope, call: Node, name: str, arguments: Node) -> bool:
    """Read `.def(…)` and kin. False when the receiver is no module or class of pybind11."""
    if not collector.mentions_pybind11:
        return False
    if name == "cast":
        if b"module" in collector.data[call.start_byte : call.end_byte]:
            assigned = collector.assigned(call.start_byte)
            if assigned:
                scope.modules[assigned] = collector.spelling.python_module
        return False
    owner = _owner(collector, scope, call)
    if owner is None:
        return False
    values = collector.arguments(arguments)
    text = string_value(collector.slice(values[0])) if values else None
    if text is None:
        return False
    full = f"{owner}.{text}" if owner else text
    if name == "def_submodule":
        assigned = collector.assigned(call.start_byte)
        if assigned:
            scope.modules[assigned] = full
        collector.define(
            "module", keys.py(full), full, values[0].start_byte + 1, values[0].end_byte, convention="pybind11"
        )
        return True
    target = callee(collector, values[1]) if len(values) > 1 else None
    detail: dict[str, object] = {} if name == "def" else {"form": name}
    if target is not None and target.form == "lambda":
        detail["lambda"] = True
    ordinal = collector.define(
        "python_binding",
        keys.py(full),
        full,
        values[0].start_byte + 1,
        values[0].end_byte,
        scope=scope.ordinal,
        convention="pybind11",
        detail=detail or None,
    )
    if target is not None and target.name:
        collector.target(ordinal, target.name, target.offset)
    return True


def _owner(collector: Collector, scope: Scope, call: Node) -> str | None:
    """The module or class at the head of a chain of calls; all calls of a chain start at one offset."""
    remembered = scope.modules.get(f"@{call.start_byte}")
    if remembered is not None:
        return remembered
    node: Node | None = call
    while node is not None and node.type == "call_expression":
        function = node.child_by_field_name("function")
        if function is None or function.type != "field_expression":
            break
        node = function.child_by_field_name("argument")
    if node is None:
        return None
    if node.type == "identifier":
        return scope.modules.get(collector.slice(node))
    if node.type == "call_expression":
        function = node.child_by_field_name("function")
        arguments = node.child_by_field_name("arguments")
        if function is None or arguments is None:
            return None
        name = keys.cpp_last(keys.without_template_arguments(collector.slice(function)))
        if name in _CLASSES and name in collector.spelling.shapes:
            # The chain's outer calls are met before its head: remember the head's name for them.
            values = collector.arguments(arguments)
            text = string_value(collector.slice(values[1])) if len(values) > 1 else None
            if text is None:
                return None
            owner = scope.modules.get(collector.slice(values[0])) or collector.spelling.python_module
            scope.modules[f"@{call.start_byte}"] = full = f"{owner}.{text}" if owner else text
            return full
    return None


def _first_template_argument(collector: Collector, call: Node) -> Node | None:
    node = call.child_by_field_name("function") or call.child_by_field_name("type")
    while node is not None and node.type == "qualified_identifier":
        node = node.child_by_field_name("name")
    listed = node.child_by_field_name("arguments") if node is not None else None
    named = listed.named_children if listed is not None else []
    return named[0] if named else None
