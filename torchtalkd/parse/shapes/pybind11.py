"""pybind11: `PYBIND11_MODULE(name, m) {…}`, `m.def("f", &f)`, `py::class_<T>(m, "T").def(…)`; and
the classes of TorchScript, which are spelled alike: `torch::class_<T>("ns", "T").def(…)`,
`library.class_<T>("T")` (torch/custom_class.h, torch/library.h), in Python `torch.classes.ns.T`.

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
    "def_pickle",
    "class_",
    "value",
    "cast",
)
_PARAMETER = re.compile(r"\b(?:py|pybind11)::module_?\s*&*\s*(\w+)")
_MODULE = re.compile(rb"\bPYBIND11_MODULE\s*\(\s*(\w+)")
_SCRIPT_CLASSES: Final = "torch.classes."
_PICKLED: Final = ("__getstate__", "__setstate__")
"""What def_pickle binds (torch/custom_class.h)."""
_CLASSES: Final = ("class_", "enum_", "exception", "intrusive_ptr_class_", "shared_ptr_class_", "native_enum")


def module(collector: Collector, scope: Scope, node: Node, head: Node, arguments: list[str]) -> Scope | None:
    """`PYBIND11_MODULE(name, m)`: the scope in which `m` is the module."""
    if len(arguments) < 2:
        return None
    name = collector.macro_name(arguments[0], node.start_byte)
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
    """Note the module that a function takes as parameter: the one that the manifest names, else that
    of this file, else the one that a build makes of the file."""
    if "::module" in text:
        match = _PARAMETER.search(text)
        if match:
            scope.modules[match.group(1)] = collector.spelling.python_module or _module_of_file(collector)


def _module_of_file(collector: Collector) -> str:
    named = _MODULE.findall(collector.data)
    written = named[0].decode() if len(named) == 1 else "TORCH_EXTENSION_NAME"
    return collector.macro_name(written, len(collector.data))


def constructor(
    collector: Collector, scope: Scope, call: Node, arguments: Node, variable: Node | None = None
) -> None:
    """`py::class_<T, …>(m, "T")`, `torch::class_<T>("ns", "T")`: a Python class bound to a C++ one."""
    if not (collector.mentions_pybind11 or collector.mentions_classes):
        return
    values = collector.arguments(arguments)
    full = _class_name(collector, scope, call, values)
    if not full:
        return
    place = values[0] if len(values) == 1 or _receiver(call) is not None else values[1]
    template = _first_template_argument(collector, call)
    ordinal = collector.define(
        "python_binding",
        keys.py(full),
        full,
        place.start_byte + 1,
        place.end_byte,
        scope=scope.ordinal,
        convention=_convention(full),
        detail={**scope.stands_in(), "class": True},
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
    """Read `.def(…)` and kin. False when the receiver is no module or class."""
    if not (collector.mentions_pybind11 or collector.mentions_classes):
        return False
    if name == "class_":
        if scope.library is None:
            return False
        constructor(collector, scope, call, arguments)
        return f"@{call.start_byte}" in scope.modules
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
    if name == "def_pickle":
        for method_name, value in zip(_PICKLED, values, strict=False):
            _bind(collector, scope, f"{owner}.{method_name}", value, value, {"form": name})
        return bool(values)
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
    _bind(
        collector,
        scope,
        full,
        values[0],
        values[1] if len(values) > 1 else None,
        {} if name == "def" else {"form": name},
    )
    return True


def _bind(
    collector: Collector,
    scope: Scope,
    full: str,
    place: Node,
    function: Node | None,
    detail: dict[str, object],
) -> None:
    """Define a Python name, with the function that it is bound to."""
    target = callee(collector, function) if function is not None else None
    detail = {**scope.stands_in(), **detail}
    if target is not None and target.form == "lambda":
        detail["lambda"] = True
    ordinal = collector.define(
        "python_binding",
        keys.py(full),
        full,
        place.start_byte + (1 if place is not function else 0),
        place.end_byte,
        scope=scope.ordinal,
        convention=_convention(full),
        detail=detail or None,
    )
    if target is not None and target.name:
        collector.target(ordinal, target.name, target.offset)


def _convention(full: str) -> str:
    return "torch_class" if full.startswith(_SCRIPT_CLASSES) else "pybind11"


def _receiver(call: Node) -> Node | None:
    """The object of `library.class_<T>(…)`; None for `class_<T>(…)`."""
    function = call.child_by_field_name("function")
    if function is None or function.type != "field_expression":
        return None
    return function.child_by_field_name("argument")


def _class_name(collector: Collector, scope: Scope, call: Node, values: list[Node]) -> str:
    """The full Python name of the class that a call of `class_` binds, '' if it is none."""
    receiver = _receiver(call)
    if receiver is not None:
        library = scope.library
        name = string_value(collector.slice(values[0])) if values else None
        if library is None or name is None or collector.slice(receiver) != library.variable:
            return ""
        return f"{_SCRIPT_CLASSES}{library.namespace}.{name}"
    if len(values) < 2:
        return ""
    name = string_value(collector.slice(values[1]))
    if name is None:
        return ""
    namespace = string_value(collector.slice(values[0]))
    if namespace is not None:
        return f"{_SCRIPT_CLASSES}{namespace}.{name}"
    owner = scope.modules.get(collector.slice(values[0])) or collector.spelling.python_module
    return f"{owner}.{name}" if owner else name


def _owner(collector: Collector, scope: Scope, call: Node) -> str | None:
    """The module or class at the head of a chain of calls; all calls of a chain start at one offset."""
    remembered = scope.modules.get(f"@{call.start_byte}")
    if remembered is not None:
        return remembered
    node: Node | None = call
    while node is not None and node.type == "call_expression":
        receiver = _receiver(node)
        if receiver is None or _called(collector, node) in _CLASSES:
            break
        node = receiver
    if node is None:
        return None
    if node.type == "identifier":
        owner = scope.modules.get(collector.slice(node))
        if owner is not None:
            scope.modules[f"@{call.start_byte}"] = owner  # A chain may have hundreds of calls.
        return owner
    if node.type == "call_expression":
        arguments = node.child_by_field_name("arguments")
        name = _called(collector, node)
        if arguments is not None and name in _CLASSES and name in collector.spelling.shapes:
            # The chain's outer calls are met before its head: remember the head's name for them.
            full = _class_name(collector, scope, node, collector.arguments(arguments))
            if full:
                scope.modules[f"@{call.start_byte}"] = full
                return full
    return None


def _called(collector: Collector, call: Node) -> str:
    """The last component of the name that a call calls, template arguments left out."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "field_expression":
        function = function.child_by_field_name("field")
    if function is None:
        return ""
    return keys.cpp_last(keys.without_template_arguments(collector.slice(function)))


def _first_template_argument(collector: Collector, call: Node) -> Node | None:
    node = call.child_by_field_name("function") or call.child_by_field_name("type")
    if node is not None and node.type == "field_expression":
        node = node.child_by_field_name("field")
    while node is not None and node.type == "qualified_identifier":
        node = node.child_by_field_name("name")
    listed = node.child_by_field_name("arguments") if node is not None else None
    named = listed.named_children if listed is not None else []
    return named[0] if named else None
