"""The edges of an operator: to its kernels under each key, to what its derivative's formulas call.

`kernel_edges` has the same links the other way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import library_blocks, operators, stubs
from torchtalkd.link.generated_names import generated
from torchtalkd.link.operators import Family
from torchtalkd.link.pieces import Work, derive, derived
from torchtalkd.link.registered_by_hand import ByHand, registered_by_hand
from torchtalkd.link.source import Link
from torchtalkd.link.tensor_methods import method_of_tensor
from torchtalkd.queries import trace_kernels, trace_layers
from torchtalkd.queries.edges import (
    Edge,
    at_definition,
    at_reference,
    each_once,
    operator_node,
    packet_node,
)
from torchtalkd.queries.trace_derivative import FORMULA_SCOPES, formula_functions
from torchtalkd.store.view import View


def operator_edges(view: View, family: Family) -> tuple[Edge, ...]:
    """From an operator to all its kernels, meta functions and formulas' functions. Kept with the view."""
    kept: dict[str, tuple[Edge, ...]] = view.kept.setdefault("operator_edges", {})
    found = kept.get(family.name)
    if found is None:
        found = kept[family.name] = each_once(_edges(view, family))
    return found


def _edges(view: View, family: Family) -> Iterator[Edge]:
    for entry in family.entries:
        if entry.fact.kind == "operator":
            yield from _of_yaml(view, entry)
    for one in registered_by_hand(view, family, frozenset(family.overloads)):
        yield from _by_hand(view, one)


def _of_yaml(view: View, entry: FiledDefinition) -> Iterator[Edge]:
    for row in trace_kernels.rows(view, entry):
        key = row.registration.fact.dispatch_key
        for link in row.kernels:
            through = f"{entry.fact.name} · {key}"
            yield at_definition(link.definition, "dispatcher", link.evidence, row.registration, through)
        for target in view.targets(row.registration):
            if stubs.is_stub(view, target.fact.key):
                stub = _named_stub(view, target.fact.name)
                for edge in stub_edges(view, stub) if stub else ():
                    if edge.through.endswith(f"· {key}"):
                        yield edge
    for meta in metas(view, entry):
        yield at_definition(meta, "dispatcher", "declared", entry, f"{entry.fact.name} · Meta")
    for derivative in operators.derivatives(view, entry):
        yield from formula_edges(view, derivative)


def _named_stub(view: View, written: str) -> str:
    for scope in (*view.rules.native_namespaces, ""):
        full = stubs.meant(view, f"{scope}::{written}" if scope else written, [""])
        if full:
            return full
    return ""


def metas(view: View, entry: FiledDefinition) -> Sequence[FiledDefinition]:
    """The meta functions of an overload's structured group. Kept with the view."""
    kept: dict[int, list[FiledDefinition]] = view.kept.setdefault("metas", {})
    found = kept.get(entry.id)
    if found is None:
        found = kept[entry.id] = list(_metas(view, entry))
    return found


def _metas(view: View, entry: FiledDefinition) -> Iterator[FiledDefinition]:
    out = operators.delegate(view, entry)
    functional = operators.functional(view, out) if out is not None else None
    if functional is not None:
        for definition in view.definitions(keys.cpp(operators.meta_name(functional))):
            if definition.fact.kind == "structured_meta" and definition.file.role != "template":
                yield definition


def formula_edges(view: View, derivative: FiledDefinition) -> Iterator[Edge]:
    """What the formulas of a derivative call: functions, and operators."""
    node = operators.node_name(view, derivative) or derivative.fact.name
    for target in view.targets(derivative):
        links = _formula_links(view, target.fact.name)
        for link in links:
            yield at_reference(link.definition, "autograd", link.evidence, target, node)
        called = None if links else generated(view, _qualified(target.fact.name))
        other = packet_node(view, called.packet) if called is not None else None
        if other is not None:
            yield at_reference(other, "autograd", "declared", target, node)
    for last, line in _methods(derivative):
        method = method_of_tensor(view, last)
        other = packet_node(view, method.packet) if method is not None else None
        if other is not None:
            yield Edge(other, "autograd", "unique", derivative.file.path, line, 0, node)


def _formula_links(view: View, name: str) -> list[Link]:
    """The functions that a formula's name means. Where torchgen makes a function of that name, only one of
    autograd's own is nearer."""
    kept: dict[str, list[Link]] = view.kept.setdefault("formula_links", {})
    found = kept.get(name)
    if found is None:
        found = formula_functions(view, name)
        if found and generated(view, _qualified(name)) is not None:
            found = [link for link in found if link.definition.fact.name.startswith(f"{FORMULA_SCOPES[2]}::")]
        kept[name] = found
    return found


