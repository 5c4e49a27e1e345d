"""Which files of a tree does a generator run from, and what is their digest?

They are read once, and what was read is what is digested, and what is run: a tree that changes between the
two changes nothing. The tests are in `tests/test_generated.py`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from torchtalkd.compilation.plain_files import is_within, plain_bytes

MOST_BYTES: Final = 100_000_000
MOST_FILES: Final = 20_000
"""More is no generator: PyTorch's has 300 files, 6 MB."""
_SKIPPED: Final = frozenset({"__pycache__", ".git"})


class TooMuch(Exception):
    """The patterns name more than a generator can be; `str()` is a whole sentence."""


def read_files(root: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Path → bytes of the regular files that the patterns name, by path: a folder means all below it. What
    leads out of the tree, or is no regular file, is left out. Raises TooMuch."""
    found: dict[str, bytes] = {}
    size = 0
    for pattern in patterns:
        for path in _paths(root, pattern):
            name = path.relative_to(root).as_posix()
            if name in found or not is_within(os.path.realpath(path), root):
                continue
            data = plain_bytes(path, MOST_BYTES)
            if data is None:
                continue
            size += len(data)
            if size > MOST_BYTES or len(found) >= MOST_FILES:
                raise TooMuch(f"{pattern} of {root} is more than a generator reads: {MOST_BYTES:,} bytes")
            found[name] = data
    return dict(sorted(found.items()))


def digest_of(files: Mapping[str, bytes], *others: str) -> str:
    """A digest of names and contents, and of other texts."""
    digest = hashlib.sha256()
    for part in others:
        digest.update(b"%d:" % len(part.encode()) + part.encode())
    for name, data in files.items():
        encoded = os.fsencode(name)
        digest.update(b"%d:%s%d:" % (len(encoded), encoded, len(data)))
        digest.update(data)
    return digest.hexdigest()


def _paths(root: Path, pattern: str) -> Iterator[Path]:
    tops = sorted(root.glob(pattern)) if any(c in pattern for c in "*?[") else [root / pattern]
    for top in tops:
        if not top.is_dir():
            yield top
            continue
        for folder, inner, names in os.walk(top):
            inner[:] = sorted(name for name in inner if name not in _SKIPPED)
            yield from (Path(folder, name) for name in sorted(names))
