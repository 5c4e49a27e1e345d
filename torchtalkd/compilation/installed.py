"""Which installed Python distributions have a file, and where is it?

Read from the lists of files that each distribution carries (`RECORD`, or `installed-files.txt`). Nothing is
imported. The tests are in `tests/test_compilation_machine.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib import metadata
from pathlib import Path


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


@lru_cache(maxsize=64)
def _files(distribution: str, sites: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """(path as the list has it, absolute path) of each file of the first such distribution."""
    for site in sites:
        for found in metadata.distributions(name=distribution, path=[site]):
            if files := found.files:
                return tuple((str(file), os.path.join(site, str(file))) for file in files)
    return ()
