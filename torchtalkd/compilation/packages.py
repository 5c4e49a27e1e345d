"""Where are the headers of other people's code: in the tree, on the system, in a Python package?

Looks at the disk only. The tests are in `tests/test_compilation_machine.py`.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from torchtalkd.compilation.installed import include_folder
from torchtalkd.compilation.values import Found
from torchtalkd.conventions.compiling import Package

SYSTEM: Final = ("/usr/local/include", "/usr/include", "/opt/homebrew/include")
"""Where libraries of the system have their headers. A compiler looks into the first two by itself."""


def packages(
    root: Path, wanted: Iterable[Package], sites: tuple[str, ...], system: Iterable[str] = SYSTEM
) -> list[Found]:
    """Each package with the include folder that has it, in the order of the manifest."""
    return [_found(root, package, sites, tuple(system)) for package in wanted]


def _found(root: Path, package: Package, sites: tuple[str, ...], system: tuple[str, ...]) -> Found:
    for pattern in package.folders:
        for folder in sorted(root.glob(pattern)) if any(c in pattern for c in "*?[") else [root / pattern]:
            if (folder / package.header).is_file():
                return Found(package.name, "tree", str(folder), package.install)
    for top in system:
        for below in ("", *package.system):
            folder = Path(top, below) if below else Path(top)
            if (folder / package.header).is_file():
                return Found(package.name, "system", str(folder), package.install)
    if package.distribution and (inside := include_folder(package.distribution, package.header, sites)):
        return Found(package.name, "python", inside, package.install)
    interpreter = sysconfig.get_path("include")
    if os.path.isfile(os.path.join(interpreter, package.header)):
        return Found(package.name, "interpreter", interpreter, package.install)
    return Found(package.name, "", "", package.install)


def outside_folders(package: Package, found: Found) -> list[str]:
    """The include folders that must be named to a compiler, of a package that was found."""
    named = [] if found.where == "system" and found.folder in SYSTEM[:2] else [found.folder]
    return named + [os.path.normpath(os.path.join(found.folder, one)) for one in package.beside]
