"""What would a compiler be told of each unit of a tree?

From its compile_commands.json where there is one, for the other units from the manifest. The tests are in
`tests/test_compilation_made.py` and `tests/test_compilation_database.py`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from torchtalkd.compilation.configured import configure
from torchtalkd.compilation.database import Database, Entry, find_database, read_database
from torchtalkd.compilation.machine import Machine, machine
from torchtalkd.compilation.made import (
    base_arguments,
    include_flags,
    include_folders,
    kind_of,
    made_units,
    unit_paths,
)
from torchtalkd.compilation.values import Commands, Kind, Unit
from torchtalkd.compilation.versions import ready
from torchtalkd.conventions.files import ignored, role_of
from torchtalkd.conventions.values import Conventions


def commands(
    root: Path,
    conventions: Conventions,
    made: Path,
    *,
    paths: Iterable[str] | None = None,
    database: Path | None = None,
    found: Machine | None = None,
    bases: Iterable[str] = (),
) -> Commands:
    """The commands of a resolved root.

    `made` is the folder in the cache that holds, mirroring the tree, what was generated and configured;
    the configured headers are written there. `paths` are the units where they are known, else the tree is
    walked. `database` is a compile_commands.json that somebody names; without one it is looked for. `bases`
    are include folders of the frameworks that the tree depends on (`header_folders`). Runs nothing. Raises
    OSError where the cache cannot be written.
    """
    found = found or machine(root, conventions)
    ready(made)
    configure(root, conventions.compilation.configured, conventions.rules.version, made)
    place = find_database(root, database)
    read = read_database(place, root) if place is not None else Database("", (), ())
    outside = tuple(bases)
    told = list(_from_database(root, conventions, made, read.entries, found, outside))
    known = {unit.path for unit in told}
    listed = paths if paths is not None else unit_paths(root, conventions)
    others = made_units(
        root, conventions, made, [path for path in listed if path not in known], found, bases=outside
    )
    units = sorted([*told, *others], key=lambda unit: (unit.path, unit.variant))
    lacking = found.unreadable
    left = {unit.path: unit.kind for unit in units if unit.kind in lacking}
    return Commands(
        units=tuple(unit for unit in units if unit.kind not in lacking),
        database=read.path if told or read.notes else "",
        off=found.off,
        notes=read.notes,
        left_out=dict(Counter(left.values())),
        packages=found.packages,
        builtin=found.builtin,
        folders=(str(made), *found.cuda.folders, *outside),
    )


def header_folders(root: Path, conventions: Conventions, made: Path) -> list[str]:
    """The folders with the headers of a tree, for trees that depend on it: its own, and below `made` those
    that were generated and configured for it. Writes the configured ones, as nobody may have read the tree
    itself yet. Raises OSError where the cache cannot be written."""
    ready(made)
    configure(root, conventions.compilation.configured, conventions.rules.version, made)
    return list(include_folders(conventions.compilation.includes, made, root))


def _from_database(
    root: Path,
    conventions: Conventions,
    made: Path,
    entries: Iterable[Entry],
    found: Machine,
    bases: tuple[str, ...],
) -> Iterator[Unit]:
    shared: dict[object, tuple[tuple[str, ...], str]] = {}
    for entry in entries:
        kind = entry.flags.kind or kind_of(conventions.files, entry.path)
        if (
            kind is None
            or ignored(conventions.files, entry.path)
            or role_of(conventions.files, entry.path) != "library"
        ):
            continue
        key = (kind, entry.is_nvcc, entry.flags.arguments)
        if key not in shared:
            arguments = _arguments(root, conventions, made, kind, entry, found, bases)
            shared[key] = arguments, _digest(arguments)
        arguments, digest = shared[key]
        yield Unit(entry.path, entry.variant, arguments, kind, f"{kind}+{digest}", "database")


def _arguments(
    root: Path,
    conventions: Conventions,
    made: Path,
    kind: Kind,
    entry: Entry,
    found: Machine,
    bases: tuple[str, ...],
) -> tuple[str, ...]:
    cuda = found.cuda.folders if kind == "cuda" or entry.is_nvcc else ()
    return (
        *base_arguments(kind, found),
        *entry.flags.arguments,
        # What the build generated may be gone, and nvcc finds its own headers by itself: so these come last.
        *include_flags(conventions.compilation.includes, made, root),
        *(argument for folder in (*bases, *cuda) for argument in ("-isystem", folder)),
    )


def _digest(arguments: tuple[str, ...]) -> str:
    return hashlib.blake2b("\0".join(arguments).encode(), digest_size=8).hexdigest()
