"""Which files of a tree change when another one does, as they are links to it?

A link to a file is read as if the file stood there, but the kernel tells only of the file itself. A
link through a folder that is itself a link, and changes, is not followed anew until the next sweep.
"""

from __future__ import annotations

import os


class Links:
    """The links to files that were met in a tree, by what they lead to."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._target: dict[str, str] = {}
        self._links: dict[str, set[str]] = {}

    def look(self, path: str) -> None:
        """Looks whether a path is such a link now."""
        before = self._target.pop(path, None)
        if before is not None:
            links = self._links[before]
            links.discard(path)
            if not links:
                del self._links[before]
        full = os.path.join(self._root, path)
        if os.path.islink(full):
            real = os.path.realpath(full)
            if real.startswith(self._root.rstrip("/") + "/"):
                target = self._target[path] = os.path.relpath(real, self._root)
                self._links.setdefault(target, set()).add(path)

    def to(self, path: str) -> set[str]:
        """The links to a file."""
        return self._links.get(path, set())

    def below(self, folder: str) -> set[str]:
        """The links to anything in a folder."""
        inside = folder + "/"
        return {link for link, target in self._target.items() if target.startswith(inside)}
