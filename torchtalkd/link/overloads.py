"""An operator of native_functions.yaml as torchgen sees it: with its group, its derivative, its view.

What is registered for an operator depends on the others of its signature, and for a view's copy
on the view. All of these have one stem: `add`, `add_`, `__iadd__`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.codegen.autogen import autogen_operators
from torchtalkd.codegen.registrations import (
    DEFAULT,
    EXPLICIT,
    Generated,
    Group,
    Overload,
    generated_registrations,
    groups,
    root_name,
    view_copy_name,
)
from torchtalkd.codegen.schema import SchemaError, parse_schema
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators
from torchtalkd.link.source import Facts


class Stem(NamedTuple):
    """All overloads of one stem."""

    by_name: Mapping[str, Overload]
    groups: Mapping[str, Group]


def registered_by_torchgen(facts: Facts, name: str) -> tuple[Generated, ...]:
    """What torchgen registers for an operator (`aten::add.Tensor`); () for one that
    native_functions.yaml does not have, or whose schema cannot be read."""
    stem = stem_of(facts, name)
    siblings = overloads(facts, stem)
    overload = siblings.by_name.get(name)
    if overload is None:
        return ()
    views = {}
    if stem.endswith("_copy"):
        copied = overloads(facts, stem.removesuffix("_copy")).by_name.values()
        views = {view_copy_name(view): view for view in copied}
    return generated_registrations(overload, siblings.groups[name], views, facts.rules.torchgen)


def overloads(facts: Facts, stem: str) -> Stem:
    """The overloads of a stem, those that `autogen` makes included."""
    kept: dict[str, Stem] = facts.kept.setdefault("stems", {})
    found = kept.get(stem)
    if found is None:
        by_name: dict[str, Overload] = {}
        for base in (stem, f"{stem}_", f"__{stem}__", f"__i{stem}__", f"{stem}_functional"):
            for overload in _overloads(facts, base):
                by_name.setdefault(overload.name, overload)
        found = kept[stem] = Stem(by_name, groups(by_name.values()))
    return found


def stem_of(facts: Facts, name: str) -> str:
    """The stem that an operator of native_functions.yaml belongs to, '' if its schema cannot be read."""
    for definition in facts.definitions(keys.op(name)):
        if definition.fact.name == name and definition.fact.kind == "operator":
            wrapped = (definition.fact.detail or {}).get("autogen_of")
            entry = operators.entry(facts, str(wrapped)) if wrapped else definition
            try:
                return root_name(parse_schema(entry.fact.signature)) if entry is not None else ""
            except SchemaError:
                return ""
    return ""


def _overloads(facts: Facts, base: str) -> Iterator[Overload]:
    definitions = facts.definitions(keys.op(base))
    for entry in definitions:
        if entry.fact.kind != "operator" or entry.file.role in ("template", "test"):
            continue
        wrapped = (entry.fact.detail or {}).get("autogen_of")
        try:
            if wrapped:
                yield from _made(facts, entry.fact.name, str(wrapped))
            else:
                yield _overload(entry, definitions)
        except SchemaError:
            # A Problem of its own: the entry's reader has said so.
            continue


def _made(facts: Facts, name: str, wrapped: str) -> Iterator[Overload]:
    entry = operators.entry(facts, wrapped)
    if entry is not None:
        for one in autogen_operators(entry.fact):
            if one.name == name:
                yield Overload(name, parse_schema(one.schema), (EXPLICIT,), generated=True)


def _overload(entry: FiledDefinition, definitions: Sequence[FiledDefinition]) -> Overload:
    fact = entry.fact
    detail = fact.detail or {}
    delegate = str(detail.get("structured_delegate") or "")
    if delegate and "::" not in delegate:
        delegate = f"{keys.operator_name(fact.name).namespace}::{delegate}"
    own = [d for d in definitions if d.fact.name == fact.name]
    derivatives = [d for d in own if d.fact.kind == "derivative"]
    return Overload(
        fact.name,
        parse_schema(fact.signature),
        tuple(
            d.fact.dispatch_key
            for d in own
            if d.fact.kind == "registration" and d.fact.convention == "native_functions"
        ),
        structured=bool(detail.get("structured")),
        delegate=delegate,
        tags=tuple(detail.get("tags") or ()),
        manual_kernel=bool(detail.get("manual_kernel_registration")),
        derivative=tuple(
            key for d in derivatives for key in (d.fact.detail or {}).get("dispatch") or (DEFAULT,)
        ),
        has_formula=any(operators.makes_node(d) for d in derivatives),
    )
