"""Which units share a precompiled header, and what is in it?

A unit must mean with it what it means without. So it holds only what every unit of its group includes by
itself, directly or not, and units are parted until little else is left: where a header that some of them
include and others do not would save the most. No unit sees a declaration that it did not ask for, and
nothing has to be known about any tree. A header without a guard is never included by itself: it would be
read once more by each unit. Pure; the tests are in
`tests/test_exact_groups.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from torchtalkd.compilation.reaching import members
from torchtalkd.engine.exact_closure import Closures
from torchtalkd.store.exact_rows import mask

BUILD: Final = 3.0
"""What a byte costs in a precompiled header, which is then written and read, against one in a unit."""
LEAST_GAIN: Final = 2_000_000
"""Bytes of source that parting units must save, about half a second."""
LEAST_UNITS: Final = 4
_MOST_TRIED: Final = 60
"""Ways to part a group that are looked at."""


class Group(NamedTuple):
    """Units with the same arguments, and what they have in common."""

    units: tuple[str, ...]
    headers: tuple[str, ...]
    """What the precompiled header includes, in this order: paths from the root, absolute of what was
    generated. Empty where it would not pay."""
    common: int
    """All files that these may include, as bits."""


def groups(
    units: Sequence[str], known: Closures, sizes: Mapping[int, int], unguarded: int = 0
) -> list[Group]:
    """Parts units that have the same arguments. `known`: what is included for certain; `sizes`: of each
    file, in bytes; `unguarded`: files that are read again each time they are included, as bits."""
    there = [unit for unit in units if unit in known.numbers]
    if not there:
        return []
    patterns, where = _patterns(there, known, sizes)
    parted: list[int] = []
    _part((1 << len(there)) - 1, patterns, parted)
    found = []
    for subset in parted:
        chosen = tuple(unit for n, unit in enumerate(there) if subset >> n & 1)
        common = 0
        for header, pattern in where.items():
            if pattern & subset == subset:
                common |= 1 << header
        worth = sum(sizes.get(n, 0) for n in members(common))
        if len(chosen) < LEAST_UNITS or worth * (len(chosen) - BUILD) < LEAST_GAIN:
            common = 0
        found.append(Group(chosen, tuple(entries(chosen, common, known, unguarded)), common))
    return found


def entries(
    units: Iterable[str], common: int, known: Closures, unguarded: int, *, named: bool = False
) -> list[str]:
    """The headers that bring in all of `common`: those that units name themselves first, for they are
    certainly meant; then what no other brings, unless only what is `named` is wanted."""
    paths = {number: path for path, number in known.numbers.items()}
    direct = frozenset[int]().union(*(known.direct.get(known.numbers[unit], ()) for unit in units))
    chosen: list[str] = []
    covered = unguarded
    # One that another brings is left out: the text stays short.
    for some in (mask(direct) & common, 0 if named else common):
        for number in sorted(members(some), key=lambda n: (-known.closed[n].bit_count(), paths[n])):
            if not covered >> number & 1:
                chosen.append(paths[number])
                covered |= known.closed[number]
    return chosen


def including(known: Closures, wanted: int) -> int:
    """All files that may see one of some, these among them, as bits."""
    found = wanted
    if wanted:
        for number, closed in known.closed.items():
            if closed & wanted:
                found |= 1 << number
    return found


def _patterns(
    units: Sequence[str], known: Closures, sizes: Mapping[int, int]
) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """(units as bits, bytes of the headers that exactly these include) and header → its units."""
    where: dict[int, int] = {}
    for n, unit in enumerate(units):
        number = known.numbers[unit]
        for header in members(known.closed[number] & ~(1 << number)):
            where[header] = where.get(header, 0) | 1 << n
    weights: Counter[int] = Counter()
    for header, pattern in where.items():
        weights[pattern] += sizes.get(header, 0)
    return list(weights.items()), where


def _part(subset: int, patterns: list[tuple[int, int]], parted: list[int]) -> None:
    merged: Counter[int] = Counter()
    for pattern, weight in patterns:
        if pattern & subset:
            merged[pattern & subset] += weight
    within = list(merged.items())
    count = subset.bit_count()
    tried = sorted(
        (
            (weight * pattern.bit_count() * (count - pattern.bit_count()), pattern)
            for pattern, weight in within
            if LEAST_UNITS <= pattern.bit_count() < count
        ),
        reverse=True,
    )
    best, chosen = _cost(subset, within) - BUILD * LEAST_GAIN, 0
    for _, pattern in tried[:_MOST_TRIED]:
        cost = _cost(pattern, within) + _cost(subset & ~pattern, within)
        if cost < best:
            best, chosen = cost, pattern
    if chosen:
        _part(chosen, within, parted)
        _part(subset & ~chosen, within, parted)
    else:
        parted.append(subset)


def _cost(subset: int, patterns: list[tuple[int, int]]) -> float:
    cost = 0.0
    for pattern, weight in patterns:
        inside = pattern & subset
        if inside == subset:
            cost += weight * BUILD
        elif inside:
            cost += weight * inside.bit_count()
    return cost
