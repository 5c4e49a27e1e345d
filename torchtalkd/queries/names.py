"""names: how a name may go on that somebody is typing."""

from __future__ import annotations

from typing import Final

from torchtalkd import keys
from torchtalkd.link import operators, python_names
from torchtalkd.store.view import View

MOST: Final = 1_000
_MOST_FOLLOWED: Final = 120
"""Python names that are looked up for one answer: each costs a walk over imports."""


def names(view: View, typed: str, limit: int = MOST) -> list[str]:
    """Operators, and where a module is typed (`torch.nn.functional.s`) the names in it, that go on from
    what is typed: beginnings first, the shortest first, then operators that contain it. Read-only."""
    if "::" in typed:
        return _operators(view, typed, limit)
    before, dot, last = typed.rpartition(".")
    if dot:
        return _in_module(view, before, last)[:limit] or _overloads(view, before, last)[:limit]
    begin, inside = _split(view, last)
    return [*begin, *inside][:limit]


def _operators(view: View, typed: str, limit: int) -> list[str]:
    namespace, _, last = typed.rpartition("::")
    base, dot, overload = last.partition(".")
    if dot:
        return _overloads(view, f"{namespace}::{base}", overload)[:limit]
    begin, _ = _split(view, last)
    found: list[str] = []
    for name in begin:
        found.extend(
            family.name for family in operators.families(view, name) if family.namespace == namespace
        )
        if len(found) >= limit:
            break
    return found[:limit]


def _overloads(view: View, packet: str, typed: str) -> list[str]:
    first = packet if "::" in packet else f"{view.rules.operator_namespace}::{packet}"
    family = operators.family(view, first)
    if family is None:
        return []
    own = [keys.operator_name(name).overload or "default" for name in family.overloads]
    return sorted(f"{packet}.{one}" for one in own if one.startswith(typed))


def _split(view: View, typed: str) -> tuple[list[str], list[str]]:
    """The operators whose name begins with a text, and those that contain it further in."""
    wanted = typed.casefold()
    begin: list[str] = []
    inside: list[str] = []
    for key in view.keys(keys.space(keys.op(""))):
        name = keys.last(key)
        at = name.casefold().find(wanted)
        if at >= 0:
            (inside if at else begin).append(name)

    def order(name: str) -> tuple[bool, int, str]:
        return name.startswith("_") and not typed.startswith("_"), len(name), name

    return sorted(begin, key=order), sorted(inside, key=order) if wanted else []


def _in_module(view: View, module: str, typed: str) -> list[str]:
    candidates = [keys.last(key) for key in view.keys(keys.space(keys.py("")), typed)] if typed else []
    candidates.sort(key=lambda name: (name.startswith("_"), len(name), name))
    full = python_names.canonical(view, f"{module}.x")
    modules = [name.rpartition(".")[0] for name in full]
    return [
        f"{module}.{name}"
        for name in candidates[:_MOST_FOLLOWED]
        if any(python_names.resolve(view, f"{one}.{name}").ends for one in modules)
    ]
