"""How many folders may be watched, and what to tell the user when that is too few?

inotify needs a watch for each folder, and a user has `fs.inotify.max_user_watches` of them for all
programs (inotify(7)). Who takes them all breaks editors and builds, so this process takes half.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Final

_FOLDER: Final = Path("/proc/sys/fs/inotify")
_UNKNOWN: Final = 8192
"""The kernel's old default, where the value cannot be read."""
_ROOMY: Final = 524_288
"""What the advice asks for, and what editors ask for, too."""


class Budget:
    """Watches that this process has and may have, over all trees. Safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = 0
        self._most = 0

    def renew(self) -> None:
        """Asks the system again how many there may be."""
        most = _setting("max_user_watches") // 2
        with self._lock:
            self._most = most

    def take(self) -> bool:
        """Whether one more watch may be added; it is counted then."""
        with self._lock:
            if self._taken >= self._most:
                return False
            self._taken += 1
            return True

    def give(self) -> None:
        """A watch was given back."""
        with self._lock:
            self._taken -= 1


BUDGET: Final = Budget()


def most_watches() -> int:
    """How many watches a user may have, over all programs."""
    return _setting("max_user_watches")


def more_watches(need: int = 0) -> str:
    """The command that allows more watches, enough for `need` folders of ours."""
    return f"sudo sysctl fs.inotify.max_user_watches={max(_ROOMY, 2 * most_watches(), 2 * need)}"


def too_few_watches() -> str:
    """The sentence for the user when not all folders can be watched."""
    have = most_watches()
    return (
        f"Not all folders are watched, as the system allows {have} watches (of which half are left to "
        "other programs); the rest is looked at now and then. "
        f"More: {more_watches()}"
    )


def too_few_instances() -> str:
    """The sentence for the user when not even one watch can be made."""
    have = _setting("max_user_instances")
    return (
        f"The tree is not watched but looked at now and then, as the {have} inotify instances that the "
        f"system allows are in use. More: sudo sysctl fs.inotify.max_user_instances={max(512, 2 * have)}"
    )


def _setting(name: str) -> int:
    try:
        return int((_FOLDER / name).read_text("ascii"))
    except (OSError, ValueError):
        return _UNKNOWN
