"""What a Python function runs: the kernels of the operators that it calls."""

from __future__ import annotations

from collections.abc import Iterator

from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators, python_reach
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import with_through
from torchtalkd.queries.trace_kernels import kernel_items
from torchtalkd.queries.trace_registrations import registration_items
from torchtalkd.store.view import View

MOST_OPERATORS = 8
"""Operators whose kernels are listed for one function; one that calls more is no way to a kernel."""


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