def _qualified(name: str) -> str:
    return name if "::" in name else f"at::{name}"


def _methods(derivative: FiledDefinition) -> Iterator[tuple[str, int]]:
    """The methods called in the formulas, with the lines of these."""
    detail = derivative.fact.detail or {}
    for where, formulas in _formula_texts(detail):
        for inputs, formula in formulas.items():
            for last in dict.fromkeys(_METHOD.findall(str(formula))):
                yield last, int(where.get(inputs, derivative.fact.line))


def _formula_texts(detail: dict[str, object]) -> Iterator[tuple[dict[str, int], dict[str, str]]]:
    formulas, lines = detail.get("formulas"), detail.get("lines")
    if isinstance(formulas, dict):
        yield (lines if isinstance(lines, dict) else {}), formulas
    blocks, placed = detail.get("dispatch"), detail.get("dispatch_lines")
    for key, block in blocks.items() if isinstance(blocks, dict) else ():
        if isinstance(block, dict) and key != "Default":
            of_key = placed.get(key) if isinstance(placed, dict) else None
            yield (of_key if isinstance(of_key, dict) else {}), block


YAML: Final = "native_functions"
_METHOD: Final = re.compile(r"(?:\.|->)([A-Za-z_]\w*)\s*(?:<[^()<>]*>\s*)?\(")


def _by_hand(view: View, one: ByHand) -> Iterator[Edge]:
    if one.falls_through:
        return
    through = f"{one.operator} · {one.dispatch_key or 'CatchAll'}"
    links = library_blocks.made_functions(view, one.made) if one.made is not None else []
    for link in links or registered_links(view, one.place):
        yield at_definition(link.definition, "dispatcher", link.evidence, one.place, through)
    if one.made is None and not view.targets(one.place):
        # A lambda: the registration itself has the body.
        yield at_definition(one.place, "registration", "declared", one.place, through)


def registered_links(view: View, place: FiledDefinition) -> list[Link]:
    """The functions that a registration in code names, in C++ or in Python. Kept with the view: two hundred
    functions called `run` ask each registration that says so."""
    kept: dict[int, list[Link]] = view.kept.setdefault("registered_links", {})
    found = kept.get(place.id)
    if found is None:
        found = kept[place.id] = list(_registered_links(view, place))
    return found


def _registered_links(view: View, place: FiledDefinition) -> Iterator[Link]:
    for target in view.targets(place) if place.fact.kind != "macro_use" else ():
        if keys.space(target.fact.key) == keys.space(keys.py("")):
            found = trace_layers.python_target(view, place, target.fact.key, target.fact.name)
            yield from (Link(function, "declared") for function in found)
        else:
            yield from library_blocks.target_functions(view, target.fact.name, place)


def stub_edges(view: View, stub: str) -> tuple[Edge, ...]:
    """From a stub to the kernels registered for it; to the registration where the tree does not define
    what it names."""
    kept: dict[str, tuple[Edge, ...]] = view.kept.setdefault("stub_edges", {})
    found = kept.get(stub)
    if found is None:
        edges: list[Edge] = []
        for kernel in stubs.kernels(view, keys.cpp(stub), stub):
            place = kernel.registration
            through = f"{keys.cpp_last(stub)} · {place.fact.dispatch_key}"
            edges.extend(
                at_definition(link.definition, "stub", link.evidence, place, through)
                for link in kernel.functions
            )
            if not kernel.functions:
                edges.append(at_definition(place, "stub", "declared", place, through))
        found = kept[stub] = tuple(edges)
    return found


def formula_users(view: View, family: Family) -> Iterator[Edge]:
    """The operators whose derivatives call an operator."""
    node = operator_node(view, family)
    if node is not None:
        yield from _formula_users(view).get(node.id, ())


def prepare_formulas(view: View) -> Iterator[None]:
    """Reads the formulas of all derivatives, before somebody asks who calls an operator, in pieces."""
    return derive(view, "formula_users", _users_of_formulas)


def _formula_users(view: View) -> dict[int, list[Edge]]:
    """The id of an operator's node → the edges from the operators whose formulas call it."""
    return derived(view, "formula_users", _users_of_formulas)


def _users_of_formulas(view: View) -> Work[dict[int, list[Edge]]]:
    found: dict[int, list[Edge]] = {}
    for derivative in view.definitions_of_kind("derivative"):
        yield
        user = packet_node(view, str(keys.operator_name(derivative.fact.name)._replace(overload="")))
        for edge in formula_edges(view, derivative) if user is not None else ():
            if user is not None and edge.other.fact.kind in ("operator", "schema"):
                found.setdefault(edge.other.id, []).append(edge._replace(other=user))
    return found
