"""The functions that a macro used in one file and defined in another makes, by their name.

`C10_DEFINE_bool(x, …)` makes functions whose names are pasted from its arguments, and a macro
may make a method that is always called alike. Neither is a name in any text, so they are looked
for from the macros' templates (`macros`), where nothing else has the name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import macros
from torchtalkd.link.pieces import Work, derive, derived
from torchtalkd.link.source import Facts

MOST_USES = 2_000
"""Uses of one macro that are looked at."""
_HOLE = re.compile(r"\\\{(\d+)\\\}")
_FUNCTIONS = ("function", "kernel", "structured_impl", "structured_meta")


class _Template(NamedTuple):
    """The last name of what a macro makes, as a pattern, and the macro."""

    pattern: re.Pattern[str]
    macro: str


def made_functions(facts: Facts, last: str) -> tuple[macros.Made, ...]:
    """The functions of a last name that uses of macros make, by the place of the use."""
    found: dict[int, macros.Made] = {}
    for template in _templates(facts):
        if not template.pattern.fullmatch(last):
            continue
        uses = [d for d in facts.of_kind(keys.macro(template.macro), "macro_use") if _counts(d)]
        for use in uses[:MOST_USES]:
            for made in macros.makes(facts, use):
                if made.kind in _FUNCTIONS and keys.cpp_last(made.name) == last:
                    found.setdefault(use.id, made)
    return tuple(found[number] for number in sorted(found))


def _counts(use: FiledDefinition) -> bool:
    return use.file.role in ("library", "test")


def _templates(facts: Facts) -> list[_Template]:
    """Of each macro that makes functions under names of its own making. A name that is one of the
    arguments as it stands is found by that argument."""
    return derived(facts, ("macro", "function_templates"), _making, facts.kept_of_definitions)


def prepare(facts: Facts) -> Iterator[None]:
    """Derives which macros make functions, before somebody asks, in pieces."""
    return derive(facts, ("macro", "function_templates"), _making, facts.kept_of_definitions)


def _making(facts: Facts) -> Work[list[_Template]]:
    found: dict[tuple[str, int], list[_Template]] = {}
    for some in facts.macros_that_make():
        yield
        for macro in some:
            names = {
                keys.cpp_last(str(name))
                for kind, name, _, _ in (macro.fact.detail or {}).get("makes") or ()
                if kind in _FUNCTIONS
            }
            found[macro.file.path, macro.id] = [
                _Template(re.compile(_HOLE.sub(r"\\w+", re.escape(name))), macro.fact.name) for name in names
            ]
    return [template for place in sorted(found) for template in found[place]]


def pasted_by(facts: Facts, last: str) -> str:
    """The macro whose body pastes a name of this form together and defines a function of it
    (`Tensor _cast_##n(…) {`): for a macro that is handed to a list of a header (`AT_FORALL_…(_cast)`),
    whose entries nobody expands. '' for none."""
    kept: list[tuple[re.Pattern[str], str]] | None = facts.kept.get("pasting_macros")
    if kept is None:
        kept = facts.kept["pasting_macros"] = []
        for key in facts.keys(keys.space(keys.macro(""))):
            for macro in facts.of_kind(key, "macro"):
                body = str((macro.fact.detail or {}).get("body") or "")
                for begin, end in _PASTED.findall(body) if "##" in body else ():
                    kept.append((re.compile(rf"{begin}\w+{end}"), macro.fact.name))
    return next((name for pattern, name in kept if pattern.fullmatch(last)), "")


_PASTED = re.compile(r"\b[\w&>]+\s+(\w{2,})##\w+(?:##(\w+))?\s*\([^;{}]*\)\s*\{")
"""A function's head with a pasted name, of which the beginning is written."""
