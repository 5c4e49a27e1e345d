"""How is a tree laid out, and what in it looks like a registration? Reads the tree, nothing else.

The tests are in `tests/test_harness.py`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.conventions import Conventions
from torchtalkd.conventions.files import ignored
from torchtalkd.conventions.globs import path_fault
from torchtalkd.engine.reading import read_bytes
from torchtalkd.engine.sweep import Entry, sweep
from torchtalkd.harness.sites import CPP_LANGUAGES, sites
from torchtalkd.harness.values import Site

_EXPORT = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+([A-Z][A-Z0-9_]*_(?:API|EXPORT|EXPORTS|PUBLIC|INLINE))[ \t]*(?:$|[^(\w].*$)",
    re.MULTILINE,
)
_TEST_FOLDER = re.compile(r"(?:unit_?|integration_?|py_?)?tests?|testing", re.IGNORECASE)
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=(.*)$", re.MULTILINE)
_MOST_BYTES: Final = 1_000_000
_LICENCES: Final = ("LICENSE", "LICENSE.txt", "LICENSE.md", "COPYING", "LICENSE.rst")


class Folders(NamedTuple):
    """Where the files of one sort lie."""

    total: int
    largest: tuple[tuple[str, int], ...]
    """Folder, two levels deep at most → files below it, the largest first; '' is the root itself."""


class Survey(NamedTuple):
    """What a tree looks like from outside."""

    cpp: Folders
    python: Folders
    tests: Folders
    python_roots: tuple[str, ...]
    """Folders that the topmost Python packages stand in, and that are no roots to the conventions."""
    test_folders: tuple[str, ...]
    """Folders that are named like tests but are none to the conventions."""
    foreign: tuple[str, ...]
    """Folders of sources that are git submodules or have a licence of their own: likely another
    project's code."""
    attributes: tuple[str, ...]
    """Macros named like an export or inline attribute that the tree defines and nothing blanks."""
    sites: tuple[Site, ...]


def survey(root: Path, conventions: Conventions) -> Survey:
    """Looks at every file that the conventions read. Seconds for a large tree. A file that cannot be
    read has no part in it: the index reports those."""
    entries = [entry for entry in sweep(root, conventions).entries if not entry.refused]
    found: list[Site] = []
    attributes: Counter[str] = Counter()
    blanked = {macro.name for macro in conventions.cpp.blank}
    for entry, text in _texts(root, entries, conventions):
        if entry.role == "library":
            found.extend(sites(entry.path, text, entry.language))
        if entry.language in CPP_LANGUAGES:
            attributes.update(set(_EXPORT.findall(text)) - blanked)
    return Survey(
        cpp=_folders(entries, lambda e: e.language in CPP_LANGUAGES and e.role != "test"),
        python=_folders(entries, lambda e: e.language == "python" and e.role != "test"),
        tests=_folders(entries, lambda e: e.role == "test"),
        python_roots=_nameable(_python_roots(entries) - set(conventions.python.roots)),
        test_folders=_test_folders(entries),
        foreign=_foreign(root, entries, conventions),
        attributes=tuple(sorted(attributes)),
        sites=tuple(found),
    )


def registration_sites(root: Path, conventions: Conventions) -> list[Site]:
    """Only what looks like a registration. Cost as `survey`."""
    entries = [entry for entry in sweep(root, conventions).entries if entry.role == "library"]
    texts = _texts(root, [entry for entry in entries if not entry.refused], conventions)
    return [site for entry, text in texts for site in sites(entry.path, text, entry.language)]


def _texts(root: Path, entries: Iterable[Entry], conventions: Conventions) -> Iterable[tuple[Entry, str]]:
    top = os.path.realpath(root)
    for entry in entries:
        if entry.language != "python" and entry.language not in CPP_LANGUAGES:
            continue
        try:
            data, _ = read_bytes(top, entry.path, conventions.files.max_bytes)
        except OSError:
            continue
        if data is not None:
            yield entry, data.decode("utf-8", "replace").replace("\r\n", "\n")


def _folders(entries: list[Entry], wanted: Callable[[Entry], bool]) -> Folders:
    counted = Counter("/".join(entry.path.split("/")[:-1][:2]) for entry in entries if wanted(entry))
    return Folders(counted.total(), tuple(counted.most_common(6)))


def _python_roots(entries: list[Entry]) -> set[str]:
    packages = {
        entry.path.rpartition("/")[0]
        for entry in entries
        if entry.role != "test" and entry.path.endswith("/__init__.py")
    }
    top = {package for package in packages if package.rpartition("/")[0] not in packages}
    # A package below `csrc` or `third_party` of another one is found, too; the shallow ones count.
    return {package.rpartition("/")[0] for package in top if package.count("/") <= 1}


def _test_folders(entries: list[Entry]) -> tuple[str, ...]:
    found: set[str] = set()
    for entry in entries:
        parts = entry.path.split("/")[:-1]
        if entry.role == "library":
            deep = next((n for n, part in enumerate(parts) if _TEST_FOLDER.fullmatch(part)), -1)
            if deep >= 0:
                found.add("/".join(parts[: deep + 1]))
    return _nameable(found)


def _foreign(root: Path, entries: list[Entry], conventions: Conventions) -> tuple[str, ...]:
    folders = {entry.path.rpartition("/")[0] for entry in entries}
    above = {"/".join(folder.split("/")[:n]) for folder in folders for n in range(1, folder.count("/") + 2)}
    modules = _submodules(root)
    found = {
        folder
        for folder in above
        if folder
        and not ignored(conventions.files, folder)
        and (folder in modules or any((root / folder / name).is_file() for name in _LICENCES))
    }
    return _nameable(f for f in found if not any(f.startswith(other + "/") for other in found))


def _nameable(folders: Iterable[str]) -> tuple[str, ...]:
    """Those that a manifest can name: a folder may be called like a pattern, or hold any character."""
    return tuple(sorted(folder for folder in folders if folder.isprintable() and not path_fault(folder)))


def _submodules(root: Path) -> frozenset[str]:
    """The paths that `.gitmodules` names. The file is only searched; git is not asked."""
    try:
        data, _ = read_bytes(os.path.realpath(root), ".gitmodules", _MOST_BYTES)
    except OSError:
        return frozenset()  # Most trees have none.
    found = _SUBMODULE.findall((data or b"").decode("utf-8", "replace"))
    return frozenset(path.strip().strip('"').rstrip("/") for path in found)
