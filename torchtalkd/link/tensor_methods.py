"""Which operator a method of a tensor is: `x.add(y)` is aten::add, `x.dim()` a plain member of at::Tensor."""

from __future__ import annotations

from torchtalkd import keys
from torchtalkd.link import operators
from torchtalkd.link.composite import PLAIN_MEMBERS
from torchtalkd.link.generated_names import Generated, generated
from torchtalkd.link.source import Facts


def method_of_tensor(facts: Facts, last: str) -> Generated | None:
    """The operator that is a method of at::Tensor of a name; None where that is a plain member."""
    found = generated(facts, f"at::Tensor::{last}")
    if found is None or any(facts.named(keys.cpp(last), f"{cls}::{last}") for cls in PLAIN_MEMBERS):
        return None
    entries = [operators.entry(facts, name) for name in found.overloads]
    has = any(e is not None and "method" in ((e.fact.detail or {}).get("variants") or ()) for e in entries)
    return found if has else None


def operator_takes(facts: Facts, operator: Generated, arguments: int) -> bool:
    """Whether an overload of an operator, called as a method of a tensor, can take so many arguments."""
    if arguments < 0:
        return True
    for name in operator.overloads:
        entry = operators.entry(facts, name)
        parameters = [p for p in operators.inputs(entry.fact.signature) if p != "*"] if entry else []
        needed = sum("=" not in parameter for parameter in parameters)
        if needed - 1 <= arguments <= len(parameters) - 1:
            return True
    return False
