"""The kernel layers of a trace: dispatch key → function, through structured groups, stubs and launches.

The registrations of native_functions.yaml name kernels; a structured delegate's are those of
its out= overload (torchgen/model.py: only where the kernel is a structured impl; for a sparse
key the functional overload has, or has not, a line of its own).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import autograd, composite, functions, operators, reach, stubs
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Link
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View


class Row(NamedTuple):
    """One line of a dispatch table: an overload's kernel under a key."""

    overload: FiledDefinition
    """The entry that is served."""
    registration: FiledDefinition
    """The line of yaml; of the out= overload, for a structured kernel."""
    written: str
    """The kernel's name as written, '' if it has none."""
    kernels: tuple[Link, ...]
    """The functions that it means."""


def kernel_items(view: View, family: Family, overloads: frozenset[str]) -> Iterator[Item]:
    """Meta functions, kernels, the stub kernels and device kernels behind them."""
    for entry in family.entries:
        if entry.fact.name not in overloads or entry.fact.kind != "operator":
            continue
        yield from meta_items(view, entry)
        for row in rows(view, entry):
            yield from row_items(view, row)


def rows(view: View, entry: FiledDefinition, only: FiledDefinition | None = None) -> list[Row]:
    """The dispatch table of an overload as yaml says it; or, of that, the row of one registration."""
    own = _registrations(view, entry)
    found = [_row(view, entry, r) for r in own if only is None or r.id == only.id]
    taken = {registration.fact.dispatch_key for registration in own}
    out = operators.delegate(view, entry)
    if out is not None and out.id != entry.id:
        for registration in _registrations(view, out):
            wanted = only is None or registration.id == only.id
            if wanted and registration.fact.dispatch_key not in taken:
                row = _row(view, entry, registration, out)
                ufunc = bool((registration.fact.detail or {}).get("ufunc"))
                plain = any(k.definition.fact.kind == "function" for k in row.kernels)
                if ufunc or not plain:
                    found.append(row)
    return found


def _registrations(view: View, entry: FiledDefinition) -> list[FiledDefinition]:
    return [
        d
        for d in view.definitions(entry.fact.key)
        if d.fact.kind == "registration"
        and d.fact.convention == "native_functions"
        and d.file.id == entry.file.id
        and d.fact.name == entry.fact.name
    ]


def _row(
    view: View, overload: FiledDefinition, registration: FiledDefinition, owner: FiledDefinition | None = None
) -> Row:
    schema = (owner or overload).fact.signature
    found: list[Link] = []
    written = ""
    ufunc = bool((registration.fact.detail or {}).get("ufunc"))
    structured = bool(((owner or overload).fact.detail or {}).get("structured"))
    for target in view.targets(registration):
        written = written or target.fact.name
        meant = functions.kernels(view, target.fact.name, "" if ufunc else schema, structured=structured)
        if ufunc:
            # A ufunc's loops take elements, not tensors: no schema describes them, and those over
            # scalars and over vectors have one name.
            meant = [Link(link.definition, "declared") for link in meant]
        found.extend(meant)
    return Row(overload, registration, written, tuple(found))


def row_items(view: View, row: Row) -> Iterator[Item]:
    """A row's kernels and all that they end in; the line of yaml, if the tree has no kernel."""
    operator, dispatch_key = row.overload.fact.name, row.registration.fact.dispatch_key
    behind = list(_named_stubs(view, row))
    if not row.kernels and not behind:
        yield unplaced(row)
    for item, link in zip(kernels_of(row), row.kernels, strict=True):
        if item.role == "native" and dispatch_key.startswith("Composite"):
            item = replace(item, note=_calls(view, link.definition, keys.operator_name(operator)))
        yield item
        yield from behind_items(view, link.definition, operator, dispatch_key)
    loops = {(link.definition.file.path, link.definition.fact.line) for link in row.kernels}
    yield from (item for item in behind if (item.file, item.line) not in loops)


def kernels_of(row: Row) -> list[Item]:
    """A row's kernels alone."""
    ufunc = (row.registration.fact.detail or {}).get("ufunc")
    return [
        place_of(
            "structured_impl" if link.definition.fact.kind == "structured_impl" else "native",
            link.definition,
            link.evidence,
            operator=row.overload.fact.name,
            dispatch_key=row.registration.fact.dispatch_key,
            declared=row.registration,
            note=f"ufunc loop: {ufunc}" if ufunc else "",
        )
        for link in row.kernels
    ]


def _calls(view: View, kernel: FiledDefinition, own: keys.OperatorName) -> str:
    """The operators that a composite kernel goes on to, in words; their kernels are the focus `dispatch`."""
    packet = f"{own.namespace}::{own.base}"
    ends = [c.operator for c in composite.ends(view, kernel) if c.operator != packet]
    called = [operator for operator in ends if composite.computes(view, operator)]
    if not called:
        return ""
    return f"calls {', '.join(called[:_MOST_CALLS])}" + (", …" if len(called) > _MOST_CALLS else "")


_MOST_CALLS = 6


