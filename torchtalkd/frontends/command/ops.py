"""The command `ops`: operators by what they have and lack."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable

from torchtalkd.frontends.command.told import Told
from torchtalkd.frontends.text import printable
from torchtalkd.queries.ops import OpsAnswer, Wanted, as_json
from torchtalkd.queries.ops import ops as listing
from torchtalkd.store.view import View


def question(arguments: Namespace) -> Callable[[View], OpsAnswer]:
    """What the arguments ask."""
    wanted = Wanted(
        tuple(arguments.missing),
        tuple(arguments.having),
        tuple(arguments.without),
        arguments.composite,
        arguments.structured,
        arguments.no_derivative,
        arguments.no_opinfo,
    )
    return lambda view: listing(view, wanted, arguments.build)


def told(answer: OpsAnswer, arguments: Namespace) -> Told:
    """The operators; 1 for a key or build that does not exist."""
    err = f"torchtalkd: {printable(answer.error)}\n" if answer.error else ""
    code = int(bool(answer.error))
    if arguments.json:
        return Told(json.dumps(as_json(answer)) + "\n", err, code)
    if answer.error:
        return Told("", err, code)
    head = f"{len(answer.operators)} of {answer.of} operators · revision {answer.standing.revision}"
    lines = [head, *(f"  {op.operator}  {op.file}:{op.line}" for op in answer.operators)]
    return Told("".join(f"{printable(line)}\n" for line in lines))
