"""Which kernel does the dispatcher run for each key? The table, computed from what is registered.

The rules are those of `OperatorEntry::computeDispatchTableEntryWithDebug`
(aten/src/ATen/core/dispatch/OperatorEntry.cpp): a kernel of the key itself comes first, then
those of the alias keys that stand for it, then the fallback of the key for all operators. Pure.
Tests: `tests/test_dispatch_table.py`, against what a running dispatcher reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from torchtalkd.facts import DispatchKeys

T = TypeVar("T")

Kind: TypeAlias = Literal[
    "kernel",
    "default backend kernel",
    "nested kernel",
    "math kernel",
    "ambiguous autogradother",
    "autograd kernel",
    "batched kernel",
    "backend fallback",
]
"""The dispatcher's own words."""

IMPLICIT: Final = "CompositeImplicitAutograd"
NESTED: Final = "CompositeImplicitAutogradNestedTensor"
EXPLICIT: Final = "CompositeExplicitAutograd"
NON_FUNCTIONAL: Final = "CompositeExplicitAutogradNonFunctional"
AUTOGRAD: Final = "Autograd"
BATCHED: Final = "FuncTorchBatchedDecomposition"
OTHER: Final = "AutogradOther"


class Entry(NamedTuple, Generic[T]):
    """What runs for one key."""

    kind: Kind
    registered: T | None
    """The registration that gives it; None where the dispatcher refuses to choose."""
    dispatch_key: str
    """The key that it is registered for: the runtime key, or an alias."""


def dispatch_table(
    registered: Mapping[str, T], fallbacks: Mapping[str, T], keys: DispatchKeys
) -> dict[str, Entry[T]]:
    """Runtime key → what runs, for each key of `keys.table` that has something.

    `registered` has one registration a key, the latest; `fallbacks` those for all operators.
    """
    found = {}
    for key in keys.table:
        entry = _entry(key, registered, fallbacks, keys)
        if entry is not None:
            found[key] = entry
    return found


def stands_for(alias: str, key: str, keys: DispatchKeys) -> bool:
    """Whether an alias key includes a runtime key (DispatchKeySet.cpp `isIncludedInAlias`)."""
    return key in _alias_sets(_frozen(keys)).get(alias, frozenset())


def _entry(
    key: str, registered: Mapping[str, T], fallbacks: Mapping[str, T], keys: DispatchKeys
) -> Entry[T] | None:
    def alias(name: str, kind: Kind) -> Entry[T] | None:
        serves = name in registered and stands_for(name, key, keys)
        return Entry(kind, registered[name], name) if serves else None

    if key in registered:
        return Entry("kernel", registered[key], key)
    found = (
        alias(NON_FUNCTIONAL, "default backend kernel")
        or alias(EXPLICIT, "default backend kernel")
        or alias(NESTED, "nested kernel")
    )
    if found is None and alias(IMPLICIT, "math kernel"):
        behind = _backends_of(key, keys)
        if key == OTHER and not behind.isdisjoint(registered):
            return Entry("ambiguous autogradother", None, key)
        # An autograd key takes the composite only where its backend has no kernel of its own.
        if behind.isdisjoint(registered) and EXPLICIT not in registered:
            found = alias(IMPLICIT, "math kernel")
    found = found or alias(AUTOGRAD, "autograd kernel") or alias(BATCHED, "batched kernel")
    if found is None and key in fallbacks:
        found = Entry("backend fallback", fallbacks[key], key)
    return found


def _backends_of(key: str, keys: DispatchKeys) -> frozenset[str]:
    """The backends behind an autograd key (`getBackendKeySetFromAutograd`)."""
    if not key.startswith(AUTOGRAD):
        return frozenset()
    if key == OTHER:
        return _other(_frozen(keys))
    behind = key.removeprefix(AUTOGRAD)
    if behind in keys.backends:
        return frozenset((behind,))
    return frozenset(behind + backend for backend in keys.backends)


_Frozen: TypeAlias = tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...], tuple[str, ...]]


def _frozen(keys: DispatchKeys) -> _Frozen:
    return keys.backends, tuple(keys.aliases.items()), keys.autograd_other


@lru_cache(maxsize=8)
def _alias_sets(frozen: _Frozen) -> dict[str, frozenset[str]]:
    backends, aliases, _ = frozen
    written = dict(aliases)
    return {alias: _expanded(items, written, backends, (alias,)) for alias, items in written.items()}


@lru_cache(maxsize=8)
def _other(frozen: _Frozen) -> frozenset[str]:
    backends, aliases, other = frozen
    return _expanded(other, dict(aliases), backends, ())


def _expanded(
    items: tuple[str, ...],
    written: Mapping[str, tuple[str, ...]],
    backends: tuple[str, ...],
    seen: tuple[str, ...],
) -> frozenset[str]:
    found: set[str] = set()
    for item in items:
        if item.startswith("!"):
            found = {key for key in found if not key.endswith(item[1:])}
        elif item.endswith("*"):
            found.update(item[:-1] + backend for backend in backends)
        elif item in written and item not in seen:
            found |= _expanded(written[item], written, backends, (*seen, item))
        else:
            found.add(item)
    return frozenset(found)
