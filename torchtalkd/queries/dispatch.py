"""dispatch: which kernel the dispatcher runs for an operator, key by key, and where it is registered.

Computed from the source alone (see `torchtalkd.link.registered`), under a build profile. The shape of
`as_lines` is that of the reference file in tests/truth. The tests are `tests/test_dispatch.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rapidfuzz import fuzz, process

from torchtalkd import keys
from torchtalkd.facts import Build, FiledDefinition
from torchtalkd.link import builds, dispatch_keys, operators
from torchtalkd.link.dispatch_table import Entry, dispatch_table
from torchtalkd.link.operators import Family
from torchtalkd.link.registered import Registered, fallbacks, registered, runtime_keys, shown_keys
from torchtalkd.link.schemas import printed
from torchtalkd.queries.answers import Standalone, Standing, standing
from torchtalkd.queries.dispatch_kernels import Kernel, kernels_of
from torchtalkd.queries.locate import locate
from torchtalkd.store.view import View


@dataclass(frozen=True, slots=True)
class Row:
    """What runs for one key."""

    key: str
    kind: str
    """The dispatcher's own word: kernel, math kernel, default backend kernel, …"""
    where: str
    """Where it is registered, as the dispatcher tells it; '' where it refuses to choose."""
    why: str
    """Why that one, in a line."""
    kernels: tuple[Kernel, ...] = ()
    """The functions; empty where nobody asked for them."""


@dataclass(frozen=True, slots=True)
class Registration:
    """One registration."""

    key: str
    where: str
    flags: tuple[str, ...]
    """fallthrough, inactive."""
    file: str
    """Where what makes it stands."""
    line: int
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """One operator."""

    operator: str
    schema: str
    """As the dispatcher prints it; '' where the source does not spell it."""
    registrations: tuple[Registration, ...]
    table: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class DispatchAnswer(Standalone):
    """The answer to `dispatch`."""

    query: tuple[str, ...]
    build: str
    """The build's name, `all` for all that the source has."""
    key: str
    """The only key shown, '' for all of the build's."""
    operators: tuple[Dispatched, ...]
    standing: Standing
    missing: tuple[str, ...] = ()
    """Names that are no operator's."""
    nearest: tuple[str, ...] = ()
    """Operators that are called alike."""
    error: str = ""
    """Why nothing is answered: an unknown key or build."""

    @property
    def cited(self) -> tuple[str, ...]:
        """The files that it names."""
        return tuple({r.file for one in self.operators for r in one.registrations})

    def without(self, moved: frozenset[str]) -> DispatchAnswer:
        """Without the operators whose files moved on while it was made."""
        kept = tuple(o for o in self.operators if moved.isdisjoint(r.file for r in o.registrations))
        return replace(self, operators=kept)


def dispatch(
    view: View,
    names: Sequence[str] = (),
    key: str = "",
    build: str = "",
    *,
    kernels: bool = True,
) -> DispatchAnswer:
    """The registrations and the table of the operators meant; without names, of all. Read-only.

    `kernels` looks each kernel's function up, which an answer for programs has no place for.
    """
    said = DispatchAnswer(tuple(names), build, key, (), standing(view))
    try:
        profile = builds.build_named(view.rules, build)
    except builds.UnknownBuild as unknown:
        return replace(said, error=str(unknown))
    said = replace(said, build=profile.name if profile is not None else builds.ALL)
    if key:
        known = runtime_keys(view.rules.dispatch)
        written = dispatch_keys.canonical(key, view.rules)
        meant = next((one for one in known if one.casefold() == written.casefold()), "")
        if not meant:
            return replace(said, error=unknown_key(key, known))
        said = replace(said, key=meant)
    if not names:
        return replace(said, operators=tuple(_all(view, profile, said.key, kernels)))
    found: list[Dispatched] = []
    missing: list[str] = []
    nearest: dict[str, None] = {}
    for name in names:
        located = locate(view, name)
        subjects = [s for s in located.subjects if s.answered and s.kind == "operator"]
        for subject in subjects:
            family = operators.family(view, subject.name)
            if family is not None:
                # An operator that only Python declares has overloads by its registrations alone.
                overloads = frozenset(subject.overloads) or None
                found.extend(_family(view, family, overloads, profile, said.key, kernels))
        if not subjects:
            missing.append(name)
            nearest.update(dict.fromkeys(_operators_like(view, name)))
    distinct = {one.operator: one for one in found}
    return replace(said, operators=tuple(distinct.values()), missing=tuple(missing), nearest=tuple(nearest))


