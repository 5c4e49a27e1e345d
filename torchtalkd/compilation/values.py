"""What a compiler would be told of each file: the values of this package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

BESIDE: Final = "compilation"
"""The folder beside an index for what is made to read its tree exactly: configured and generated headers."""
Kind: TypeAlias = Literal["cpp", "c", "cuda", "objcpp"]
LANGUAGES: Final[dict[Kind, str]] = {"cpp": "c++", "c": "c", "cuda": "cuda", "objcpp": "objective-c++"}
"""What `-x` calls them."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A translation unit: one file, compiled in one way."""

    path: str
    """From the root, with forward slashes."""
    variant: str
    """Which of several ways, `AVX2`; '' where there is one."""
    arguments: tuple[str, ...]
    """For libclang, without the file. Every path in them is absolute, so the working folder plays no part."""
    kind: Kind
    group_hint: str
    """The same for units whose arguments are the same: these may share a precompiled header."""
    source: Literal["database", "made"]
    """Whether a compile_commands.json said it, or the manifest."""


def made_folder(index: Path) -> Path:
    """Where the headers of a tree are made whose index is in a folder. It mirrors the tree."""
    return index / BESIDE / "made"


class Found(NamedTuple):
    """Where the headers of one package are."""

    name: str
    where: Literal["tree", "system", "python", "interpreter", ""]
    """'': nowhere."""
    folder: str
    """Absolute; '' where nowhere."""
    install: str
    """What to install where it is missing; '' where nothing is known."""


@dataclass(frozen=True, slots=True)
class Commands:
    """How each unit of a tree is compiled."""

    units: tuple[Unit, ...]
    database: str
    """The compile_commands.json that was read, '' for none."""
    off: str
    """Why no unit can be read exactly: no C++ standard library, no builtin headers. '' where they can."""
    notes: tuple[str, ...]
    """Whole sentences: what was left out, and why."""
    left_out: dict[Kind, int]
    """Files of kinds that cannot be read on this machine: CUDA without its headers, Objective-C++ without
    Apple's. They are no units."""
    packages: tuple[Found, ...]
    builtin: Path | None
    """The folder of the compiler's own headers (its resource directory)."""
    folders: tuple[str, ...]
    """Folders outside the tree that the made arguments look into for headers, and what was made."""
