"""How Python reaches an operator: bindings, aliases of them, functions that call them.

From the operator outwards candidates are looked for under the modules that users write, and only
those are kept that resolve forward to the operator. In the other direction: the operators that
a Python function's body calls.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import python_names
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Evidence, Facts


class EntryPoint(NamedTuple):
    """One Python name that leads to an operator."""

    name: str
    """As users write it: torch.linalg.det."""
    kind: Literal["wrapper", "alias", "binding"]
    definition: FiledDefinition
    """The function with a body, the alias's assignment, the binding."""
    evidence: Evidence


class Called(NamedTuple):
    """An operator that a Python function calls."""

    operator: str
    """The packet: `aten::layer_norm`."""
    evidence: Evidence
    line: int


def entry_points(facts: Facts, family: Family) -> list[EntryPoint]:
    """The Python names of an operator: wrappers with a body, then aliases, then bindings."""
    bound = bindings(facts, family)
    found: dict[str, EntryPoint] = {}
    ids = {binding.id for binding in bound}
    for name in _candidates(facts, family, bound):
        resolution = python_names.resolve(facts, name)
        for end in resolution.ends:
            if end.fact.kind == "function" and end.file.role == "library":
                evidence = _leads(facts, end, family)
                if evidence:
                    found.setdefault(end.fact.name, EntryPoint(end.fact.name, "wrapper", end, evidence))
            elif end.id in ids and resolution.hops:
                first = resolution.hops[0]
                if first.fact.name == name:
                    found.setdefault(name, EntryPoint(name, "alias", first, "declared"))
    for user in users(facts, family):
        found.setdefault(user.fact.name, EntryPoint(user.fact.name, "wrapper", user, "declared"))
    for binding in bound:
        found.setdefault(binding.fact.name, EntryPoint(binding.fact.name, "binding", binding, "declared"))
    order = {"wrapper": 0, "alias": 1, "binding": 2}
    return sorted(
        found.values(), key=lambda e: (order[e.kind], not _named(e, family), e.name.count("."), e.name)
    )


def _named(point: EntryPoint, family: Family) -> bool:
    """Whether a Python name is that of the operator, or contains it (linalg.det, linalg_det)."""
    return point.name.rpartition(".")[2] in (family.base, family.base.partition("_")[2])


def users(facts: Facts, family: Family) -> list[FiledDefinition]:
    """The Python functions of the library that call an operator by `torch.ops.ns.name`, in the
    order of the files. Only of an operator that is declared in code: those of yaml have bindings,
    and what calls them by torch.ops is no way in."""
    if any(entry.fact.kind == "operator" for entry in family.entries):
        return []
    found: dict[int, FiledDefinition] = {}
    for reference in facts.references(keys.op(family.base)):
        if reference.file.role != "library" or spelled(facts, reference.fact.name) != family.name:
            continue
        owner = facts.definition(reference.owner) if reference.owner >= 0 else None
        if owner is None or owner.fact.kind != "function":
            continue
        # Named but not called: an object that keeps it to call it later, or one that only compares.
        keeps = keys.last(owner.fact.key) in ("__init__", family.base)
        if reference.fact.kind == "call" or (reference.fact.kind == "address" and keeps):
            found[owner.id] = owner
    # A function called like the operator is its wrapper more likely than one that uses it too.
    named = sorted(found, key=lambda number: (keys.last(found[number].fact.key) != family.base, number))
    return [found[number] for number in named][:MOST_USERS]


MOST_USERS: Final = 12
"""Functions that are named as ways to an operator; more are its callers."""


def bindings(facts: Facts, family: Family) -> list[FiledDefinition]:
    """The Python names bound to an operator's overloads, in the order of the text."""
    found: dict[int, FiledDefinition] = {}
    for target in facts.targeting(keys.op(family.base)):
        owner = facts.definition(target.owner)
        if owner is None or owner.fact.kind != "python_binding" or owner.file.role in ("template", "test"):
            continue
        if keys.operator_name(target.fact.name).namespace == family.namespace:
            found[owner.id] = owner
    return [found[number] for number in sorted(found)]


