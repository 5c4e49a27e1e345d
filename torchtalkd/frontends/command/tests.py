"""The command `tests`: the tests of something, what tests are written with, what is in a test file."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable

from torchtalkd.frontends.command.told import Told
from torchtalkd.frontends.tests_text import tests_text
from torchtalkd.queries.tests import TestsAnswer, as_json
from torchtalkd.queries.tests import tests as asking
from torchtalkd.store.view import View


def question(arguments: Namespace) -> Callable[[View], TestsAnswer]:
    """What the arguments ask."""
    return lambda view: asking(
        view, arguments.query, arguments.mode, arguments.limit, arguments.focus, arguments.category
    )


def told(answer: TestsAnswer, arguments: Namespace) -> Told:
    """The answer; 1 where there is nothing, 2 for a wrong call."""
    code = 2 if answer.error else int(not answer.items)
    text = tests_text(answer)
    if arguments.json:
        return Told(json.dumps(as_json(answer)) + "\n", f"torchtalkd: {text}\n" if code else "", code)
    return Told("", f"torchtalkd: {text}\n", code) if code else Told(text + "\n")
