"""What may stand beside a text: which operator a line belongs to, with its backends; what names mean."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import operators, wrappers
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.declaration import named_by
from torchtalkd.store.view import View


class Lens(NamedTuple):
    """An operator above a line."""

    line: int
    column: int
    operator: str
    keys: tuple[str, ...]
    """The backends that it has kernels for."""
    more: str
    """A word more: which key this kernel serves, whether it has a derivative."""


def lenses(view: View, file: File) -> list[Lens]:
    """Of native_functions.yaml each entry; of C++ each kernel that an entry or a registration names."""
    return sorted(_entries(view, file) if file.language == "native_functions" else _kernels(view, file))


def _entries(view: View, file: File) -> Iterator[Lens]:
    for definition in view.definitions_in(file):
        fact = definition.fact
        if fact.kind == "operator" and fact.signature:
            more = "autograd" if operators.derivatives(view, definition) else ""
            yield Lens(fact.line, fact.column, fact.name, backends(view, definition), more)


def _kernels(view: View, file: File) -> Iterator[Lens]:
    if file.language not in ("cpp", "cuda", "objcpp"):
        return
    for definition in view.definitions_in(file):
        fact = definition.fact
        if fact.kind not in ("function", "structured_impl") or fact.declares or fact.scope >= 0:
            continue
        if not view.targeting(fact.key):
            continue
        seen: set[str] = set()
        for _, owner in named_by(view, [definition]):
            if keys.space(owner.fact.key) != keys.space(keys.op("")) or owner.fact.name in seen:
                continue
            seen.add(owner.fact.name)
            entry = operators.entry(view, owner.fact.name)
            names = backends(view, entry) if entry is not None else ()
            yield Lens(fact.line, fact.column, owner.fact.name, names, owner.fact.dispatch_key)


def backends(view: View, entry: FiledDefinition) -> tuple[str, ...]:
    """The backends of the rules that an overload has a kernel for; the composite key of one for all."""
    found: dict[str, None] = {}
    if entry.fact.kind == "operator":
        out = operators.delegate(view, entry) or entry
        for definition in view.definitions(entry.fact.key):
            fact = definition.fact
            own = fact.name in (entry.fact.name, out.fact.name) and fact.convention == "native_functions"
            if fact.kind == "registration" and own:
                found.setdefault(fact.dispatch_key)
    known = [backend for backend in view.rules.backends if backend in found]
    return tuple(known or [key for key in found if key.startswith("Composite")][:1])


def bound_names(view: View, file: File, first: int, last: int) -> list[tuple[int, int, str]]:
    """The names between two lines of a Python file that are bound to operators: line, column, operator."""
    if file.language != "python":
        return []
    found = []
    for line in range(first, min(last, first + 5_000) + 1):
        for reference in view.references_on(file, line):
            if reference.fact.kind == "call" and keys.space(reference.fact.key) in ("py", "op"):
                bound = wrappers.operators_of(view, reference.fact.name)
                if bound:
                    found.append((line, reference.fact.column, bound[0]))
    return found


def kernel_links(view: View, file: File) -> list[tuple[int, int, Item]]:
    """The kernels' names in a yaml file with the one place that each means: line, column, place."""
    if file.language != "native_functions":
        return []
    files: dict[int, list[tuple[int, int, Item]]] = view.kept.setdefault("kernel_links", {})
    known = files.get(file.id)
    if known is None:
        places: dict[tuple[int, int], Item] = {}
        for definition in view.definitions_in(file):
            fact = definition.fact
            if fact.kind != "operator" or not fact.signature:
                continue
            for row in trace_kernels.rows(view, definition):
                own = row.registration
                certain = len(row.kernels) == 1 and row.registration.fact.name == fact.name
                if certain and not (own.fact.detail or {}).get("implicit"):
                    kernel = row.kernels[0].definition
                    places[own.fact.line, own.fact.column] = place_of(
                        "native", kernel, row.kernels[0].evidence
                    )
        known = files[file.id] = [(*at, item) for at, item in sorted(places.items())]
    return known
