"""What code registers for an operator: m.impl, m.def with a function, macros that make them, torch.library.

Registrations of native_functions.yaml are not among them (see `registered_by_torchgen`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import dispatch_keys, library_blocks, macros, operators, targets
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Facts


class ByHand(NamedTuple):
    """One registration in code."""

    operator: str
    """The overload's full name."""
    dispatch_key: str
    """By its own name; '' where the text does not say."""
    place: FiledDefinition
    """The registration, a schema with a function, or the use of a macro that makes one."""
    block: FiledDefinition | None
    """The library block around it; None in Python, and for registrations without one."""
    made: macros.Made | None = None
    """What the macro makes; None where the registration stands there itself."""

    @property
    def block_line(self) -> int:
        """1-based; 0 for none."""
        return self.block.fact.line if self.block is not None else 0

    @property
    def falls_through(self) -> bool:
        """Whether it passes on to the next key (CppFunction::makeFallthrough)."""
        if self.made is not None:
            body = str((self.made.macro.fact.detail or {}).get("body") or "")
            return "makeFallthrough" in body
        return bool((self.place.fact.detail or {}).get("fallthrough"))


def registered_by_hand(facts: Facts, family: Family, overloads: frozenset[str]) -> Iterator[ByHand]:
    """Each registration of some overloads, in no promised order."""
    for definition in facts.definitions(keys.op(family.base)):
        fact = definition.fact
        if fact.kind not in ("registration", "schema") or fact.convention == _YAML:
            continue
        if not targets.is_built(facts, definition.file):
            continue
        namespaces = operators.namespaces(facts, definition)
        if not library_blocks.is_meant(family, fact.name, overloads, namespaces):
            continue
        registers = fact.kind == "registration" or (fact.detail or {}).get("lambda")
        if not registers and not facts.targets(definition):
            continue
        operator = library_blocks.operator_of(family, fact.name, overloads)
        block = library_blocks.block_of(facts, definition)
        written = fact.dispatch_key or (block.fact.dispatch_key if block else "")
        yield ByHand(operator, dispatch_keys.canonical(written, facts.rules), definition, block)
    for made in macros.made_for(facts, family.base):
        if made.kind not in ("registration", "schema"):
            continue
        namespace = keys.operator_name(made.name).namespace
        namespaces = targets.names(facts, made.use.file, namespace)
        if library_blocks.is_meant(family, made.name, overloads, namespaces):
            operator = library_blocks.operator_of(family, made.name, overloads)
            key = dispatch_keys.canonical(made.dispatch_key, facts.rules)
            yield ByHand(operator, key, made.use, library_blocks.block_of(facts, made.use), made)


_YAML = "native_functions"