def unplaced(row: Row) -> Item:
    """The line of yaml that names a kernel which the tree does not define."""
    operator, registration = row.overload.fact.name, row.registration
    note = "no definition in the tree" if row.written else "no kernel named"
    return place_of(
        "yaml",
        registration,
        "declared",
        operator=operator,
        dispatch_key=registration.fact.dispatch_key,
        note=note,
        symbol=row.written or operator,
    )


def _named_stubs(view: View, row: Row) -> Iterator[Item]:
    """The kernels of a stub that yaml itself names (ufunc_inner_loop)."""
    for target in view.targets(row.registration):
        for scope in (*view.rules.native_namespaces, ""):
            full = f"{scope}::{target.fact.name}" if scope else target.fact.name
            if stubs.is_stub(view, target.fact.key) and stubs.meant(view, full, [""]):
                yield from stub_items(view, full, row.overload.fact.name)
                break


def behind_items(view: View, kernel: FiledDefinition, operator: str, dispatch_key: str) -> Iterator[Item]:
    """The stub kernels and device kernels that a kernel's body ends in.

    A stub named after another operator is only a candidate, and is shown where nothing else is
    reached: `sub` does its work by add_stub, but what merely copies by copy_stub has more to show.
    """
    for applied in autograd.applied(view, kernel):
        for part in (applied.definition, *autograd.methods(view, applied.definition)):
            yield place_of(
                "autograd_function",
                part,
                "unique",
                operator=operator,
                dispatch_key=dispatch_key,
                via=keys.cpp_last(kernel.fact.name),
            )
    base = keys.operator_name(operator).base
    ends = [end for end in reach.reached(view, kernel) if end.kind == "stub" or runs_on_a_device(view, end)]
    others = [e for e in ends if e.kind == "stub" and base and stubs.is_anothers(view, e.name, base)]
    own = [end for end in ends if end not in others]
    for end in own or others:
        if end.kind != "stub":
            yield _launch(end, operator, dispatch_key, " > ".join(end.via))
            continue
        way = " > ".join((*end.via, keys.cpp_last(end.name)))
        for item in stub_items(view, end.name, operator, way):
            if own:
                yield item
            elif item.role == "stub_kernel":
                yield replace(item, evidence="candidate")


def stub_items(view: View, stub: str, operator: str, via: str = "") -> Iterator[Item]:
    """The kernels registered for a stub, with what they launch."""
    for kernel in stubs.kernels(view, keys.cpp(stub), stub):
        registration = kernel.registration
        key = registration.fact.dispatch_key
        way = via or keys.cpp_last(stub)
        if not kernel.functions:
            yield place_of(
                "stub_kernel",
                registration,
                "declared",
                operator=operator,
                dispatch_key=key,
                via=way,
                note="the registration's place",
                symbol=kernel.written or stub,
            )
        for link in kernel.functions:
            yield place_of(
                "stub_kernel",
                link.definition,
                link.evidence,
                operator=operator,
                dispatch_key=key,
                declared=registration,
                via=way,
            )
            for end in reach.reached(view, link.definition):
                if end.kind != "stub" and runs_on_a_device(view, end):
                    inner = " > ".join((way, keys.cpp_last(link.definition.fact.name), *end.via))
                    yield _launch(end, operator, key, inner)


def runs_on_a_device(view: View, end: reach.Reached) -> bool:
    """Whether a launch is one: launchers have kin for the CPU (`cpu_kernel`), in plain C++. A header
    for CUDA is told by the device functions that it has itself (cuda/DistributionTemplates.h)."""
    file = end.inside.file
    if end.kind == "kernel" or file.language not in ("cpp", "python"):
        return True
    return file.path.endswith(functions.HEADERS) and any(
        d.fact.kind == "kernel" for d in view.definitions_in(file)
    )


def _launch(end: reach.Reached, operator: str, dispatch_key: str, via: str) -> Item:
    if end.definition is not None:
        return place_of(
            "gpu_kernel", end.definition, "unique", operator=operator, dispatch_key=dispatch_key, via=via
        )
    return Item(
        role="gpu_kernel",
        symbol=end.name,
        file=end.reference.file.path,
        line=end.reference.fact.line,
        evidence="exact",
        operator=operator,
        dispatch_key=dispatch_key,
        operators=(operator,),
        kind="launch",
        via=via,
        note=f"in {keys.cpp_last(end.inside.fact.name)}",
    )


def meta_items(view: View, entry: FiledDefinition) -> Iterator[Item]:
    """TORCH_META_FUNC of an overload's structured group."""
    out = operators.delegate(view, entry)
    if out is None:
        return
    functional = operators.functional(view, out)
    if functional is None:
        return
    name = operators.meta_name(functional)
    for definition in view.definitions(keys.cpp(name)):
        if definition.fact.kind == "structured_meta" and definition.file.role != "template":
            yield place_of(
                "structured_meta",
                definition,
                "declared",
                operator=entry.fact.name,
                dispatch_key="Meta",
                declared=out,
            )
