"""The writer's lock: at most one process writes a store.

A lock is a `flock` on a file in the store's folder, so it goes when its holder goes, however
that ends. The file names the holder's host and pid. It is deleted only with the whole folder, and who
locks it looks whether it still is the one of that name. The tests are in `tests/test_store.py`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from pathlib import Path

from torchtalkd.store.errors import Locked, StoreError

NAME = "writer.lock"


class Lock:
    """A held lock; `release()` ends it. Made by `acquire`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Lets the next writer in. Does nothing the second time."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
            os.close(self._descriptor)
            self._descriptor = -1


def acquire(folder: Path) -> Lock:
    """Takes the lock of a folder that exists, without waiting.

    Raises Locked when another process (or another Lock of this one) holds it, StoreError where
    the file system has no locks, OSError when the file cannot be opened.
    """
    path = folder / NAME
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{socket.gethostname()} {os.getpid()}\n".encode(), 0)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise Locked(path, *holder(folder)) from None
        if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise StoreError(
                path, f"the file system of {folder} has no locks; choose another cache folder"
            ) from error
        raise
    if not _is_at(descriptor, path):
        # The folder was forgotten, and made again, between the opening and the locking.
        os.close(descriptor)
        return acquire(folder)
    return Lock(descriptor)


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(os.fstat(descriptor), there)


def holder(folder: Path) -> tuple[str, int]:
    """Host and pid that the lock file names, ('', 0) if it names none."""
    for _ in range(20):
        try:
            host, _, pid = (folder / NAME).read_text("utf-8", "replace").strip().rpartition(" ")
        except OSError:
            return "", 0
        if host and pid.isdigit():
            return host, int(pid)
        # The holder took the lock this moment and has not written its name yet.
        time.sleep(0.005)
    return "", 0
