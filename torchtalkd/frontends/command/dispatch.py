"""The command `dispatch`: which kernel the dispatcher runs, as text or one JSON object a line."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable

from torchtalkd.frontends.command.told import Told
from torchtalkd.frontends.dispatch_text import dispatch_text, not_an_operator
from torchtalkd.queries.dispatch import DispatchAnswer, as_lines
from torchtalkd.queries.dispatch import dispatch as dispatching
from torchtalkd.store.view import View


def question(arguments: Namespace) -> Callable[[View], DispatchAnswer]:
    """What the arguments ask."""
    names = () if arguments.all else tuple(arguments.names)
    kernels = not (arguments.json or arguments.all)
    return lambda view: dispatching(view, names, arguments.key, arguments.build, kernels=kernels)


def told(answer: DispatchAnswer, arguments: Namespace) -> Told:
    """The answer; 1 for an operator, key or build that does not exist."""
    failed = bool(answer.error or answer.missing)
    err = f"torchtalkd: {not_an_operator(answer)}\n" if failed else ""
    if not answer.operators:
        return Told("", err, int(failed))
    if arguments.json:
        out = "".join(json.dumps(line) + "\n" for line in as_lines(answer))
    else:
        out = dispatch_text(answer) + "\n"
    return Told(out, err, int(failed))
