"""`TORCH_META_FUNC2(add, Tensor)(…) {…}` and `TORCH_IMPL_FUNC(add_out)(…) {…}`.

The two halves of a structured kernel (aten/src/ATen/TensorMeta.h defines the macros). Options:
`form` = meta | meta2 | impl.
"""

from __future__ import annotations

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions.values import Shape
from torchtalkd.parse.collector import Collector, Scope
from torchtalkd.parse.cpp_names import Declarator


def read(collector: Collector, scope: Scope, shape: Shape, node: Node, found: Declarator) -> Scope | None:
    """Define the meta or impl function; the scope of its body."""
    if found.macro_arguments is None:
        return None
    arguments = collector.arguments(found.macro_arguments)
    if not arguments:
        return None
    form = shape.options.get("form", "impl")
    name = collector.slice(arguments[0])
    if form == "meta2" and len(arguments) > 1:
        name = f"{name}_{collector.slice(arguments[1])}"
    ordinal = collector.define(
        "structured_impl" if form == "impl" else "structured_meta",
        keys.cpp(name),
        scope.prefix + name,
        arguments[0].start_byte,
        node.end_byte,
        scope=scope.ordinal,
        signature=found.parameters,
        convention="structured",
    )
    return Scope(node.end_byte, scope.prefix, ordinal, True, local=scope.local)
