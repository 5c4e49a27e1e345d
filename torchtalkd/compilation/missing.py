"""Which headers do units want that are nowhere on this machine, and whose are they?

Counted from the `#include` facts, both branches of each `#if` taken, so a count is the most that it can be: a
header of another system stands in a branch that is never taken. What a compiler really misses is known where
units were read. Asks the disk whether files are there. The tests are in `tests/test_compile_status.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from torchtalkd.compilation.closure import ANY, closures
from torchtalkd.compilation.headers import Headers
from torchtalkd.conventions.compiling import Compilation
from torchtalkd.conventions.globs import union

GENERATED: Final = "generated"
"""Whose a header is that a generator of the tree makes."""


class Missing(NamedTuple):
    """A header that is nowhere."""

    name: str
    """As it is included."""
    units: int
    """That take it in, by themselves or through others, in some branch."""
    whose: str
    """The package of the manifest that it is of, `generated`, or ''."""


def missing_headers(
    units: Collection[str],
    includes: Mapping[str, Collection[str]],
    folders: Collection[str],
    outside: Iterable[str],
    recipe: Compilation,
) -> list[Missing]:
    """The headers that are missing, those that most units want first.

    `includes` has all files of the tree: path → names as written; `folders` are the tree's include folders,
    from the root, `outside` absolute ones of others, what was made among them.
    """
    headers = Headers(includes, folders, outside)
    absent = {
        name
        for path, names in includes.items()
        for name in names
        if name != ANY and headers.meant(path, name) is None
    }
    # As files that include nothing, so that closures count them.
    graph = {**includes, **{name: () for name in absent if name not in includes}}
    found = closures(graph, [*folders, ""])
    wanted = {name: found.bit(name) for name in absent}
    groups = [(mask, len(paths)) for mask, paths in found.shared(units).items()]
    counted = [
        Missing(name, sum(count for mask, count in groups if mask & bit), _whose(name, recipe))
        for name, bit in wanted.items()
    ]
    return sorted((one for one in counted if one.units), key=lambda one: (-one.units, one.name))


def _whose(name: str, recipe: Compilation) -> str:
    if any(union(generator.headers).fullmatch(name) for generator in recipe.generators):
        return GENERATED
    for package in recipe.packages:
        top, slash, _ = package.header.partition("/")
        if name == package.header or (slash and name.startswith(top + "/")):
            return package.name
    return ""
