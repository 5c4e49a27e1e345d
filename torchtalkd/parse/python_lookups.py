"""Calls that give an operator by its name: `getattr(torch.ops.ns, "f")`, `get_operator("ns", "f")`. Pure.

By a manifest's convention (`PythonLookup`): each is a Reference to the operator, as `torch.ops.ns.f` is.
"""

from __future__ import annotations

from torchtalkd import keys
from torchtalkd.conventions.values import PythonLookup
from torchtalkd.facts import Reference
from torchtalkd.parse.python_names import is_operators
from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_static import passes, static_values
from torchtalkd.parse.python_uses import BindingCall
from torchtalkd.parse.python_values import Arguments, Chain, Text, arguments_of


def read_lookups(out: Outline, calls: list[BindingCall], lookups: tuple[PythonLookup, ...]) -> None:
    """Add a Reference for each operator that is looked up by its name."""
    wanted = {lookup.call for lookup in lookups}
    for callee, owner, last in calls:
        if last not in wanted:
            continue
        for lookup in lookups:
            call = callee.parent
            if lookup.call != last or call is None or call.type != "call":
                continue
            arguments = arguments_of(call, out)
            namespace = _namespace(out, lookup, arguments, owner)
            node = arguments.at(lookup.operand)
            if not namespace or node is None:
                continue
            for bound in passes(call, out):
                for value in static_values(node, out, bound):
                    if isinstance(value, Text) and value.value.isidentifier():
                        name = f"torch.ops.{namespace}.{value.value}"
                        row, column = value.node.start_point
                        key = keys.op(value.value)
                        out.references.append(Reference(key, name, "call", row + 1, column, owner))
            break


def _namespace(out: Outline, lookup: PythonLookup, arguments: Arguments, owner: int) -> str:
    """The namespace that a call looks in; '' where it looks elsewhere."""
    node = arguments.at(lookup.namespace) if lookup.namespace != "" else None
    if node is None:
        return lookup.prefix.removesuffix("::")
    values = static_values(node, out)
    if len(values) != 1:
        return ""
    (value,) = values
    if isinstance(value, Chain):
        name = out.resolve(value.written, owner)
        parts = name.split(".")
        return parts[2] if is_operators(name) and len(parts) == 3 else ""
    return value.value if value.value.isidentifier() else ""
