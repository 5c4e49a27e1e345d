"""Reads files in several processes; a file that kills, hangs or bloats a worker costs itself alone.

The parent cuts the tasks into *chunks* of about equal work, one language after the other, since a
grammar's tables fill a cache, the large files of each first and the chunks ever smaller, so that
the workers end together; the others in the order of the tasks, which is that of their ids, so that
the store mostly appends. Each worker has two chunks in hand, the
one it reads and the next, so it never waits for the parent; results come back marshalled and
are handed on as they come. When a worker dies, which is also how it ends at a limit, its slot
(see `engine.worker`) names the file: that one is lost, the others of its chunks are dealt out
again, and a new worker takes its place.

Workers are forked on Linux, 10 ms, as long as the process has a single thread; a fork copies
locks that other threads hold, so otherwise, and on macOS, they are spawned, about 0.2 s.
The tests are in `tests/test_engine.py`.
"""

from __future__ import annotations

import fcntl
import marshal
import multiprocessing
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, MutableSequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Final

from torchtalkd.engine.reading import Outcome, Reading, Task, digest_of, failed, read_bytes
from torchtalkd.engine.worker import POSITION, READING, READY, Limits, work
from torchtalkd.facts import Problem
from torchtalkd.store.stamp import stamp

IN_HAND: Final = 2
"""Chunks a worker has at a time."""
_LARGEST_CHUNK: Final = 1 << 20
_SMALLEST_CHUNK: Final = 1 << 15
"""Bytes of source in a chunk: about 200 ms and 10 ms of parsing."""
_LARGE: Final = 1 << 17
"""Bytes of a file that would keep one worker busy when the others have ended."""
_FILE_COST: Final = 2000
"""Bytes of source that take as long to parse as it takes to open a file."""
_SPARE_READS: Final = 2000
"""Files after which a spare worker is replaced: it has grown."""
_PIPE_BYTES: Final = 1 << 20
"""Room in a pipe, so that a worker can put down a chunk while the parent is busy."""


class WorkersFailed(Exception):
    """Worker processes do not even start."""


@dataclass(slots=True)
class Worker:
    """A process that parses, as its parent sees it."""

    process: BaseProcess
    tasks: Connection
    results: Connection
    slot: MutableSequence[int]
    chunks: deque[list[Task]] = field(default_factory=deque)
    """In the order they were sent; the first is the one being read."""


@contextmanager
def crew(reading: Reading, *, workers: int, limits: Limits) -> Iterator[list[Worker]]:
    """Workers that get ready while it is still being found out what there is to read: for `read_all`.

    They are ended with the context. Raises WorkersFailed.
    """
    running: list[Worker] = []
    try:
        _start_more(running, workers, reading, limits)
        yield running
    finally:
        _end_all(running)


