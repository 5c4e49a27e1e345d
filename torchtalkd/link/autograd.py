"""Which C++ autograd functions a body applies: `Fn::apply(x)` runs `Fn::forward`, later `Fn::backward`.

torch/csrc/autograd/custom_function.h: a class that derives from torch::autograd::Function<itself>.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import functions
from torchtalkd.link.source import Facts

_APPLY: Final = keys.cpp("apply")


class Applied(NamedTuple):
    """An autograd function that a body applies."""

    definition: FiledDefinition
    reference: FiledReference
    """The call of `apply`."""


def applied(facts: Facts, body: FiledDefinition) -> list[Applied]:
    """The autograd functions applied in a body, in the order of the text."""
    kept: dict[int, list[Applied]] = facts.kept.setdefault("applied", {})
    found = kept.get(body.id)
    if found is None:
        found = kept[body.id] = [
            Applied(definition, reference)
            for reference in facts.inside(body)
            for definition in function_of(facts, reference, body)
        ]
    return found


def function_of(facts: Facts, reference: FiledReference, body: FiledDefinition) -> list[FiledDefinition]:
    """The autograd function that a call applies; none, for any other call."""
    qualifier, _, _ = reference.fact.name.rpartition("::")
    if reference.fact.key != _APPLY or not qualifier:
        return []
    scopes = functions.enclosing(body.fact.name)
    return functions.functions(facts, qualifier, scopes, file=body.file, kinds=("autograd_function",))


def methods(
    facts: Facts, function: FiledDefinition, names: Iterable[str] = ("forward", "backward")
) -> list[FiledDefinition]:
    """The bodies of an autograd function's own methods: those of its file, as classes of one name may be
    local to several; else those of another, where a header declares the class."""
    found = []
    for name in names:
        bodies = [
            d
            for d in facts.named(keys.cpp(name), f"{function.fact.name}::{name}")
            if not d.fact.declares and d.fact.kind == "function"
        ]
        own = [d for d in bodies if d.file.id == function.file.id]
        found.extend(own or [d for d in bodies if not function.fact.local and not d.fact.local])
    return found


def appliers(facts: Facts, function: FiledDefinition) -> list[FiledDefinition]:
    """The C++ functions that apply an autograd function."""
    found: dict[int, FiledDefinition] = {}
    last = keys.cpp_last(function.fact.name)
    for reference in facts.references(_APPLY):
        if f"::{reference.fact.name}".endswith(f"::{last}::apply") and reference.owner >= 0:
            body = facts.definition(reference.owner)
            if body is not None and any(f.id == function.id for f in function_of(facts, reference, body)):
                found[body.id] = body
    return list(found.values())
