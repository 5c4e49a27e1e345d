"""Which framework's tree is this?"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from torchtalkd.conventions.load import has_own, known, load, signs_of
from torchtalkd.conventions.values import Conventions

_READ_AT_MOST = 1_000_000
"""Bytes of a build file that are searched: names of libraries stand near its top."""


def detect(root: Path) -> list[str]:
    """Harnesses that `root` is a tree of, the most specific first; [] when it is none.

    A `.torchtalk.toml` at the root decides before all others. Reads the file system only;
    raises ManifestError when that file is wrong.
    """
    found: list[Conventions] = []
    if has_own(root):
        found.append(load("", tree=root))
    fitting = [one for one in _packaged() if _fits(one, root)]
    fitting.sort(key=lambda one: (-len(one.extends), -len(one.detect), one.name))
    names = [one.name for one in found + fitting]
    return list(dict.fromkeys(names))


def conventions_of(root: Path, harness: str, *, named: bool) -> Conventions:
    """The conventions that a tree is read with now.

    A harness that somebody `named` is that one. One that was detected gives way to a manifest of
    the tree's own, which may have come, changed its name or gone since. Raises ManifestError.
    """
    if not named:
        if has_own(root):
            return load("", tree=root)
        if harness not in known():
            harness = next(iter(detect(root)), harness)
    return load(harness, tree=root)


@cache
def _packaged() -> tuple[Conventions, ...]:
    """The signs of the packaged harnesses, read once in a process: many folders may be asked about."""
    return tuple(map(signs_of, known()))


def _fits(conventions: Conventions, root: Path) -> bool:
    if not conventions.detect and not conventions.detect_text:
        return False
    for alternatives in conventions.detect:
        if not any((root / path).exists() for path in alternatives.split("|")):
            return False
    texts = conventions.detect_text
    return not texts or any(_contains(root / path, wanted) for path, wanted in texts.items())


def _contains(path: Path, texts: tuple[str, ...]) -> bool:
    if not path.is_file():
        return False  # To open a pipe would wait for whoever writes to it.
    try:
        with path.open("rb") as stream:
            data = stream.read(_READ_AT_MOST)
    except OSError:
        return False  # A file that cannot be read says nothing; other files may.
    return any(text.encode() in data for text in texts)
