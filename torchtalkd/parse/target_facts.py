"""A build target as facts: what is compiled together into one module.

Each is a Definition in the space `target:`, by which `torchtalkd.link.targets` finds them all, with
detail {"sources": patterns from the folder of the build file (`*` where the text does not say),
"defines": {macro: value}}; and one of the Python module that it makes, unless its name is a pattern.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from torchtalkd import keys
from torchtalkd.facts import Definition, Kind, Reference, ReferenceKind

MOST_SOURCES: Final = 4000
"""Patterns of one target that are kept."""
_NAME = re.compile(r"[\w*]+(?:[.][\w*]+)*$")


class TargetFacts:
    """Definitions and references of one build file, as they are found."""

    def __init__(self, first: int = 0) -> None:
        """`first` is the ordinal of the first Definition."""
        self.first = first
        self.definitions: list[Definition] = []
        self.references: list[Reference] = []

    def define(
        self,
        kind: Kind,
        key: str,
        name: str,
        line: int,
        column: int,
        end_line: int = 0,
        *,
        scope: int = -1,
        convention: str = "",
        detail: dict[str, Any] | None = None,
    ) -> int:
        """Add a Definition; its ordinal."""
        self.definitions.append(
            Definition(
                key, name, kind, line, column, end_line or line, scope, convention=convention, detail=detail
            )
        )
        return self.first + len(self.definitions) - 1

    def refer(self, kind: ReferenceKind, key: str, name: str, line: int, column: int, owner: int) -> None:
        """Add a Reference."""
        self.references.append(Reference(key, name, kind, line, column, owner))


def add_target(
    found: TargetFacts,
    name: str,
    line: int,
    column: int,
    end_line: int,
    form: str,
    sources: Iterable[str],
    defines: Mapping[str, str],
) -> int:
    """Add a target that makes the module `name`; its ordinal, -1 where the name says nothing."""
    if not _NAME.match(name) or not name.strip("*._"):
        return -1
    patterns = [pattern for source in sources if (pattern := _pattern(source))]
    detail: dict[str, Any] = {"sources": list(dict.fromkeys(patterns))[:MOST_SOURCES]}
    if defines:
        detail["defines"] = dict(defines)
    ordinal = found.define(
        "module", keys.target(name), name, line, column, end_line, convention=form, detail=detail
    )
    if "*" not in name:
        found.define("module", keys.py(name), name, line, column, end_line, scope=ordinal, convention=form)
    return ordinal


def _pattern(source: str) -> str:
    """A source's path from the build file, '' where it says nothing: `*`, or a folder alone."""
    path = posixpath.normpath(source.replace("\\", "/")) if source else ""
    path = path.lstrip("/")
    return "" if not path.strip("*./") or "\n" in path or len(path) > 300 else path
