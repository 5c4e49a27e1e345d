"""Which revision is the newest? For who holds views of one and must notice the next, whoever wrote it.

The tests are in `tests/test_store.py`.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from torchtalkd.store.errors import translated


class Teller:
    """A connection that holds no revision; `close()` it. Made by `store.database.open_teller`."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self._folder = folder
        self._db = connection

    def revision(self) -> int:
        """The newest revision: some 10 µs. Raises StoreError."""
        with translated(self._folder):
            found = self._db.execute("SELECT value FROM meta WHERE name = 'revision'").fetchone()
            return int(found[0]) if found else 0

    def close(self) -> None:
        """Ends the connection."""
        self._db.close()
