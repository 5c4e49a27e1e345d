"""The open views of one index: lent to a question each, all of the newest revision.

A view keeps what it has read, so the one used last is lent first. A question that is stopped, or
fails, does not give its view back. Used from several threads. The tests are in `tests/test_daemon.py`.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

from torchtalkd.store.carry import carry
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

MOST_IDLE: Final = 3


class Views:
    """The views of the index in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._idle: list[tuple[int, View]] = []
        self._age = 0
        self._former: View | None = None

    def take(self) -> tuple[int, View]:
        """A view, and its age: give both back. Raises what `open_view` raises."""
        with self._lock:
            age = self._age
            if self._idle:
                return self._idle.pop()
            former, self._former = self._former, None
        if former is None:
            return age, open_view(self._folder)
        with former:
            view = open_view(self._folder)
            carry(former, view)
            return age, view

    def give(self, age: int, view: View) -> None:
        """Takes a view back, and closes it if it is of an older revision or one too many."""
        with self._lock:
            if age == self._age and len(self._idle) < MOST_IDLE:
                self._idle.append((age, view))
                return
        view.close()

    def renew(self, *, carried: bool = False) -> None:
        """Closes the idle views; those that are lent are closed when they come back. With `carried`
        the next one begins with what is still true of what the last one has read."""
        with self._lock:
            self._age += 1
            idle, self._idle = [view for _, view in self._idle], []
            if self._former is not None:
                idle.insert(0, self._former)
            self._former = idle.pop() if carried and idle else None
        for view in idle:
            view.close()

    def identity(self) -> int:
        """Which file the index is: another number when it was replaced, 0 when there is none."""
        try:
            return os.stat(self._folder / "index.db").st_ino
        except OSError:
            return 0
