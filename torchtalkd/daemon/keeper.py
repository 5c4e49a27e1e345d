"""The process that writes indexes for the daemon: requests on stdin, reports on stdout, as JSON lines.

It stands apart so that reading a tree never takes the interpreter from those who ask, so that
memory which a large build took goes back with it, and so that the parsers' workers inherit
nothing of the daemon's. What is little is parsed by a worker that stays at hand, warm, so that a
save is read in milliseconds and a crash of a parser costs one file. It ends when the daemon does.
`keepers` is the daemon's side.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from torchtalkd.conventions import TREE_MANIFEST, Conventions, ManifestError, conventions_of
from torchtalkd.engine import BuildResult, Limits, Progress, Spare, TreeError, WorkersFailed, build, update
from torchtalkd.engine.engine import reading_of
from torchtalkd.engine.reading import Task
from torchtalkd.engine.workers import read_all
from torchtalkd.store.database import checkpoint
from torchtalkd.store.errors import Locked, NotPermitted, StoreError

_REPORT_SECONDS: Final = 0.05
_QUIET_SECONDS: Final = 1.0
"""After which what takes longer may be done before it is asked for."""
_LISTS: Final = ("native_functions", "derivatives")
"""Languages whose files are read entry by entry, and the second time much sooner than the first."""
_WARMING: Final = b"int warm(int x) { return f(x); }\n", b"def warm(x):\n    return f(x)\n"


def main() -> None:
    """Serves requests until stdin ends, or nobody reads the reports any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever prints by mistake goes to the log, not into a report.
    reports = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    from torchtalkd import parse  # noqa: F401 - loads the grammars before the first request waits for them

    keeper = _Keeper(reports)
    try:
        for line in sys.stdin:
            reports.write(json.dumps(keeper.served(json.loads(line))) + "\n")
            # One request at a time: what comes meanwhile stands in the pipe.
            if not select.select([0], [], [], 0)[0]:
                keeper.warm()
            if not select.select([0], [], [], _QUIET_SECONDS)[0]:
                keeper.read_ahead()
    except BrokenPipeError:
        # The daemon is gone. The store is whole: a build that was cut short never counts.
        os._exit(0)


class _Keeper:
    """What is kept between requests."""

    def __init__(self, reports: Any) -> None:
        self._reports = reports
        self._spare = Spare()
        self._known: dict[tuple[str, str], tuple[object, Conventions]] = {}
        self._cold: tuple[Path, Conventions] | None = None
        self._warmed: set[str] = set()
        self._unread: tuple[Path, Conventions] | None = None

    def served(self, request: dict[str, Any]) -> dict[str, Any]:
        """Does what a request says, and says what became of it."""
        try:
            return self._done(request)
        except (Locked, NotPermitted, StoreError, TreeError, WorkersFailed, ManifestError, OSError) as error:
            return {"failed": type(error).__name__, "message": str(error)}
        except Exception as error:  # noqa: BLE001 - one tree's failure must not end what others share
            import traceback

            traceback.print_exc()
            return {"failed": type(error).__name__, "message": f"{type(error).__name__}: {error}"}

    def warm(self) -> None:
        """Has the parsers of the last tree at hand, while nobody waits."""
        if self._cold is None:
            return
        root, conventions = self._cold
        self._cold = None
        self._unread = (root, conventions)
        from torchtalkd.parse import parse

        for pattern, language in conventions.files.languages.items():
            path = pattern.replace("**/", "") if "/" in pattern else f"warm{pattern}"
            if language not in self._warmed and "*" not in path:
                self._warmed.add(language)
                for text in _WARMING:
                    parse(path, text, conventions)
        # Without the worker the next file only waits a little longer.
        with suppress(WorkersFailed):
            self._spare.begin(reading_of(root, conventions), Limits())

    def read_ahead(self) -> None:
        """Has the worker that is at hand read the large lists of operators, so that an edit of an entry
        need not wait for all others. What is read now is not put anywhere."""
        if self._unread is None:
            return
        root, conventions = self._unread
        self._unread = None
        tasks = [
            Task(0, path, language, "library", 0)
            for path, language in conventions.files.languages.items()
            if language in _LISTS and (root / path).is_file()
        ]
        with suppress(WorkersFailed):
            for _ in read_all(
                tasks, reading_of(root, conventions), workers=1, limits=Limits(), spare=self._spare
            ):
                pass

    def _done(self, request: dict[str, Any]) -> dict[str, Any]:
        folder = Path(request["folder"])
        if request["do"] == "checkpoint":
            checkpoint(folder)
            return {"built": None}
        root, harness, named = Path(request["root"]), request["harness"], request["named"]
        paths = request["paths"]
        report = _Report(self._reports)
        if paths is None:
            conventions = conventions_of(root, harness, named=named)
            built = build(
                root,
                folder,
                conventions,
                workers=request["workers"],
                progress=report,
                verify=request["verify"],
                again=request["again"],
            )
        else:
            conventions = self._conventions(harness, root, paths, named=named)
            built = update(
                root,
                folder,
                conventions,
                paths,
                since=request["since"],
                workers=request["workers"],
                progress=report,
                spare=self._spare,
            )
        self._remember(harness, root, conventions)
        return _built(built, conventions, report.swept)

    def _conventions(self, harness: str, root: Path, paths: list[str], *, named: bool) -> Conventions:
        """As they are in the tree now: read again when a file changed that they come from."""
        known = self._known.get((harness, str(root)))
        if known is not None:
            stamp, conventions = known
            if stamp == _stamp(root, conventions) and not _sources(conventions).intersection(paths):
                return conventions
        return conventions_of(root, harness, named=named)

    def _remember(self, harness: str, root: Path, conventions: Conventions) -> None:
        known = self._known.get((harness, str(root)))
        if known is None or known[1] is not conventions:
            if len(self._known) >= 16:
                self._known.clear()
            self._known[harness, str(root)] = (_stamp(root, conventions), conventions)
            self._cold = (root, conventions)


class _Report:
    """Passes on how far a build is, not more often than anyone can read."""

    def __init__(self, reports: Any) -> None:
        self._reports = reports
        self._begun = time.monotonic()
        self._said = 0.0
        self.swept = 0.0
        """Seconds that looking for changes took."""

    def __call__(self, step: Progress) -> None:
        now = time.monotonic()
        if step.phase == "sweep":
            self.swept = now - self._begun
        if now - self._said >= _REPORT_SECONDS or step.done == step.total:
            self._said = now
            self._reports.write(json.dumps({"progress": tuple(step)}) + "\n")


def _built(built: BuildResult, conventions: Conventions, swept: float) -> dict[str, Any]:
    return {"built": asdict(built), "swept": swept, "fingerprint": conventions.fingerprint}


def _sources(conventions: Conventions) -> set[str]:
    """The files of a tree that its conventions come from: its manifest, and those with its version."""
    return {TREE_MANIFEST, *conventions.version_files}


def _stamp(root: Path, conventions: Conventions) -> object:
    found: list[object] = []
    for name in sorted(_sources(conventions)):
        try:
            at = os.stat(root / name)
            found.append((at.st_size, at.st_mtime_ns, at.st_ino, at.st_ctime_ns))
        except OSError:
            found.append(None)
    return found
