"""Which release of the framework is a tree, and is it one that a condition means?

A condition is a list of comparisons, all of which must hold: `>=2.5,<2.7`. Only the leading
numbers of a version count: `2.6.0a0+git1a2b` is 2.6.0.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from pathlib import Path

_COMPARISON = re.compile(r"\s*(>=|<=|==|!=|>|<)\s*(\d+(?:\.\d+)*)\s*")
_VERSION = re.compile(r"\d+(?:\.\d+)+[0-9A-Za-z.+-]*")
_OPERATORS: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def version_of(tree: Path, version_files: Iterable[str]) -> str:
    """The version that the first readable of the files names; '' when none does. Reads files."""
    for name in version_files:
        path = tree / name
        if not path.is_file():
            continue  # To open a pipe would wait for whoever writes to it.
        try:
            with path.open("rb") as stream:
                text = stream.read(4096).decode("utf-8", "replace")
        except OSError:
            continue  # The next file may say it: a source tree and a wheel differ in this.
        found = _VERSION.search(text)
        if found:
            return found.group()
    return ""


def version_matches(condition: str, version: str) -> bool:
    """Whether `version` fulfils a condition that `condition_fault` accepts; an unknown one never does."""
    if not version:
        return False
    mine = _numbers(version)
    for comparison in condition.split(","):
        found = _COMPARISON.fullmatch(comparison)
        if not found:
            return False
        theirs = _numbers(found.group(2))
        width = max(len(mine), len(theirs))
        if not _OPERATORS[found.group(1)](_padded(mine, width), _padded(theirs, width)):
            return False
    return True


def condition_fault(condition: str) -> str:
    """Why `condition` cannot be used ('' when it can)."""
    for comparison in condition.split(","):
        if not _COMPARISON.fullmatch(comparison):
            return (
                f"'{comparison.strip()}' is no comparison; write for example \">=2.5,<2.7\""
                f" with {' '.join(_OPERATORS)} and numbers"
            )
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    found = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in found.group().split(".")) if found else ()


def _padded(numbers: tuple[int, ...], width: int) -> tuple[int, ...]:
    return numbers + (0,) * (width - len(numbers))
