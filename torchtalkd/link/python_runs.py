"""What running a Python function or method comes to: operators, device kernels, and modules that it holds.

Through helpers of the tree that are called by name, on `self` or on `super()`; never through an operator,
nor into a module that an attribute holds: what those do is the answer to another question.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import python_calls, python_classes, python_reach
from torchtalkd.link.source import Evidence, Facts

MAX_DEPTH: Final = 3
"""Helpers between a method and what it runs; a longer way is not its own any more."""
MOST_BODIES: Final = 40
"""Functions that are read for one answer."""


class Run(NamedTuple):
    """One thing that a body comes to."""

    operator: str
    """The packet: `aten::linear`; '' for a kernel or a module."""
    end: FiledDefinition | None
    """The kernel, the name that C++ binds, or the method of the module that is called. None for an operator,
    and for what a framework outside the tree has."""
    held: str
    """The attribute that holds the module; '' for others."""
    evidence: Evidence
    reference: FiledReference
    """Where it stands: in the body itself or in the last helper."""
    via: tuple[str, ...]
    """The helpers in between, outermost first."""
    outside: str = ""
    """The full name of what a framework outside the tree has: `torch.flatten`, `torch.nn.Conv2d`."""


def runs(facts: Facts, start: FiledDefinition) -> tuple[Run, ...]:
    """What a function's body or its helpers' come to, the nearest first, each once."""
    kept: dict[int, tuple[Run, ...]] = facts.kept.setdefault("python_runs", {})
    found = kept.get(start.id)
    if found is None:
        found = kept[start.id] = tuple(_walk(facts, start))
    return found


def _walk(facts: Facts, start: FiledDefinition) -> list[Run]:
    found: dict[tuple[str, int, str], Run] = {}
    seen = {start.id}
    waiting: list[tuple[FiledDefinition, tuple[str, ...]]] = [(start, ())]
    read = 0
    while waiting and read < MOST_BODIES:
        body, via = waiting.pop(0)
        read += 1
        for called in python_calls.calls(facts, body):
            for operator in called.operators if called.how != "value" else ():
                run = Run(operator, None, "", called.evidence, called.reference, via)
                found.setdefault((operator, 0, ""), run)
            for end in called.ends:
                if called.how == "held":
                    held = keys.last(called.reference.fact.key)
                    run = Run("", end, held, called.evidence, called.reference, via)
                    found.setdefault(("", end.id, held), run)
                elif end.fact.kind in ("kernel", "python_binding") and called.how != "value":
                    run = Run("", end, "", called.evidence, called.reference, via)
                    found.setdefault(("", end.id, ""), run)
                elif _is_helper(end, called, body) and end.id not in seen and len(via) < MAX_DEPTH:
                    seen.add(end.id)
                    waiting.append((end, (*via, keys.last(end.fact.key))))
            if not called.ends and not called.operators:
                held, outside = _outside(facts, called)
                if outside:
                    run = Run("", None, held, called.evidence, called.reference, via, outside)
                    found.setdefault((outside, 0, held), run)
    for reached in python_reach.reached(facts, start):
        # Kernels behind methods of theirs: `kernel.run(…)`, `kernel.warmup(…)`.
        if reached.kernel is not None:
            run = Run("", reached.kernel, "", reached.evidence, reached.reference, reached.via)
            found.setdefault(("", reached.kernel.id, ""), run)
    return list(found.values())


def _outside(facts: Facts, called: python_calls.Called) -> tuple[str, str]:
    """What a call means in a framework that the tree is built on: the attribute that holds it, '' for none,
    and its full name; '' where it is none of a framework's."""
    fact = called.reference.fact
    if called.how == "call":
        names, held = [fact.name], ""
    elif fact.name.startswith("self."):
        cls = python_classes.class_around(facts, called.reference.owner)
        held = keys.last(fact.key)
        names = python_classes.attribute_names(facts, cls, held) if cls is not None else []
    else:
        return "", ""
    tops = {top for provided in facts.rules.bases.values() for top in provided.get("python", ())}
    return held, next((name for name in names if name.partition(".")[0] in tops), "")


def _is_helper(end: FiledDefinition, called: python_calls.Called, body: FiledDefinition) -> bool:
    if end.fact.kind != "function" or end.file.role != "library":
        return False
    if called.how == "value":
        # `func = _multi_tensor_adam`, and then `func(…)`: what a file chooses among is its own.
        return end.file.id == body.file.id
    # What making an object runs is seldom what somebody asks for.
    return called.how != "construct"
