"""Registrations in code as they stand: the block around one, the operator meant, the functions registered.

A `TORCH_LIBRARY…` block gives its registrations a namespace and a dispatch key (torch/library.h);
what they register is looked up from where they stand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, macros, members, operators, targets
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Facts, Link


def is_meant(family: Family, name: str, overloads: frozenset[str], namespaces: Sequence[str] = ()) -> bool:
    """Whether a registration's name is one of the overloads. A name that no schema has is meant
    where the whole operator is asked for: its schema may be in another tree. `namespaces` are those
    that a macro in the name's place stands for; none, if nobody knows."""
    written = keys.operator_name(name)
    if written.base != family.base:
        return False
    if operators.is_hole(written.namespace):
        known = [namespace for namespace in namespaces if not operators.is_hole(namespace)]
        if known and family.namespace not in known:
            return False
    elif written.namespace and written.namespace != family.namespace:
        return False
    full = operator_of(family, name, overloads)
    return full in overloads or (full not in family.overloads and overloads >= frozenset(family.overloads))


def operator_of(family: Family, name: str, overloads: frozenset[str]) -> str:
    """The overload's full name."""
    written = keys.operator_name(name)
    if operators.is_hole(written.namespace):
        written = written._replace(namespace=family.namespace)
    return str(keys.canonical_operator(written, family.namespace))


def block_of(facts: Facts, place: FiledDefinition) -> FiledDefinition | None:
    """The library block that a registration stands in."""
    around = facts.scope(place)
    if around is not None and around.fact.kind == "library":
        return around
    line = place.fact.line
    blocks = [
        d
        for d in facts.definitions_in(place.file)
        if d.fact.kind == "library" and d.fact.line <= line <= d.fact.end_line
    ]
    return max(blocks, key=lambda d: d.fact.line, default=None)


def target_functions(facts: Facts, written: str, registration: FiledDefinition) -> list[Link]:
    """The functions that a registration's target means, looked up from where it stands: of several those
    that a build compiles into the same module, then those of a file for its key, then the nearest copies."""
    scopes = scopes_of(facts, registration)
    found = functions.functions(facts, written, scopes, file=registration.file, kinds=("function", "kernel"))
    if not found:
        found = members.inherited(facts, written, scopes, registration.file)
    if len(found) > 1:
        own = set(targets.targets_of(facts, registration.file))
        found = [d for d in found if own.intersection(targets.targets_of(facts, d.file))] or found
    if len(found) > 1:
        found = suited(found, registration.fact.dispatch_key)
    if len({(d.fact.name, d.fact.signature) for d in found}) == 1:
        found = members.nearest(found, registration.file)
    return functions.as_links(found, "declared")


def suited(found: list[FiledDefinition], dispatch_key: str) -> list[FiledDefinition]:
    """Of several functions of one full name those whose file can hold a kernel of the key: an
    extension may define one for the CPU and one for CUDA, each linked into a library of its own."""
    device = next((d for d in ("CUDA", "HIP", "MPS") if d in dispatch_key), "")
    wanted = {"CUDA": ("cuda",), "HIP": ("cuda",), "MPS": ("objcpp", "metal")}.get(device, ("cpp",))
    fitting = [d for d in found if d.file.language in wanted]
    return fitting or found


def scopes_of(facts: Facts, binding: FiledDefinition) -> list[str]:
    """The namespaces from which a binding's targets are looked up, nearest first."""
    namespace = str((binding.fact.detail or {}).get("namespace") or "")
    scopes = functions.enclosing(f"{namespace}::x") if namespace else []
    scopes.extend(s for s in namespaces_of(facts, binding) if s not in scopes)
    return scopes


def namespaces_of(facts: Facts, place: FiledDefinition) -> list[str]:
    """The namespaces that a place may stand in: those of its file's definitions around its line,
    nearest first. (A library block belongs to no name, so its namespace is not in the facts.)"""
    kept: dict[int, list[FiledDefinition]] = facts.kept.setdefault("spaced_in", {})
    there = kept.get(place.file.id)
    if there is None:
        there = kept[place.file.id] = [
            d
            for d in facts.definitions_in(place.file)
            if d.fact.kind in ("function", "class", "stub")
            and "::" in d.fact.name
            and not (d.fact.detail or {}).get("method")
        ]
    before = sorted(there, key=lambda d: abs(d.fact.line - place.fact.line))
    found: dict[str, None] = {}
    for definition in before[:40]:
        for scope in functions.enclosing(definition.fact.name):
            found.setdefault(scope)
    found.pop("", None)
    return [*found, ""]


def made_functions(facts: Facts, made: macros.Made) -> list[Link]:
    """The functions that a macro registers: those its body names, else those that the use's
    arguments do (a body may wrap them: `plumbing<decltype(&rule), &rule>`). Kept with the facts."""
    kept: dict[tuple[Any, ...], list[Link]] = facts.kept.setdefault("made_functions", {})
    asked = made.use.id, *made[2:]
    found = kept.get(asked)
    if found is None:
        found = kept[asked] = _made_functions(facts, made)
    return found


def _made_functions(facts: Facts, made: macros.Made) -> list[Link]:
    found = [link for target in made.targets for link in target_functions(facts, target, made.use)]
    if found:
        return found
    written = keys.operator_name(made.name)
    for argument in facts.targets(made.use):
        if keys.last(argument.fact.key) not in (written.base, written.overload):
            links = target_functions(facts, argument.fact.name, made.use)
            found.extend(link for link in links if link.definition.file.id == made.use.file.id)
    return found
