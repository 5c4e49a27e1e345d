"""A macro used where it can define something, whose own definition is in another file.

What it makes is computed in `torchtalkd.link`, from the macro's definition: a file knows no
other file. A name among the arguments is a reference, so that the use is found by it.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse.collector import Collector, Scope

_NAME = re.compile(r"&?\s*([A-Za-z_]\w*(?:::\w+)*)$")
_MAX_ARGUMENT = 400
"""Longer arguments (whole lambdas) are cut: they name nothing a definition could be called by."""


def read(collector: Collector, scope: Scope, name: str, node: Node, arguments: Node) -> int:
    """Note the use; its ordinal."""
    values = collector.arguments(arguments)
    texts = [" ".join(collector.slice(value).split())[:_MAX_ARGUMENT] for value in values]
    detail: dict[str, object] = {"arguments": texts}
    if scope.prefix:
        detail["namespace"] = scope.prefix.removesuffix("::")
    if scope.library is not None:
        detail["library"] = scope.library.namespace
        detail["dispatch_key"] = scope.library.dispatch_key
    ordinal = collector.define(
        "macro_use",
        keys.macro(name),
        name,
        node.start_byte,
        node.end_byte,
        scope=scope.ordinal,
        local=scope.local,
        detail=detail,
    )
    for value, text in zip(values, texts, strict=True):
        match = _NAME.match(text)
        if match:
            collector.refer("argument", keys.cpp(match.group(1)), match.group(1), value.start_byte, ordinal)
    return ordinal
