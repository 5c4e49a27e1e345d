"""Where is the C++ standard library, and what is installed where there is none?

clang takes the newest GCC it finds, also one without C++ headers, as a machine has that got a C compiler
and no `g++`. So the one to use is found here and named to it (`--gcc-install-dir`). The tests are in
`tests/test_compilation_machine.py`.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Final, NamedTuple

_NONE: Final = "there is no C++ standard library"


class StandardLibrary(NamedTuple):
    """The library, or what to do to have one."""

    arguments: tuple[str, ...]
    """That tell clang where it is; none where it finds it by itself."""
    folder: str
    """With its headers; '' where there is none."""
    install: str
    """A sentence that says what to install; '' where it is there."""


def standard_library(top: Path = Path("/"), platform: str = sys.platform) -> StandardLibrary:
    """Looks at the disk only, below `top`."""
    return _of_macos(top) if platform == "darwin" else _of_gcc(top)


def _of_gcc(top: Path) -> StandardLibrary:
    installed = [
        (tuple(map(int, folder.name.split("."))), folder)
        for pattern in ("usr/lib/gcc/*/*", "usr/lib64/gcc/*/*")
        for folder in top.glob(pattern)
        if re.fullmatch(r"\d+(\.\d+)*", folder.name)
    ]
    machine = os.uname().machine
    # This machine's own before a cross compiler's, then the newest.
    installed.sort(key=lambda one: (one[1].parent.name.startswith(machine), one[0]), reverse=True)
    for version, folder in installed:
        for headers in (
            top / f"usr/include/c++/{folder.name}",
            top / f"usr/include/c++/{version[0]}",
            folder / "include" / "c++",
        ):
            if (headers / "vector").is_file():
                return StandardLibrary((f"--gcc-install-dir={folder}",), str(headers), "")
    for folder in (*top.glob("usr/lib/llvm-*/include/c++/v1"), top / "usr/include/c++/v1"):
        if (folder / "vector").is_file():
            return StandardLibrary(("-nostdinc++", "-isystem", str(folder)), str(folder), "")
    newest = max((version[0] for version, _ in installed), default=0)
    package = f"libstdc++-{newest}-dev" if newest else "g++"
    return StandardLibrary(
        (), "", f"there is no C++ standard library: install {package} (Debian, Ubuntu) or gcc-c++ (Fedora)"
    )


def _of_macos(top: Path) -> StandardLibrary:
    for sdk in (
        top / "Library/Developer/CommandLineTools/SDKs/MacOSX.sdk",
        top / "Applications/Xcode.app/Contents/Developer/Platforms/MacOSX.platform/Developer/SDKs/MacOSX.sdk",
    ):
        headers = sdk / "usr/include/c++/v1"
        if (headers / "vector").is_file():
            return StandardLibrary(("-isysroot", str(sdk)), str(headers), "")
    return StandardLibrary(
        (), "", "there is no C++ standard library: install it with `xcode-select --install`"
    )
