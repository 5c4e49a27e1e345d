"""The command `modules`: a class of Python, or a list of classes, as text or JSON."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable

from torchtalkd.frontends.command.told import Told
from torchtalkd.frontends.modules_text import modules_text, no_module
from torchtalkd.queries.modules import ModulesAnswer, as_json
from torchtalkd.queries.modules import modules as asking
from torchtalkd.store.view import View


def question(arguments: Namespace) -> Callable[[View], ModulesAnswer]:
    """What the arguments ask."""
    return lambda view: asking(view, arguments.name, arguments.mode, arguments.focus, arguments.limit)


def told(answer: ModulesAnswer, arguments: Namespace) -> Told:
    """The answer; 1 where nothing has the name, 2 where none is asked for."""
    if answer.error:
        return Told("", f"torchtalkd: {no_module(answer)}\n", 2)
    code = 0 if answer.found else 1
    if arguments.json:
        return Told(json.dumps(as_json(answer)) + "\n", "", code)
    if not answer.found:
        return Told("", f"torchtalkd: {no_module(answer)}\n", code)
    return Told(modules_text(answer) + "\n", "", code)