def _candidates(facts: Facts, family: Family, bound: list[FiledDefinition]) -> list[str]:
    """Names that may lead to an operator: its own below each public module, and what assigns
    one of its bindings."""
    found: dict[str, None] = {}
    lasts = {family.base: None, **{keys.last(b.fact.key): None for b in bound}}
    if not bound and family.namespace != facts.rules.operator_namespace:
        return []
    for module in python_names.public_modules(facts):
        prefix = f"{module.rpartition('.')[2]}_"
        for last in lasts:
            found.setdefault(f"{module}.{last}")
            if module in facts.rules.wrapper_prefixes and last.startswith(prefix):
                found.setdefault(f"{module}.{last.removeprefix(prefix)}")
    for last in lasts:
        for target in facts.targeting(keys.py(last)):
            owner = facts.definition(target.owner)
            if owner is None or owner.fact.kind != "alias" or owner.file.role != "library":
                continue
            if not (owner.fact.detail or {}).get("import"):
                found.setdefault(owner.fact.name)
    return list(found)


def _leads(facts: Facts, function: FiledDefinition, family: Family) -> Evidence | None:
    for called in operators_called(facts, function):
        if called.operator == family.name:
            return called.evidence
    return None


def operators_called(facts: Facts, function: FiledDefinition) -> tuple[Called, ...]:
    """The operators that a Python function's body calls by a name that is bound to them, each
    once. A method of its own name on an unknown receiver (`input.softmax(…)` in `softmax`) is a
    candidate; other methods say nothing."""
    kept: dict[int, tuple[Called, ...]] = facts.kept.setdefault("called", {})
    known = kept.get(function.id)
    if known is not None:
        return known
    own = keys.last(function.fact.key)
    found: dict[str, Called] = {}
    for reference in facts.inside(function):
        fact = reference.fact
        last = keys.last(fact.key)
        space = keys.space(fact.key)
        if space == "py" and fact.kind in ("call", "address"):
            for operator in operators_of(facts, fact.name):
                found.setdefault(operator, Called(operator, "declared", fact.line))
        elif space == "op" and fact.kind in ("call", "address"):
            operator = spelled(facts, fact.name)
            if operator:
                found.setdefault(operator, Called(operator, "declared", fact.line))
        elif space == "attr" and last in (own, f"{own}_"):
            operator = f"{facts.rules.operator_namespace}::{last}"
            if operator not in found and facts.count(keys.op(last)):
                found[operator] = Called(operator, "candidate", fact.line)
    kept[function.id] = tuple(found.values())
    return kept[function.id]


def operators_of(facts: Facts, dotted: str) -> list[str]:
    """The operators (packets) that a full Python name is bound to: `torch.layer_norm` →
    aten::layer_norm, `torch.ops.vision.nms` → vision::nms. Aliases are followed, bodies not."""
    found: dict[str, None] = {}
    operator = spelled(facts, dotted)
    if operator:
        return [operator]
    for name in python_names.canonical(facts, dotted)[:2]:
        for end in python_names.resolve(facts, name).ends:
            if end.fact.kind == "python_binding":
                for target in facts.targets(end):
                    if keys.space(target.fact.key) == "op":
                        written = keys.operator_name(target.fact.name)
                        found.setdefault(f"{written.namespace}::{written.base}")
        if found:
            break
    return list(found)


def spelled(facts: Facts, dotted: str) -> str:
    """The packet that `torch.ops.ns.name` names, '' for any other spelling."""
    parts = dotted.split(".")
    if "ops" not in parts[:-2] or parts.index("ops") > 1:
        return ""
    at = parts.index("ops")
    namespace, base = parts[at + 1], parts[at + 2]
    return f"{namespace}::{base}" if facts.count(keys.op(base)) else ""
