"""The process that keeps one tree's exact reading equal to its index: requests on stdin, reports on stdout.

A request says which tree, and that its index may have moved on; one that comes while something is read is
heard at once, so that a save does not wait for the rest. It has a low priority, and the processes that run
libclang for it have a lower one. `daemon.exact` is the other side; the end of stdin ends it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from torchtalkd.bases import base_folders
from torchtalkd.config import ConfigError, read_config
from torchtalkd.conventions import ManifestError, conventions_of
from torchtalkd.engine import WorkersFailed
from torchtalkd.engine.exact import ExactReading
from torchtalkd.engine.exact_pool import Pool
from torchtalkd.store.errors import StoreError

REST_SECONDS: Final = 60.0
"""After which processes that have nothing to read are ended: they hold memory."""
_REPORT_SECONDS: Final = 0.3


def main() -> None:
    """Serves requests until stdin ends, or nobody reads the reports any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        os.nice(10)
    reports = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    try:
        with Pool(os.cpu_count() or 1) as pool:
            _Conductor(pool, reports).run()
    except BrokenPipeError:
        # The daemon is gone. What was stored is whole.
        os._exit(0)


class _Conductor:
    """What is kept between requests."""

    def __init__(self, pool: Pool, reports: Any) -> None:
        self._pool, self._reports = pool, reports
        self._received = b""
        self._asked: dict[str, Any] | None = None
        self._ended = False
        self._reading: tuple[object, ExactReading] | None = None
        self._said = 0.0
        pool.listen(0, self._heard)

    def run(self) -> None:
        """See `main`."""
        quiet = time.monotonic()
        while not self._ended:
            if self._asked is None:
                self._pool.turn(lambda urgent: None, lambda task, answer: None, 1.0)
                if time.monotonic() - quiet > REST_SECONDS:
                    self._pool.rest()
                continue
            self._served()
            quiet = time.monotonic()

    def _heard(self) -> None:
        data = os.read(0, 1 << 16)
        self._ended = self._ended or not data
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            self._asked = json.loads(line)

    def _served(self) -> None:
        """Reads until nothing is stale, or the end has come."""
        request = self._taken()
        assert request is not None
        said: dict[str, Any]
        try:
            reading = self._of(request)
            # What is being read is waited for, or nobody would hear of it.
            while (reading.refresh(request["opened"]) or self._pool.busy) and not self._ended:
                while reading.turn(self._pool) and not self._moved_on():
                    pass
                # What came meanwhile is of the same tree, whose index has moved on.
                request = self._taken() or request
            reading.finish()
            result = reading.result
            said = {"done": {"off": result.off, "notes": result.notes, "total": result.total}}
        except (StoreError, ManifestError, ConfigError, WorkersFailed, OSError) as error:
            said = {"failed": type(error).__name__, "message": str(error)}
        # Which request is answered: another may be on its way.
        self._say({**said, "number": request["number"]})
        if "done" in said and self._reading is not None and not self._moved_on():
            self._reading[1].prepare()

    def _taken(self) -> dict[str, Any] | None:
        request, self._asked = self._asked, None
        return request

    def _moved_on(self) -> bool:
        """Whether there is something newer to look at, or nothing to do any more."""
        return self._ended or self._asked is not None

    def _of(self, request: dict[str, Any]) -> ExactReading:
        """The reading of a tree: begun anew where what it was told is another."""
        root = Path(request["root"])
        # What an extension's framework is, and where its headers are, may be known only later.
        bases = base_folders(root, request["harness"], os.environ, config=read_config(os.environ))
        told = {**request, "opened": [], "number": 0, "bases": bases}
        if self._reading is None or self._reading[0] != told:
            reading = ExactReading(
                root,
                Path(request["folder"]),
                conventions_of(root, request["harness"], named=request["named"]),
                trusted=request["trusted"],
                database=Path(request["database"]) if request["database"] else None,
                bases=bases,
                progress=self._progress,
            )
            self._reading = told, reading
        return self._reading[1]

    def _progress(self, done: int, total: int) -> None:
        if time.monotonic() - self._said >= _REPORT_SECONDS or done == total:
            self._said = time.monotonic()
            self._say({"progress": [done, total]})

    def _say(self, report: dict[str, Any]) -> None:
        self._reports.write(json.dumps(report) + "\n")
