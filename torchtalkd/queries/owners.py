"""Whose a reference is: the function around it, or the registration whose lambda it stands in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.store.view import View

_BINDS: Final = ("registration", "schema", "python_binding")
_AROUND: Final = ("library", "module")
"""What bindings of C++ stand in: blocks whose text is not one function's."""


def owner_of(view: View, reference: FiledReference) -> FiledDefinition | None:
    """The definition that a reference stands in; in a block of registrations the one around it."""
    owner = view.definition(reference.owner) if reference.owner >= 0 else None
    if owner is not None and (owner.fact.kind not in _AROUND or owner.file.language == "python"):
        return owner
    return _binding_around(view, reference) or owner


def is_target(owner: FiledDefinition, reference: FiledReference) -> bool:
    """Whether a reference in a binding is the very thing that is bound: that is an edge of its own."""
    return owner.fact.kind in _BINDS and reference.fact.kind == "address"


def inside_of(view: View, binding: FiledDefinition) -> Iterator[FiledReference]:
    """The references in the lambda of a binding."""
    if binding.fact.kind not in _BINDS or not (binding.fact.detail or {}).get("lambda"):
        return
    further = [d.fact.line for d in view.definitions_in(binding.file) if d.fact.line > binding.fact.end_line]
    for line in range(binding.fact.line, min(further, default=binding.fact.end_line) + 1):
        for reference in view.references_on(binding.file, line):
            owner = owner_of(view, reference)
            if owner is not None and owner.id == binding.id:
                yield reference


def _binding_around(view: View, reference: FiledReference) -> FiledDefinition | None:
    place = (reference.fact.line, reference.fact.column)
    around = [
        (d.fact.line, d.fact.column, d)
        for d in _bindings(view, reference)
        if (d.fact.line, d.fact.column) <= place and place[0] <= d.fact.end_line
    ]
    if around:
        return max(around, key=lambda one: one[:2])[2]
    return _begun_before(view, reference) if reference.owner < 0 else None


def _begun_before(view: View, reference: FiledReference) -> FiledDefinition | None:
    """The binding whose lambda goes on at a place at file scope: `Operator("f()", [](Stack& s) { … })` ends
    for the index with its schema. None where something else begins in between."""
    if not any((d.fact.detail or {}).get("lambda") for d in _bindings(view, reference)):
        return None
    places, there = _by_place(view, reference)
    at = bisect_right(places, (reference.fact.line, reference.fact.column)) - 1
    last = there[at] if at >= 0 else None
    is_lambda = last is not None and last.fact.kind in _BINDS and (last.fact.detail or {}).get("lambda")
    return last if is_lambda else None


def _by_place(view: View, reference: FiledReference) -> tuple[list[tuple[int, int]], list[FiledDefinition]]:
    """The places in a file where definitions begin, in order, and the first definition of each."""
    kept: dict[int, tuple[list[tuple[int, int]], list[FiledDefinition]]] = view.kept.setdefault(
        "definitions_by_place", {}
    )
    found = kept.get(reference.file.id)
    if found is None:
        firsts: dict[tuple[int, int], FiledDefinition] = {}
        for definition in view.definitions_in(reference.file):
            firsts.setdefault((definition.fact.line, definition.fact.column), definition)
        places = sorted(firsts)
        found = kept[reference.file.id] = (places, [firsts[place] for place in places])
    return found


def _bindings(view: View, reference: FiledReference) -> list[FiledDefinition]:
    kept: dict[int, list[FiledDefinition]] = view.kept.setdefault("bindings_in", {})
    found = kept.get(reference.file.id)
    if found is None:
        found = kept[reference.file.id] = view.kinds_in(reference.file, _BINDS)
    return found
