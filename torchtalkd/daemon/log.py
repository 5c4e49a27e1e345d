"""The daemon's log: what it does and with whom, never what is asked or what a tree says.

The client that starts a daemon opens the file and makes it stdout and stderr, so that whatever
else writes there is kept, too. When it has grown, it is renamed to `<name>.log.1` and begun anew.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 1 << 20

log: Final = logging.getLogger("torchtalkd")


class _Handler(logging.Handler):
    """Writes to stderr, which is the file, and turns the file over."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one line, or a traceback."""
        try:
            os.write(2, (self.format(record) + "\n").encode("utf-8", "backslashreplace"))
            if os.fstat(2).st_size > MOST_BYTES:
                turn_over(self._path)
        except OSError:
            # A full disk must not end an answer.
            self.handleError(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """There is nowhere else to say it."""


def start_log(path: Path) -> None:
    """Logs to stderr, which is the file `path`, from here on."""
    handler = _Handler(path)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    log.setLevel(logging.INFO)


def turn_over(path: Path) -> None:
    """Puts the full log aside and makes a new one stdout and stderr. Raises OSError."""
    os.replace(path, path.with_suffix(".log.1"))
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
