"""On which file systems do events of changes never come?

Of a network's or a virtual machine's shared folder, the kernel tells what programs of this machine
change, not what others do (inotify(7), "Limitations and caveats"). So such trees are polled.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

_NETWORKS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "davfs", "pvfs2"}
    | {"ceph", "lustre", "gpfs", "beegfs", "ocfs2", "gfs2"}
)
_SHARED_BY_A_HOST: Final = frozenset(
    {"9p", "v9fs", "drvfs", "virtiofs", "vboxsf", "vmhgfs", "prl_fs", "fakeowner", "osxfs"}
)
_LOCAL_FUSE: Final = frozenset(
    {"fuseblk", "fuse.fuse-overlayfs", "fuse.overlayfs", "fuse.bindfs", "fuse.mergerfs"}
)
"""FUSE programs that serve this machine's own disks; of all others nobody knows who else writes."""
_MOUNTS: Final = Path("/proc/self/mountinfo")
_ESCAPE: Final = re.compile(r"\\([0-7]{3})")


class Mount(NamedTuple):
    """A mounted file system."""

    point: str
    kind: str


def mounts_below(folder: str) -> list[Mount]:
    """What is mounted in a folder (a real path)."""
    return [mount for mount in _mounts() if mount.point != folder and _inside(mount.point, folder)]


def silent_below(folder: str) -> set[str]:
    """The mounts in a folder from which no events come."""
    return {mount.point for mount in mounts_below(folder) if _is_silent(mount.kind)}


def kind_of(path: str) -> str:
    """The kind of file system that a real path is on when no events come from it; '' otherwise, and
    where it cannot be known."""
    over = [mount for mount in _mounts() if _inside(path, mount.point)]
    # Of several on one point the last one mounted is seen; max() keeps the first of equals.
    nearest = max(reversed(over), key=lambda mount: len(mount.point), default=None)
    return nearest.kind if nearest is not None and _is_silent(nearest.kind) else ""


def _is_silent(kind: str) -> bool:
    return kind in _NETWORKS | _SHARED_BY_A_HOST or (kind.startswith("fuse") and kind not in _LOCAL_FUSE)


def _inside(path: str, point: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")


def _mounts() -> list[Mount]:
    """All that is mounted, in this order; none where the system has no such list (proc(5))."""
    try:
        text = _MOUNTS.read_text("utf-8", "surrogateescape")
    except OSError:
        return []
    found = []
    for line in text.splitlines():
        # 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if separator and len(fields) > 4:
            found.append(Mount(_unescaped(fields[4]), after.split(" ")[0]))
    return found


def _unescaped(point: str) -> str:
    """Blanks and backslashes are written as octal numbers of bytes."""
    plain = _ESCAPE.sub(lambda found: chr(int(found.group(1), 8)), point)
    return os.path.normpath(plain)
