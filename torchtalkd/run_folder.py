"""Where the daemon's socket lies: a private folder, and a name that says which build it is of.

The folder is `$XDG_RUNTIME_DIR/torchtalkd`, else `run` in the cache. Where that path is too long
for a socket, or its file system takes none, a private folder of its own stands in, which the file
`elsewhere` names. Standard library only. The tests are in `tests/test_wire.py`.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import sys
import zlib

from torchtalkd import __version__

TYPE_CHECKING = False
"""As in `typing`, which with `pathlib` would cost each bridge a tenth of its start."""
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Final

LONGEST_PATH: Final = 103 if sys.platform == "darwin" else 107
"""Bytes of a socket's path that the system takes."""

PACKAGE: Final = os.path.dirname(os.path.abspath(__file__))
"""The package that runs."""
_CODE: Final = (".py", ".scm", ".sql", ".toml")


class WireError(Exception):
    """The daemon cannot be reached or started; `str()` is a whole sentence."""

    def __init__(self, sentence: str, exit: int = 1) -> None:
        super().__init__(sentence)
        self.exit = exit
        """The exit code for a command that fails of it."""


def build_id() -> str:
    """Eight hex digits for the state of the package on the disk now: version, path, size and time of
    each of its files, and the Python that runs it. About 2 ms."""
    known = [f"{__version__} {PACKAGE} {os.path.dirname(sys.executable)} {sys.hexversion}"]
    folders = [PACKAGE, os.path.join(os.path.dirname(PACKAGE), "manifests")]
    while folders:
        try:
            with os.scandir(folders.pop()) as found:
                for item in found:
                    if item.name.endswith(_CODE):
                        at = item.stat()
                        known.append(f"{item.path} {at.st_size} {at.st_mtime_ns}")
                    elif item.name != "__pycache__" and item.is_dir(follow_symlinks=False):
                        folders.append(item.path)
        except FileNotFoundError:
            # An installed package has its manifests inside; a folder may go while it is replaced.
            continue
    return f"{zlib.crc32('|'.join(sorted(known)).encode('utf-8', 'surrogateescape')):08x}"


def socket_path(environment: Mapping[str, str], *, make: bool = True) -> Path:
    """The socket of this build's daemon; its folder is made and checked. Raises WireError."""
    from pathlib import Path

    return Path(socket_name(environment, make=make))


def socket_name(environment: Mapping[str, str], *, make: bool = True) -> str:
    """As `socket_path`, for who is in a hurry."""
    return os.path.join(_folder(environment, make=make), f"{build_id()}.sock")


def run_folder(environment: Mapping[str, str], *, make: bool = True) -> Path:
    """The private folder of the daemons: below XDG_RUNTIME_DIR, else in the cache, else (where
    such a path is too long, or takes no sockets) one of its own that is recorded there.

    Without `make`, one that is not there stays so. Raises WireError where somebody else could get
    at it.
    """
    from pathlib import Path

    return Path(_folder(environment, make=make))


def _folder(environment: Mapping[str, str], *, make: bool) -> str:
    folder = _first_choice(environment)
    if not make and not os.path.exists(folder):
        return folder
    try:
        _make_private(folder)
        recorded = _recorded(folder)
        if recorded is None and len(os.fsencode(folder)) + len("/12345678.sock.123") > LONGEST_PATH:
            return os.fspath(elsewhere(folder))
    except OSError as error:
        raise WireError(f"cannot use {folder} for the daemon's socket: {error.strerror}") from error
    return recorded or folder


def elsewhere(folder: str | Path) -> Path:
    """A private folder that stands in for a run folder that takes no socket, recorded in that one.
    Raises OSError."""
    import tempfile  # hardly ever needed, and slow to load
    from pathlib import Path

    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if recorded := _recorded(os.fspath(folder)):
            return Path(recorded)
        made = Path(tempfile.mkdtemp(prefix="torchtalkd-", dir="/tmp"))
        temporary = Path(folder) / f"elsewhere.{os.getpid()}"
        temporary.write_bytes(os.fsencode(made))
        os.replace(temporary, Path(folder) / "elsewhere")
        return made
    finally:
        os.close(descriptor)


def check_private(folder: str | Path) -> None:
    """Raises WireError unless a folder is ours and nobody else's. Raises OSError where it is not there."""
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode):
        raise WireError(f"{folder} is no folder; the daemon's socket cannot be there")
    if found.st_uid != os.geteuid():
        raise WireError(f"{folder} belongs to another user ({found.st_uid}); the daemon is not used there")
    if found.st_mode & 0o077:
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        raise WireError(f"{folder} is open to others (mode {mode}); make it private: chmod 700 {folder}")


def _first_choice(environment: Mapping[str, str]) -> str:
    base = environment.get("XDG_RUNTIME_DIR", "")
    # After `su` the variable may still name the former user's folder: that one is not for us.
    if os.path.isabs(base) and os.path.isdir(base) and os.stat(base).st_uid == os.geteuid():
        return os.path.join(base, "torchtalkd")
    cache = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(cache):
        cache = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".cache")
    return os.path.join(cache, "torchtalk", "run")


def _make_private(folder: str) -> None:
    try:
        check_private(folder)
    except FileNotFoundError:
        os.makedirs(folder, 0o700, exist_ok=True)
        check_private(folder)


def _recorded(folder: str) -> str | None:
    """What `elsewhere` recorded, if it is still there; somebody else's is as good as gone."""
    try:
        with open(os.path.join(folder, "elsewhere"), "rb") as file:
            recorded = os.fsdecode(file.read())
        check_private(recorded)
    except (FileNotFoundError, WireError):
        return None
    return recorded


def peer_uid(opened: socket.socket) -> int:
    """The user at the other end. Raises OSError."""
    if sys.platform == "darwin":
        # LOCAL_PEERCRED gives a struct xucred: its version, the user, the groups.
        found = opened.getsockopt(0, 1, 76)
    else:
        # struct ucred: the process, the user, the group.
        found = opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(found[4:8], sys.byteorder)
