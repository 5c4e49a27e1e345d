"""Which operators a composite kernel ends in: those that its body calls.

`at::x(…)` and the unqualified or `native::` call of an operator's name are calls of that
operator. A method `t.x(…)` is one where `x` is an operator with a method variant and no method of
`at::TensorBase` (`t.dim()` is a plain member): its receiver's type is not known from the
text, so the evidence is `candidate`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import functions, operators, reach
from torchtalkd.link.source import Evidence, Facts

PLAIN_MEMBERS: Final = ("at::TensorBase", "at::Tensor")
"""Classes whose own methods are not operators (aten/src/ATen/core/TensorBase.h); those of
at::Tensor that are operators are generated, so the tree has no definition of them."""


class Call(NamedTuple):
    """An operator called in a body."""

    operator: str
    """The packet: `aten::mm`."""
    evidence: Evidence
    reference: FiledReference


def ends(facts: Facts, kernel: FiledDefinition) -> list[Call]:
    """The operators that a kernel's body, and its helpers in the same file, call; in the order
    of the text, each once."""
    kept: dict[int, list[Call]] = facts.kept.setdefault("composite_ends", {})
    if kernel.id not in kept:
        kept[kernel.id] = _ends(facts, kernel)
    return kept[kernel.id]


def _ends(facts: Facts, kernel: FiledDefinition) -> list[Call]:
    found: dict[str, Call] = {}
    waiting, seen = [kernel], {kernel.id}
    while waiting:
        body = waiting.pop(0)
        scopes = functions.enclosing(body.fact.name)
        for reference in facts.inside(body):
            call = _call(facts, reference)
            if call is not None:
                found.setdefault(call.operator, call)
            elif reference.fact.kind == "call" and len(seen) <= _MOST_HELPERS:
                for helper in reach.helpers(facts, reference, body, scopes, kernel):
                    if helper.id not in seen and helper.file.id == kernel.file.id:
                        seen.add(helper.id)
                        waiting.append(helper)
    return list(found.values())


def computes(facts: Facts, operator: str) -> bool:
    """Whether a composite that calls an operator ends in it: not in a view of a tensor (its schema
    returns an alias that it does not write, or its tags say `inplace_view`), nor in a factory
    (it takes no tensor)."""
    inner = operators.family(facts, operator)
    if inner is None:
        return False
    for entry in inner.entries:
        arguments, _, returns = entry.fact.signature.partition("->")
        if "Tensor" not in arguments or operators.is_out(entry) or _ALIAS.search(returns):
            continue
        if "inplace_view" not in ((entry.fact.detail or {}).get("tags") or ()):
            return True
    return False


_ALIAS: Final = re.compile(r"\([a-z]\w*(?:\|[a-z]\w*)*\)")
"""`(a)` behind a type; one that is written to is `(a!)`."""
_MOST_HELPERS: Final = 8


def _call(facts: Facts, reference: FiledReference) -> Call | None:
    fact = reference.fact
    last = keys.last(fact.key)
    if fact.kind == "call":
        qualifier = fact.name.rpartition("::")[0]
        if qualifier not in ("at", "", "native", "at::native", "at::_ops"):
            return None
        base, evidence = last, "unique"
    elif fact.kind == "method":
        base, evidence = last, "candidate"
    else:
        return None
    for name in dict.fromkeys((base, base.removesuffix("_symint"), base.removesuffix("_out"))):
        if _is_operator(facts, name, fact.kind):
            operator = f"{facts.rules.operator_namespace}::{name}"
            return Call(operator, evidence, reference)  # type: ignore[arg-type]
    return None


def _is_operator(facts: Facts, base: str, kind: str) -> bool:
    if not reach.is_operator(facts, base):
        return False
    entries = [
        d
        for d in facts.definitions(keys.op(base))
        if d.fact.kind == "operator"
        and keys.operator_name(d.fact.name).namespace == facts.rules.operator_namespace
    ]
    if kind != "method":
        return bool(entries)
    if not any("method" in ((d.fact.detail or {}).get("variants") or ()) for d in entries):
        return False
    return not any(facts.named(keys.cpp(base), f"{cls}::{base}") for cls in PLAIN_MEMBERS)
