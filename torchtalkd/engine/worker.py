"""The loop of one worker process: tasks in, outcomes out, nothing else.

A worker says where it is through a *slot*, three numbers in memory shared with its parent:
writing them costs nothing, and they are there to be read when it has died. It limits itself,
by the system's means: a timer that ends it in the midst of any C code, also when its parent has
died, and a limit on its memory.
The parent's side is `engine.workers`; the tests are in `tests/test_engine.py`.
"""

from __future__ import annotations

import gc
import marshal
import os
import resource
import signal
import sys
from collections.abc import MutableSequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from torchtalkd.engine.reading import Reading, Task, read

READY: Final = 0
"""Slot: 1 once the worker runs."""
POSITION: Final = 1
"""Slot: position of the current file in the current chunk."""
READING: Final = 2
"""Slot: 1 while a file is read and parsed, 0 between chunks."""

_COLLECT_EVERY: Final = 10_000
"""Files. The collector is off, as it only finds what the parsers keep; now and then it looks
for cycles all the same."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a worker may take."""

    seconds: float = 60.0
    """For one file."""
    memory: int = 2 << 30
    """Bytes of address space beyond those of a new worker (Linux)."""


def work(
    reading: Reading,
    tasks: Connection,
    results: Connection,
    slot: MutableSequence[int],
    limits: Limits,
    forked: bool,
) -> None:
    """Serves chunks until the parent closes its end of `tasks`, or is gone. Does not return."""
    if forked:
        _close_inherited({tasks.fileno(), results.fileno()})
    _limit_memory(limits.memory)
    # The default is to end the process; what the parent does at an alarm came along with fork.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})
    gc.disable()
    if reading.prepare is not None:
        reading.prepare(reading.conventions)
    gc.freeze()
    slot[READY] = 1
    done = 0
    try:
        while True:
            chunk: list[tuple[Any, ...]] = marshal.loads(tasks.recv_bytes())
            outcomes = []
            for position, values in enumerate(chunk):
                slot[POSITION] = position
                slot[READING] = 1
                signal.setitimer(signal.ITIMER_REAL, limits.seconds)
                # At once: the rows of a whole chunk do not stay in the processor's cache.
                outcomes.append(marshal.dumps(tuple(read(Task(*values), reading))))
            # To wait for a busy parent is no fault of a file.
            signal.setitimer(signal.ITIMER_REAL, 0)
            slot[READING] = 0
            results.send_bytes(marshal.dumps(outcomes))
            done += len(chunk)
            if done > _COLLECT_EVERY:
                done = 0
                del outcomes
                gc.collect()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        # The parent needs no more, or is gone. Nothing of its own that fork copied may be
        # finalised or flushed here.
        os._exit(0)


def _close_inherited(kept: set[int]) -> None:
    """Closes what fork copied: the store's lock would outlive a killed parent, and a sibling's
    pipe would not end with it."""
    try:
        top = max(int(name) for name in os.listdir("/dev/fd")) + 1
    except OSError:
        top = 4096
    first = 3
    for descriptor in sorted(kept):
        os.closerange(first, descriptor)
        first = descriptor + 1
    os.closerange(first, top)


def _limit_memory(more: int) -> None:
    """Sets a limit on the address space, where the system has one that works (not on macOS)."""
    if not sys.platform.startswith("linux"):
        return
    try:
        with open("/proc/self/statm", "rb") as file:
            used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        # A sandbox without /proc: then the system alone guards the memory.
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + more
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
