"""What does each node of a graph lead to? Sets of nodes are kept as bits of one integer, so that those of a
whole tree take milliseconds. Pure. The tests are in `tests/test_closure.py` and `tests/test_exact_groups.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def closed(numbers: Iterable[int], direct: Mapping[int, frozenset[int]]) -> dict[int, int]:
    """What each may see, itself among it, by Tarjan's components: these come out behind all they lead to."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: dict[int, int] = {}
    for start in numbers:
        if start in order:
            continue
        work = [(start, iter(direct.get(start, ())))]
        order[start] = low[start] = len(order)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in order:
                    order[other] = low[other] = len(order)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(direct.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    _close(node, stack, on_stack, direct, found)
    return found


def _close(
    node: int,
    stack: list[int],
    on_stack: set[int],
    direct: Mapping[int, frozenset[int]],
    closed: dict[int, int],
) -> None:
    members = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        members.append(member)
        if member == node:
            break
    bits = 0
    for member in members:
        bits |= 1 << member
        for other in direct.get(member, ()):
            bits |= closed.get(other, 0)
    for member in members:
        closed[member] = bits


def members(bits: int) -> list[int]:
    """The numbers in a set, in order."""
    # Through its digits: taking bits off a long number one by one copies it each time.
    digits = bin(bits)[:1:-1]
    found = []
    at = digits.find("1")
    while at >= 0:
        found.append(at)
        at = digits.find("1", at + 1)
    return found
