"""The class that a structured kernel's macro makes: what it inherits, so what its body may call unqualified.

TORCH_META_FUNC(add, Tensor) is a method of `at::meta::structured_add_Tensor`, which derives from what the
entry's `structured_inherits` says, else from `at::impl::MetaBase`; TORCH_IMPL_FUNC(add_out) is one of a
class that derives from it (torchgen/gen.py `compute_meta_function_declaration`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators
from torchtalkd.link.generated_names import generated
from torchtalkd.link.source import Facts

META_BASE: Final = "at::impl::MetaBase"
KINDS: Final = ("structured_meta", "structured_impl")
"""Methods of classes that nothing derives from but what torchgen writes."""


def inherited_class(facts: Facts, owner: FiledDefinition | None) -> str:
    """The full name of the class of the tree that a structured kernel's class derives from; '' for any
    other function."""
    if owner is None or owner.fact.kind not in KINDS:
        return ""
    kept: dict[int, str] = facts.kept.setdefault("inherited_class", {})
    found = kept.get(owner.id)
    if found is None:
        out = next(_out_entries(facts, owner), None)
        written = str((out.fact.detail or {}).get("structured_inherits") or "") if out is not None else ""
        found = kept[owner.id] = (
            (f"at::{written}" if "::" not in written else written) if written else META_BASE
        )
    return found


def _out_entries(facts: Facts, owner: FiledDefinition) -> Iterator[FiledDefinition]:
    """The structured entry of the group that a kernel or a meta function belongs to."""
    if owner.fact.kind == "structured_meta":
        meant = generated(facts, f"at::_ops::{keys.last(owner.fact.key)}::call")
        for name in meant.overloads if meant is not None else ():
            functional = operators.entry(facts, name)
            out = operators.delegate(facts, functional) if functional is not None else None
            if out is not None:
                yield out
        return
    for target in facts.targeting(owner.fact.key):
        registration = facts.definition(target.owner)
        if registration is not None and registration.fact.kind == "registration":
            out = operators.entry(facts, registration.fact.name)
            if out is not None and (out.fact.detail or {}).get("structured"):
                yield out
