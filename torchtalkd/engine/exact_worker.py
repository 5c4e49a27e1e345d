"""One process that reads units by libclang: requests on stdin, answers on stdout, as JSON lines.

libclang may crash, hang or grow; then this process ends and costs one unit. It has the lowest priority,
and an end to its memory. `exact_pool` is the other side.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from contextlib import suppress
from typing import Any, Final

from torchtalkd.parse.exact import Failed, Read, precompile, read

MEMORY_BYTES: Final = 4 << 30
"""Of address space, which is more than what is in use: precompiled headers are mapped."""
_MADE_BY_HEADERS: Final = re.compile(r"redefinition|redeclar|ambiguous|conflict")
"""What libclang says where a declaration is seen twice."""


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
    try:
        answer = _done(request)
    except Failed as error:
        answer = {"failed": str(error)}
    except MemoryError:
        answer = {"failed": "it takes too much memory"}
    answer["seconds"] = time.process_time() - begun
    answer["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return answer


def _done(request: dict[str, Any]) -> dict[str, Any]:
    file, arguments, root = request["file"], request["arguments"], request["root"]
    contents: str | None = request.get("contents")
    if request["do"] == "precompile":
        return {"errors": precompile(file, arguments, root, contents or "", request["target"])}
    headers, precompiled = request.get("headers", ()), request.get("precompiled")
    plain = False
    if precompiled:
        found = read(
            file, [*arguments, "-include-pch", precompiled], root, headers=headers, contents=contents
        )
        plain = _made_errors(found, request.get("missing", False))
    if not precompiled or plain:
        found = read(file, arguments, root, headers=headers, contents=contents)
    return {"units": found.units, "errors": found.errors, "plain": plain}


def _made_errors(found: Read, missing: bool) -> bool:
    """Whether a precompiled header may have made an error that a plain parse has not. Where a header is
    missing, in the unit or in the precompiled one, errors are expected: there only what looks like
    something seen twice counts."""
    errors = [error for error in found.errors if not error.missing]
    if missing or len(errors) < len(found.errors):
        return any(_MADE_BY_HEADERS.search(error.message) for error in errors)
    return bool(errors)


if __name__ == "__main__":
    main()
