"""What is registered for an operator, and what runs for each key: generated, by hand and in Python alike.

Tests: `tests/test_registered.py`; against a running dispatcher `tests/bench/dispatcher.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias

from torchtalkd import keys
from torchtalkd.facts import Build, DispatchKeys, FiledDefinition, Rules
from torchtalkd.link import builds, dispatch_keys, library_blocks, operators
from torchtalkd.link.dispatch_table import Entry, dispatch_table
from torchtalkd.link.operators import Family
from torchtalkd.link.overloads import registered_by_torchgen
from torchtalkd.link.registered_by_hand import ByHand, registered_by_hand
from torchtalkd.link.registered_in_python import activated, implied
from torchtalkd.link.source import Facts

Origin: TypeAlias = Literal["python", "code", "generated"]
"""Who makes it. Of several for one key the first of these hides the others: Python is loaded last."""
PYTHON: Final = "python"
GENERATED: Final = "generated/"
OLD_API: Final = "RegisterOperators"
"""Where a registration stands that is in no library block: torch::RegisterOperators().op(…)."""
_ORIGINS: Final[dict[Origin, int]] = {"python": 0, "code": 1, "generated": 2}
_YAML: Final = "native_functions"


class Registered(NamedTuple):
    """One registration of one operator for one key."""

    operator: str
    """The overload's full name; `_::*` for a fallback."""
    dispatch_key: str
    where: str
    """As the dispatcher itself tells it: `path:line` of the library block, `generated/RegisterCPU.cpp`,
    `python`, `RegisterOperators`."""
    origin: Origin
    source: FiledDefinition
    """What makes it: the registration, the macro's use, the binding in Python; for a generated one the
    line of its kernel in yaml, its derivative, or its entry."""
    by_hand: ByHand | None = None
    falls_through: bool = False
    hidden: bool = False
    """Another one for the same key is used."""

    @property
    def guard(self) -> str:
        """The conditions of the #if around it, joined by ` && `."""
        return "" if self.origin == "generated" else self.source.fact.guard

    @property
    def role(self) -> str:
        """That of the file."""
        return self.source.file.role


def registered(facts: Facts, family: Family, build: Build | None) -> dict[str, tuple[Registered, ...]]:
    """Overload → its registrations, in the order of the table's keys, hidden ones behind what hides them.
    Templates give none, tests none. `build` None is everything that the source has."""
    found: dict[str, list[Registered]] = {name: [] for name in family.overloads}
    for one in (*_generated(facts, family, build), *_by_hand(facts, family, build)):
        found.setdefault(one.operator, []).append(one)
    for python in implied(facts, family, build):
        found.setdefault(python.operator, []).append(_in_python(*python))
    known = {name: {one.dispatch_key for one in several} for name, several in found.items()}
    for python in activated(facts, family, build, known):
        found[python.operator].append(_in_python(*python))
    order = {key: number for number, key in enumerate(facts.rules.dispatch.table)}
    return {name: _ordered(several, order) for name, several in found.items()}


def fallbacks(facts: Facts, build: Build | None) -> dict[str, Registered]:
    """Key → the fallback for all operators: `m.fallback` in a block of the namespace `_`."""
    kept: dict[Build | str, dict[str, Registered]] = facts.kept.setdefault("fallbacks", {})
    known = build.name if build is not None else builds.ALL
    if known not in kept:
        found: dict[str, Registered] = {}
        for definition in facts.definitions(keys.op(_EVERY)):
            block = library_blocks.block_of(facts, definition)
            if block is None or definition.file.role != "library" or not _has(build, definition):
                continue
            key = dispatch_keys.canonical(definition.fact.dispatch_key, facts.rules)
            by_hand = ByHand(_EVERY, key, definition, block)
            found.setdefault(key, _written(by_hand))
        kept[known] = found
    return kept[known]


_EVERY: Final = "_::*"


def table_of(
    facts: Facts, several: tuple[Registered, ...], build: Build | None
) -> dict[str, Entry[Registered]]:
    """Runtime key → what runs, of the registrations of one overload."""
    active = {one.dispatch_key: one for one in several if not one.hidden}
    return dispatch_table(active, fallbacks(facts, build), shown_keys(facts.rules, build))


