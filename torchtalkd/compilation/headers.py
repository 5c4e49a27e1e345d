"""Which file does an include mean: one of the tree, one of others, or none that is there?

Of several the first, as for a compiler. Asks the disk once for each name that is none of the tree's. The
tests are in `tests/test_includes_meant.py`.
"""

from __future__ import annotations

import os.path
import posixpath
from collections.abc import Container, Iterable
from typing import Final

OUTSIDE: Final = ""
"""For a header that is there, and none of the tree's."""


class Headers:
    """The files that includes may mean."""

    def __init__(self, there: Container[str], folders: Iterable[str], outside: Iterable[str]) -> None:
        """`there`: the tree's files, by path from the root, and what was made, by absolute path; `folders`:
        where a compiler looks for these, spelled likewise; `outside`: where else it looks, absolute."""
        self._there, self._folders, self._outside = there, tuple(folders), tuple(outside)
        self._known: dict[str, str | None] = {}

    def meant(self, path: str, name: str, *, beside: bool = True) -> str | None:
        """The path that an include in the file at `path` means; OUTSIDE for one of others, None where it is
        nowhere. `beside`: it is looked for beside that file first, as what stands in quotes is."""
        if beside and (near := self._in_tree(posixpath.dirname(path), name)):
            return near
        if name not in self._known:
            inside = next(filter(None, (self._in_tree(folder, name) for folder in self._folders)), None)
            elsewhere = inside is None and any(
                os.path.isfile(os.path.join(folder, name)) for folder in self._outside
            )
            self._known[name] = OUTSIDE if elsewhere else inside
        return self._known[name]

    def _in_tree(self, folder: str, name: str) -> str:
        path = posixpath.normpath(posixpath.join(folder, name))
        return path if path in self._there else ""
