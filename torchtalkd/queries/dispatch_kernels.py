"""The functions behind a registration: the kernel of a yaml line, what code registers, a Python function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from torchtalkd.facts import FiledDefinition
from torchtalkd.link import library_blocks, operators
from torchtalkd.link.registered import Registered
from torchtalkd.queries import trace_kernels, trace_layers
from torchtalkd.store.view import View

_GENERATED: Final = {
    "Autograd": "generated: records the node, then calls the next key",
    "ADInplaceOrView": "generated: counts versions and tracks views, then calls the next key",
    "Tracer": "generated: writes a node into the traced graph",
    "Functionalize": "generated: replaces what is written in place by functional calls",
    "BackendSelect": "generated: takes the backend from the tensor options",
    "CompositeExplicitAutogradNonFunctional": "generated: allocates the result, calls the structured kernel",
    "Meta": "generated: shapes only",
}
"""Key → what the generated kernel does, where the tree has no function of its own for it."""


class Kernel(NamedTuple):
    """One function behind a registration."""

    name: str
    file: str
    """'' for one that only the generated code has."""
    line: int
    note: str = ""
    definition: FiledDefinition | None = None


def kernels_of(view: View, one: Registered) -> tuple[Kernel, ...]:
    """The functions that a registration names, at least one: where there is none in the tree, what
    stands in its place, with a note that says so."""
    if one.origin == "python":
        found = list(_python(view, one))
    elif one.origin == "code":
        found = list(_code(view, one))
    else:
        found = list(_generated(view, one))
    if found:
        return tuple({(k.name, k.file, k.line): k for k in found}.values())
    fact = one.source.fact
    return (Kernel(fact.name, one.source.file.path, fact.line, _note(view, one)),)


def _note(view: View, one: Registered) -> str:
    if one.falls_through:
        return "falls through"
    if one.origin == "generated":
        begin = next((k for k in _GENERATED if one.dispatch_key.startswith(k)), "")
        return _GENERATED.get(begin, "no definition in the tree: generated, or of a library")
    if (one.source.fact.detail or {}).get("lambda"):
        return "a lambda"
    if one.by_hand is not None and one.by_hand.made is not None:
        return f"a wrapper that the macro {one.by_hand.made.macro.fact.name} makes"
    named = [target.fact.name for target in view.targets(one.source)]
    return f"calls {named[0]}" if named else "a function made where it is registered"


def _python(view: View, one: Registered) -> Iterator[Kernel]:
    for target in view.targets(one.source):
        for function in trace_layers.python_target(view, one.source, target.fact.key, target.fact.name):
            yield _function(function)


def _code(view: View, one: Registered) -> Iterator[Kernel]:
    if one.by_hand is not None and one.by_hand.made is not None:
        for link in library_blocks.made_functions(view, one.by_hand.made):
            yield _function(link.definition)
        return
    for target in view.targets(one.source):
        for link in library_blocks.target_functions(view, target.fact.name, one.source):
            yield _function(link.definition)


def _generated(view: View, one: Registered) -> Iterator[Kernel]:
    fact = one.source.fact
    entry = operators.entry(view, one.operator)
    if entry is None or entry.fact.kind != "operator":
        return
    wrapped = (entry.fact.detail or {}).get("autogen_of")
    if wrapped and one.dispatch_key == "CompositeExplicitAutograd":
        yield Kernel(str(wrapped), entry.file.path, entry.fact.line, f"generated: calls {wrapped}")
    elif fact.kind == "derivative":
        node = operators.node_name(view, one.source)
        yield Kernel(node or fact.name, one.source.file.path, fact.line, _GENERATED["Autograd"])
    elif fact.kind == "registration":
        yield from _of_row(view, one, entry)
    elif one.dispatch_key == "Meta":
        for item in trace_kernels.meta_items(view, entry):
            yield Kernel(item.symbol, item.file, item.line, "structured meta function")
    elif one.dispatch_key == "CompositeExplicitAutogradNonFunctional":
        out = operators.delegate(view, entry)
        if out is not None:
            yield Kernel(out.fact.name, out.file.path, out.fact.line, _GENERATED[one.dispatch_key])
    if one.dispatch_key.startswith("Autograd") and fact.kind == "operator":
        for derivative in operators.derivatives(view, entry)[:1]:
            node = operators.node_name(view, derivative) or derivative.fact.name
            yield Kernel(node, derivative.file.path, derivative.fact.line, _GENERATED["Autograd"])


def _of_row(view: View, one: Registered, entry: FiledDefinition) -> Iterator[Kernel]:
    for row in trace_kernels.rows(view, entry):
        if row.registration.id != one.source.id:
            continue
        ufunc = (one.source.fact.detail or {}).get("ufunc")
        for link in row.kernels:
            found = _function(link.definition)
            yield found._replace(note=f"the loop of a generated kernel ({ufunc})") if ufunc else found
        if not row.kernels:
            for item in trace_kernels.row_items(view, row):
                if item.role == "stub_kernel":
                    yield Kernel(item.symbol, item.file, item.line, "behind a stub")


def _function(definition: FiledDefinition) -> Kernel:
    note = "structured impl" if definition.fact.kind == "structured_impl" else ""
    return Kernel(definition.fact.name, definition.file.path, definition.fact.line, note, definition)
