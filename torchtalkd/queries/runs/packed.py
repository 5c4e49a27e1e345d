"""Tables of numbers and words that take as many bytes as they say, and no object for each entry. Pure."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

TABLE: Final = "a list or table"
"""What a variable of a module is called."""


class Numbers:
    """A number → another one."""

    def __init__(self, entries: Mapping[int, int]) -> None:
        ordered = sorted(entries)
        self._keys = array("Q", ordered)
        self._values = array("I", map(entries.__getitem__, ordered))

    def get(self, key: int, default: int = -1) -> int:
        """What a number stands for."""
        at = bisect_left(self._keys, key)
        return self._values[at] if at < len(self._keys) and self._keys[at] == key else default

    def __contains__(self, key: int) -> bool:
        return self.get(key) >= 0

    def __iter__(self) -> Iterator[int]:
        return iter(self._keys)


class Pairs:
    """A number → pairs of numbers."""

    def __init__(self, entries: Iterable[tuple[int, int, int]]) -> None:
        ordered = sorted(entries)
        self._keys = array("I", (key for key, _, _ in ordered))
        self._ones = array("I", (one for _, one, _ in ordered))
        self._others = array("I", (other for _, _, other in ordered))

    def of(self, key: int) -> Iterable[tuple[int, int]]:
        """The pairs of a number."""
        keys, at = self._keys, bisect_left(self._keys, key)
        if at == len(keys) or keys[at] != key:
            return ()
        end = bisect_right(keys, key, at)
        return zip(self._ones[at:end], self._others[at:end], strict=True)


class Labels:
    """What nodes that are no definitions are, in words."""

    SORTS: Final = {
        "attr": ".{} of any object",
        "py": "{}",
        "variable": f"{{}}, {TABLE}",
        "variables": f"{TABLE} of {{}}",
        "rest": f"{TABLE} of {{}}",
        "loose": f"{TABLE} of {{}}",
    }
    """Sort of name → how it is told."""

    def __init__(self, nodes: int, named: Mapping[tuple[str, str], int]) -> None:
        sorts = list(self.SORTS)
        self._sorts = bytearray(nodes)
        known = [(node, sort, name) for (sort, name), node in named.items() if sort in self.SORTS]
        known.sort()
        self._nodes = array("I", (node for node, _, _ in known))
        begins = array("I", (0,))
        text = bytearray()
        for node, sort, name in known:
            self._sorts[node] = sorts.index(sort) + 1
            text += name.encode()
            begins.append(len(text))
        self._begins, self._text = begins, bytes(text)

    def __contains__(self, node: int) -> bool:
        return 0 <= node < len(self._sorts) and self._sorts[node] > 0

    def get(self, node: int) -> str:
        """`.add of any object`; '' for a node that has no such name."""
        if node not in self:
            return ""
        at = bisect_left(self._nodes, node)
        name = self._text[self._begins[at] : self._begins[at + 1]].decode()
        return list(self.SORTS.values())[self._sorts[node] - 1].format(name)
