"""One process that reads units by libclang: requests on stdin, answers on stdout, as JSON lines.

libclang may crash, hang or grow; then this process ends and costs one unit. It has the lowest priority,
and an end to its memory. `exact_pool` is the other side.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from contextlib import suppress
from typing import Any, Final

from torchtalkd.free_memory import give_back
from torchtalkd.parse.exact import Failed, Read, precompile, read

MEMORY_BYTES: Final = 4 << 30
"""Of address space, which is more than what is in use: precompiled headers are mapped."""
LARGE_KILOBYTES: Final = 300_000
"""Of memory, after which a process gives back what is free."""


def main() -> None:
    """Serves requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)
    _be_modest(urgent="--urgent" in sys.argv)
    for line in sys.stdin:
        answers.write(json.dumps(_served(json.loads(line))) + "\n")


def _be_modest(*, urgent: bool) -> None:
    with suppress(OSError):
        os.nice(10 if urgent else 19)
    if not urgent and hasattr(os, "SCHED_BATCH"):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _served(request: dict[str, Any]) -> dict[str, Any]:
    begun = time.process_time()
    _forget_peak()
    try:
        answer = _done(request)
    except Failed as error:
        answer = {"failed": str(error)}
    except MemoryError:
        answer = {"failed": "it takes too much memory"}
    answer["seconds"] = time.process_time() - begun
    answer["peak"] = _peak()
    if answer["peak"] > LARGE_KILOBYTES:
        give_back()
    return answer


def _forget_peak() -> None:
    """Has the system count the most memory anew (Linux; proc(5), clear_refs), so that it is the task's."""
    with suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def _peak() -> int:
    """The most memory since then, in kilobytes; of the whole process where that cannot be told."""
    with suppress(OSError, ValueError), open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _done(request: dict[str, Any]) -> dict[str, Any]:
    file, arguments, root = request["file"], request["arguments"], request["root"]
    if request["do"] == "precompile":
        return {"errors": precompile(file, arguments, root, request["target"])}
    headers, precompiled = request.get("headers", ()), request.get("precompiled")
    plain = False
    if precompiled:
        found = read(file, [*arguments, "-include-pch", precompiled], root, headers=headers)
        plain = _made_errors(found, request.get("missing", False))
    if not precompiled or plain:
        whole = plain or request.get("whole", False)
        found = read(file, arguments, root, headers=headers, whole=whole)
    return {"units": found.units, "errors": found.errors, "plain": plain}


def _made_errors(found: Read, missing: bool) -> bool:
    """Whether a precompiled header may have made an error that a plain parse has not. Where a header is
    missing, in the unit or in the precompiled one, errors are expected, and they say nothing: what is
    precompiled is what the unit includes anyway."""
    return bool(found.errors) and not missing and not any(error.missing for error in found.errors)


if __name__ == "__main__":
    main()
