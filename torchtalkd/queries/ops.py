"""ops: which operators have, or lack, a kernel, a derivative, a test: what authors of a backend ask.

Every condition must hold. The tests are `tests/test_ops.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import builds, operators
from torchtalkd.link.dispatch_table import dispatch_table
from torchtalkd.link.operators import Family
from torchtalkd.link.registered import Registered, fallbacks, registered, runtime_keys
from torchtalkd.link.test_entries import entries
from torchtalkd.queries.answers import Standalone, Standing, standing
from torchtalkd.queries.dispatch import unknown_key
from torchtalkd.store.view import View

COMPOSITE: Final = "CompositeImplicitAutograd"


class Wanted(NamedTuple):
    """The conditions; empty ones are none."""

    missing: tuple[str, ...] = ()
    """Nothing runs for the key: no kernel of its own, none for all backends."""
    having: tuple[str, ...] = ()
    """A kernel is registered for the key itself."""
    without: tuple[str, ...] = ()
    """None is registered for the key itself."""
    composite: bool = False
    """Made of other operators for every backend."""
    structured: bool = False
    no_derivative: bool = False
    """It is not made of others, and derivatives.yaml has no entry for it."""
    no_opinfo: bool = False
    """No OpInfo has its name."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operator that is meant."""

    operator: str
    file: str
    """Of its schema; of its first registration where there is none."""
    line: int


@dataclass(frozen=True, slots=True)
class OpsAnswer(Standalone):
    """The answer to `ops`."""

    wanted: Wanted
    operators: tuple[Op, ...]
    of: int
    """How many operators there are."""
    standing: Standing
    error: str = ""

    @property
    def cited(self) -> tuple[str, ...]:
        """The files that it names."""
        return tuple({op.file for op in self.operators})

    def without(self, moved: frozenset[str]) -> OpsAnswer:
        """Without those in files that moved on."""
        return replace(self, operators=tuple(op for op in self.operators if op.file not in moved))


def ops(view: View, wanted: Wanted, build: str = builds.ALL) -> OpsAnswer:
    """The operators for which all conditions hold, by default of all that the source has. Read-only."""
    said = OpsAnswer(wanted, (), 0, standing(view))
    known = runtime_keys(view.rules.dispatch)
    named = {}
    for key in (*wanted.missing, *wanted.having, *wanted.without):
        named[key] = next((one for one in known if one.casefold() == key.casefold()), "")
        if not named[key]:
            return replace(said, error=unknown_key(key, known))
    missing, having, without = (
        tuple(named[key] for key in several) for several in (wanted.missing, wanted.having, wanted.without)
    )
    try:
        profile = builds.build_named(view.rules, build)
    except builds.UnknownBuild as unknown:
        return replace(said, error=str(unknown))
    tested = _tested(view) if wanted.no_opinfo else frozenset()
    shown = replace(view.rules.dispatch, table=missing)
    every = fallbacks(view, profile)
    found: list[Op] = []
    total = 0
    for family in _families(view):
        for operator, several in registered(view, family, profile).items():
            if not several:
                continue
            total += 1
            active = {one.dispatch_key: one for one in several if not one.hidden}
            if any(key not in active for key in having) or any(key in active for key in without):
                continue
            if wanted.composite and COMPOSITE not in active:
                continue
            table = dispatch_table(active, every, shown) if missing else {}
            if any(entry.kind != "backend fallback" for entry in table.values()):
                continue
            entry = next((e for e in family.entries if family.full_name(e) == operator), None)
            if wanted.structured and not _is_structured(entry):
                continue
            if wanted.no_derivative and (COMPOSITE in active or _has_derivative(view, entry, several)):
                continue
            if wanted.no_opinfo and not tested.isdisjoint(_names(family)):
                continue
            place = entry or several[0].source
            found.append(Op(operator, place.file.path, place.fact.line))
    return replace(said, operators=tuple(found), of=total)


def as_json(answer: OpsAnswer) -> dict[str, Any]:
    """The object of `--json`."""
    found: dict[str, Any] = {
        "wanted": {name: value for name, value in answer.wanted._asdict().items() if value},
        "count": len(answer.operators),
        "of": answer.of,
        "operators": [asdict(op) for op in answer.operators],
        "revision": answer.standing.revision,
    }
    if answer.error:
        found["error"] = answer.error
    return found


def _families(view: View) -> Iterator[Family]:
    for key in view.keys(keys.space(keys.op("x"))):
        for family in operators.families(view, keys.last(key)):
            if not operators.is_hole(family.namespace) and family.base != "*":
                yield family


def _is_structured(entry: FiledDefinition | None) -> bool:
    detail = (entry.fact.detail if entry is not None else None) or {}
    return bool(detail.get("structured") or detail.get("structured_delegate"))


def _has_derivative(view: View, entry: FiledDefinition | None, several: tuple[Registered, ...]) -> bool:
    """An entry in derivatives.yaml, or an autograd kernel by hand or in Python."""
    if any(one.dispatch_key.startswith("Autograd") and one.origin != "generated" for one in several):
        return True
    return entry is not None and bool(operators.derivatives(view, entry))


def _tested(view: View) -> frozenset[str]:
    """What OpInfos call operators: their names, with `_` for dots, and the names that they say."""
    kept: frozenset[str] | None = view.kept.get("opinfo_names")
    if kept is None:
        found: set[str] = set()
        for entry in entries(view).all:
            if entry.of in ("operator", ""):
                for name in (entry.name, entry.aten_name, entry.aten_backward_name, *entry.aliases):
                    if name:
                        found.update((name.replace(".", "_"), name.rpartition(".")[2]))
        kept = view.kept["opinfo_names"] = frozenset(found)
    return kept


def _names(family: Family) -> set[str]:
    """What an OpInfo may call an operator: an in-place one is tested with its functional variant."""
    base = family.base.removesuffix("_")
    return {family.base, base, base.removeprefix("__").removesuffix("__")}
