"""A macro used where it can define something, whose own definition is in another file.

What it makes is computed in `torchtalkd.link`, from the macro's definition: a file knows no
other file. A name among the arguments is a reference, so that the use is found by it.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse.collector import Collector, MacroUse, Scope
from torchtalkd.parse.macros import substitute

_NAME = re.compile(r"&?\s*([A-Za-z_]\w*(?:::\w+)*)$")
_MAX_ARGUMENT = 400
"""Longer arguments (whole lambdas) are cut: they name nothing a definition could be called by."""


def read(collector: Collector, scope: Scope, name: str, node: Node, arguments: Node) -> int:
    """Note the use that a node is; its ordinal."""
    texts = [collector.slice(value) for value in collector.arguments(arguments)]
    return note(collector, scope, name, node.start_byte, node.end_byte, texts)


def note(collector: Collector, scope: Scope, name: str, start: int, end: int, texts: list[str]) -> int:
    """Note the use between two offsets, with the texts of its arguments; its ordinal."""
    folded = [" ".join(text.split())[:_MAX_ARGUMENT] for text in texts]
    detail: dict[str, object] = {"arguments": folded}
    if scope.prefix:
        detail["namespace"] = scope.prefix.removesuffix("::")
    if scope.library is not None:
        detail["library"] = scope.library.namespace
        detail["dispatch_key"] = scope.library.dispatch_key
    ordinal = collector.define(
        "macro_use", keys.macro(name), name, start, end, scope=scope.ordinal, local=scope.local, detail=detail
    )
    if scope.library is None:
        for text in folded:
            _apply(collector, scope, text, start, end)
    position = start + len(name)
    for original, text in zip(texts, folded, strict=True):
        at = collector.source.find(original.encode("utf-8", "replace"), position, end)
        position = at if at >= 0 else position
        match = _NAME.match(text)
        if match:
            collector.refer("argument", keys.cpp(match.group(1)), match.group(1), position, ordinal)
    return ordinal


def _apply(collector: Collector, scope: Scope, name: str, start: int, end: int) -> None:
    """`FORALL_TYPES(DEFINE)`: a list of another file applies a macro of this one. What that macro
    defines under a name of its own it defines here, whatever the list says."""
    macro = collector.macros.get(name)
    if macro is None or not macro.parameters or "{" not in macro.body:
        return
    anything = [f"tt_any_{number}_" for number in range(len(macro.parameters))]
    if not _ANY_NAME.search(substitute(macro, anything).partition("{")[0]):
        text = f"{name}({', '.join(anything)})"
        collector.uses.append(
            MacroUse(text, start, scope.prefix, scope.ordinal, scope.local, None, name, 0, end)
        )


_ANY_NAME = re.compile(r"tt_any_\d+_\w*\s*\(")
"""A head whose name is one of the arguments, or ends in one."""