class Spare:
    """One worker that stays at hand between a few files and the next few, its parsers warm.

    It is of one tree and its conventions; whoever asks with others gets a new one. `close` it.
    """

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._of: tuple[Reading, Limits] | None = None
        self._read = 0

    def begin(self, reading: Reading, limits: Limits) -> None:
        """Starts the worker before it is needed. Raises WorkersFailed."""
        self._put(self.take(reading, limits) or _start(reading, limits), reading, limits)

    def take(self, reading: Reading, limits: Limits) -> Worker | None:
        """The worker, if it can read these; another one is ended."""
        worker, self._worker = self._worker, None
        if worker is not None and (
            self._of != (reading, limits) or self._read > _SPARE_READS or not worker.process.is_alive()
        ):
            _end(worker)
            worker = None
        if worker is None:
            self._read = 0
        return worker

    def give(self, worker: Worker, reading: Reading, limits: Limits, files: int) -> None:
        """Takes a worker back, or ends it if it is not at rest."""
        self._read += files
        if worker.chunks or self._worker is not None:
            _end(worker)
        else:
            self._put(worker, reading, limits)

    def close(self) -> None:
        """Ends the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            _end(worker)

    def _put(self, worker: Worker, reading: Reading, limits: Limits) -> None:
        self._worker, self._of = worker, (reading, limits)


def read_all(
    tasks: Iterable[Task],
    reading: Reading,
    *,
    workers: int,
    limits: Limits,
    running: list[Worker] | None = None,
    spare: Spare | None = None,
) -> Iterator[Iterable[Outcome]]:
    """Reads and parses files in `workers` processes; yields outcomes as they come, in no promised order.

    Each task has exactly one outcome. The processes, those of a `crew` too, are ended when the
    iterator is, however it ends, but for one that goes back to `spare`, which is also where the first
    comes from. Raises WorkersFailed.
    """
    tasks = list(tasks)
    queue = deque(chunked(tasks, workers))
    running = [] if running is None else running
    try:
        if spare is not None and queue and (kept := spare.take(reading, limits)) is not None:
            running.append(kept)
        _start_more(running, min(workers, len(queue)), reading, limits)
        _deal(running, queue)
        while any(worker.chunks for worker in running):
            ready = set(wait([worker.results for worker in running if worker.chunks]))
            for n, worker in enumerate(running):
                if worker.results not in ready:
                    continue
                outcomes: Iterable[Outcome]
                received = _received(worker)
                if received is not None:
                    worker.chunks.popleft()
                    # One by one, as they are taken: all at once they would not stay in a cache.
                    outcomes = map(_outcome, received)
                else:
                    outcomes = _buried(worker, queue, reading, limits)
                    _end(worker)
                    running[n] = _start(reading, limits)
                _deal(running, queue)
                yield outcomes
    finally:
        if spare is not None:
            while running:
                spare.give(running.pop(), reading, limits, len(tasks))
        _end_all(running)


def chunked(tasks: list[Task], workers: int) -> Iterator[list[Task]]:
    """Cuts tasks into chunks by language: a share of what is left, so they become smaller towards the end."""
    tasks = sorted(tasks, key=lambda task: (task.language, min(0, _LARGE - task.size)))
    left = sum(task.size + _FILE_COST for task in tasks)
    chunk: list[Task] = []
    cost = 0
    for task in tasks:
        chunk.append(task)
        cost += task.size + _FILE_COST
        if cost >= max(_SMALLEST_CHUNK, min(_LARGEST_CHUNK, left // (workers * 8))):
            yield chunk
            left -= cost
            chunk, cost = [], 0
    if chunk:
        yield chunk


def _start_method() -> str:
    return "fork" if sys.platform.startswith("linux") and threading.active_count() == 1 else "spawn"


def _start_more(running: list[Worker], count: int, reading: Reading, limits: Limits) -> None:
    # One by one into the list: those that have started are ended even if the next cannot.
    while len(running) < count:
        running.append(_start(reading, limits))


def _start(reading: Reading, limits: Limits) -> Worker:
    context: Any = multiprocessing.get_context(_start_method())
    tasks_in, tasks = context.Pipe(duplex=False)
    results, results_out = context.Pipe(duplex=False)
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        # It may be over this user's limit for pipes: slower, not wrong.
        with suppress(OSError):
            fcntl.fcntl(results_out.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    slot = context.RawArray("q", 3)
    process = context.Process(
        target=work,
        args=(reading, tasks_in, results_out, slot, limits, context.get_start_method() == "fork"),
        daemon=True,
    )
    try:
        with _interrupts_held():
            process.start()
    except OSError as error:
        raise WorkersFailed(f"cannot start a process to parse in: {error.strerror}") from error
    tasks_in.close()
    results_out.close()
    return Worker(process, tasks, results, slot)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Ctrl-C goes to all processes of a terminal. A worker inherits this mask and never hears it:
    the parent ends its workers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _deal(running: list[Worker], queue: deque[list[Task]]) -> None:
    """Gives chunks to those that have fewer than they may, one at a time."""
    for _ in range(IN_HAND):
        for worker in sorted(running, key=lambda worker: len(worker.chunks)):
            if queue and len(worker.chunks) < IN_HAND:
                worker.chunks.append(queue.popleft())
                # If it has died, the end of its results says so, and brings the chunk back.
                with suppress(BrokenPipeError, ConnectionResetError):
                    worker.tasks.send_bytes(marshal.dumps([tuple(task) for task in worker.chunks[-1]]))


def _received(worker: Worker) -> list[bytes] | None:
    """The next chunk's outcomes, marshalled; None if the worker has died."""
    try:
        received: list[bytes] = marshal.loads(worker.results.recv_bytes())
        return received
    except (EOFError, ConnectionResetError):
        return None


def _outcome(marshalled: bytes) -> Outcome:
    return Outcome(*marshal.loads(marshalled))


def _buried(worker: Worker, queue: deque[list[Task]], reading: Reading, limits: Limits) -> list[Outcome]:
    """Takes leave of a dead worker: its unread files go back to the queue, singly or in their
    chunks; the one it died of is the outcome."""
    worker.process.join()
    code = worker.process.exitcode
    if not worker.slot[READY]:
        raise WorkersFailed(f"the processes that parse do not start (exit code {code})")
    chunks = list(worker.chunks)
    worker.chunks.clear()
    first = chunks.pop(0)
    if worker.slot[READING] or len(first) == 1:
        culprit = first[worker.slot[POSITION]] if worker.slot[READING] else first[0]
        again = [[task] for task in first if task is not culprit]
        lost = [_lost(culprit, code, reading, limits)]
    else:
        # It died between two files, so none is named: one at a time the next death will.
        again = [[task] for task in first]
        lost = []
    queue.extendleft(reversed(again + chunks))
    return lost


def _lost(task: Task, code: int | None, reading: Reading, limits: Limits) -> Outcome:
    if code == -signal.SIGALRM:
        problem = Problem(0, "time", f"not parsed: it took more than {limits.seconds:g} s")
    else:
        how = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        problem = Problem(0, "crash", f"not parsed: the parser's process ended ({how})")
    read_ns = time.time_ns()
    try:
        data, found = read_bytes(reading.root, task.path, reading.conventions.files.max_bytes)
    except FileNotFoundError:
        return failed(task, "gone", problem, read_ns)
    except OSError:
        return failed(task, "unreadable", problem, read_ns)
    outcome = failed(task, "lost", problem, read_ns, digest_of(data, found.st_size))
    return outcome._replace(**stamp(found)._asdict())


def _end_all(running: list[Worker]) -> None:
    while running:
        _end(running.pop())


def _end(worker: Worker) -> None:
    worker.tasks.close()
    worker.results.close()
    if worker.chunks or not worker.slot[READY]:
        worker.process.kill()
    worker.process.join(5)
    if worker.process.exitcode is None:
        worker.process.kill()
        worker.process.join()
    worker.process.close()
