"""The command `graph`: who calls, what is called, what is affected; as text, JSON or a graph."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable

from torchtalkd.frontends.command.told import Told
from torchtalkd.frontends.graph_text import dot, graph_text, mermaid
from torchtalkd.queries.graph import GraphAnswer, as_json
from torchtalkd.queries.graph import graph as walking
from torchtalkd.store.view import View

_DEPTH = 2
"""Levels of an impact for which nobody says how many."""


def question(arguments: Namespace) -> Callable[[View], GraphAnswer]:
    """What the arguments ask."""
    return lambda view: walking(
        view,
        arguments.func,
        arguments.mode,
        arguments.depth or _DEPTH,
        fuzzy_all_levels=arguments.fuzzy_all_levels,
        walk_python=arguments.walk_python,
        focus=arguments.focus,
        each_level=bool(arguments.depth),
        whole=arguments.all,
    )


def told(answer: GraphAnswer, arguments: Namespace) -> Told:
    """The graph; 1 for a name of nothing, 2 for a mode, focus or depth that does not exist."""
    if answer.error:
        return Told("", f"torchtalkd: {graph_text(answer)}\n", 2)
    code = 0 if answer.found else 1
    err = "" if answer.found else f"torchtalkd: {graph_text(answer)}\n"
    if arguments.json:
        return Told(json.dumps(as_json(answer, arguments.limit)) + "\n", err, code)
    if not answer.found:
        return Told("", err, code)
    if arguments.mermaid or arguments.dot:
        return Told((mermaid if arguments.mermaid else dot)(answer) + "\n")
    return Told(graph_text(answer, limit=arguments.limit, whole=arguments.all) + "\n")
