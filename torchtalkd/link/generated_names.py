"""Which operator a C++ name is, where torchgen made it of one: `at::add`, `at::_ops::add_Tensor::call`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, operators
from torchtalkd.link.source import Facts


class Generated(NamedTuple):
    """An operator, and which of its overloads a name can mean."""

    packet: str
    """`aten::add`."""
    overloads: tuple[str, ...]
    """By full name, in the order of the text."""


def generated(facts: Facts, written: str, scopes: Sequence[str] = ("",)) -> Generated | None:
    """The operator of a C++ name looked up from `scopes`, innermost first; None if torchgen made no
    such name. Without a qualifier only `at` and what lies in it see one."""
    kept: dict[tuple[str, tuple[str, ...]], Generated | None] = facts.kept.setdefault("generated_names", {})
    name = functions.plain(written)
    asked = (name, tuple(scopes))
    if asked not in kept:
        full = (f"{scope}::{name}" if scope else name for scope in scopes)
        kept[asked] = next((found for text in full if (found := _of(facts, text)) is not None), None)
    return kept[asked]


def _of(facts: Facts, text: str) -> Generated | None:
    stem = operators.generated_operator(text)
    if not stem:
        return None
    exact = "::_ops::" in text
    for base, overload in operators.readings(facts, stem):
        family = operators.family(facts, f"{facts.rules.operator_namespace}::{base}")
        if family is None or not any(entry.fact.kind == "operator" for entry in family.entries):
            continue
        if exact and overload is None:
            overload = ""
        wanted = tuple(
            family.full_name(entry)
            for entry in family.entries
            if entry.fact.kind == "operator" and _is_meant(entry, overload)
        )
        if wanted:
            return Generated(family.name, tuple(dict.fromkeys(wanted)))
    return None


def _is_meant(entry: FiledDefinition, overload: str | None) -> bool:
    if overload is None:
        return True
    if overload == "*out":
        return operators.is_out(entry)
    return keys.operator_name(entry.fact.name).overload == overload


def called_as(family: operators.Family) -> list[str]:
    """The last components of the C++ functions that torchgen makes of an operator's overloads; those of
    `at::_ops`, which are all called `call`, left out (torchgen/api/types/signatures.py)."""
    found: dict[str, None] = {family.base: None}
    for entry in family.entries:
        if entry.fact.kind != "operator":
            continue
        stems = [family.base]
        if "SymInt" in entry.fact.signature:
            stems.append(f"{family.base}_symint")
        endings = ("_out", "_outf") if operators.is_out(entry) else ("",)
        found.update(dict.fromkeys(stem + ending for stem in stems for ending in endings))
        if (entry.fact.detail or {}).get("manual_cpp_binding"):
            found.setdefault(f"__dispatch_{family.base}")
    return list(found)
