"""Installed packages: where an interpreter has them, and which source tree is of the same version.

Nothing is run. An interpreter's packages lie in `lib/pythonX.Y/site-packages` beside its `bin`; those of a
virtual environment also in that of the interpreter named as `home` in its `pyvenv.cfg`, where it includes
them (PEP 405). The tests are in `tests/test_lsp_installed.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from torchtalkd.conventions.errors import ManifestError
from torchtalkd.conventions.load import chain_of, version_in
from torchtalkd.conventions.versions import same_release

_FOLDERS: Final = ("site-packages", "dist-packages")
_LARGEST: Final = 1 << 14
"""Bytes read of a `pyvenv.cfg`."""


def package_folders(interpreter: str) -> list[str]:
    """The folders with the packages of an interpreter, symbolic links resolved; empty for a path that is
    no interpreter's. Lists folders and reads `pyvenv.cfg`."""
    if not os.path.isabs(interpreter) or not os.path.exists(interpreter):
        return []
    prefix = Path(os.path.abspath(interpreter)).parent.parent
    found = _below(prefix)
    cfg = _pyvenv(prefix)
    home = cfg.get("home", "")
    if cfg.get("include-system-site-packages", "").lower() == "true" and os.path.isabs(home):
        found.extend(_below(Path(home).parent))
    return [os.path.realpath(folder) for folder in found]


def _below(prefix: Path) -> list[str]:
    return [
        str(folder)
        for lib in ("lib", "lib64")
        for name in _FOLDERS
        for pattern in (f"python3*/{name}", f"python3/{name}")
        for folder in sorted((prefix / lib).glob(pattern))
    ]


def _pyvenv(prefix: Path) -> dict[str, str]:
    path = prefix / "pyvenv.cfg"
    if not path.is_file():
        return {}
    try:
        with path.open("rb") as file:
            text = file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        # It cannot be read: then it includes nothing.
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def installed_version(folder: str, harness: str) -> str:
    """The version of a framework in a folder of packages, or in a source tree; '' where it is not there.
    Reads its version file."""
    try:
        chain = chain_of(harness, tree=None)
    except ManifestError:
        # A tree's own manifest: what it describes is installed under names that only the tree says.
        return ""
    return version_in(chain, Path(folder))


def of_same_version(version: str, harness: str, roots: Iterable[str]) -> str:
    """The first of the trees that is of a version; '' for none. Reads their version files."""
    return next((root for root in roots if same_release(version, installed_version(root, harness))), "")
