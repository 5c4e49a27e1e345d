"""The precompiled headers of a tree: which there are to be, where they lie, and what is wrong with them.

A precompiled header is named by all that is in it, so that one that is there is the right one: its arguments,
what it includes, libclang's release, and of each file in it size and time, for libclang refuses one when a
file in it has another time. The tests are in `tests/test_exact_groups.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from torchtalkd.compilation.reaching import members
from torchtalkd.compilation.values import BESIDE
from torchtalkd.engine.exact_certain import Certain
from torchtalkd.engine.exact_closure import Closures
from torchtalkd.engine.exact_groups import Group, entries, groups, including
from torchtalkd.engine.exact_known import Known
from torchtalkd.store.exact_rows import mask

HEADERS: Final = "precompiled"
"""The folder beside an index, in that of what is made for exact reading."""


@dataclass(slots=True)
class Precompiled:
    """What a group of units shares."""

    arguments: tuple[str, ...]
    group: Group
    path: Path
    """Where it lies when it is there."""
    text: str
    state: str = "wanted"
    """wanted, building, ready, failed (then its units are read plainly)."""
    errors: list[Any] = field(default_factory=list)
    tries: int = 0
    refused: int = 0

    @property
    def missing(self) -> bool:
        """Whether it lacks a header."""
        return any(error[3] for error in self.errors)


def precompiled(known: Known, sure: Certain, folder: Path, reader: str) -> list[Precompiled]:
    """Those of all units that are to be read."""
    by_arguments: dict[tuple[str, ...], list[str]] = {}
    for path in sorted(known.wanted):
        wanted = known.wanted[path]
        if not wanted.header:
            by_arguments.setdefault(wanted.arguments, []).append(path)
    return [
        made(known, folder, reader, arguments, group)
        for arguments, paths in by_arguments.items()
        for group in groups(paths, sure.closures, known.sizes, sure.unguarded)
        if group.headers
    ]


def made(known: Known, folder: Path, reader: str, arguments: tuple[str, ...], group: Group) -> Precompiled:
    """A group's precompiled header, ready where it is there already."""
    text = "".join(f'#include "{_absolute(known, path)}"\n' for path in group.headers)
    digest = blake2b("\0".join((reader, *arguments, text)).encode(), digest_size=12)
    paths = {number: path for path, number in known.closures.numbers.items()}
    for number in members(_closure(known.closures, group)):
        digest.update(f"{paths[number]}{_stat(_absolute(known, paths[number]))}".encode())
    path = folder / BESIDE / HEADERS / f"{digest.hexdigest()}.h"
    found = Precompiled(arguments, group, path, text)
    with suppress(OSError, ValueError):
        found.errors = json.loads(path.with_suffix(".json").read_text("utf-8"))
        if path.with_suffix(".pch").stat().st_size:
            found.state = "ready"
    return found


def written(one: Precompiled, errors: Sequence[Any]) -> None:
    """Notes that a precompiled header is there whole. Raises OSError."""
    one.errors = list(errors)
    one.path.with_suffix(".json").write_text(json.dumps(one.errors), "utf-8")
    os.replace(building(one), one.path.with_suffix(".pch"))
    one.state = "ready"


def building(one: Precompiled) -> Path:
    """Where it is written before it is whole."""
    return one.path.with_suffix(f".{os.getpid()}.new")


def prune(folder: Path, kept: Iterable[Precompiled]) -> None:
    """Deletes precompiled headers that no group has any more, and what else lies there."""
    names = {one.path.stem for one in kept}
    with suppress(OSError):
        for path in (folder / BESIDE / HEADERS).iterdir():
            if path.name.partition(".")[0] not in names:
                path.unlink(missing_ok=True)


def _closure(known: Closures, group: Group) -> int:
    bits = 0
    for path in group.headers:
        bits |= known.closed[known.numbers[path]]
    return bits


def _absolute(known: Known, path: str) -> str:
    return path if path.startswith("/") else f"{known.root}/{path}"


def _stat(path: str) -> tuple[int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


def umbrellas(
    known: Known, headers: Iterable[str], most: int
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """(arguments, headers) of the units that only include headers, to read the bodies in these: neighbours
    together, for they include the same."""
    by_arguments: dict[tuple[str, ...], list[str]] = {}
    for path in sorted(headers):
        by_arguments.setdefault(known.wanted[path].arguments, []).append(path)
    return [
        (arguments, tuple(paths[start : start + most]))
        for arguments, paths in by_arguments.items()
        for start in range(0, len(paths), most)
    ]


def read_before(seen: Closures, sure: Certain, headers: Sequence[str]) -> list[str]:
    """What may be read before some headers, and without bodies: what they name themselves, for certain and
    like others do, and what includes none of them, nor anything that is missing."""
    numbers = [seen.numbers[path] for path in headers]
    wrong = including(seen, mask(numbers)) | including(sure.closures, sure.lacking)
    common = 0
    for number in numbers:
        common |= sure.closures.closed.get(number, 0)
    there = [path for path in headers if path in sure.closures.numbers]
    return entries(there, common & sure.shared & ~wrong, sure.closures, sure.unguarded, named=True)


def umbrella_text(
    known: Known, headers: Sequence[str], unguarded: int = 0, before: Sequence[str] = ()
) -> str:
    """What such a unit says: those that may see most come first, as parts of a header (`x_inl.h`) are only
    understood behind what it says before it includes them. Of `unguarded` headers, as bits, those that
    another one brings are not included once more. What is read before them is set apart, by a semicolon:
    with the first declaration a unit's preamble ends. And each is: what is not known in one, a macro, may
    make clang skip all down to the next semicolon."""
    seen = known.closures.closed
    ordered = sorted(headers, key=lambda path: (-seen.get(known.wanted[path].number, 0).bit_count(), path))
    brought = 0
    for path in headers:
        number = known.wanted[path].number
        if not unguarded >> number & 1:
            brought |= seen.get(number, 0)
    twice = unguarded & brought
    wanted = [path for path in ordered if not twice >> known.wanted[path].number & 1]
    first = "".join(f'#include "{_absolute(known, path)}"\n' for path in before)
    return first + ";\n" * bool(before) + ";\n".join(f'#include "{known.root}/{path}"\n' for path in wanted)


def umbrella_file(folder: Path, text: str) -> Path:
    """Where such a unit's text lies until nothing waits any more. Raises OSError."""
    name = blake2b(text.encode(), digest_size=12).hexdigest()
    path = folder / BESIDE / HEADERS / f"{name}.cpp"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def weight(known: Known, bits: int) -> int:
    """Bytes of a set of files."""
    return sum(known.sizes.get(number, 0) for number in members(bits))
