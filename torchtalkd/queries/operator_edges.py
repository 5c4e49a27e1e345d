"""The edges of an operator: to its kernels under each key, to what its derivative's formulas call.

One meaning for both directions: what leads up from a kernel to its operators is what leads down from
these to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import library_blocks, macros, meaning, operators, stubs
from torchtalkd.link.generated_names import generated
from torchtalkd.link.operators import Family
from torchtalkd.link.registered_by_hand import ByHand, registered_by_hand
from torchtalkd.queries import trace_kernels, trace_layers
from torchtalkd.queries.edges import (
    Edge,
    at_definition,
    at_reference,
    each_once,
    family_of,
    operator_node,
    packet_node,
)
from torchtalkd.queries.trace_derivative import formula_functions
from torchtalkd.store.view import View


def operator_edges(view: View, family: Family) -> tuple[Edge, ...]:
    """From an operator to all its kernels, meta functions and formulas' functions. Kept with the view."""
    kept: dict[str, tuple[Edge, ...]] = view.kept.setdefault("operator_edges", {})
    found = kept.get(family.name)
    if found is None:
        found = kept[family.name] = each_once(_edges(view, family))
    return found


def kernel_edges(view: View, kernel: FiledDefinition) -> Iterator[Edge]:
    """From a kernel, a meta function or a formula's function to the operators that lead to it."""
    for packet in _packets(view, kernel):
        family = operators.family(view, packet)
        node = operator_node(view, family) if family is not None else None
        if family is not None and node is not None:
            for edge in operator_edges(view, family):
                if edge.other.id == kernel.id:
                    yield edge._replace(other=node)


# -- down


def _edges(view: View, family: Family) -> Iterator[Edge]:
    for entry in family.entries:
        if entry.fact.kind == "operator":
            yield from _of_yaml(view, entry)
    for one in registered_by_hand(view, family, frozenset(family.overloads)):
        yield from _by_hand(view, one)


def _of_yaml(view: View, entry: FiledDefinition) -> Iterator[Edge]:
    name = entry.fact.name
    for row in trace_kernels.rows(view, entry):
        key = row.registration.fact.dispatch_key
        for link in row.kernels:
            yield at_definition(
                link.definition, "dispatcher", link.evidence, row.registration, f"{name} · {key}"
            )
        for target in view.targets(row.registration):
            if stubs.is_stub(view, target.fact.key):
                stub = _named_stub(view, target.fact.name)
                for edge in stub_edges(view, stub) if stub else ():
                    if edge.through.endswith(f"· {key}"):
                        yield edge
    for meta in _metas(view, entry):
        yield at_definition(meta, "dispatcher", "declared", entry, f"{name} · Meta")
    for derivative in operators.derivatives(view, entry):
        yield from _formulas(view, derivative)


def _named_stub(view: View, written: str) -> str:
    for scope in (*view.rules.native_namespaces, ""):
        full = stubs.meant(view, f"{scope}::{written}" if scope else written, [""])
        if full:
            return full
    return ""


def _metas(view: View, entry: FiledDefinition) -> Iterator[FiledDefinition]:
    out = operators.delegate(view, entry)
    functional = operators.functional(view, out) if out is not None else None
    if functional is not None:
        for definition in view.definitions(keys.cpp(operators.meta_name(functional))):
            if definition.fact.kind == "structured_meta" and definition.file.role != "template":
                yield definition


def _formulas(view: View, derivative: FiledDefinition) -> Iterator[Edge]:
    node = operators.node_name(view, derivative) or derivative.fact.name
    for target in view.targets(derivative):
        links = formula_functions(view, target.fact.name)
        for link in links:
            yield at_reference(link.definition, "autograd", link.evidence, target, node)
        called = None if links else generated(view, _qualified(target.fact.name))
        other = packet_node(view, called.packet) if called is not None else None
        if other is not None:
            yield at_reference(other, "autograd", "declared", target, node)
    for last, line in _methods(derivative):
        method = meaning.method_of_tensor(view, last)
        other = packet_node(view, method.packet) if method is not None else None
        if other is not None:
            yield Edge(other, "autograd", "unique", derivative.file.path, line, 0, node)


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


_METHOD: Final = re.compile(r"(?:\.|->)([A-Za-z_]\w*)\s*(?:<[^()<>]*>\s*)?\(")


def _by_hand(view: View, one: ByHand) -> Iterator[Edge]:
    through = f"{one.operator} · {one.dispatch_key or 'CatchAll'}"
    if one.falls_through:
        return
    if one.made is not None:
        for link in library_blocks.made_functions(view, one.made):
            yield at_definition(link.definition, "dispatcher", link.evidence, one.place, through)
        return
    named = view.targets(one.place)
    if not named:
        yield at_definition(one.place, "dispatcher", "declared", one.place, through)
    for target in named:
        if keys.space(target.fact.key) == keys.space(keys.py("")):
            for function in trace_layers.python_target(view, one.place, target.fact.key, target.fact.name):
                yield at_definition(function, "dispatcher", "declared", one.place, through)
            continue
        for link in library_blocks.target_functions(view, target.fact.name, one.place):
            yield at_definition(link.definition, "dispatcher", link.evidence, one.place, through)


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


# -- up


def _packets(view: View, kernel: FiledDefinition) -> list[str]:
    """The operators that may lead to a function, by what names it."""
    found: dict[str, None] = {}
    key = kernel.fact.key
    if kernel.fact.kind in ("registration", "schema"):
        family = family_of(view, kernel)
        return [family.name] if family is not None else []
    for target in view.targeting(key):
        owner = view.definition(target.owner)
        if owner is None or owner.file.role == "template":
            continue
        if owner.fact.kind in ("registration", "schema", "derivative"):
            for name in _group(view, owner):
                found.setdefault(name)
        elif owner.fact.kind == "macro_use":
            for made in macros.makes(view, owner):
                if made.kind in ("registration", "schema"):
                    found.setdefault(str(keys.operator_name(made.name)._replace(overload="")))
    if kernel.fact.kind == "structured_meta":
        meant = generated(view, f"at::_ops::{keys.last(key)}::call")
        for name in _variants(view, meant.packet) if meant is not None else ():
            found.setdefault(name)
    return list(found)


def _group(view: View, binding: FiledDefinition) -> Iterator[str]:
    """The operators of a registration or a derivative, with those that delegate to its own."""
    written = keys.operator_name(binding.fact.name)
    for namespace in operators.namespaces(view, binding):
        packet = str(written._replace(namespace=namespace or view.rules.operator_namespace, overload=""))
        yield from _variants(view, packet)


def _variants(view: View, packet: str) -> Iterator[str]:
    """An operator with its in-place or functional one, which may share kernel and derivative."""
    yield packet
    other = packet.removesuffix("_") if packet.endswith("_") else f"{packet}_"
    if view.count(keys.op(other), 1):
        yield other


def formula_users(view: View, family: Family) -> Iterator[Edge]:
    """The operators whose derivatives call an operator."""
    node = operator_node(view, family)
    kept: dict[int, list[Edge]] | None = view.kept.get("formula_users")
    if kept is None:
        kept = view.kept["formula_users"] = {}
        for derivative in view.definitions_of_kind("derivative"):
            written = keys.operator_name(derivative.fact.name)._replace(overload="")
            user = packet_node(view, str(written))
            for edge in _formulas(view, derivative) if user is not None else ():
                if user is not None and edge.other.fact.kind in ("operator", "schema"):
                    kept.setdefault(edge.other.id, []).append(edge._replace(other=user))
    if node is not None:
        yield from kept.get(node.id, ())
