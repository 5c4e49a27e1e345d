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
    """Define the stub, or its kernel for one dispatch key, from the macro's call."""
    values = collector.arguments(arguments)
    texts = [collector.slice(value) for value in values]
    position = int(shape.options.get("kernel", "1"))
    kernel = callee(collector, values[position]) if position < len(values) else None
    name = kernel.name if kernel is not None else ""
    _define(collector, scope, shape, call.start_byte, call.end_byte, texts, name)


def note(collector: Collector, scope: Scope, shape: Shape, start: int, end: int, texts: list[str]) -> None:
    """The same from the text alone, where the grammar made no call of it."""
    position = int(shape.options.get("kernel", "1"))
    match = _KERNEL.search(texts[position]) if position < len(texts) else None
    name = match.group(1) if match else ""
    _define(collector, scope, shape, start, end, texts, "" if name in ("nullptr", "NULL") else name)


def _define(
    collector: Collector, scope: Scope, shape: Shape, start: int, end: int, texts: list[str], kernel: str
) -> None:
    form = shape.options.get("form", "register")
    position = int(shape.options.get("stub", "0"))
    if position >= len(texts):
        return
    name = _STRIP.sub("", texts[position])
    full = name.removeprefix("::") if "::" in name else scope.prefix + name
    offset = _offset(collector, texts[position], start + len(shape.name), end)
    if form in ("declare", "define"):
        collector.define(
            "stub",
            keys.cpp(name),
            full,
            offset,
            end,
            scope=scope.ordinal,
            declares=form == "declare",
            convention="dispatch_stub",
        )
        return
    dispatch_key = shape.dispatch_key or _key_of_path(collector)
    if not dispatch_key:
        return
    detail: dict[str, object] = {}
    if "capability" in shape.options:
        detail["capability"] = shape.options["capability"]
    elif int(shape.options.get("capability_position", len(texts))) < len(texts):
        detail["capability"] = texts[int(shape.options["capability_position"])]
    if form != "register" or not kernel:
        detail["none"] = True
    ordinal = collector.define(
        "stub_kernel",
        keys.cpp(name),
        full,
        offset,
        end,
        scope=scope.ordinal,
        dispatch_key=dispatch_key,
        convention="dispatch_stub",
        detail=detail or None,
    )
    if form == "register" and kernel:
        collector.target(ordinal, kernel, _offset(collector, kernel, offset + len(name), end))


def _offset(collector: Collector, text: str, start: int, end: int) -> int:
    """Where a text stands between two offsets; the first of these if it does not."""
    found = collector.source.find(text.encode("utf-8", "replace"), start, end)
    return found if found >= 0 else start


_KERNEL = re.compile(r"([A-Za-z_][\w:]*)(?:\s*<[^()]*>)?\s*\)*\s*$")
_STRIP = re.compile(r"\s+|^&")


def _key_of_path(collector: Collector) -> str:
    for rule in collector.spelling.stub_rules:
        if matches(rule.pattern, collector.path):
            return rule.dispatch_key
    return ""
