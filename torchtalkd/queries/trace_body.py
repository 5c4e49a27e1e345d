"""What a Python function runs: the device kernels it launches, the kernels of the operators it calls;
and who launches a device kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators, python_reach
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of, with_through
from torchtalkd.queries.trace_kernels import kernel_items
from torchtalkd.queries.trace_registrations import registration_items
from torchtalkd.store.view import View

MOST_OPERATORS = 8
"""Operators whose kernels are listed for one function; one that calls more is no way to a kernel."""
MOST_USERS = 24
"""Functions that are named as users of a kernel."""


def launched_items(
    view: View, function: FiledDefinition, operator: str = "", dispatch_key: str = ""
) -> Iterator[Item]:
    """The device kernels that a Python function launches, itself or through helpers."""
    for end in python_reach.reached(view, function):
        if end.kernel is not None:
            item = place_of(
                "gpu_kernel",
                end.kernel,
                end.evidence,
                operator=operator,
                dispatch_key=dispatch_key,
                via=" > ".join(end.via),
                note="named as a value" if end.evidence == "candidate" else "",
            )
            yield replace(item, signature="")


def called_items(view: View, function: FiledDefinition, known: frozenset[str]) -> Iterator[Item]:
    """The kernels of each operator that a Python function calls, itself or through helpers, but
    those in `known`, which are answered on their own."""
    called = dict.fromkeys(
        end.operator for end in python_reach.reached(view, function) if end.operator not in ("", *known)
    )
    for name in list(called)[:MOST_OPERATORS]:
        family = operators.family(view, name)
        if family is None:
            continue
        overloads = frozenset(family.overloads)
        through = f"{function.fact.name} > {family.name}"
        for item in (
            *kernel_items(view, family, overloads),
            *registration_items(view, family, overloads),
        ):
            yield with_through(item, through)


def user_items(view: View, definition: FiledDefinition) -> Iterator[Item]:
    """The Python functions that launch a kernel or apply an autograd function."""
    is_kernel = definition.fact.kind == "kernel"
    for owner, reference in python_reach.users(view, definition)[:MOST_USERS]:
        word = "launches it" if reference.fact.kind == "launch" else "uses it" if is_kernel else "applies it"
        note = f"{word} on line {reference.fact.line}"
        yield place_of("python", owner, "declared", note=note)
