"""The processes that read units, and one loop that keeps them busy.

A task that crashes its process, or takes too long, is lost alone: the process is started anew. One process
is kept for what is urgent, so that a save does not wait behind a long unit. The tests are in
`tests/test_exact_pool.py`.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from torchtalkd.engine.workers import WorkersFailed
from torchtalkd.own_process import own_process

UNIT_SECONDS: Final = 120.0
"""For one unit: the slowest of PyTorch takes 25 s without a precompiled header."""
GROWN_KILOBYTES: Final = 1_000_000
"""Of memory, after which a process is replaced when its task is done."""


class Task(NamedTuple):
    """Something for a process to do."""

    request: dict[str, Any]
    """See `exact_worker`."""
    subject: Any
    """What the one who asked knows it by."""


Next = Callable[[bool], Task | None]
"""The next task for a process; True for the one that is kept for what is urgent. None: nothing now."""
Done = Callable[[Task, dict[str, Any]], None]
"""Hears what became of a task: `failed` says why nothing did."""


@dataclass(slots=True)
class _Worker:
    process: subprocess.Popen[bytes]
    urgent: bool
    task: Task | None = None
    begun: float = 0.0
    received: bytes = b""


class Pool:
    """Processes that read. Use as a context manager."""

    def __init__(self, size: int, *, seconds: float = UNIT_SECONDS, command: list[str] | None = None) -> None:
        """`command` starts a process instead of ours: for tests."""
        self._seconds = seconds
        self._command = command or own_process("engine.exact_worker")
        self._size = size
        self._workers: list[_Worker] = []
        self._selector = selectors.DefaultSelector()
        self.restarts = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in list(self._workers):
            self._end(worker)
        self._selector.close()

    @property
    def busy(self) -> int:
        """How many tasks are being done."""
        return sum(worker.task is not None for worker in self._workers)

    def listen(self, descriptor: int, heard: Callable[[], None]) -> None:
        """Also waits for a descriptor; `heard` is called when it can be read."""
        self._selector.register(descriptor, selectors.EVENT_READ, heard)

    def rest(self) -> None:
        """Ends the processes that have nothing to do."""
        for worker in list(self._workers):
            if worker.task is None:
                self._end(worker)

    def turn(self, next_task: Next, done: Done, wait: float) -> None:
        """Gives tasks to processes that have none, and waits up to `wait` seconds for something to happen.
        Raises WorkersFailed."""
        for urgent in (True, False):
            while self._idle(urgent):
                task = next_task(urgent)
                if task is None:
                    break
                self._give(self._free(urgent), task)
        now = time.monotonic()
        ends = [worker.begun + self._seconds - now for worker in self._workers if worker.task]
        for key, _ in self._selector.select(max(0.0, min([wait, *ends]))):
            if isinstance(key.data, _Worker):
                self._heard(key.data, done)
            else:
                key.data()
        for worker in list(self._workers):
            if worker.task is not None and time.monotonic() - worker.begun > self._seconds:
                self._lost(worker, done, f"it took longer than {self._seconds:.0f} s")

    def _idle(self, urgent: bool) -> bool:
        if urgent:
            return not any(worker.urgent and worker.task for worker in self._workers)
        return sum(worker.task is not None for worker in self._workers if not worker.urgent) < self._size

    def _free(self, urgent: bool) -> _Worker:
        for worker in self._workers:
            if worker.urgent == urgent and worker.task is None:
                return worker
        command = [*self._command, "--urgent"] if urgent else self._command
        try:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as error:
            raise WorkersFailed(f"cannot start a process to read exactly: {error.strerror}") from error
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        worker = _Worker(process, urgent)
        self._workers.append(worker)
        self._selector.register(process.stdout, selectors.EVENT_READ, worker)
        return worker

    def _give(self, worker: _Worker, task: Task) -> None:
        worker.task, worker.begun = task, time.monotonic()
        assert worker.process.stdin is not None
        try:
            worker.process.stdin.write(json.dumps(task.request).encode() + b"\n")
            worker.process.stdin.flush()
        except BrokenPipeError:
            pass  # It has died: the end of its answers says so.

    def _heard(self, worker: _Worker, done: Done) -> None:
        assert worker.process.stdout is not None
        data = os.read(worker.process.stdout.fileno(), 1 << 20)
        if not data:
            if worker.task is None:
                self._end(worker)
            else:
                self._lost(worker, done, "")
            return
        worker.received += data
        if not worker.received.endswith(b"\n"):
            return
        answer, worker.received = json.loads(worker.received), b""
        task, worker.task = worker.task, None
        if answer.get("peak", 0) > GROWN_KILOBYTES:
            self._end(worker)
        if task is not None:
            done(task, answer)

    def _lost(self, worker: _Worker, done: Done, why: str) -> None:
        task = worker.task
        self._end(worker)
        self.restarts += 1
        if task is not None:
            done(task, {"failed": why or f"the process that read it ended ({worker.process.returncode})"})

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        assert worker.process.stdout is not None
        assert worker.process.stdin is not None
        self._selector.unregister(worker.process.stdout)
        worker.process.kill()
        worker.process.wait()
        worker.process.stdin.close()
        worker.process.stdout.close()
