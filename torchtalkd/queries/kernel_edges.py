"""The edges from a kernel up to its operators: what registers it, the structured group that it serves, the
derivatives whose formulas call it.

`operator_edges` has the same links the other way.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import dispatch_keys, library_blocks, macros, operators
from torchtalkd.link.generated_names import generated
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.edges import Edge, at_definition, family_of, operator_node, packet_node
from torchtalkd.queries.operator_edges import YAML, formula_edges, metas, registered_links
from torchtalkd.store.view import View


def kernel_edges(view: View, kernel: FiledDefinition) -> Iterator[Edge]:
    """From a kernel, a meta function or a formula's function to the operators that lead to it."""
    if kernel.fact.kind in ("registration", "schema"):
        node = _node_of(view, kernel)
        if node is not None:
            yield at_definition(node, "dispatcher", "declared", kernel, registered_as(view, kernel))
        return
    for binding in _naming(view, kernel):
        fact = binding.fact
        if fact.kind == "registration" and fact.convention == YAML:
            yield from _up_from_yaml(view, binding, kernel)
        elif fact.kind in ("registration", "schema"):
            node = _node_of(view, binding)
            for link in registered_links(view, binding) if node is not None else ():
                if link.definition.id == kernel.id and node is not None:
                    yield at_definition(
                        node, "dispatcher", link.evidence, binding, registered_as(view, binding)
                    )
        elif fact.kind == "derivative":
            yield from _up_from_derivative(view, binding, kernel)
        elif fact.kind == "macro_use":
            yield from _up_from_macro(view, binding, kernel)
    if kernel.fact.kind == "structured_meta":
        yield from _up_from_meta(view, kernel)


def _naming(view: View, kernel: FiledDefinition) -> list[FiledDefinition]:
    """The bindings that name a function, each once."""
    found: dict[int, FiledDefinition] = {}
    targeting = view.targeting(kernel.fact.key)
    view.prepare(target.owner for target in targeting)
    for target in targeting:
        owner = view.definition(target.owner)
        if owner is not None and owner.file.role != "template":
            found.setdefault(owner.id, owner)
    return list(found.values())


def _node_of(view: View, binding: FiledDefinition) -> FiledDefinition | None:
    family = family_of(view, binding)
    return operator_node(view, family) if family is not None else None


def registered_as(view: View, binding: FiledDefinition) -> str:
    """The overload and the key that a registration in code is for."""
    block = library_blocks.block_of(view, binding)
    written = binding.fact.dispatch_key or (block.fact.dispatch_key if block is not None else "")
    return f"{binding.fact.name} · {dispatch_keys.canonical(written, view.rules) or 'CatchAll'}"


def _up_from_yaml(view: View, binding: FiledDefinition, kernel: FiledDefinition) -> Iterator[Edge]:
    """The operators of a line of yaml that names a kernel: its own, and those that delegate to it."""
    for entry in _entries(view, binding):
        for row in trace_kernels.rows(view, entry, binding):
            node = packet_node(view, _packet(entry))
            for link in row.kernels if node is not None else ():
                if link.definition.id == kernel.id and node is not None:
                    through = f"{entry.fact.name} · {binding.fact.dispatch_key}"
                    yield at_definition(node, "dispatcher", link.evidence, binding, through)


def _entries(view: View, binding: FiledDefinition) -> Iterator[FiledDefinition]:
    own = operators.entry(view, binding.fact.name)
    if own is None:
        return
    yield own
    if not (own.fact.detail or {}).get("structured"):
        return
    base = keys.operator_name(own.fact.name).base
    for key in (keys.op(base), keys.op(f"{base}_")):
        for entry in view.definitions(key):
            if entry.fact.kind == "operator" and (entry.fact.detail or {}).get("structured_delegate"):
                out = operators.delegate(view, entry)
                if out is not None and out.id == own.id:
                    yield entry


def _packet(entry: FiledDefinition) -> str:
    return str(keys.operator_name(entry.fact.name)._replace(overload=""))


def _up_from_derivative(view: View, derivative: FiledDefinition, function: FiledDefinition) -> Iterator[Edge]:
    edges = [edge for edge in formula_edges(view, derivative) if edge.other.id == function.id]
    for packet in _variants(view, _packet(derivative)) if edges else ():
        node = packet_node(view, packet)
        for entry in view.definitions(keys.op(packet)) if node is not None else ():
            own = entry.fact.kind == "operator" and _packet(entry) == packet
            derived = operators.derivatives(view, entry) if own else []
            if node is not None and any(d.id == derivative.id for d in derived):
                yield from (edge._replace(other=node) for edge in edges)
                break


def _variants(view: View, packet: str) -> Iterator[str]:
    """An operator with its in-place or functional one, which may share its derivative."""
    yield packet
    other = packet.removesuffix("_") if packet.endswith("_") else f"{packet}_"
    if view.count(keys.op(other), 1):
        yield other


def _up_from_macro(view: View, use: FiledDefinition, kernel: FiledDefinition) -> Iterator[Edge]:
    for made in macros.makes(view, use):
        if made.kind not in ("registration", "schema"):
            continue
        node = packet_node(view, str(keys.operator_name(made.name)._replace(overload="")))
        for link in library_blocks.made_functions(view, made) if node is not None else ():
            if link.definition.id == kernel.id and node is not None:
                through = f"{made.name} · {made.dispatch_key or 'CatchAll'}"
                yield at_definition(node, "dispatcher", link.evidence, use, through)


def _up_from_meta(view: View, meta: FiledDefinition) -> Iterator[Edge]:
    meant = generated(view, f"at::_ops::{keys.last(meta.fact.key)}::call")
    for name in meant.overloads if meant is not None else ():
        functional = operators.entry(view, name)
        out = operators.delegate(view, functional) if functional is not None else None
        if functional is None or out is None:
            continue
        base = keys.operator_name(out.fact.name).base
        for key in (keys.op(base), keys.op(f"{base}_")):
            for entry in view.definitions(key):
                if entry.fact.kind == "operator" and any(m.id == meta.id for m in metas(view, entry)):
                    node = packet_node(view, _packet(entry))
                    if node is not None:
                        yield at_definition(
                            node, "dispatcher", "declared", entry, f"{entry.fact.name} · Meta"
                        )
