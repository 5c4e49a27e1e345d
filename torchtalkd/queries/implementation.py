"""All kernels behind what a place means: one for each backend, with those behind stubs and on devices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.definition import asked, defined, each_once
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.overloads import overloads
from torchtalkd.queries.trace_names import role_of
from torchtalkd.queries.trace_registrations import registration_items
from torchtalkd.store.view import View

_KERNELS: Final = ("native", "structured_impl", "stub_kernel", "gpu_kernel", "registration")
_BODIES: Final = ("function", "kernel", "structured_impl")
_OF_CODE: Final = ("C++ function", "structured kernel", "device kernel", "structured meta function")


def implementation(view: View, meant: Meant) -> list[Item]:
    """The places; candidates only where nothing is surer."""
    found: list[Item] = []
    for subject in asked(meant):
        found.extend(_of(view, subject, meant))
    bodies = [item for item in found if item.kind in _BODIES]
    certain = [item for item in bodies if item.evidence != "candidate"]
    return each_once(certain or bodies)


def _of(view: View, subject: Subject, meant: Meant) -> Iterator[Item]:
    if subject.kind == "operator":
        yield from kernels(view, subject, overloads(view, subject, meant))
    elif subject.kind == "stub":
        yield from trace_kernels.stub_items(view, subject.name, "")
    elif subject.kind in _OF_CODE:
        definitions = [d for n in subject.ids if (d := view.definition(n)) and not d.fact.declares]
        behind = [item for d in definitions for item in trace_kernels.behind_items(view, d, "", "")]
        own = [place_of(role_of(d), d, "exact") for d in definitions]
        yield from [item for item in behind if item.kind in _BODIES] or own
    elif subject.kind == "Python binding":
        yield from defined(view, subject)


def kernels(view: View, subject: Subject, entries: list[FiledDefinition]) -> Iterator[Item]:
    """The kernels of some overloads of an operator: of yaml in the order of the backends, then of code."""
    family = operators.family(view, subject.name)
    if family is None:
        return
    names = frozenset(family.full_name(entry) for entry in entries) or frozenset(subject.overloads)
    rows = [r for e in entries if e.fact.kind == "operator" for r in trace_kernels.rows(view, e)]
    order = {backend: number for number, backend in enumerate(view.rules.backends)}
    # The backends that most people mean come first, whichever overload's line they stand in.
    for row in sorted(rows, key=lambda r: order.get(r.registration.fact.dispatch_key, len(order))):
        yield from trace_kernels.row_items(view, row)
    for item in registration_items(view, family, names):
        if item.role in _KERNELS and keys.cpp_last(item.symbol):
            yield item
