"""The process that writes indexes for the daemon: requests on stdin, reports on stdout, as JSON lines.

It stands apart so that reading a tree never takes the interpreter from those who ask, so that
memory which a large build took goes back with it, and so that the parsers' workers inherit
nothing of the daemon's. It ends when the daemon does. `keepers` is the daemon's side.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from torchtalkd.conventions import ManifestError, conventions_of
from torchtalkd.engine import Progress, TreeError, WorkersFailed, build
from torchtalkd.store.errors import Locked, NotPermitted, StoreError

_REPORT_SECONDS: Final = 0.05


def main() -> None:
    """Serves requests until stdin ends, or nobody reads the reports any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Whatever prints by mistake goes to the log, not into a report.
    reports = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    from torchtalkd import parse  # noqa: F401 - loads the grammars before the first request waits for them

    try:
        for line in sys.stdin:
            request = json.loads(line)
            reports.write(json.dumps(_served(request, reports)) + "\n")
    except BrokenPipeError:
        # The daemon is gone. The store is whole: a build that was cut short never counts.
        os._exit(0)


def _served(request: dict[str, Any], reports: Any) -> dict[str, Any]:
    said = 0.0
    begun = time.monotonic()
    swept = 0.0

    def progress(step: Progress) -> None:
        nonlocal said, swept
        now = time.monotonic()
        if step.phase == "sweep":
            swept = now - begun
        if now - said >= _REPORT_SECONDS or step.done == step.total:
            said = now
            reports.write(json.dumps({"progress": tuple(step)}) + "\n")

    root = Path(request["root"])
    try:
        built = build(
            root,
            Path(request["folder"]),
            conventions_of(root, request["harness"], named=request["named"]),
            workers=request["workers"],
            progress=progress,
            verify=request["verify"],
        )
    except (Locked, NotPermitted, StoreError, TreeError, WorkersFailed, ManifestError, OSError) as error:
        return {"failed": type(error).__name__, "message": str(error)}
    except Exception as error:  # noqa: BLE001 - one tree's failure must not end what others share
        import traceback

        traceback.print_exc()
        return {"failed": type(error).__name__, "message": f"{type(error).__name__}: {error}"}
    return {"built": asdict(built), "swept": swept}
