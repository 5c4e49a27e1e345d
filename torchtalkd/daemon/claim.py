"""The one daemon of a build: who holds its lock may have its socket.

The lock is held for life and goes with the process, however that ends. The socket is bound under
another name and renamed, so that there is never one that nobody listens on but a dead daemon's,
and that one is replaced by the next holder of the lock only. The tests are in
`tests/test_daemon.py`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from pathlib import Path
from typing import Final

from torchtalkd.wire import WireError, elsewhere

WAIT_SECONDS: Final = 10.0
"""For a daemon that is about to end, or to begin."""
_POLL_SECONDS: Final = 0.01
_NO_SOCKETS: Final = {errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS}
OLD_SECONDS: Final = 7 * 86400.0
"""After which what other builds have left is deleted."""


class Claim:
    """The lock and the listening socket of a daemon."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock
        self.listening = self._bound()
        self._inode = os.stat(self.path).st_ino

    def is_ours(self) -> bool:
        """Whether clients still find this daemon. A socket that somebody deleted is no longer found."""
        try:
            return os.stat(self.path).st_ino == self._inode
        except OSError:
            return False

    def leave(self) -> None:
        """Takes the socket away: nobody finds this daemon any more. The lock stays until the end."""
        if self.is_ours():
            self.path.unlink(missing_ok=True)

    def _bound(self) -> socket.socket:
        temporary = self.path.with_name(f"{self.path.stem}.{os.getpid() % 1000}")
        temporary.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(os.fspath(temporary))
            os.chmod(temporary, 0o600)
            # Before it has its name: whoever finds it must be able to connect.
            listening.listen(256)
            listening.setblocking(False)
            os.replace(temporary, self.path)
        except BaseException:
            listening.close()
            temporary.unlink(missing_ok=True)
            raise
        return listening


def claim(folder: Path, build: str) -> Claim | None:
    """Lock and socket of a build; None where another daemon of it answers. Raises WireError, OSError."""
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        lock = acquire(folder / f"{build}.lock")
        if lock is not None:
            break
        if _answers(folder / f"{build}.sock"):
            return None
        if time.monotonic() >= deadline:
            holder = (folder / f"{build}.lock").read_text("utf-8", "replace").strip() or "unknown"
            raise WireError(f"the daemon with process id {holder} holds the lock but answers no one")
        time.sleep(_POLL_SECONDS)
    try:
        return Claim(folder / f"{build}.sock", lock)
    except OSError as error:
        os.close(lock)
        other = elsewhere(folder) if error.errno in _NO_SOCKETS else folder
        if other == folder:
            raise
        return claim(other, build)


def acquire(path: Path) -> int | None:
    """A descriptor that holds a lock file, with our process id in it; None where another has it."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock).st_ino == os.stat(path).st_ino:
                os.ftruncate(lock, 0)
                os.write(lock, str(os.getpid()).encode())
                return lock
        except BlockingIOError:
            os.close(lock)
            return None
        except FileNotFoundError:
            # Deleted between the two: the next one is ours or somebody else's.
            pass
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)


def clear_old(folder: Path, build: str) -> None:
    """Deletes what dead daemons of other builds have left: their sockets, and what is old."""
    for path in folder.glob("*.lock"):
        if path.stem == build:
            continue
        try:
            old = time.time() - path.stat().st_mtime > OLD_SECONDS
            lock = acquire(path)
        except FileNotFoundError:
            continue
        if lock is None:
            continue
        path.with_suffix(".sock").unlink(missing_ok=True)
        if old:
            for suffix in (".log", ".log.1", ".lock"):
                path.with_suffix(suffix).unlink(missing_ok=True)
        os.close(lock)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        opened.settimeout(1.0)
        try:
            opened.connect(os.fspath(path))
        except OSError:
            return False
        return True
