"""`PyMethodDef methods[] = {{"f", (PyCFunction)f, METH_VARARGS, doc}, …}`: CPython's method tables.

Which module or class a table fills is not in the text: `cpp.python_names` of the manifest maps
a table's name to it; other tables keep their own name in front: `{methods}.f`.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions import python_name_of
from torchtalkd.parse.collector import Collector, Scope, string_value
from torchtalkd.parse.shapes.callee import callee

_WRAPPED = re.compile(r"\w<\s*([A-Za-z_]\w*)\s*>\s*\)*$")
"""`TypeError_to_NotImplemented_<THPVariable_add>`: a template around the function that does the work."""


def read(collector: Collector, scope: Scope, name: Node, rows: Node) -> None:
    """Define each row's Python name."""
    before = collector.data[max(0, name.start_byte - 60) : name.start_byte]
    if b"PyMethodDef" not in before.rpartition(b";")[2]:
        return
    table = collector.slice(name)
    owner = python_name_of(collector.spelling.cpp, collector.path, table) or f"{{{table}}}"
    for row in rows.named_children:
        if row.type != "initializer_list":
            continue
        values = collector.arguments(row)
        text = string_value(collector.slice(values[0])) if len(values) > 1 else None
        if not text:
            continue
        full = f"{owner}.{text}"
        ordinal = collector.define(
            "python_binding",
            keys.py(full),
            full,
            values[0].start_byte + 1,
            row.end_byte,
            scope=scope.ordinal,
            convention="method_table",
            detail={"table": table},
        )
        target = callee(collector, values[1])
        wrapped = _WRAPPED.search(collector.slice(values[1]))
        function = wrapped.group(1) if wrapped else target.name
        if function:
            collector.target(ordinal, function, target.offset)
