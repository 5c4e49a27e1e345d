"""What is wrong with registrations in code: of nothing, twice, and operators without a fake function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import builds, operators
from torchtalkd.link.operators import Family
from torchtalkd.link.registered import Registered, registered, table_of
from torchtalkd.link.schemas import schema_of, writes_only
from torchtalkd.queries.problem import Finding
from torchtalkd.store.view import View

META: Final = "Meta"


def undeclared(view: View) -> Iterator[Finding]:
    """Implementations of an operator that nothing declares, in a namespace of this tree's own, whatever
    the build."""
    every = list(_families(view))
    declared = {family.namespace for family in every if family.entries}
    for family in every:
        if family.namespace not in declared:
            continue
        names = set(family.overloads) | _declared_by_templates(view, family)
        for operator, several in _registered(view, family, builds.ALL).items():
            if operator in names:
                continue
            if any(_declares(view, one) for one in several):
                continue
            for one in several:
                if one.by_hand is not None:
                    message = f"{one.dispatch_key}: nothing declares {operator}"
                    yield _at(one.source, "undeclared operator", operator, message)


def _declared_by_templates(view: View, family: Family) -> set[str]:
    """Operators whose schema torchgen's templates write (aten/src/ATen/templates/RegisterSchema.cpp):
    they define nothing, but what they declare is no mistake. Without a namespace it is any."""
    return {
        str(keys.operator_name(d.fact.name)._replace(namespace=family.namespace))
        for d in view.definitions(keys.op(family.base))
        if d.fact.kind == "schema" and d.file.role == "template"
    }


def registered_twice(view: View, of: Iterable[Family] | None = None) -> Iterator[Finding]:
    """Two registrations for one key in one build, of which one hides the other; Python may override."""
    for family in _families(view) if of is None else of:
        for operator, several in _registered(view, family).items():
            used: dict[str, Registered] = {}
            for one in several:
                first = used.setdefault(one.dispatch_key, one)
                if first is one or first.origin == "python" or _excludes(first, one):
                    continue
                place = f"{first.source.file.path}:{first.source.fact.line}"
                message = f"{one.dispatch_key}: {operator} is registered here and at {place}"
                yield _at(one.source, "registered twice", operator, message)


def without_fake(view: View, of: Iterable[Family] | None = None) -> Iterator[Finding]:
    """In a tree of extensions: an operator that cannot be traced by shapes alone, for it has no fake
    function and is not made of others."""
    if view.keys_of_kind("operator"):
        return
    for family in _families(view) if of is None else of:
        for operator, several in _registered(view, family).items():
            declared = [e for e in family.entries if family.full_name(e) == operator]
            declared += [one.source for one in several if _declares(view, one)]
            if not declared or not several or _has_fake(view, family, operator):
                continue
            if writes_only(schema_of(view, family, operator)):
                continue
            # What custom_op itself registers for Meta only says that there is none.
            in_python = any(_declares(view, one) for one in several)
            if in_python or META not in table_of(view, several, None):
                yield _at(declared[0], "no fake function", operator, f"{operator} has no fake function")


def _declares(view: View, one: Registered) -> bool:
    """Whether a call in Python declares the operator that it registers: custom_op and its kin."""
    fact = one.source.fact
    return fact.kind == "registration" and fact.convention in view.rules.python.implied


def _has_fake(view: View, family: Family, operator: str) -> bool:
    """A meta function that names the operator, or it without an overload."""
    for definition in view.definitions(keys.op(family.base)):
        if definition.fact.kind != "meta" or definition.file.role in ("template", "test"):
            continue
        written = keys.operator_name(definition.fact.name)
        if written.namespace in ("", family.namespace):
            full = str(keys.canonical_operator(written, family.namespace))
            if full == operator or not written.overload:
                return True
    return False


def _excludes(one: Registered, other: Registered) -> bool:
    """Whether conditions keep two registrations apart: each under an #if that the other is not under."""
    return one.guard != other.guard and bool(one.guard and other.guard)


def _families(view: View) -> Iterator[Family]:
    for key in view.keys(keys.space(keys.op("x"))):
        for family in operators.families(view, keys.last(key)):
            if not operators.is_hole(family.namespace) and family.base != "*":
                yield family


def _registered(view: View, family: Family, build: str = "") -> dict[str, tuple[Registered, ...]]:
    kept: dict[tuple[str, str], dict[str, tuple[Registered, ...]]] = view.kept.setdefault("registered", {})
    if (family.name, build) not in kept:
        kept[family.name, build] = registered(view, family, builds.build_named(view.rules, build))
    return kept[family.name, build]


def _at(definition: FiledDefinition, kind: str, operator: str, message: str) -> Finding:
    fact = definition.fact
    return Finding(kind, definition.file.path, fact.line, message, operator, fact.column)
