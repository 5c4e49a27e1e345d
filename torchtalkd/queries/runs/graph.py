"""A graph in which each node learns which of some starts reach it. Pure.

A start is a bit. An edge hands the bits of a node on; a meeting hands on only those that two nodes have
both: that a method of an unknown receiver is called matters for a class only in a test that has the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator


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
        # Nodes in an order in which most edges lead forward: few nodes have their turn twice.
        order = self._order(starts)
        waiting = [0] * len(after)
        for node, given in starts.items():
            waiting[node] = given
        none: list[tuple[int, int]] = []
        more = True
        while more:
            more = False
            for at in order:
                new = waiting[at]
                if not new:
                    continue
                waiting[at] = 0
                new &= ~bits[at]
                if not new:
                    continue
                more = True
                bits[at] |= new
                for to in after[at]:
                    further = new & ~bits[to]
                    if further:
                        waiting[to] |= further
                for other, to in meets.get(at, none):
                    further = new & bits[other] & ~bits[to]
                    if further:
                        waiting[to] |= further

    def _order(self, starts: Iterable[int]) -> list[int]:
        """All nodes that may be reached, each before what it leads to but for circles."""
        after = self.after
        seen = bytearray(len(after))
        done: list[int] = []
        for start in starts:
            if seen[start]:
                continue
            seen[start] = 1
            stack = [(start, self._leads(start))]
            while stack:
                node, left = stack[-1]
                for to in left:
                    if not seen[to]:
                        seen[to] = 1
                        stack.append((to, self._leads(to)))
                        break
                else:
                    done.append(node)
                    stack.pop()
        done.reverse()
        return done

    def _leads(self, node: int) -> Iterator[int]:
        met = self.meets.get(node)
        return iter([*self.after[node], *(to for _, to in met)] if met else self.after[node])
