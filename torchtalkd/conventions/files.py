"""Which files of a tree are read, in which language and in which role?

Pure functions of a manifest's `Files` and a path relative to the root with forward slashes;
nothing is opened. The compiled patterns of each `Files` object are kept, as a walk asks for
some 20,000 paths.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchtalkd.conventions.globs import union
from torchtalkd.conventions.values import Files

_PLAIN_ANYWHERE = re.compile(r"\*\*/([^*?\[/]+)")
_KEPT = 16
"""How many `Files` objects keep their compiled patterns: a process serves a few trees."""


def language_of(files: Files, path: str) -> str:
    """The language a file is read in; '' when it is not read.

    A pattern decides before a suffix, and of several patterns the one written last.
    """
    compiled = _compiled(files)
    for pattern, language in compiled.language_patterns:
        if pattern.fullmatch(path):
            return language
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return compiled.suffixes.get(dot + suffix, "") if stem else ""


def role_of(files: Files, path: str) -> str:
    """`template`, `generated`, `test` or `library`: what `files.library` says, else the first of these
    whose patterns match."""
    for role, pattern in _compiled(files).roles:
        if pattern.fullmatch(path):
            return role
    return "library"


def ignored(files: Files, path: str) -> bool:
    """Whether a file or folder, or a folder above it, is never read."""
    compiled = _compiled(files)
    if compiled.ignored_names and not compiled.ignored_names.isdisjoint(path.split("/")):
        return True
    return compiled.ignored.fullmatch(path) is not None


class _Compiled(NamedTuple):
    ignored_names: frozenset[str]
    """Names ignored at any depth, as `**/name`: by far the most, and a set is quicker."""
    ignored: re.Pattern[str]
    roles: tuple[tuple[str, re.Pattern[str]], ...]
    suffixes: dict[str, str]
    language_patterns: tuple[tuple[re.Pattern[str], str], ...]


_cache: dict[int, tuple[Files, _Compiled]] = {}


def _compiled(files: Files) -> _Compiled:
    # Keyed by identity: `Files` holds a dict, so it has no hash. The entry keeps the object
    # alive, so its id is not given to another one.
    entry = _cache.get(id(files))
    if entry is None:
        if len(_cache) >= _KEPT:
            _cache.clear()
        entry = _cache[id(files)] = (files, _compile(files))
    return entry[1]


def _compile(files: Files) -> _Compiled:
    names = {pattern: _PLAIN_ANYWHERE.fullmatch(pattern) for pattern in files.ignore}
    roles = (
        ("library", files.library),
        ("template", files.templates),
        ("generated", files.generated),
        ("test", files.tests),
    )
    return _Compiled(
        ignored_names=frozenset(found.group(1) for found in names.values() if found),
        ignored=union(pattern for pattern, found in names.items() if not found),
        roles=tuple((role, union(patterns)) for role, patterns in roles if patterns),
        suffixes={key: value for key, value in files.languages.items() if "/" not in key},
        language_patterns=tuple(
            (union((key,)), value) for key, value in reversed(files.languages.items()) if "/" in key
        ),
    )
