"""The daemon's process: it leaves the client that started it, claims the socket, and serves.

`main` reports on a pipe: `ready <socket>` when clients can connect, `failed <sentence>` when that
cannot be. The tests are in `tests/test_daemon.py`.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from contextlib import suppress

from torchtalkd.daemon.claim import Claim, claim, clear_old
from torchtalkd.wire import WireError, build_id, run_folder


def main(ready: int) -> None:
    """Becomes the daemon and serves until it is stopped or idle. `ready` is the pipe's descriptor."""
    started = time.time()
    # What is loaded at the start stays: to look for garbage in it takes an eighth of that time.
    gc.disable()
    if os.fork():
        # The starter waits for this process only; the daemon belongs to nobody.
        os._exit(0)
    os.umask(0o077)
    build = build_id()
    try:
        claimed = claim(run_folder(os.environ), build)
    except (WireError, OSError) as error:
        _report(ready, f"failed {error}")
        sys.exit(1)
    if claimed is None:
        _report(ready, f"ready {run_folder(os.environ) / build}.sock")
        sys.exit(0)
    _serve(claimed, build, started, ready)


def _serve(claimed: Claim, build: str, started: float, ready: int) -> None:
    import asyncio

    from torchtalkd.daemon.log import log, start_log
    from torchtalkd.daemon.server import Server

    start_log(claimed.path.with_suffix(".log"))
    log.info("started: process %d, build %s", os.getpid(), build)

    async def serve() -> None:
        await server.serve()
        claimed.leave()
        log.info("ended: process %d", os.getpid())
        # From here, as asyncio would wait for every task that it cancels at its end, and one that has
        # just begun a process may never come back. Nothing has anything to finish: neither tasks nor
        # threads that are in the midst of a question.
        os._exit(0)

    try:
        server = Server(claimed, build, started)
        _report(ready, f"ready {claimed.path}")
        clear_old(claimed.path.parent, build)
        asyncio.run(serve())
    except Exception:
        log.exception("ended by a mistake of its own")
        raise
    finally:
        claimed.leave()


def _report(ready: int, line: str) -> None:
    with suppress(OSError):
        # Whoever started this may be gone: others will come.
        os.write(ready, os.fsencode(line.replace("\n", " ")) + b"\n")
    os.close(ready)
