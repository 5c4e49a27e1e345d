"""What the fields of a manifest must fulfil that name paths, and those that say how units are compiled.

Paths and patterns stay below the root of the tree; a tree's own manifest names no program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from torchtalkd.conventions.errors import FieldError
from torchtalkd.conventions.globs import glob_fault, path_fault
from torchtalkd.conventions.lines import FieldPath


def check_runs_nothing(raw: Mapping[str, Any], release: str) -> None:
    """Invariant: a tree's manifest names no command. `release` is the field of the releases' tables."""
    releases = raw.get(release, ())
    tables: list[tuple[FieldPath, Any]] = [((), raw)]
    if isinstance(releases, list):
        tables += [((release, index), table) for index, table in enumerate(releases)]
    for path, table in tables:
        compilation = table.get("compilation") if isinstance(table, dict) else None
        if isinstance(compilation, dict) and "generators" in compilation:
            raise FieldError(
                (*path, "compilation", "generators"),
                "a tree's own manifest names no program to run: 'generators' is for the packaged ones",
            )


def globs(value: Any, path: FieldPath) -> None:
    """A pattern, or each of a list."""
    patterns = [value] if isinstance(value, str) else value
    for index, pattern in enumerate(patterns):
        fault = glob_fault(pattern)
        if fault:
            raise FieldError(
                path if isinstance(value, str) else (*path, index), f"bad pattern '{pattern}': {fault}"
            )


def paths(value: Any, path: FieldPath) -> None:
    """Each path of a list, or each key of a table; `a|b` is one of the two."""
    for key, item in enumerate(value) if not isinstance(value, dict) else ((name, name) for name in value):
        for one in item.split("|"):
            fault = path_fault(one)
            if fault:
                raise FieldError((*path, key), f"bad path '{one}': {fault}")


def _path(value: str, path: FieldPath) -> None:
    fault = path_fault(value) if value else "a path is wanted here"
    if fault:
        raise FieldError(path, f"bad path '{value}': {fault}")


def _defines(value: Iterable[str], path: FieldPath) -> None:
    for index, define in enumerate(value):
        if not re.fullmatch(r"[A-Za-z_]\w*(\([^()]*\))?(=[^\x00-\x1f]*)?", define):
            raise FieldError((*path, index), f"bad define '{define}': write NAME or NAME=value")


def _standard(value: str, path: FieldPath) -> None:
    if not re.fullmatch(r"(c|gnu)\+\+\d\w", value):
        raise FieldError(path, f"bad standard '{value}': write for example c++17")


COMPILING: Final[dict[str, Callable[[Any, FieldPath], None]]] = {
    "compilation.paths": globs,
    "compilation.without": globs,
    "compilation.standard": _standard,
    "compilation.includes": paths,
    "compilation.defines": _defines,
    "compilation.units.paths": globs,
    "compilation.units.includes": paths,
    "compilation.units.defines": _defines,
    "compilation.units.variants.defines": _defines,
    "compilation.configured.name": _path,
    "compilation.configured.template": _path,
    "compilation.packages.header": _path,
    "compilation.packages.folders": globs,
    "compilation.packages.system": paths,
    "compilation.packages.beside": paths,
    "compilation.packages.defines": _defines,
    "compilation.packages.stand_ins": _defines,
    "compilation.packages.paths": globs,
}
"""The rules of `[compilation]`, by field."""
