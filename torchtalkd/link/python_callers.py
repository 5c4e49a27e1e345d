"""Who calls this Python function, class or method within the tree?

Candidates are taken by last component, and those stay that lead forward to the target (`python_calls`).
Places on receivers that the text does not tell are apart, in `unknown_callers`, and nothing else mixes
with them.

Of what a caller does several times the first place is kept. Answers are kept with the view. Tens of
milliseconds for most names of PyTorch; a tenth of a second more for the first method that hundreds of
classes share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import python_calls, python_classes, python_names
from torchtalkd.link.python_calls import How
from torchtalkd.link.source import Evidence, Facts

_MANY: Final = 60
"""Classes that are asked for one after the other, from which on the whole tree is read at once."""
_NAMED_ONLY: Final = ("address", "import")
"""Of a test and of a function an import is a use: what they import they may pass on."""
_PROPERTIES: Final = ("property", "cached_property", "setter", "getter", "deleter")


class Caller(NamedTuple):
    """One way in."""

    caller: FiledDefinition
    """The innermost function or class around the place, or the module."""
    reference: FiledReference
    how: How
    evidence: Evidence
    """declared: the text says so; candidate: an override, a value, or what an object may run."""


def callers(facts: Facts, target: FiledDefinition) -> tuple[Caller, ...]:
    """Who calls a function, method, kernel or class of Python: library files before tests, then by file
    and place. A place on an unknown receiver is not among them: see `unknown_callers`."""
    kept: dict[int, tuple[Caller, ...]] = facts.kept.setdefault("python_callers", {})
    found = kept.get(target.id)
    if found is None:
        once: dict[tuple[int, How], Caller] = {}
        for caller in _into(facts, target):
            if caller.caller.id != target.id:
                key = (caller.caller.id, caller.how)
                known = once.get(key)
                if known is None or (known.evidence == "candidate" and caller.evidence != "candidate"):
                    once[key] = caller
        found = kept[target.id] = tuple(sorted(once.values(), key=_place))
    return found


def _place(caller: Caller) -> tuple[bool, str, int, int]:
    reference = caller.reference
    return reference.file.role != "library", reference.file.path, reference.fact.line, reference.fact.column


def _into(facts: Facts, target: FiledDefinition) -> Iterator[Caller]:
    yield from _by_name(facts, target)
    if target.fact.kind == "class":
        for reference in _bases_of(facts, target):
            yield from _from(facts, reference, "base", "declared")
        return
    cls = facts.scope(target)
    if cls is None or cls.fact.kind != "class":
        return
    for name in _own_names(facts, cls, target):
        yield from _through_class(facts, cls, target, name)


def _by_name(facts: Facts, target: FiledDefinition) -> Iterator[Caller]:
    """Those that write its name, whatever they call it."""
    for name in python_classes.names_of(facts, target):
        for reference in _uses(facts, keys.py(name)).get(target.id, ()):
            kind = reference.fact.kind
            how: How = "value" if kind in _NAMED_ONLY else "launch" if kind == "launch" else "call"
            if target.fact.kind == "class" and how == "call":
                how = "construct"
            yield from _from(facts, reference, how, "candidate" if how == "value" else "declared")


def _uses(facts: Facts, key: str) -> dict[int, list[FiledReference]]:
    """The calls, launches, values and imports with a key, by the definition that they mean. Read once a key:
    a tree of tests has hundreds of classes called `M`."""
    known: dict[str, dict[int, list[FiledReference]]] = facts.kept.setdefault("python_uses", {})
    found = known.get(key)
    if found is None:
        found = known[key] = {}
        leads: dict[str, list[FiledDefinition]] = {}
        for reference in facts.references(key):
            fact = reference.fact
            if fact.kind not in ("call", "launch", "address", "import"):
                continue
            ends = leads.get(fact.name) if "." in fact.name else None
            if ends is None:
                ends = leads[fact.name] = python_calls.meanings(facts, reference)
            for end in python_calls.nearest(ends, reference):
                found.setdefault(end.id, []).append(reference)
    return found


def _any(facts: Facts, name: str) -> tuple[FiledDefinition, ...]:
    return python_names.resolve(facts, name).ends


def _bases_of(facts: Facts, cls: FiledDefinition) -> Iterator[FiledReference]:
    for name in python_classes.names_of(facts, cls):
        yield from python_classes.named_as_base(facts, keys.py(name)).get(cls.id, ())


def _own_names(facts: Facts, cls: FiledDefinition, target: FiledDefinition) -> list[str]:
    """The names that a method has in its class: its own, and those of aliases of it."""
    own = python_classes.own_members(facts, cls)
    last = keys.last(target.fact.key)
    return [last] + [
        name
        for name, member in own.items()
        if member.fact.kind == "alias"
        and (end := python_classes.followed(facts, cls, member)) is not None
        and end.id == target.id
    ]


def _through_class(
    facts: Facts, cls: FiledDefinition, target: FiledDefinition, name: str
) -> Iterator[Caller]:
    own = [r for r in facts.references(keys.attr(name)) if r.fact.name != name]
    if len(own) > _MANY:
        python_classes.prepare(facts, name)
    for reference in own:
        around = python_classes.class_around(facts, reference.owner)
        if around is None:
            continue
        above = reference.fact.name.startswith("super()")
        evidence = _own_evidence(facts, around, cls, target, name, above)
        if evidence is not None:
            yield from _from(facts, reference, "super" if above else "self", evidence)
    if name in python_calls.APPLIED and python_calls.is_autograd_function(facts, cls):
        for reference in _uses(facts, keys.py("apply")).get(target.id, ()):
            yield from _from(facts, reference, "call", "declared")
    runs = name in python_calls.RUN_BY_CALL
    unasked = (name.startswith("__") and name.endswith("__")) or runs or _is_property(target)
    if not unasked:
        return
    if len(python_classes.subclasses(facts, cls)) > _MANY:
        for asked in (name, *python_calls.RUN_BY_CALL):
            python_classes.prepare(facts, asked)
    heirs = tuple(python_classes.heirs(facts, cls, name))
    if runs:
        yield from _held(facts, [one for one in heirs if _is_run(facts, one, target)])
    for one in heirs:
        for maker in callers(facts, one):
            if maker.how == "construct":
                yield maker._replace(evidence="declared" if name in python_calls.MAKES else "candidate")


def _own_evidence(
    facts: Facts,
    around: FiledDefinition,
    cls: FiledDefinition,
    target: FiledDefinition,
    name: str,
    above: bool,
) -> Evidence | None:
    """How sure `self.name`, or with `above` `super().name`, in a class means a method of another one."""
    find = python_classes.behind if above else python_classes.member
    found = python_classes.followed(facts, around, find(facts, around, name))
    if found is not None and found.id == target.id:
        return "declared"
    # An object of a class below runs its own method; `super()` there may lead to a class beside it.
    if around.id != cls.id and python_classes.is_a(facts, cls, around):
        return "candidate"
    return None


def _is_run(facts: Facts, cls: FiledDefinition, target: FiledDefinition) -> bool:
    """Whether calling an object of a class is said to run a method: `__call__` only without a `forward`."""
    found = python_calls.run_by_call(facts, cls)
    return found is not None and found.id == target.id


def _is_property(target: FiledDefinition) -> bool:
    decorators = (target.fact.detail or {}).get("decorators", ())
    return any(str(name).rpartition(".")[2] in _PROPERTIES for name in decorators)


def _held(facts: Facts, classes: Sequence[FiledDefinition]) -> Iterator[Caller]:
    """Those that call an attribute which is given an object of one of the classes."""
    holders: dict[str, set[int]] = {}
    for cls in classes:
        for name in python_classes.names_of(facts, cls):
            for reference in facts.references_with(keys.py(name), "holds"):
                held = python_classes.held_of(reference)
                holder = python_classes.class_around(facts, reference.owner)
                if holder is not None and any(end.id == cls.id for end in _any(facts, held.cls)):
                    holders.setdefault(held.attribute, set()).add(holder.id)
    if len(holders) > _MANY:
        python_classes.prepare(facts, python_calls.RUN_BY_CALL[0])
    for attribute, holding in holders.items():
        for use in facts.references(keys.attr(attribute)):
            around = python_classes.class_around(facts, use.owner) if use.fact.name[:5] == "self." else None
            if around is not None and (
                around.id in holding or any(d.id in holding for d in python_classes.ancestry(facts, around))
            ):
                yield from _from(facts, use, "held", "declared")


def _from(facts: Facts, reference: FiledReference, how: How, evidence: Evidence) -> Iterator[Caller]:
    owner = facts.definition(reference.owner) if reference.owner >= 0 else None
    if owner is not None:
        yield Caller(owner, reference, how, evidence)


def unknown_callers(facts: Facts, target: FiledDefinition) -> tuple[Caller, ...]:
    """Who calls a method of the target's name on a receiver whose class the text does not tell, or on a
    `self` whose classes in the tree have no such method: each may mean it."""
    kept: dict[int, tuple[Caller, ...]] = facts.kept.setdefault("python_unknown_callers", {})
    found = kept.get(target.id)
    if found is None:
        once: dict[int, Caller] = {}
        name = keys.last(target.fact.key)
        for reference in facts.references(keys.attr(name)):
            if reference.owner in once or reference.fact.kind != "method":
                continue
            if reference.fact.name != name and python_calls.of_method(facts, reference).ends:
                continue
            once.update(
                (caller.caller.id, caller) for caller in _from(facts, reference, "method", "candidate")
            )
        found = kept[target.id] = tuple(sorted(once.values(), key=_place))
    return found


def bound_to(facts: Facts, target: FiledDefinition) -> tuple[FiledDefinition, ...]:
    """The bindings that a function or class is the implementation of: a custom operator, a meta function,
    a decomposition, an entry of a registry. Aliases are none."""
    found: dict[int, FiledDefinition] = {}
    for binding in facts.targeting(target.fact.key):
        owner = facts.definition(binding.owner)
        if owner is None or owner.fact.kind == "alias" or owner.id in found:
            continue
        name = binding.fact.name
        if name == target.fact.name or any(end.id == target.id for end in _any(facts, name)):
            found[owner.id] = owner
    return tuple(found[number] for number in sorted(found))
