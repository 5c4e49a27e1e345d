"""The command `doctor`: what was looked at, what is wrong, and how it is fixed."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path

from torchtalkd.doctor import look
from torchtalkd.doctor.values import FIX, Finding
from torchtalkd.frontends.text import printable

_MARKS = {"ok": "ok  ", "note": "note", "fix": "FIX "}


def doctor(arguments: Namespace) -> int:
    """Prints the findings; 1 where something must be fixed."""
    found = look(os.environ, Path.cwd(), arguments.source, arguments.harness)
    wrong = sum(finding.level == FIX for finding in found)
    if arguments.json:
        print(json.dumps({"findings": [finding._asdict() for finding in found], "to_fix": wrong}))
        return int(bool(wrong))
    for finding in found:
        print("\n".join(_lines(finding)))
    things = "1 thing" if wrong == 1 else f"{wrong} things"
    print(f"{things} to fix" if wrong else "nothing to fix")
    return int(bool(wrong))


def _lines(finding: Finding) -> list[str]:
    lines = [f"{_MARKS[finding.level]}  {finding.about}: {printable(finding.said)}"]
    if finding.fix:
        lines.append(f"      {'fix' if finding.level == FIX else 'if wanted'}: {printable(finding.fix)}")
    return lines
