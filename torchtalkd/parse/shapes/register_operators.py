"""The older registries: `RegisterOperators().op("ns::f", …)` and the interpreter's
`Operator("aten::f(…) -> …", …)`.

aten/src/ATen/core/op_registration/op_registration.h and torch/csrc/jit/runtime/operator.h
define them. Options: `form` = registry | operator.
"""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse.collector import Collector, Scope
from torchtalkd.parse.shapes.callee import callee, dispatch_key
from torchtalkd.parse.shapes.torch_library import CATCH_ALL, literal

METHODS: Final = ("op",)
_KEY = re.compile(r"\bDispatchKey::(\w+)|\bkernel[^()]*\(\s*(?:c10::)?DispatchKey::(\w+)")


def constructor(collector: Collector, scope: Scope, arguments: Node, form: str = "") -> None:
    """`RegisterOperators reg("ns::f", &f)` or `Operator("aten::f(…)", f)` (form operator): one
    registration. Only the interpreter knows the latter: detail.interpreter."""
    values = collector.arguments(arguments)
    text = literal(collector, values[0]) if values else None
    if text is not None and "::" in text:
        _register(collector, scope, text, values, interpreter=form == "operator")


def method(collector: Collector, scope: Scope, call: Node, name: str, arguments: Node) -> bool:
    """`.op("ns::f", …)` somewhere behind a RegisterOperators. False for another receiver."""
    if name != "op" or not collector.mentions_register_operators:
        return False
    values = collector.arguments(arguments)
    text = literal(collector, values[0]) if values else None
    if text is None or "::" not in text:
        return False
    _register(collector, scope, text, values)
    return True


def _register(
    collector: Collector, scope: Scope, text: str, values: list[Node], *, interpreter: bool = False
) -> None:
    name = str(keys.operator_name(text))
    key, target = CATCH_ALL, None
    for value in values[1:]:
        match = _KEY.search(collector.slice(value))
        if match:
            key = dispatch_key(match.group(1) or match.group(2))
        found = callee(collector, value)
        if found.name or found.form == "lambda":
            target = found
            break
    is_lambda = target is not None and target.form == "lambda"
    ordinal = collector.define(
        "schema",
        keys.op(name),
        name,
        values[0].start_byte,
        values[0].end_byte,
        scope=scope.ordinal,
        signature=text if "(" in text else "",
        dispatch_key=key if target is not None else "",
        convention="register_operators",
        detail={
            **scope.stands_in(),
            **({"lambda": True} if is_lambda else {}),
            **({"interpreter": True} if interpreter else {}),
        }
        or None,
    )
    if target is not None and target.name:
        collector.target(ordinal, target.name, target.offset)
