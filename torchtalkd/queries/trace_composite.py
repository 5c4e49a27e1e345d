"""What a composite kernel ends in: the operators that it calls, with their kernels.

Only for the focus `dispatch`: a composite has no kernel of its own for a backend, so its table
goes on in those of the operators it calls.
"""

from __future__ import annotations

from typing import Final

from torchtalkd.facts import FiledDefinition
from torchtalkd.link import composite, operators, reach
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Evidence
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import Collected, with_through
from torchtalkd.store.view import View

MAX_DEPTH: Final = 3
"""Composites within composites that are followed."""
MOST: Final = 24
"""Operators that one answer goes on to."""


def ends_in(view: View, family: Family, overloads: frozenset[str]) -> list[tuple[str, Evidence, str]]:
    """The operators (packet, evidence, way) that the composite kernels of some overloads end in:
    those that are no composites themselves, or are as deep as is followed."""
    found: dict[str, tuple[Evidence, str]] = {}
    passed = {family.name}
    waiting = [(kernel, family.name, 0) for kernel in composites(view, family, overloads)]
    while waiting and len(found) < MOST:
        kernel, way, depth = waiting.pop(0)
        for call in composite.ends(view, kernel):
            if call.operator in passed or not composite.computes(view, call.operator):
                continue
            passed.add(call.operator)
            inner = operators.family(view, call.operator)
            if inner is None:
                continue
            further = [k for k in composites(view, inner, frozenset(inner.overloads)) if passes_on(view, k)]
            if further and depth < MAX_DEPTH:
                waiting.extend(
                    (next_kernel, f"{way} > {call.operator}", depth + 1) for next_kernel in further
                )
            found[call.operator] = (call.evidence, way)
    return [(operator, evidence, way) for operator, (evidence, way) in found.items()]


def composites(view: View, family: Family, overloads: frozenset[str]) -> list[FiledDefinition]:
    """The kernels under composite keys of some overloads, if these have no kernel of a backend."""
    found: dict[int, FiledDefinition] = {}
    for entry in family.entries:
        if entry.fact.name in overloads and entry.fact.kind == "operator":
            for row in trace_kernels.rows(view, entry):
                if is_composite(view, row.registration.fact.dispatch_key):
                    found.update((link.definition.id, link.definition) for link in row.kernels)
    return list(found.values())


def passes_on(view: View, kernel: FiledDefinition) -> bool:
    """Whether a composite kernel leaves the work to other operators: it ends in no stub or launch
    of its own (`copy_` is a composite by its key, but copies by a stub)."""
    return not reach.reached(view, kernel)


def is_composite(view: View, dispatch_key: str) -> bool:
    """Whether the kernel of a key serves several backends (c10/core/DispatchKey.h)."""
    return dispatch_key in view.rules.composite_keys or dispatch_key.startswith("Composite")


def composite_items(view: View, family: Family, overloads: frozenset[str]) -> list[Item]:
    """The kernels of the operators that composites end in, operator by operator. What these
    kernels end in themselves (stubs, launches) is the answer to a trace of that operator."""
    found: list[Item] = []
    for operator, evidence, way in ends_in(view, family, overloads):
        inner = operators.family(view, operator)
        if inner is None:
            continue
        collected = Collected(view.rules.backends)
        for entry in inner.entries:
            if entry.fact.kind == "operator" and not operators.is_out(entry):
                for row in trace_kernels.rows(view, entry):
                    collected.extend(item for item in trace_kernels.kernels_of(row) if item.role in _KERNELS)
        surest = "candidate" if evidence == "candidate" else ""
        found.extend(with_through(item, f"{way} > {operator}", surest) for item in collected.items())
    return found


_KERNELS: Final = ("native", "structured_impl")
