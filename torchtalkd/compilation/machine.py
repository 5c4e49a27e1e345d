"""What is on this machine that reading C++ exactly needs?

Looks at the disk and at lists of installed files; runs nothing. The tests are in
`tests/test_compilation_machine.py`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torchtalkd.compilation.builtin_headers import builtin_headers, libclang_major
from torchtalkd.compilation.cuda import Cuda, cuda
from torchtalkd.compilation.installed import site_folders
from torchtalkd.compilation.packages import packages
from torchtalkd.compilation.standard_library import StandardLibrary, standard_library
from torchtalkd.compilation.values import Found, Kind
from torchtalkd.conventions.values import Conventions


class Machine(NamedTuple):
    """What was found."""

    libclang: int
    """Its release, 0 where it is not installed."""
    builtin: Path | None
    library: StandardLibrary
    cuda: Cuda
    packages: tuple[Found, ...]

    @property
    def unreadable(self) -> frozenset[Kind]:
        """Kinds of units that no machine without the headers of their system can read."""
        kinds: set[Kind] = set() if self.cuda.where else {"cuda"}
        return frozenset(kinds if sys.platform == "darwin" else kinds | {"objcpp"})

    @property
    def off(self) -> str:
        """Why no unit can be read exactly, '' where they can."""
        if not self.libclang:
            return "libclang is not installed: `pip install libclang`"
        if self.builtin is None:
            return (
                f"libclang {self.libclang} has no headers of its own here:"
                f" `pip install 'clang-tidy=={self.libclang}.*'` brings them"
            )
        return self.library.install


def machine(root: Path, conventions: Conventions, environ: Mapping[str, str] = os.environ) -> Machine:
    """Looks for everything that units of this tree may need."""
    sites = site_folders(environ)
    release = libclang_major()
    return Machine(
        release,
        builtin_headers(sites, release),
        standard_library(),
        cuda(sites, environ, release),
        tuple(packages(root, conventions.compilation.packages, sites)),
    )
