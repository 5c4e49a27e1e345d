"""Where what a place means is defined: the function that a user reads first.

A Python function with a body comes before the C++ entry function of the operator behind it; a
name that is only bound leads there at once. The *entry function* of an overload is the kernel
under a composite key, which serves every backend; else that of the first backend, in the order
of the rules; else what code registers; else the meta function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators
from torchtalkd.link.library_blocks import target_functions
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.overloads import overloads
from torchtalkd.queries.trace_composite import is_composite
from torchtalkd.queries.trace_names import role_of
from torchtalkd.queries.trace_registrations import registration_items
from torchtalkd.queries.trace_yaml import yaml_items
from torchtalkd.store.view import View

_BODIES: Final = ("function", "kernel", "structured_impl")


def definition(view: View, meant: Meant) -> list[Item]:
    """The places, the likeliest first; each once."""
    found: list[Item] = []
    for subject in asked(meant):
        if subject.kind == "operator" and meant.schema:
            found.extend(schemas(view, subject))
        elif subject.kind == "operator":
            found.extend(entry_function(view, subject, meant))
        else:
            found.extend(defined(view, subject))
    return each_once(found)


def asked(meant: Meant) -> Iterator[Subject]:
    """The subjects that an answer is about: of several operators that a Python function calls the
    first, which is the one of its name."""
    operators_asked = 0
    for subject in meant.subjects:
        if subject.answered and not (subject.kind == "operator" and operators_asked):
            operators_asked += subject.kind == "operator"
            yield subject


def defined(view: View, subject: Subject) -> Iterator[Item]:
    """The definitions that a subject is, and for a Python name that is bound to C++ what it is bound to;
    declarations where there is nothing else."""
    definitions = [d for number in subject.ids if (d := view.definition(number)) is not None]
    bodies = [d for d in definitions if not d.fact.declares and d.fact.kind != "stub_kernel"]
    if subject.kind == "stub":
        bodies = [d for d in bodies if d.fact.kind == "stub"]
    for each in bodies or definitions:
        bound = list(_bound(view, each)) if each.fact.kind == "python_binding" else []
        yield from bound or [place_of(role_of(each), each, "exact")]


def _bound(view: View, binding: FiledDefinition) -> Iterator[Item]:
    for target in view.targets(binding):
        if keys.space(target.fact.key) == keys.space(keys.cpp("")):
            for link in target_functions(view, target.fact.name, binding):
                yield place_of("native", link.definition, link.evidence, declared=binding)


def entry_function(view: View, subject: Subject, meant: Meant | None = None) -> list[Item]:
    """The entry function of the first overload that is meant; its schema where the tree has none."""
    for entry in overloads(view, subject, meant):
        found = _of_entry(view, entry) or registered(view, subject, entry)
        if found:
            return found
    return schemas(view, subject, meant)[:1] or registered(view, subject, None)


def _of_entry(view: View, entry: FiledDefinition) -> list[Item]:
    rows = trace_kernels.rows(view, entry) if entry.fact.kind == "operator" else []
    order = {backend: number for number, backend in enumerate(view.rules.backends)}

    def rank(row: trace_kernels.Row) -> tuple[bool, int]:
        key = row.registration.fact.dispatch_key
        return not is_composite(view, key), order.get(key, len(order))

    for row in sorted(rows, key=rank):
        found = [item for item in trace_kernels.kernels_of(row) if item.kind in _BODIES]
        # The loops of a ufunc are given for each instruction set: the first is the one to read.
        certain = [item for item in found if item.evidence != "candidate"] or found
        if certain:
            return certain
    return list(trace_kernels.meta_items(view, entry)) if rows else []


def registered(view: View, subject: Subject, entry: FiledDefinition | None) -> list[Item]:
    """The functions that code registers for an overload, those of the first key."""
    family = operators.family(view, subject.name)
    if family is None:
        return []
    wanted = frozenset([family.full_name(entry)] if entry is not None else subject.overloads)
    found = [
        item
        for item in registration_items(view, family, wanted, behind=False)
        if item.role == "native" and item.kind in _BODIES
    ]
    order = {backend: number for number, backend in enumerate(view.rules.backends)}
    if not found:
        return []
    first = min(
        found,
        key=lambda i: (
            bool(i.dispatch_key) and not _serves_all(view, i),
            order.get(i.dispatch_key, len(order)),
        ),
    )
    return [item for item in found if item.dispatch_key == first.dispatch_key]


def _serves_all(view: View, item: Item) -> bool:
    return is_composite(view, item.dispatch_key) or item.dispatch_key == "CatchAll"


def schemas(view: View, subject: Subject, meant: Meant | None = None) -> list[Item]:
    """The entries of the overloads that are meant."""
    family = operators.family(view, subject.name)
    if family is None:
        return []
    names = frozenset(family.full_name(entry) for entry in overloads(view, subject, meant))
    return [item for item in yaml_items(view, family, names) if not item.dispatch_key]


def each_once(items: Iterable[Item]) -> list[Item]:
    """Items without those of a place that an earlier one has."""
    seen: dict[tuple[str, int], Item] = {}
    for item in items:
        seen.setdefault((item.file, item.line), item)
    return list(seen.values())
