"""Which installed Python distributions have a file, and where is it?

Read from the lists of files that each distribution carries (`RECORD`, or `installed-files.txt`). Nothing is
imported. The tests are in `tests/test_compilation_machine.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final


def site_folders(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where installed packages are looked for: those that this program can import, then those of the
    environment that the user has active (`VIRTUAL_ENV`, `CONDA_PREFIX`)."""
    folders = [path for path in sys.path if path and os.path.isdir(path)]
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if os.path.isabs(prefix := environ.get(variable, "")):
            folders += sorted(str(path) for path in Path(prefix).glob("lib/python3*/site-packages"))
    return tuple(dict.fromkeys(folders))


def include_folder(distribution: str, header: str, sites: Iterable[str]) -> str:
    """The folder from which `header` (`pybind11/pybind11.h`) is included in an installed distribution;
    '' where that is not installed or has no such file."""
    for name, file in _files(distribution, tuple(sites)):
        if name == header or name.endswith("/" + header):
            folder = file[: -len(header)].rstrip("/")
            # A distribution that was taken away by hand leaves its list behind.
            if os.path.isfile(file):
                return os.path.normpath(folder)
    return ""


_known: Final[dict[tuple[str, tuple[str, ...]], tuple[tuple[str, str], ...]]] = {}
"""Lists that were read. One that was not there is looked for again: it may be installed any time."""


def _files(distribution: str, sites: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """(path as the list has it, absolute path) of each file of the first such distribution."""
    # It takes longer to import than all that a command without a compiler does.
    from importlib import metadata

    key = (distribution, sites)
    for site in sites if key not in _known else ():
        for found in metadata.distributions(name=distribution, path=[site]):
            if key not in _known and (files := found.files):
                _known[key] = tuple((str(file), os.path.join(site, str(file))) for file in files)
    return _known.get(key, ())
