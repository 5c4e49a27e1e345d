"""Where is the index of a root, which indexes are there, and how does one go?

Indexes live in `$XDG_CACHE_HOME/torchtalk`, one folder a root, named by the format of the
database, the root's own name and a digest of its whole path: `v1-pytorch-0f3a96c1b2d4`.
Whatever else lies there belongs to someone else. The tests are in `tests/test_cache.py`.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torchtalkd.config import xdg_folder
from torchtalkd.store import database, image, lock
from torchtalkd.store.errors import StoreError

SNAPSHOTS = "snapshots"
"""The folder beside the indexes that holds the snapshots."""
_FOLDER = re.compile(r"v(\d+)-.*-([0-9a-f]{12})")
_OUR_FILES = re.compile(r"index\.db(\.new|\.broken-\d+)?(-wal|-shm|-journal)?")


class KeptIndex(NamedTuple):
    """An index in the cache."""

    folder: Path
    root: str
    """The path that it is of; '' where the index cannot be read (another format, damaged)."""
    harness: str
    bytes: int
    """On the disk, of all our files in the folder."""


def cache_home(environ: Mapping[str, str]) -> Path:
    """The folder that holds the indexes, whether it exists or not."""
    return xdg_folder(environ, "XDG_CACHE_HOME", ".cache")


def index_folder(root: Path, environ: Mapping[str, str]) -> Path:
    """The folder for the index of a resolved root. Makes nothing."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name).strip("-.")[:40] or "root"
    return cache_home(environ) / f"v{database.FORMAT}-{name}-{_digest(root)}"


def snapshot_home(environ: Mapping[str, str]) -> Path:
    """The folder that holds the snapshots of all trees, whether it exists or not."""
    return cache_home(environ) / SNAPSHOTS


def kept_indexes(environ: Mapping[str, str]) -> list[KeptIndex]:
    """All indexes of the cache, of any format, by folder. Reads only."""
    try:
        folders = sorted(cache_home(environ).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [_kept(folder) for folder in folders if _FOLDER.fullmatch(folder.name) and _our_files(folder)]


def indexed_roots(environ: Mapping[str, str]) -> dict[str, str]:
    """The root of each index of this program's own format → its harness. Cheap when asked again."""
    found = {}
    try:
        folders = sorted(cache_home(environ).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return {}
    for folder in folders:
        if not folder.name.startswith(f"v{database.FORMAT}-") or not _FOLDER.fullmatch(folder.name):
            continue
        try:
            known = (folder / "index.db").stat()
        except OSError:
            continue
        root, harness = _said(folder, known.st_ino, known.st_mtime_ns)
        if root:
            found[root] = harness
    return found


@functools.lru_cache(maxsize=64)
def _said(folder: Path, inode: int, mtime_ns: int) -> tuple[str, str]:
    """Root and harness as the index in a folder says, which is the file with these numbers; '' where
    it cannot be read."""
    try:
        with database.open_view(folder) as view:
            return view.meta("root"), view.meta("harness")
    except StoreError:
        return "", ""


def drop_index(root: Path, environ: Mapping[str, str]) -> list[Path]:
    """Deletes the indexes of a root, of every format, and returns their folders.

    Only our own files go; a folder that holds others stays. Raises store.errors.Locked while
    one is being written, OSError.
    """
    # With it comes the reading of manifests, which a command that deletes nothing need not load.
    from torchtalkd.compilation.values import BESIDE

    dropped = []
    for kept in kept_indexes(environ):
        if kept.folder.name.endswith(f"-{_digest(root)}"):
            held = lock.acquire(kept.folder)
            try:
                for path in _our_files(kept.folder):
                    path.unlink(missing_ok=True)
                for beside in (image.BESIDE, BESIDE):
                    shutil.rmtree(kept.folder / beside, ignore_errors=True)
                (kept.folder / lock.NAME).unlink(missing_ok=True)
            finally:
                held.release()
            if not any(kept.folder.iterdir()):
                kept.folder.rmdir()
            dropped.append(kept.folder)
    folder = index_folder(root, environ)
    if (folder / BESIDE).is_dir():  # Headers were made of a tree that was never indexed.
        shutil.rmtree(folder / BESIDE, ignore_errors=True)
        if not any(folder.iterdir()):
            folder.rmdir()
        dropped.append(folder)
    return dropped


def _digest(root: Path) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:12]


def _kept(folder: Path) -> KeptIndex:
    size = sum(path.stat().st_size for path in _our_files(folder))
    try:
        with database.open_view(folder) as view:
            return KeptIndex(folder, view.meta("root"), view.meta("harness"), size)
    except StoreError:
        # Listed all the same: it takes room, and `forget` and the next build know what to do.
        return KeptIndex(folder, "", "", size)


def _our_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if _OUR_FILES.fullmatch(path.name)]