def shown_keys(rules: Rules, build: Build | None) -> DispatchKeys:
    """The keys with those of a table: the build's, or all that there are."""
    if build is None:
        return replace(rules.dispatch, table=runtime_keys(rules.dispatch))
    return replace(rules.dispatch, table=build.keys) if build.keys else rules.dispatch


def runtime_keys(known: DispatchKeys) -> tuple[str, ...]:
    """Every key that a tensor or a mode can have: those of tables first."""
    of_backends = (begin + backend for begin in known.per_backend for backend in known.backends)
    written = (item for items in known.aliases.values() for item in items)
    others = (item for item in (*written, *known.autograd_other) if item not in known.aliases)
    plain = (item for item in others if not item.startswith("!") and not item.endswith("*"))
    return tuple(dict.fromkeys((*known.table, *of_backends, *plain)))


def _generated(facts: Facts, family: Family, build: Build | None) -> Iterator[Registered]:
    if not any(entry.fact.kind == "operator" for entry in family.entries):
        return
    entries = {entry.fact.name: entry for entry in family.entries if entry.fact.kind == "operator"}
    lines: dict[tuple[str, str], FiledDefinition] = {}
    derivatives: dict[str, FiledDefinition] = {}
    for definition in facts.definitions(keys.op(family.base)):
        fact = definition.fact
        if fact.kind == "registration" and fact.convention == _YAML:
            lines.setdefault((fact.name, fact.dispatch_key), definition)
        elif fact.kind == "derivative":
            derivatives.setdefault(fact.name, definition)
    for name, entry in entries.items():
        out = operators.delegate(facts, entry)
        # An in-place variant has another key than the out= one that it delegates to.
        shared = _kernel_lines(facts, out) if out is not None else {}
        for generated in registered_by_torchgen(facts, name):
            key, where = generated.dispatch_key, GENERATED + generated.file
            if not builds.has_file(build, where):
                continue
            source = lines.get((name, key)) or shared.get(key)
            if source is None and key.startswith("Autograd"):
                source = derivatives.get(name)
            yield Registered(name, key, where, "generated", source or entry)


def _kernel_lines(facts: Facts, entry: FiledDefinition) -> dict[str, FiledDefinition]:
    """Dispatch key → the line of an entry's kernel in yaml."""
    return {
        d.fact.dispatch_key: d
        for d in facts.definitions(entry.fact.key)
        if d.fact.kind == "registration" and d.fact.convention == _YAML and d.fact.name == entry.fact.name
    }


def _by_hand(facts: Facts, family: Family, build: Build | None) -> Iterator[Registered]:
    rules = facts.rules.python
    for one in registered_by_hand(facts, family, frozenset(family.overloads)):
        convention = one.place.fact.convention
        if not _has(build, one.place) or convention in rules.python_dispatcher:
            continue
        if one.block is None and one.place.file.language == "python":
            if one.place.fact.kind != "registration":
                continue
            key = one.dispatch_key or rules.default_keys.get(convention, facts.rules.default_dispatch)
            yield _in_python(one.operator, key, one.place, one)
        elif not (one.place.fact.detail or {}).get("interpreter"):
            key = one.dispatch_key or facts.rules.default_dispatch
            yield _written(one._replace(dispatch_key=key))


def _written(one: ByHand) -> Registered:
    where = f"{one.place.file.path}:{one.block_line}" if one.block is not None else OLD_API
    return Registered(one.operator, one.dispatch_key, where, "code", one.place, one, one.falls_through)


def _in_python(operator: str, key: str, place: FiledDefinition, one: ByHand | None = None) -> Registered:
    return Registered(
        operator, key, PYTHON, "python", place, one, one.falls_through if one is not None else False
    )


def _has(build: Build | None, place: FiledDefinition) -> bool:
    return builds.has_file(build, place.file.path) and builds.has_guarded(build, place.fact.guard)


def _ordered(several: list[Registered], order: dict[str, int]) -> tuple[Registered, ...]:
    """Each once; of one key what is used first."""
    last = len(order)
    distinct = {(one.dispatch_key, one.where): one for one in reversed(several)}
    ranked = sorted(
        distinct.values(),
        key=lambda one: (order.get(one.dispatch_key, last), one.dispatch_key, _ORIGINS[one.origin]),
    )
    taken: set[str] = set()
    found = []
    for one in ranked:
        found.append(one._replace(hidden=True) if one.dispatch_key in taken else one)
        taken.add(one.dispatch_key)
    return tuple(found)
