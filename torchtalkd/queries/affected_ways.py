"""How a test file comes to what changed, in Python: the shortest way, hop by hop.

One walk back from all goals at once, over nodes that the wanted test files reach, until each of them is met.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple, TypeAlias

from torchtalkd.queries.affected_walk import Goal
from torchtalkd.queries.runs.table import Runs
from torchtalkd.store.rows import ID_BITS

Hop: TypeAlias = tuple[int, int, Goal, "Hop | None"]
"""How some test files go on from a node: which (as bits), the next node (-1 at a goal), the goal, and how
others go on. A plain tuple: there are tens of thousands."""


class Back(NamedTuple):
    """The walk back."""

    hops: dict[int, Hop]
    """Of each node that was met; no test file goes on by two of them."""
    first: dict[int, int]
    """Id of a test file → the node in it that is nearest to a goal."""


def back(table: Runs, goals: Iterable[Goal], bits: int) -> Back:
    """The shortest ways of some test files (`bits`) to any of the goals. Each node of a way is one that the
    test file reaches: not the `forward` of a class that only another test file has."""
    found = Back({}, {})
    hops, first = found.hops, found.first
    seen: dict[int, int] = {}
    waiting: deque[tuple[int, int, Goal]] = deque()
    left = 0
    for goal in goals:
        here = table.bits(goal.node) & goal.mask & bits & ~seen.get(goal.node, 0)
        if here:
            seen[goal.node] = seen.get(goal.node, 0) | here
            hops[goal.node] = (here, -1, goal, hops.get(goal.node))
            waiting.append((goal.node, here, goal))
            left |= here
    # Only these can be met: what came in otherwise has no way in the table.
    numbers = {file.id: number for number, file in enumerate(table.tests) if left >> number & 1}
    owners, which, sets = table.owners, table.which, [some & bits for some in table.sets]
    before, begins, meets = table.before, table.begins, table.meets
    # Nodes that no test file is still to come to: most are met once, by all that reach them.
    done = bytearray(len(which))
    while waiting and left:
        node, live, goal = waiting.popleft()
        live &= left
        number = numbers.get(owners[node] >> ID_BITS, -1)
        if number >= 0 and live >> number & 1:
            first[table.tests[number].id] = node
            left &= ~(1 << number)
            live &= left
        if not live:
            continue
        leading = before[begins[node] : begins[node + 1]]
        ways = [(other, sets[which[other]]) for other in leading if not done[other]]
        for one, other in meets.of(node):
            if not done[one]:
                ways.append((one, sets[which[one]] & sets[which[other]]))
        for other, reaching in ways:
            known = seen.get(other, 0)
            new = live & reaching & ~known
            if new:
                seen[other] = known | new
                hops[other] = (new, node, goal, hops.get(other))
                waiting.append((other, new, goal))
                done[other] = not sets[which[other]] & left & ~(known | new)
    return found


def _met(table: Runs, node: int, bits: int, known: Container[int]) -> Iterator[int]:
    """The nodes of which both they and what they meet are reached by some test files, but the known ones."""
    sets, which = table.sets, table.which
    for one, other in table.meets.of(node):
        if one not in known and sets[which[one]] & sets[which[other]] & bits:
            yield one


def leading(
    table: Runs, goals: Iterable[Goal], bits: int, most: int, stop: Callable[[int], bool]
) -> frozenset[int] | None:
    """All nodes from which some test files (`bits`) come to a goal, but not what leads to those where to
    `stop`; None where there are more than `most`."""
    found: set[int] = set()
    waiting = [goal.node for goal in goals if goal.node >= 0 and table.bits(goal.node) & goal.mask & bits]
    found.update(waiting)
    which, before, begins = table.which, table.before, table.begins
    leads = [bool(some & bits) for some in table.sets]
    while waiting:
        if len(found) > most:
            return None
        node = waiting.pop()
        if stop(node):
            continue
        for other in (*before[begins[node] : begins[node + 1]], *_met(table, node, bits, found)):
            if other not in found and leads[which[other]]:
                found.add(other)
                waiting.append(other)
    return frozenset(found)


def way(found: Back, node: int, number: int) -> tuple[list[int], Goal]:
    """The nodes from one to the goal, both included, as the test file with a number goes; and the goal."""
    way = []
    while True:
        way.append(node)
        hop: Hop | None = found.hops[node]
        while hop is not None and not hop[0] >> number & 1:
            hop = hop[3]
        assert hop is not None, "each node of a way knows how the test file goes on from it"
        if hop[1] < 0:
            return way, hop[2]
        node = hop[1]
