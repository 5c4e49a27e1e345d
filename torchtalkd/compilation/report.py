"""How can the C++ of a tree be read exactly: what was made, what is missing, what does it cost?

The tests are in `tests/test_compile_status.py`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from torchtalkd.compilation.commands import commands
from torchtalkd.compilation.cuda import Cuda
from torchtalkd.compilation.generated import Standing, standing
from torchtalkd.compilation.machine import machine
from torchtalkd.compilation.missing import GENERATED, Missing, missing_headers
from torchtalkd.compilation.packages import SYSTEM
from torchtalkd.compilation.values import Commands, Found
from torchtalkd.conventions.values import Conventions


@dataclass(frozen=True, slots=True)
class Report:
    """What `status --compile` tells."""

    off: str
    """Why nothing can be read exactly; '' where it can."""
    libclang: int
    """Its release."""
    builtin: str
    """The folder of its own headers."""
    library: str
    """The folder of the C++ standard library."""
    database: str
    """The compile_commands.json that is used."""
    units: dict[str, int]
    """Kind → files."""
    left_out: dict[str, int]
    """Kind → files of it that cannot be read on this machine."""
    variants: dict[str, int]
    """Variant → units, of those that have any."""
    made: int
    """Units whose command the manifest made; the others' stands in the database."""
    configured: tuple[str, ...]
    """Headers that were filled in from templates."""
    generated: Standing
    wanting_generated: int
    """Units that take in a generated header that is not there."""
    cuda: Cuda
    packages: tuple[Found, ...]
    missing: tuple[Missing, ...] | None
    """Headers that are nowhere; None where the tree is not indexed, so that nobody knows."""
    bytes: int
    """On the disk, of what was made."""
    notes: tuple[str, ...]


def report(
    root: Path,
    conventions: Conventions,
    made: Path,
    trusted: str,
    *,
    database: Path | None = None,
    bases: Collection[str] = (),
    includes: Mapping[str, Collection[str]] | None = None,
) -> Report:
    """Looks at everything, and writes the configured headers. `database` and `bases` are as for `commands`;
    `includes` are the facts of the index: path → names as written. Raises OSError where the cache cannot be
    written."""
    found = machine(root, conventions)
    told = commands(root, conventions, made, database=database, found=found, bases=bases)
    missing = None if includes is None else tuple(_missing(root, conventions, told, includes))
    kinds = {unit.path: unit.kind for unit in told.units}
    recipe = conventions.compilation
    return Report(
        off=told.off,
        libclang=found.libclang,
        builtin=str(found.builtin or ""),
        library=found.library.folder,
        database=told.database,
        units=dict(sorted(Counter(kinds.values()).items())),
        left_out=dict[str, int](told.left_out.items()),
        variants=dict(sorted(Counter(unit.variant for unit in told.units if unit.variant).items())),
        made=sum(unit.source == "made" for unit in told.units),
        configured=tuple(one.name for one in recipe.configured if (made / one.name).is_file()),
        generated=standing(root, conventions, made, trusted),
        wanting_generated=max((one.units for one in missing or () if one.whose == GENERATED), default=0),
        cuda=found.cuda,
        packages=told.packages,
        missing=missing,
        bytes=_size(made.parent),
        notes=told.notes,
    )


def _missing(
    root: Path, conventions: Conventions, told: Commands, includes: Mapping[str, Collection[str]]
) -> list[Missing]:
    """With the include folders of all units: those in the tree from its top, the others as they are."""
    inside: dict[str, None] = {}
    outside: dict[str, None] = {}
    for arguments in dict.fromkeys(unit.arguments for unit in told.units):
        for folder in include_folders_of(arguments):
            if folder == str(root) or folder.startswith(f"{root}/"):
                inside[os.path.relpath(folder, root).removeprefix(".")] = None
            else:
                outside[folder] = None
    return missing_headers(
        {unit.path for unit in told.units},
        includes,
        list(inside),
        [*outside, *system_folders()],
        conventions.compilation,
    )


def system_folders() -> list[str]:
    """The folders that any compiler of this machine looks into last."""
    return [*SYSTEM, f"/usr/include/{os.uname().machine}-linux-gnu"]


def include_folders_of(arguments: Collection[str]) -> list[str]:
    """The folders that a unit's arguments make a compiler look into, those of the compiler itself, too."""
    found = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument in ("-isystem", "-iquote", "-I"):
            found.append(next(waiting, ""))
        elif argument.startswith("-I"):
            found.append(argument[2:])
        elif argument == "-resource-dir":
            found.append(os.path.join(next(waiting, ""), "include"))
        elif argument == "-isysroot":
            sdk = next(waiting, "")
            found += [f"{sdk}/usr/include/c++/v1", f"{sdk}/usr/include"]
        elif argument.startswith("--gcc-install-dir="):
            found += _of_gcc(argument.partition("=")[2])
    return found


def _of_gcc(folder: str) -> list[str]:
    """Where the C++ library of a GCC has its headers: Debian has those for one machine in a folder apart."""
    version, triple = os.path.basename(folder), os.path.basename(os.path.dirname(folder))
    top = os.path.normpath(os.path.join(folder, "../../../.."))
    tops = [f"{top}/include/c++/{version}", f"{top}/include/c++/{version.partition('.')[0]}"]
    return [*tops, f"{top}/include/{triple}/c++/{version}", *(f"{one}/{triple}" for one in tops)]


def _size(folder: Path) -> int:
    return sum(
        os.lstat(os.path.join(inside, name)).st_size for inside, _, names in os.walk(folder) for name in names
    )
