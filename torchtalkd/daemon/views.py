"""The open views of one index: lent to a question each, all of the newest revision.

A view keeps what it has read, so the one used last is lent first. A question that is stopped, or
fails, does not give its view back. Used from several threads. The tests are in `tests/test_daemon.py`.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final

from torchtalkd.store.carry import carry
from torchtalkd.store.database import open_teller, open_view
from torchtalkd.store.errors import StoreError
from torchtalkd.store.teller import Teller
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
        self._teller: tuple[int, Teller] | None = None

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
            # Where there is no WAL, an open view would hold up the writer.
            shared = view.meta("journal", "wal") == "wal"
            if shared and age == self._age and len(self._idle) < MOST_IDLE:
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

    def rest(self) -> None:
        """Lets the idle views begin anew at the revision they are of, so that they do not hold up the use of
        the database's log from its beginning; what they have read stays. One that cannot is closed."""
        if self._former is not None:
            # What it has read goes over to its successor; where there is no index any more, nothing does.
            with suppress(StoreError):
                self.give(*self.take())
        with self._lock:
            idle, self._idle = self._idle, []
        for age, view in idle:
            if view.repin():
                self.give(age, view)
            else:
                view.close()

    def newest(self) -> int:
        """The newest revision, whoever wrote it. Raises what `open_view` raises."""
        with self._lock:
            identity = self.identity()
            if self._teller is not None and self._teller[0] != identity:
                self._teller[1].close()
                self._teller = None
            if self._teller is None:
                self._teller = (identity, open_teller(self._folder))
            return self._teller[1].revision()

    def close(self) -> None:
        """Closes all of them. They can be used again."""
        self.renew()
        with self._lock:
            if self._teller is not None:
                self._teller[1].close()
                self._teller = None

    def identity(self) -> int:
        """Which file the index is: another number when it was replaced, 0 when there is none."""
        try:
            return os.stat(self._folder / "index.db").st_ino
        except OSError:
            return 0
