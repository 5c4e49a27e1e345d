"""A graph in which each node learns which of some starts reach it. Pure.

A start is a bit. An edge hands the bits of a node on; a meeting hands on only those that two nodes have
both: that a method of an unknown receiver is called matters for a class only in a test that has the class.
"""

from __future__ import annotations

from collections import deque


class Graph:
    """Nodes are numbers, in the order in which they were made."""

    def __init__(self) -> None:
        self.after: list[list[int]] = []
        """Where an edge leads from each node."""
        self.meets: dict[int, list[tuple[int, int]]] = {}
        """A node → those that it meets with, and where that leads."""
        self.bits: list[int] = []

    def node(self) -> int:
        """A new node."""
        self.after.append([])
        self.bits.append(0)
        return len(self.after) - 1

    def edge(self, before: int, after: int) -> None:
        """What reaches `before` reaches `after`."""
        if before != after:
            self.after[before].append(after)

    def meeting(self, one: int, other: int, after: int) -> None:
        """What reaches both reaches `after`."""
        self.meets.setdefault(one, []).append((other, after))
        self.meets.setdefault(other, []).append((one, after))

    def spread(self, starts: dict[int, int]) -> None:
        """Gives each node the bits of all starts (node → bits) that reach it."""
        after, bits, meets = self.after, self.bits, self.meets
        waiting = dict(starts)
        order = deque(starts)
        none: list[tuple[int, int]] = []
        while order:
            at = order.popleft()
            new = waiting.pop(at) & ~bits[at]
            if not new:
                continue
            bits[at] |= new
            for to in after[at]:
                further = new & ~bits[to]
                if further:
                    known = waiting.get(to)
                    if known is None:
                        waiting[to] = further
                        order.append(to)
                    else:
                        waiting[to] = known | further
            for other, to in meets.get(at, none):
                further = new & bits[other] & ~bits[to]
                if further:
                    known = waiting.get(to)
                    if known is None:
                        waiting[to] = further
                        order.append(to)
                    else:
                        waiting[to] = known | further
