"""What would a compiler be told of each unit, where no build has written it down?

The manifest says it (`[compilation]`), and what is on the machine. Pure but for `unit_paths`. The tests are
in `tests/test_compilation_made.py`.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from torchtalkd.compilation.flags import allowed
from torchtalkd.compilation.machine import Machine
from torchtalkd.compilation.packages import outside_folders
from torchtalkd.compilation.values import LANGUAGES, Kind, Unit
from torchtalkd.conventions.compiling import Compilation, UnitRule, Variant
from torchtalkd.conventions.files import ignored, language_of, role_of
from torchtalkd.conventions.globs import matches, union
from torchtalkd.conventions.values import Conventions, Files

_KINDS: Final[dict[str, Kind]] = {
    ".cpp": "cpp",
    ".cc": "cpp",
    ".cxx": "cpp",
    ".c++": "cpp",
    ".c": "c",
    ".cu": "cuda",
    ".mm": "objcpp",
}
"""What a compiler is called for, by ending. Anything else is taken in by these."""
_C_STANDARD: Final = "gnu11"


def unit_paths(root: Path, conventions: Conventions) -> Iterator[str]:
    """The units of a tree, by its manifest. Walks the disk; links are not followed."""
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            continue  # It went, or is not ours to read: the index says so where it matters.
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if ignored(conventions.files, path):
                continue
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif entry.is_file(follow_symlinks=False) and is_unit(conventions, path):
                yield path


def is_unit(conventions: Conventions, path: str) -> bool:
    """Whether a compiler is called for a file, by its name."""
    kind = kind_of(conventions.files, path)
    if kind is None or role_of(conventions.files, path) != "library":
        return False
    inside, outside = _patterns(conventions.compilation.paths, conventions.compilation.without)
    return inside.fullmatch(path) is not None and outside.fullmatch(path) is None


def kind_of(files: Files, path: str) -> Kind | None:
    """How a file is compiled; None for what is not, headers among it."""
    dot = path.rfind(".", path.rfind("/") + 1)
    return _KINDS.get(path[dot:].lower()) if dot >= 0 and language_of(files, path) else None


@lru_cache(maxsize=8)
def _patterns(paths: tuple[str, ...], without: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return union(paths or ("**",)), union(without)


def made_units(
    root: Path,
    conventions: Conventions,
    made: Path,
    paths: Iterable[str],
    machine: Machine,
    processor: str = platform.machine(),
    bases: tuple[str, ...] = (),
) -> list[Unit]:
    """The units at `paths`, each in all of its variants, by path. `made` is the folder of what was
    generated and configured, which mirrors the tree; `bases` are include folders of other frameworks."""
    recipe = conventions.compilation
    units = []
    shared: dict[str, tuple[str, ...]] = {}
    for path in sorted(paths):
        kind = kind_of(conventions.files, path)
        if kind is None:
            continue
        rules = [rule for rule in recipe.units if any(matches(pattern, path) for pattern in rule.paths)]
        found = tuple(
            index
            for index, package in enumerate(recipe.packages)
            if not package.paths or any(matches(pattern, path) for pattern in package.paths)
        )
        # What only some units are given is part of the hint.
        special = [
            recipe.packages[n].name
            for n in found
            if recipe.packages[n].paths and (machine.packages[n].where or recipe.packages[n].stand_ins)
        ]
        for variant in _variants(rules, processor):
            told = [kind, *(rule.id for rule in rules), *special, *([variant.name] if variant.name else ())]
            hint = "+".join(told)
            if hint not in shared:
                shared[hint] = _arguments(root, recipe, made, kind, rules, variant, found, machine, bases)
            units.append(Unit(path, variant.name, shared[hint], kind, hint, "made"))
    return units


def _variants(rules: list[UnitRule], processor: str) -> list[Variant]:
    listed = next((rule.variants for rule in reversed(rules) if rule.variants), ())
    return [one for one in listed if not one.machines or processor in one.machines] or [Variant("")]


def _arguments(
    root: Path,
    recipe: Compilation,
    made: Path,
    kind: Kind,
    rules: list[UnitRule],
    variant: Variant,
    wanted: tuple[int, ...],
    machine: Machine,
    bases: tuple[str, ...],
) -> tuple[str, ...]:
    found = [(recipe.packages[n], machine.packages[n]) for n in wanted if machine.packages[n].where]
    absent = [recipe.packages[n] for n in wanted if not machine.packages[n].where]
    defines = [*recipe.defines, *(one for rule in rules for one in rule.defines), *variant.defines]
    defines += [one for package, _ in found for one in package.defines]
    defines += [one for package in absent for one in package.stand_ins]
    flags = [*recipe.flags, *(one for rule in rules for one in rule.flags), *variant.flags]
    # What a unit's own rules say is looked into first.
    folders = dict.fromkeys([*(one for rule in reversed(rules) for one in rule.includes), *recipe.includes])
    outside = [*bases, *(one for package, place in found for one in outside_folders(package, place))]
    if kind == "cuda" or any(rule.cuda for rule in rules):
        outside += machine.cuda.folders
    return (
        *base_arguments(kind, machine),
        f"-std={_C_STANDARD if kind == 'c' else recipe.standard}",
        *(f"-D{define}" for define in defines),
        *include_flags(folders, made, root),
        *allowed(flags, root),
        *(argument for folder in dict.fromkeys(outside) for argument in ("-isystem", folder)),
    )


def include_flags(folders: Iterable[str], made: Path, root: Path) -> list[str]:
    """What a unit is told of the tree's own include folders, each in what was made and in the tree."""
    return [f"-I{folder}" for folder in include_folders(folders, made, root)]


def include_folders(folders: Iterable[str], made: Path, root: Path) -> list[str]:
    """The tree's own include folders: what a tree that depends on it is given, too."""
    return [str(top / folder if folder else top) for folder in folders for top in (made, root)]


def base_arguments(kind: Kind, machine: Machine) -> tuple[str, ...]:
    """What libclang is told of every unit of a kind, whoever says the rest: the language, no warnings, no
    end at the twentieth error, and where its own and the library's headers are."""
    arguments = ["-x", LANGUAGES[kind], "-w", "-ferror-limit=0"]
    if machine.builtin is not None:
        arguments += ["-resource-dir", str(machine.builtin)]
    if kind != "c":
        arguments += machine.library.arguments
    if kind == "cuda":
        arguments += machine.cuda.arguments
    return tuple(arguments)
