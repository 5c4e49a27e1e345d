"""How files of a framework are compiled, as a manifest says it: for reading them without a build.

Data only. Each class is one table of the TOML file (`docs/manifests.md` lists them with examples). What
a manifest says in `[[compilation.generators]]` is run, so only a packaged one may say it (`check.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several ways in which the same file is compiled: for each instruction set, say."""

    name: str
    defines: tuple[str, ...] = ()
    """`NAME` or `NAME=value`."""
    flags: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    """Only on these machines, as `platform.machine()` calls them; empty: everywhere."""


@dataclass(frozen=True, slots=True)
class UnitRule:
    """What some units are given besides what all have. Of several rules that fit a path each is used,
    in their order; the variants are those of the last that has any."""

    id: str
    paths: tuple[str, ...]
    """Patterns of the units."""
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    cuda: bool = False
    """Code for the host that takes in CUDA's headers."""


@dataclass(frozen=True, slots=True)
class ConfiguredHeader:
    """A header that a build fills in from a template, as CMake's configure_file does: `@X@` and `${X}`
    become a value, `#cmakedefine X` becomes `#define X` where X has one."""

    name: str
    """Where it comes to stand, from the top: it is found through the include folders as in a build."""
    template: str
    """The template's path in the tree."""
    values: dict[str, str] = field(default_factory=dict)
    """Name → text. `{major}`, `{minor}`, `{patch}` and `{version}` are the tree's."""
    other: str = "0"
    """What any other name becomes."""


@dataclass(frozen=True, slots=True)
class Package:
    """Code of others that units take in, and where its headers may be found: in the tree, on the system,
    in an installed Python package, in that order."""

    name: str
    header: str
    """A header of it as it is included, by which the right folder is known: `fmt/format.h`."""
    folders: tuple[str, ...] = ()
    """Include folders in the tree, patterns allowed."""
    system: tuple[str, ...] = ()
    """Folders below the system's include folders that must be named to a compiler: `eigen3`."""
    distribution: str = ""
    """The Python distribution that brings it."""
    beside: tuple[str, ...] = ()
    """Further include folders, from the one that was found."""
    defines: tuple[str, ...] = ()
    """Where it is found."""
    stand_ins: tuple[str, ...] = ()
    """Macros of it, where it is nowhere: without these a compiler loses more than the package's own names."""
    paths: tuple[str, ...] = ()
    """Only for units that match; empty: for all."""
    install: str = ""
    """What to install where it is missing: `pip install pybind11`."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A program of the tree that writes sources. It runs only after the user trusts the tree, on a copy
    of its code and inputs, with nothing but that copy in reach (`compilation/generated.py`)."""

    id: str
    module: str
    """Run as `python -m` would."""
    arguments: tuple[str, ...] = ()
    """`{root}` is the copy of the tree, `{out}` the folder of what is made, which mirrors the tree."""
    code: tuple[str, ...] = ()
    """Files and folders of the tree that it may import, patterns allowed: what trust is asked for."""
    inputs: tuple[str, ...] = ()
    """What else it reads."""
    inside: bool = False
    """Run from the copy of the tree; else from an empty folder."""
    packages: tuple[str, ...] = ("yaml", "typing_extensions")
    """Installed Python packages that it may import. The second is of the standard library's newer parts."""
    makes: tuple[str, ...] = ()
    """Files without which it has failed."""
    headers: tuple[str, ...] = ()
    """Patterns of includes that it makes: so that missing ones are known as its."""


@dataclass(frozen=True, slots=True)
class Compilation:
    """How units of this framework are compiled."""

    paths: tuple[str, ...] = ()
    """Patterns of the files that a compiler is called for; empty: everywhere. Only those that are C, C++,
    Objective-C++ or CUDA, no headers, and of the role `library` count."""
    without: tuple[str, ...] = ()
    """Patterns of those that are not."""
    standard: str = "c++17"
    includes: tuple[str, ...] = ("",)
    """Include folders, from the top. Each is looked for in the tree and beside it in what was made."""
    defines: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    units: tuple[UnitRule, ...] = ()
    configured: tuple[ConfiguredHeader, ...] = ()
    packages: tuple[Package, ...] = ()
    generators: tuple[Generator, ...] = ()
