"""What does each unit take in by `#include`, through any number of others?

From the facts alone, both branches of each `#if` taken: what is found may be more than a compiler takes
in, and never less. Pure, and quick for a whole tree at once: a closure is a set of numbers of files in one
integer, files that include each other in a circle share theirs, and so do units that take in the same. The
tests are in `tests/test_closure.py`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

ANY: Final = "*"
"""How the facts write an include whose file a macro names: it may be any."""


class Closures:
    """The closures of the files of one tree. Made by `closures`."""

    def __init__(self, paths: Sequence[str], masks: Mapping[str, int], any_bit: int) -> None:
        self._paths = paths
        self._numbers = {path: number for number, path in enumerate(paths)}
        self._masks = masks
        self._any = any_bit

    def of(self, path: str) -> frozenset[str]:
        """The file with all that it may take in, paths as they were given. Whoever takes in what a macro
        names may take in anything: that is not listed here, see `is_open`."""
        mask = self._masks.get(path, 0)
        return frozenset(self._paths[number] for number in _bits(mask & (self._any - 1))) | {path}

    def is_open(self, path: str) -> bool:
        """Whether it may take in files that nobody can name."""
        return bool(self._masks.get(path, 0) & self._any)

    def containing(self, changed: Iterable[str], among: Iterable[str]) -> list[str]:
        """Those of `among` whose closure contains one of the files, or may."""
        wanted = self._any
        files = set(changed)
        for path in files & self._numbers.keys():
            wanted |= 1 << self._numbers[path]
        return [path for path in among if path in files or self._masks.get(path, 0) & wanted]

    def bit(self, path: str) -> int:
        """The file's own in a closure as `shared` gives it."""
        return 1 << self._numbers[path]

    def shared(self, among: Iterable[str]) -> dict[int, list[str]]:
        """Those that take in exactly the same, together: closure, as a number, → files."""
        found: dict[int, list[str]] = {}
        for path in among:
            mask = self._masks.get(path, 0)
            number = self._numbers.get(path)
            found.setdefault(mask & ~(1 << number) if number is not None else mask, []).append(path)
        return found


def closures(includes: Mapping[str, Collection[str]], folders: Collection[str]) -> Closures:
    """The closure of every file of `includes`: path → the names that it includes, as written. `folders` are
    all include folders of all units, from the same top as the paths, '' for the top itself. A name that fits
    no path of `includes` is a header of somebody else, or not there."""
    paths = list(includes)
    numbers = {path: number for number, path in enumerate(paths)}
    any_bit = 1 << len(paths)
    meant: dict[str, tuple[int, ...]] = {}
    edges: list[list[int]] = []
    own = [0] * len(paths)
    for number, path in enumerate(paths):
        near = posixpath.dirname(path)
        to: list[int] = []
        for name in includes[path]:
            if name == ANY:
                own[number] |= any_bit
                continue
            if name not in meant:
                meant[name] = tuple(_found(name, folders, numbers))
            to += meant[name]
            to += _found(name, (near,), numbers)
        edges.append(to)
    return Closures(paths, dict(zip(paths, _reached(edges, own), strict=True)), any_bit)


def _found(name: str, folders: Iterable[str], numbers: Mapping[str, int]) -> Iterator[int]:
    for folder in folders:
        path = f"{folder}/{name}" if folder else name
        number = numbers.get(posixpath.normpath(path) if "./" in path or "//" in path else path)
        if number is not None:
            yield number


def _reached(edges: Sequence[Sequence[int]], own: Sequence[int]) -> list[int]:
    """For each node the set of all that it reaches, itself with it, as an integer: Tarjan's strongly
    connected components, which come after all that they lead to, without recursion."""
    masks: list[int] = [0] * len(edges)
    order = [-1] * len(edges)
    low = [0] * len(edges)
    done = [False] * len(edges)
    stack: list[int] = []
    count = 0
    for start in range(len(edges)):
        if order[start] >= 0:
            continue
        order[start] = low[start] = count
        count += 1
        stack.append(start)
        work = [(start, iter(edges[start]))]
        while work:
            node, rest = work[-1]
            for other in rest:
                if order[other] < 0:
                    order[other] = low[other] = count
                    count += 1
                    stack.append(other)
                    work.append((other, iter(edges[other])))
                    break
                if not done[other]:
                    low[node] = min(low[node], order[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    _close(node, stack, edges, own, masks, done)
    return masks


def _close(
    top: int,
    stack: list[int],
    edges: Sequence[Sequence[int]],
    own: Sequence[int],
    masks: list[int],
    done: list[bool],
) -> None:
    """One component is complete: all of it reaches the same."""
    members: list[int] = []
    while not members or members[-1] != top:
        members.append(stack.pop())
    mask = 0
    for member in members:
        mask |= own[member] | 1 << member
        for other in set(edges[member]):
            mask |= masks[other]
    for member in members:
        masks[member] = mask
        done[member] = True


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest
