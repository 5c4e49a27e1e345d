"""How a test file comes to what changed, in Python: the shortest way, hop by hop.

One walk back from all goals at once, over nodes that the wanted test files reach, until each of them is met.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple

from torchtalkd.queries.affected_walk import Goal
from torchtalkd.queries.runs.table import Runs
from torchtalkd.store.rows import ID_BITS


class Back(NamedTuple):
    """The walk back."""

    after: dict[int, int]
    """A node → the next one on the way to a goal; a goal → -1."""
    goal: dict[int, Goal]
    """The goals that were walked from, by node."""
    first: dict[int, int]
    """Id of a test file → the node in it that is nearest to a goal."""


def back(table: Runs, goals: Iterable[Goal], bits: int) -> Back:
    """The shortest ways of some test files (`bits`) to any of the goals."""
    found = Back({}, {}, {})
    waiting: deque[int] = deque()
    met = 0
    for goal in goals:
        here = table.bits(goal.node) & goal.mask & bits
        if here and goal.node not in found.after:
            found.after[goal.node] = -1
            found.goal[goal.node] = goal
            waiting.append(goal.node)
            met |= here
    # Only these can be met: what came in otherwise has no way in the table.
    wanted = {file.id for file in table.files(met)}
    after, owners, sets, which = found.after, table.owners, table.sets, table.which
    before, begins, meets = table.before, table.begins, table.meets
    # Many nodes share few sets of test files, which are long numbers.
    leads = [bool(some & bits) for some in sets]
    while waiting and len(found.first) < len(wanted):
        node = waiting.popleft()
        file = owners[node] >> ID_BITS
        if file in wanted and file not in found.first:
            found.first[file] = node
        others: Iterable[int] = before[begins[node] : begins[node + 1]]
        if node in meets:
            others = [*others, *_met(table, node, bits, after)]
        for other in others:
            if other not in after and leads[which[other]]:
                after[other] = node
                waiting.append(other)
    return found


def _met(table: Runs, node: int, bits: int, known: Container[int]) -> Iterator[int]:
    """The nodes of which both they and what they meet are reached by some test files, but the known ones."""
    sets, which = table.sets, table.which
    for one, other in table.meets[node]:
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
        others: Iterable[int] = before[begins[node] : begins[node + 1]]
        if node in table.meets:
            others = [*others, *_met(table, node, bits, found)]
        for other in others:
            if other not in found and leads[which[other]]:
                found.add(other)
                waiting.append(other)
    return frozenset(found)


def way(found: Back, node: int) -> list[int]:
    """The nodes from one to the goal, both included."""
    way = []
    while node >= 0:
        way.append(node)
        node = found.after[node]
    return way
