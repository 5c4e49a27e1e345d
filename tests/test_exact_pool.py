"""Processes that read: a crash or a hang costs one task."""

from __future__ import annotations

import sys
import time
from typing import Any

from torchtalkd.engine.exact_pool import Pool, Task

READER = """
import json, os, sys, time
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "crash":
        os.abort()
    if request["do"] == "hang":
        time.sleep(600)
    print(json.dumps({"did": request["do"], "urgent": "--urgent" in sys.argv, "peak": 1}), flush=True)
"""
COMMAND = [
    sys.executable,
    "-c",
    "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n" + READER,
]
DEADLINE = 60.0


def done_by(pool: Pool, wanted: list[str], urgent: list[str] | None = None) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    waiting = [Task({"do": name}, name) for name in wanted]
    first = [Task({"do": name}, name) for name in urgent or ()]
    total, deadline = len(waiting) + len(first), time.monotonic() + DEADLINE

    def next_task(is_urgent: bool) -> Task | None:
        from_these = first if is_urgent else waiting
        return from_these.pop(0) if from_these else None

    while len(found) < total:
        assert time.monotonic() < deadline
        pool.turn(next_task, lambda task, answer: found.update({task.subject: answer}), 0.2)
    return found


def test_each_task_is_done_and_what_is_urgent_by_a_process_of_its_own() -> None:
    with Pool(2, command=COMMAND) as pool:
        found = done_by(pool, ["a", "b", "c", "d"], ["now"])
        assert {name: answer["did"] for name, answer in found.items()} == {n: n for n in [*"abcd", "now"]}
        assert found["now"]["urgent"]
        assert not found["a"]["urgent"]
        pool.rest()
        assert done_by(pool, ["again"])["again"]["did"] == "again"


def test_a_crash_costs_the_task_alone() -> None:
    with Pool(1, command=COMMAND) as pool:
        found = done_by(pool, ["a", "crash", "b"])
        assert found["crash"] == {"failed": "the process that read it ended (-6)"}
        assert found["b"]["did"] == "b"
        assert pool.restarts == 1


def test_a_hang_costs_the_task_alone() -> None:
    with Pool(1, seconds=1.5, command=COMMAND) as pool:
        found = done_by(pool, ["hang", "b"])
        assert found["hang"]["failed"].startswith("it took longer than")
        assert found["b"]["did"] == "b"
