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

from torchtalkd.compilation.reaching import closed, members

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
        return frozenset(self._paths[number] for number in members(mask & (self._any - 1))) | {path}

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
    # A node that leads nowhere stands for what nobody can name.
    anything = len(paths)
    meant: dict[str, tuple[int, ...]] = {}
    edges: dict[int, frozenset[int]] = {}
    for number, path in enumerate(paths):
        near = posixpath.dirname(path)
        to: list[int] = []
        for name in includes[path]:
            if name == ANY:
                to.append(anything)
                continue
            if name not in meant:
                meant[name] = tuple(_found(name, folders, numbers))
            to += meant[name]
            to += _found(name, (near,), numbers)
        edges[number] = frozenset(to)
    found = closed(range(anything + 1), edges)
    return Closures(paths, {path: found[number] for path, number in numbers.items()}, 1 << anything)


def _found(name: str, folders: Iterable[str], numbers: Mapping[str, int]) -> Iterator[int]:
    for folder in folders:
        path = f"{folder}/{name}" if folder else name
        number = numbers.get(posixpath.normpath(path) if "./" in path or "//" in path else path)
        if number is not None:
            yield number
