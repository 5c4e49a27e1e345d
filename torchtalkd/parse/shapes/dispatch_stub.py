"""`DECLARE_DISPATCH(type, stub)`, `DEFINE_DISPATCH(stub)`, `REGISTER_DISPATCH(stub, &kernel)`.

aten/src/ATen/native/DispatchStub.h defines them. Options: `form` = declare | define | register |
none (a stub that has no kernel there), `stub` = position of the stub's name (0), `kernel` =
position of the kernel (1). The dispatch key is the shape's, or that of the first rule of
`cpp.stub_rules` whose pattern the file's path matches.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions.globs import matches
from torchtalkd.conventions.values import Shape
from torchtalkd.parse.collector import Collector, Scope
from torchtalkd.parse.shapes.callee import callee


def read(collector: Collector, scope: Scope, shape: Shape, call: Node, arguments: Node) -> None:
    """Define the stub, or its kernel for one dispatch key."""
    values = collector.arguments(arguments)
    form = shape.options.get("form", "register")
    position = int(shape.options.get("stub", "0"))
    if position >= len(values):
        return
    name = _STRIP.sub("", collector.slice(values[position]))
    full = name.removeprefix("::") if "::" in name else scope.prefix + name
    if form in ("declare", "define"):
        collector.define(
            "stub",
            keys.cpp(name),
            full,
            values[position].start_byte,
            call.end_byte,
            scope=scope.ordinal,
            declares=form == "declare",
            convention="dispatch_stub",
        )
        return
    dispatch_key = shape.dispatch_key or _key_of_path(collector)
    if not dispatch_key:
        return
    kernel = int(shape.options.get("kernel", "1"))
    target = callee(collector, values[kernel]) if form == "register" and kernel < len(values) else None
    detail: dict[str, object] = {}
    if "capability" in shape.options:
        detail["capability"] = shape.options["capability"]
    elif "capability_position" in shape.options:
        capability = int(shape.options["capability_position"])
        if capability < len(values):
            detail["capability"] = collector.slice(values[capability])
    if target is None or not target.name:
        detail["none"] = True
    ordinal = collector.define(
        "stub_kernel",
        keys.cpp(name),
        full,
        values[position].start_byte,
        call.end_byte,
        scope=scope.ordinal,
        dispatch_key=dispatch_key,
        convention="dispatch_stub",
        detail=detail or None,
    )
    if target is not None and target.name:
        collector.target(ordinal, target.name, target.offset)


_STRIP = re.compile(r"\s+|^&")


def _key_of_path(collector: Collector) -> str:
    for rule in collector.spelling.stub_rules:
        if matches(rule.pattern, collector.path):
            return rule.dispatch_key
    return ""
