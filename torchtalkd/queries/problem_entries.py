"""What is wrong with entries of native_functions.yaml and derivatives.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, reach, stubs
from torchtalkd.link.made_functions import pasted_by
from torchtalkd.link.schemas import is_readable
from torchtalkd.link.source import Link
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.problem import Finding
from torchtalkd.queries.trace_kernels import Row
from torchtalkd.store.view import View

_OPEN: Final = ("template",)


def entries_without_kernel(view: View) -> Iterator[Finding]:
    """Dispatch lines whose kernel is defined nowhere, and those whose functions take something else."""
    for entry in entries(view):
        for row in own_rows(view, entry):
            key, written = row.registration.fact.dispatch_key, row.written
            if not written:
                continue
            operator = entry.fact.name
            if not row.kernels:
                if _behind_a_stub(view, row) or _is_generated(entry, key):
                    continue
                named = _named(view, written)
                if not named and not pasted_by(view, keys.cpp_last(written)):
                    yield _at(
                        row.registration, "missing kernel", operator, f"{key}: nothing defines {written}"
                    )
                elif named:
                    yield _differs(row, operator, named)
            elif all(_is_other(link) for link in row.kernels):
                yield _differs(row, operator, [link.definition for link in row.kernels])


def stubs_without_kernel(view: View) -> Iterator[Finding]:
    """Stubs that a kernel of a backend ends in and that nobody registers for this backend."""
    for entry in entries(view):
        base = keys.operator_name(entry.fact.name).base
        for row in own_rows(view, entry):
            key = row.registration.fact.dispatch_key
            if key not in _STUB_KEYS or len(row.kernels) != 1:
                continue
            ends = reach.reached(view, row.kernels[0].definition)
            called = {end.name for end in ends if end.kind == "stub"}
            # Of several it may choose by the device; one alone is what the entry comes to.
            if len(called) != 1 or any(end.kind != "stub" for end in ends):
                continue
            (stub,) = called
            if stubs.is_anothers(view, stub, base):
                continue
            registered = stubs.registered_for(view, keys.cpp(stub), stub)
            if key not in registered:
                known = ", ".join(sorted(registered)) or "nobody"
                yield _at(
                    row.registration,
                    "stub without kernel",
                    entry.fact.name,
                    f"{key}: {row.written} calls {keys.cpp_last(stub)}, which is registered for {known}",
                )


_STUB_KEYS: Final = ("CPU", "CUDA", "MPS", "XPU", "HPU", "MTIA", "PrivateUse1")


def derivatives_of_nothing(view: View) -> Iterator[Finding]:
    """Entries of derivatives.yaml for an operator that no entry declares."""
    known = {entry.fact.name for entry in entries(view)}
    known.update(d.fact.name for d in view.definitions_of_kind("operator"))
    if not known:
        return
    for derivative in view.definitions_of_kind("derivative"):
        if derivative.file.role in _OPEN:
            continue
        name = derivative.fact.name
        if name not in known:
            yield _at(derivative, "derivative of nothing", name, f"no entry declares {name}")


def entries(view: View) -> list[FiledDefinition]:
    """The entries that are written and can be read; those that `autogen` makes are none."""
    kept: list[FiledDefinition] | None = view.kept.get("written_entries")
    if kept is None:
        kept = view.kept["written_entries"] = [
            d
            for d in view.definitions_of_kind("operator")
            if "autogen_of" not in (d.fact.detail or {})
            and d.file.role not in (*_OPEN, "test")
            and is_readable(d.fact.signature)
        ]
    return kept


def own_rows(view: View, entry: FiledDefinition) -> list[Row]:
    """The dispatch lines of an entry itself, not those of the out= variant that it delegates to."""
    kept: dict[int, list[Row]] = view.kept.setdefault("own_rows", {})
    if entry.id not in kept:
        rows = trace_kernels.rows(view, entry)
        kept[entry.id] = [row for row in rows if row.registration.fact.name == entry.fact.name]
    return kept[entry.id]


def _is_generated(entry: FiledDefinition, key: str) -> bool:
    """Whether torchgen writes the kernel: that of a view's copy
    (torchgen/native_function_generation.py `gen_composite_view_copy_kernel`)."""
    tags = (entry.fact.detail or {}).get("tags") or ()
    return key == "CompositeExplicitAutogradNonFunctional" and "view_copy" in tags


def _behind_a_stub(view: View, row: Row) -> bool:
    return any(item.role == "stub_kernel" for item in trace_kernels.row_items(view, row))


def _named(view: View, written: str) -> list[FiledDefinition]:
    scopes = (*view.rules.native_namespaces, "")
    return functions.functions(view, written, scopes, kinds=("function", "kernel", "structured_impl"))


def _is_other(link: Link) -> bool:
    """Whether a function's own parameters differ; those of a macro's function may be names of types."""
    return link.evidence != "declared" and "macro" not in (link.definition.fact.detail or {})


def _differs(row: Row, operator: str, named: list[FiledDefinition]) -> Finding:
    places = ", ".join(f"{d.file.path}:{d.fact.line}" for d in named[:3])
    message = f"{row.registration.fact.dispatch_key}: {row.written} takes other arguments at {places}"
    return _at(row.registration, "signature", operator, message)


def _at(definition: FiledDefinition, kind: str, operator: str, message: str) -> Finding:
    fact = definition.fact
    return Finding(kind, definition.file.path, fact.line, message, operator, fact.column)
