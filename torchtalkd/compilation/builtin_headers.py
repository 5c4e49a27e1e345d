"""Where are the headers that belong to libclang itself: `stddef.h`, the intrinsics?

They must be of libclang's own release: with those of another one a tenth to a quarter of the calls in code
with intrinsics cannot be resolved, and without any each unit stops at `stddef.h`. The `libclang` wheel has
none; the `clang-tidy` wheel of the same release has them, and is a dependency of this program. Else a clang
that is installed on the machine serves, if it is of that release. The tests are in
`tests/test_compilation_machine.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from torchtalkd.compilation.installed import include_folder

_PLACES: Final = (
    "/usr/lib/llvm-{major}/lib/clang",
    "/usr/lib/clang",
    "/usr/lib64/clang",
    "/usr/local/lib/clang",
    "/usr/local/llvm{major}/lib/clang",
    "/opt/homebrew/opt/llvm@{major}/lib/clang",
    "/usr/local/opt/llvm@{major}/lib/clang",
)
"""Where Debian, Fedora, Arch, FreeBSD and Homebrew put a clang's resource directories."""


@cache
def libclang_major() -> int:
    """The release of the libclang that is installed as a Python package; 0 where none is."""
    from importlib import metadata

    try:
        found = re.match(r"\d+", metadata.version("libclang"))
    except metadata.PackageNotFoundError:
        return 0
    return int(found.group()) if found else 0


def builtin_headers(sites: Iterable[str], major: int, places: Iterable[str] = _PLACES) -> Path | None:
    """The resource directory for libclang of release `major` (what `-resource-dir` takes); None where no
    headers of that release are. Looks at the disk only."""
    if not major:
        return None
    # Not by the header's full path: the folder's name is 18 or 18.1.8.
    folder = include_folder("clang-tidy", "include/stddef.h", sites)
    if folder and _is_of(Path(folder), major):
        return Path(folder)
    for place in places:
        try:
            entries = sorted(Path(place.format(major=major)).iterdir())
        except OSError:
            continue  # Most of the places are other systems'.
        for entry in entries:
            if _is_of(entry, major) and os.path.isfile(entry / "include" / "stddef.h"):
                return entry
    return None


def _is_of(folder: Path, major: int) -> bool:
    return folder.name.partition(".")[0] == str(major)
