"""`trace --path BACKEND`: the whole way of a call, as text, JSON or a graph."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable

from torchtalkd.frontends.command.told import Told
from torchtalkd.frontends.unknown_text import unknown_text
from torchtalkd.frontends.way_text import dot, mermaid, way_text
from torchtalkd.queries.way import Asked, WayAnswer, as_json
from torchtalkd.queries.way import way as going
from torchtalkd.store.view import View


def question(arguments: Namespace) -> Callable[[View], WayAnswer]:
    """What the arguments ask."""
    asked = Asked(arguments.path, arguments.requires_grad, arguments.autocast, arguments.vmap)
    return lambda view: going(view, arguments.name, asked)


def told(answer: WayAnswer, arguments: Namespace) -> Told:
    """The way; 1 for a name of no operator, or a backend that does not exist."""
    failed = not answer.operator
    err = ""
    if failed:
        said = answer.error or f"no operator is called {answer.query!r}"
        err = f"torchtalkd: {unknown_text(said, answer.nearest)}\n"
    if arguments.json:
        return Told(json.dumps(as_json(answer)) + "\n", err, int(failed))
    if failed:
        return Told("", err, 1)
    form = mermaid if arguments.mermaid else dot if arguments.dot else way_text
    return Told(form(answer) + "\n")
