"""What a Python function's body ends in: operators it calls and device kernels it launches.

Through helpers of the tree: functions called by a name that can be followed, methods of its own class,
the `forward` of an autograd function that is applied. Never through an operator: what that does is the
answer to another question.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import python_names, wrappers
from torchtalkd.link.source import Evidence, Facts

MAX_DEPTH: Final = 3
"""Helpers between a function and what it ends in; a longer way is not its own any more."""
MOST_BODIES: Final = 60
"""Functions that are read for one answer."""
AUTOGRAD_FUNCTION: Final = "torch.autograd.Function"
_APPLY: Final = "apply"
_SELF: Final = "self."


class Reached(NamedTuple):
    """An operator or a device kernel in a body."""

    operator: str
    """The packet, `_C::rms_norm`; '' for a kernel."""
    kernel: FiledDefinition | None
    evidence: Evidence
    """candidate: the kernel is only named as a value."""
    reference: FiledReference
    via: tuple[str, ...]
    """The helpers in between, outermost first."""


def reached(facts: Facts, start: FiledDefinition) -> tuple[Reached, ...]:
    """The operators and kernels of a Python function's body or of its helpers', nearest first."""
    kept: dict[int, tuple[Reached, ...]] = facts.kept.setdefault("python_reached", {})
    found = kept.get(start.id)
    if found is None:
        found = kept[start.id] = tuple(_walk(facts, start))
    return found


def _walk(facts: Facts, start: FiledDefinition) -> list[Reached]:
    found: dict[tuple[str, int], Reached] = {}
    seen = {start.id}
    waiting: list[tuple[FiledDefinition, tuple[str, ...]]] = [(start, ())]
    read = 0
    while waiting and read < MOST_BODIES:
        body, via = waiting.pop(0)
        read += 1
        names: set[tuple[str, str]] = set()
        for reference in facts.inside(body):
            fact = reference.fact
            if fact.kind not in ("call", "launch", "address", "method") or (fact.name, fact.kind) in names:
                continue
            names.add((fact.name, fact.kind))
            if keys.space(fact.key) == "op":
                operator = wrappers.spelled(facts, fact.name)
                if operator:
                    found.setdefault((operator, 0), Reached(operator, None, "declared", reference, via))
                continue
            for end in meant(facts, fact.name, body):
                if end.fact.kind == "kernel":
                    evidence: Evidence = "declared" if fact.kind in ("launch", "call") else "candidate"
                    known = found.get(("", end.id))
                    if known is None or (known.evidence == "candidate" and evidence == "declared"):
                        found["", end.id] = Reached("", end, evidence, reference, via)
                elif fact.kind in ("call", "method") and end.id not in seen and len(via) < MAX_DEPTH:
                    seen.add(end.id)
                    waiting.append((end, (*via, keys.last(end.fact.key))))
    return list(found.values())


def meant(facts: Facts, name: str, body: FiledDefinition) -> list[FiledDefinition]:
    """The functions and kernels of the tree that a name in a body means: itself, the kernel that a
    method like `run` is taken from, the `forward` of an autograd function's `apply`."""
    if name.startswith(_SELF):
        return own_method(facts, name.removeprefix(_SELF), body)
    if "." not in name:
        return []
    ends = _functions(facts, name)
    if ends:
        return ends
    before, _, last = name.rpartition(".")
    for end in python_names.resolve(facts, before).ends if "." in before else ():
        if end.fact.kind == "kernel":
            return [end]
        if end.fact.kind == "class" and last == _APPLY and is_autograd_function(facts, end):
            return _functions(facts, f"{end.fact.name}.forward")
    return []


def _functions(facts: Facts, name: str) -> list[FiledDefinition]:
    ends = python_names.resolve(facts, name).ends
    return [end for end in ends if end.fact.kind in ("function", "kernel") and end.file.role == "library"]


def own_method(facts: Facts, name: str, body: FiledDefinition) -> list[FiledDefinition]:
    """The method of the class around a body, or what the file's class of that name inherits."""
    around = facts.scope(body)
    while around is not None and around.fact.kind != "class":
        around = facts.scope(around)
    if around is None or not name.isidentifier():
        return []
    return _functions(facts, f"{around.fact.name}.{name}")


def is_autograd_function(facts: Facts, cls: FiledDefinition) -> bool:
    """Whether a Python class derives from torch.autograd.Function by what its file says."""
    for reference in facts.references_of_kind(cls.file, "base"):
        if reference.owner == cls.id and (
            reference.fact.name == AUTOGRAD_FUNCTION or reference.fact.name.endswith("autograd.Function")
        ):
            return True
    return False


def users(facts: Facts, definition: FiledDefinition) -> list[tuple[FiledDefinition, FiledReference]]:
    """The Python functions of the library that launch a kernel, or apply an autograd function, each
    once, in the order of the files."""
    found: dict[int, tuple[FiledDefinition, FiledReference]] = {}
    own = definition.fact.name
    last = keys.last(definition.fact.key)
    apply = definition.fact.kind == "class"
    for reference in facts.references(keys.py(_APPLY) if apply else keys.py(last)):
        fact = reference.fact
        if reference.file.role != "library" or reference.owner < 0:
            continue
        if apply:
            before = fact.name.rpartition(".")[0]
            if before.rpartition(".")[2] != last or not _is(facts, before, definition, own):
                continue
        elif fact.kind not in ("launch", "call", "address") or not _is(facts, fact.name, definition, own):
            continue
        owner = facts.definition(reference.owner)
        if owner is not None and owner.fact.kind in ("function", "kernel") and owner.id != definition.id:
            known = found.get(owner.id)
            if known is None or fact.kind == "launch":
                found[owner.id] = (owner, reference)
    return [found[number] for number in sorted(found)]


def _is(facts: Facts, name: str, definition: FiledDefinition, own: str) -> bool:
    return name == own or any(end.id == definition.id for end in python_names.resolve(facts, name).ends)
