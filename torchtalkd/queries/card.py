"""What to know at a glance of what a place means: schema, dispatch table, formulas, Python names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators, wrappers
from torchtalkd.queries import trace_derivative, trace_kernels
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.definition import asked, defined
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.overloads import overloads
from torchtalkd.queries.trace_layers import test_items
from torchtalkd.queries.trace_registrations import registration_items
from torchtalkd.store.view import View

MOST_ROWS: Final = 12
"""Kernels that a card lists; more are counted."""
MOST_NAMES: Final = 4


@dataclass(frozen=True, slots=True)
class Card:
    """One subject's card."""

    kind: str
    name: str
    signature: str = ""
    """Schema, C++ signature or parameter list."""
    rows: tuple[Item, ...] = ()
    """Kernels by dispatch key."""
    more: int = 0
    """Kernels beyond those."""
    formulas: tuple[tuple[str, str], ...] = ()
    """Input, and the formula of its gradient."""
    names: tuple[str, ...] = ()
    """How users of Python call it."""
    tests: int = 0
    others: tuple[str, ...] = ()
    """Its other overloads."""
    note: str = ""
    place: Item | None = None


def card(view: View, meant: Meant) -> list[Card]:
    """The cards of what a place means: of an operator the overload that is called."""
    found = []
    for subject in asked(meant):
        if subject.kind == "operator":
            found.append(_operator(view, subject, meant))
        else:
            found.append(_definition(view, subject, meant.note))
    return found


def _operator(view: View, subject: Subject, meant: Meant) -> Card:
    entries = overloads(view, subject, meant)
    family = operators.family(view, subject.name)
    if family is None or not entries:
        return _undeclared(view, subject, meant)
    entry = entries[0]
    name = family.full_name(entry)
    rows = kernels(view, entry)
    points = [point.name for point in wrappers.entry_points(view, family)]
    return Card(
        "operator",
        name,
        entry.fact.signature,
        tuple(rows[:MOST_ROWS]),
        max(0, len(rows) - MOST_ROWS),
        tuple(_formulas(view, entry)),
        tuple(points[:MOST_NAMES]),
        len({(i.file, i.line) for i in test_items(view, family, points)}),
        tuple(o for o in family.overloads if o != name),
        meant.note,
    )


def _undeclared(view: View, subject: Subject, meant: Meant) -> Card:
    family = operators.family(view, subject.name)
    found = (
        list(registration_items(view, family, frozenset(subject.overloads), behind=False)) if family else []
    )
    rows = tuple(item for item in found if item.kind in ("function", "kernel"))
    return Card(
        "operator", subject.name, "", rows[:MOST_ROWS], max(0, len(rows) - MOST_ROWS), note=meant.note
    )


def kernels(view: View, entry: FiledDefinition) -> list[Item]:
    """The kernels of an overload, one for each dispatch key: of yaml, then of code."""
    found: dict[str, Item] = {}
    if entry.fact.kind == "operator":
        for row in trace_kernels.rows(view, entry):
            items = trace_kernels.kernels_of(row)
            item = items[0] if items else trace_kernels.unplaced(row)
            found.setdefault(row.registration.fact.dispatch_key, item)
    family = operators.family(view, entry.fact.name)
    if family is not None:
        for item in registration_items(view, family, frozenset([family.full_name(entry)]), behind=False):
            if item.kind in ("function", "kernel") and not item.via:
                found.setdefault(item.dispatch_key or "CatchAll", item)
    order = {backend: number for number, backend in enumerate(view.rules.backends)}
    return sorted(found.values(), key=lambda item: order.get(item.dispatch_key, len(order)))


def _formulas(view: View, entry: FiledDefinition) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for derivative in operators.derivatives(view, entry):
        node = trace_derivative.entry_item(view, derivative, entry.fact.name).symbol
        formulas = (derivative.fact.detail or {}).get("formulas") or {}
        found.extend(
            (f"{node}.{names}" if node else names, str(formula)) for names, formula in formulas.items()
        )
    return found


def _definition(view: View, subject: Subject, note: str) -> Card:
    items = list(defined(view, subject))
    first = items[0] if items else None
    detail = ""
    if subject.kind == "tag":
        definition = view.definition(subject.ids[0]) if subject.ids else None
        detail = str(((definition.fact.detail or {}) if definition else {}).get("desc") or "")
    signature = first.signature if first is not None else ""
    if subject.kind == "stub":
        rows = [i for i in trace_kernels.stub_items(view, subject.name, "") if i.role == "stub_kernel"]
        return Card(
            "stub", subject.name, "", tuple(rows[:MOST_ROWS]), max(0, len(rows) - MOST_ROWS), place=first
        )
    name = keys.last(subject.name) if subject.kind == "macro" and ":" in subject.name else subject.name
    used = subject.note if subject.note and not note else note
    return Card(subject.kind, name, signature, note=detail or used, place=first)
