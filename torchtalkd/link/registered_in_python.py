"""What Python code registers besides what its calls say: implied kernels, and Meta kernels from tables.

PyTorch registers Python functions for the key Meta when it is loaded: those of `register_meta`, and of
decompositions that nothing hides (torch/_meta_registrations.py `activate_meta`). Which bindings fill
these tables is manifest data. Tests: `tests/test_registered.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.codegen.schema import Schema
from torchtalkd.facts import Build, FiledDefinition
from torchtalkd.link import builds, targets
from torchtalkd.link.operators import Family
from torchtalkd.link.schemas import schema_of
from torchtalkd.link.source import Facts

META: Final = "Meta"
IMPLICIT: Final = "CompositeImplicitAutograd"


class InPython(NamedTuple):
    """A registration that a binding in Python makes."""

    operator: str
    dispatch_key: str
    place: FiledDefinition


def implied(facts: Facts, family: Family, build: Build | None) -> Iterator[InPython]:
    """What a call registers besides what it says: `custom_op` its autograd kernel, `_make_prim` all of its
    own. A meta function of an operator without overload is that of the nameless one."""
    rules = facts.rules.python
    for definition in facts.definitions(keys.op(family.base)):
        fact = definition.fact
        of_binding = rules.implied.get(fact.convention)
        if of_binding is None or not _is_loaded(facts, definition, build):
            continue
        operator = _operator(facts, family, fact.name)
        if not operator:
            continue
        for key in of_binding:
            yield InPython(operator, key, definition)
        further = rules.without_tensors.get(fact.convention, ())
        if further and not _takes_tensors(schema_of(facts, family, operator)):
            for key in further:
                yield InPython(operator, key, definition)


def activated(
    facts: Facts, family: Family, build: Build | None, known: Mapping[str, Collection[str]]
) -> Iterator[InPython]:
    """The Python functions that become Meta kernels. `known` are the keys of each overload's other
    registrations: an operator made of others runs those, a view would not share memory."""
    rules = facts.rules.python
    first: dict[str, tuple[int, FiledDefinition]] = {}
    for definition in facts.definitions(keys.op(family.base)):
        fact = definition.fact
        if fact.convention not in rules.meta_tables or not _is_loaded(facts, definition, build):
            continue
        if (fact.detail or {}).get("registry") or not _operator(facts, family, fact.name):
            continue
        rank = _rank(definition)
        for operator in _overloads(facts, family, fact.name):
            if operator not in first or rank < first[operator][0]:
                first[operator] = rank, definition
    for operator, (_, definition) in first.items():
        others = known.get(operator, ())
        if not others or IMPLICIT in others or operator in rules.not_activated:
            continue
        if not _shares_memory(schema_of(facts, family, operator)):
            yield InPython(operator, META, definition)


def _is_loaded(facts: Facts, definition: FiledDefinition, build: Build | None) -> bool:
    return targets.is_built(facts, definition.file) and builds.has_file(build, definition.file.path)


def _rank(definition: FiledDefinition) -> int:
    """The tables in the order in which one hides another."""
    table = (definition.fact.detail or {}).get("type") or "post_autograd"
    return 0 if definition.fact.kind == "meta" or table == "meta" else 2 if table == "pre_autograd" else 1


def _operator(facts: Facts, family: Family, name: str) -> str:
    """The overload's full name, '' for another operator's."""
    written = keys.operator_name(name)
    if written.base != family.base:
        return ""
    if (written.namespace or facts.rules.operator_namespace) != family.namespace:
        return ""
    return str(keys.canonical_operator(written, family.namespace))


def _overloads(facts: Facts, family: Family, name: str) -> tuple[str, ...]:
    """A packet stands for all of its overloads."""
    if keys.operator_name(name).overload:
        return (_operator(facts, family, name),)
    return family.overloads


def _takes_tensors(schema: Schema | None) -> bool:
    return schema is None or any(argument.type.tensor_like for argument in schema.arguments)


def _shares_memory(schema: Schema | None) -> bool:
    """torch/_ops.py `OpOverload.is_view`: an argument is aliased, and none is written to."""
    aliased = [a for a in schema.arguments if a.alias is not None] if schema is not None else []
    return bool(aliased) and not any(argument.written for argument in aliased)