def as_lines(answer: DispatchAnswer) -> Iterator[dict[str, Any]]:
    """One object for each operator: op, schema, registrations, table."""
    for one in answer.operators:
        yield {
            "op": one.operator,
            "schema": one.schema or None,
            "registrations": [[r.key, r.where, *r.flags] for r in one.registrations],
            "table": {row.key: [row.kind, row.where or None] for row in one.table},
        }


def _all(view: View, build: Build | None, key: str, kernels: bool) -> Iterator[Dispatched]:
    for base in view.keys(keys.space(keys.op("x"))):
        for family in operators.families(view, keys.last(base)):
            if not operators.is_hole(family.namespace):
                declared = {family.full_name(e) for e in family.entries if _is_declared(e, build)}
                for one in _family(view, family, None, build, key, kernels):
                    if one.registrations or one.operator in declared:
                        yield one


def _is_declared(entry: FiledDefinition, build: Build | None) -> bool:
    """Whether a build has the schema: an operator without a kernel has its fallbacks."""
    if (entry.fact.detail or {}).get("interpreter"):
        return False
    return builds.has_file(build, entry.file.path) and builds.has_guarded(build, entry.fact.guard)


def _family(
    view: View, family: Family, overloads: frozenset[str] | None, build: Build | None, key: str, kernels: bool
) -> Iterator[Dispatched]:
    shown = shown_keys(view.rules, build)
    if key:
        shown = replace(shown, table=(key,))
    every = fallbacks(view, build)
    for operator, several in registered(view, family, build).items():
        if overloads is not None and operator not in overloads:
            continue
        if keys.operator_name(operator).base == _FALLBACK:
            continue
        active = {one.dispatch_key: one for one in several if not one.hidden}
        table = dispatch_table(active, every, shown)
        known: dict[tuple[str, str], tuple[Kernel, ...]] = {}
        yield Dispatched(
            operator,
            printed(view, family, operator),
            tuple(_registration(one) for one in several),
            tuple(_row(view, one_key, entry, known if kernels else None) for one_key, entry in table.items()),
        )


_FALLBACK: Final = "*"


def _registration(one: Registered) -> Registration:
    flags = [word for word, said in (("fallthrough", one.falls_through), ("inactive", one.hidden)) if said]
    source = one.source
    return Registration(
        one.dispatch_key, one.where, tuple(flags), source.file.path, source.fact.line, one.guard
    )


def _row(
    view: View,
    key: str,
    entry: Entry[Registered],
    known: dict[tuple[str, str], tuple[Kernel, ...]] | None,
) -> Row:
    """`known` are the kernels of each registration (key, place): several keys may have one."""
    one = entry.registered
    found: tuple[Kernel, ...] = ()
    if known is not None and one is not None:
        place = one.dispatch_key, one.where
        found = known[place] = known.get(place) or kernels_of(view, one)
    return Row(key, entry.kind, one.where if one is not None else "", why(key, entry), found)


def why(key: str, entry: Entry[Registered]) -> str:
    """Why the dispatcher takes this one, in a line."""
    alias = entry.dispatch_key
    if entry.kind == "kernel":
        return (
            f"falls through: {key} does nothing here, the next key runs"
            if entry.registered is not None and entry.registered.falls_through
            else f"registered for {key} itself"
        )
    return {
        "default backend kernel": f"no {key} kernel of its own: default backend kernel ({alias})",
        "nested kernel": f"no {key} kernel of its own: the one for nested tensors ({alias})",
        "math kernel": f"no {key} kernel of its own: made of other operators ({alias})",
        "autograd kernel": f"no {key} kernel of its own: the one for every autograd key ({alias})",
        "batched kernel": f"no {key} kernel of its own: decomposed under vmap ({alias})",
        "ambiguous autogradother": "ambiguous: a composite kernel, and one of a backend that shares this key",
        "backend fallback": f"nothing registered for it: the fallback of {key} for all operators",
    }[entry.kind]


def unknown_key(key: str, known: Sequence[str]) -> str:
    """What to say of a key that there is not."""
    near = [name for name, _, _ in process.extract(key, known, scorer=fuzz.ratio, limit=3)]
    hint = f"; spelled alike: {', '.join(near)}" if near else ""
    return f"no dispatch key is called {key!r}{hint}; keys: {', '.join(known)}"


def _operators_like(view: View, name: str) -> list[str]:
    written = name.rpartition("::")[2].split(".")
    last = written[0] if len(written) <= 2 or "::" in name else written[-1]
    bases = [keys.last(key) for key in view.keys(keys.space(keys.op("x")))]
    return [found for found, _, _ in process.extract(last, bases, scorer=fuzz.ratio, limit=5)]
