"""Where a name in C++ is looked up: the namespaces and classes around what it stands in."""

from __future__ import annotations

from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import functions
from torchtalkd.link.source import Facts

_CPP: Final = keys.space(keys.cpp(""))


def scopes_of(facts: Facts, reference: FiledReference, owner: FiledDefinition | None) -> list[str]:
    """The namespaces that a name is looked up in, innermost first."""
    if owner is None:
        return _near(facts, reference)
    kept: dict[int, list[str]] = facts.kept.setdefault("scopes", {})
    found = kept.get(owner.id)
    if found is None:
        found = kept[owner.id] = _around(facts, owner) or _near(facts, reference)
    return found


def _around(facts: Facts, owner: FiledDefinition) -> list[str]:
    """By the names of the definitions around; nothing where none says a namespace."""
    around: FiledDefinition | None = owner
    while around is not None:
        is_function = around.fact.kind in functions.BODIES and around.file.language != "python"
        if is_function or ("::" in around.fact.name and keys.space(around.fact.key) == _CPP):
            return functions.enclosing(around.fact.name)
        namespace = str((around.fact.detail or {}).get("namespace") or "")
        if namespace:
            return functions.enclosing(f"{namespace}::x")
        around = facts.scope(around)
    return []


def _near(facts: Facts, reference: FiledReference) -> list[str]:
    """By the nearest definition of the file that is in a namespace."""
    kept: dict[int, list[tuple[int, str]]] = facts.kept.setdefault("in_namespaces", {})
    there = kept.get(reference.file.id)
    if there is None:
        named = facts.names_in(reference.file, _SPACED)
        there = kept[reference.file.id] = [(line, name) for line, name in named if "::" in name]
    near = min(there, key=lambda one: abs(one[0] - reference.fact.line), default=None)
    return functions.enclosing(near[1]) if near is not None else [""]


_SPACED: Final = ("function", "class", "stub", "structured_impl")
"""Kinds of definitions whose names say the namespace that they stand in."""
