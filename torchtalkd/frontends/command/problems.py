"""The command `problems`: what of a tree's operators cannot be right."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable

from torchtalkd.frontends.command.told import Told
from torchtalkd.frontends.counted import counted
from torchtalkd.frontends.text import printable
from torchtalkd.queries.problems import ProblemsAnswer, as_json
from torchtalkd.queries.problems import problems as finding
from torchtalkd.store.view import View


def question(arguments: Namespace) -> Callable[[View], ProblemsAnswer]:
    """What the command asks."""
    return finding


def told(answer: ProblemsAnswer, arguments: Namespace) -> Told:
    """The findings, 1 if there are any."""
    code = int(bool(answer.findings))
    if arguments.json:
        return Told(json.dumps(as_json(answer)) + "\n", "", code)
    lines = [f"{f.file}:{f.line}  {f.kind}: {f.message}" for f in answer.findings]
    head = f"{counted(len(lines), 'problem')} · revision {answer.standing.revision}"
    return Told("".join(f"{printable(line)}\n" for line in (head, *lines)), "", code)
