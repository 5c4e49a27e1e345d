"""The commands that ask the index: `trace` and `search`.

`question` and `told` are what the daemon does for them; `trace` and `search` do the same in the
command's own process.
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from torchtalkd.frontends.command import affected as reached
from torchtalkd.frontends.command import dispatch as dispatched
from torchtalkd.frontends.command import graph as walked
from torchtalkd.frontends.command import modules as classes
from torchtalkd.frontends.command import ops as listed
from torchtalkd.frontends.command import problems as found
from torchtalkd.frontends.command import tests as tested
from torchtalkd.frontends.command import way as ways
from torchtalkd.frontends.command.opening import asked, asked_across, chosen
from torchtalkd.frontends.command.told import Told, printed
from torchtalkd.frontends.text import as_text
from torchtalkd.queries import across
from torchtalkd.queries.answers import Answer, as_json
from torchtalkd.queries.others import Others
from torchtalkd.queries.uses import MOST_SHOWN
from torchtalkd.store.view import View

_ALL: Final = 1_000_000
"""Uses in other trees that are listed where every place is wanted."""


def trace(arguments: Namespace) -> int:
    """Follows a name; 1 when nothing has that name."""
    return _run(arguments)


def search(arguments: Namespace) -> int:
    """Lists what contains a text; 1 when nothing does, 2 for a backend that does not exist."""
    return _run(arguments)


def dispatch(arguments: Namespace) -> int:
    """Shows which kernels run; 1 for an operator or a key that does not exist, 2 for a wrong call."""
    if not arguments.names and not arguments.all:
        print("torchtalkd: name an operator, or say --all", file=sys.stderr)
        return 2
    return _run(arguments)


def ops(arguments: Namespace) -> int:
    """Lists operators by what they have and lack; 1 for a key that does not exist."""
    return _run(arguments)


def problems(arguments: Namespace) -> int:
    """Lists what cannot be right; 1 if there is anything."""
    return _run(arguments)


def modules(arguments: Namespace) -> int:
    """Shows a class of Python, or lists some; 1 when nothing has that name."""
    return _run(arguments)


def tests(arguments: Namespace) -> int:
    """Finds tests; 1 where there are none, 2 for a wrong call."""
    return _run(arguments)


def own_question(arguments: Namespace) -> Callable[[View], Any] | None:
    """What the arguments of a command ask whose answer has a form of its own; None for `trace` and
    `search`, which may look into other trees."""
    own = _own(arguments)
    return own.question(arguments) if own is not None else None


def question(arguments: Namespace) -> Callable[[View, Others], Answer]:
    """What the arguments of `trace` or `search` ask."""
    if arguments.command == "trace":
        most = _ALL if arguments.all else MOST_SHOWN
        return lambda view, others: across.trace(
            view, arguments.name, arguments.focus, others, most_uses=most
        )
    return lambda view, others: across.search(
        view, arguments.query, arguments.mode, arguments.backend, arguments.limit, others
    )


def told(answer: Any, arguments: Namespace) -> Told:
    """An answer as the command says it, or on stderr why there is none."""
    own = _own(arguments)
    if own is not None:
        return own.told(answer, arguments)
    assert isinstance(answer, Answer)
    whole = False
    if arguments.command == "trace":
        whole = bool(arguments.all or arguments.limit)
        if arguments.limit:
            answer = replace(answer, items=answer.items[: arguments.limit])
    if answer.error:
        return Told("", f"torchtalkd: {as_text(answer)}\n", 2)
    code = 0 if answer.found else 1
    if arguments.json:
        return Told(json.dumps(as_json(answer)) + "\n", "", code)
    text = as_text(answer, whole=whole) + "\n"
    if not answer.found:
        return Told("", f"torchtalkd: {text}", code)
    if arguments.command == "trace" and answer.shown < answer.total:
        text += f"{answer.total - answer.shown} more: --all\n"
    return Told(text, "", code)


def affected(arguments: Namespace) -> int:
    """Says which tests a change reaches; 1, 2 and 3 as `affected.told` says."""
    return _run(arguments)


def graph(arguments: Namespace) -> int:
    """Shows who calls or is called; 1 when nothing has that name, 2 for a wrong call."""
    return _run(arguments)


def _run(arguments: Namespace) -> int:
    root = chosen(arguments)
    own = own_question(arguments)
    if own is not None:
        return printed(told(asked(root, lambda index: own(index.view)), arguments))
    answer = asked_across(root, question(arguments), all_roots=arguments.all_roots, base=arguments.base)
    return printed(told(answer, arguments))


class _Asked(NamedTuple):
    question: Callable[[Namespace], Callable[[View], Any]]
    told: Callable[[Any, Namespace], Told]


_OWN: Final = {
    "affected": _Asked(reached.question, reached.told),
    "dispatch": _Asked(dispatched.question, dispatched.told),
    "modules": _Asked(classes.question, classes.told),
    "ops": _Asked(listed.question, listed.told),
    "problems": _Asked(found.question, found.told),
    "graph": _Asked(walked.question, walked.told),
    "tests": _Asked(tested.question, tested.told),
}
"""Commands whose answers have a form of their own → the module with their `question` and `told`."""
_WAY: Final = _Asked(ways.question, ways.told)
ASKS: Final = frozenset({"trace", "search", *_OWN})
"""The commands that are one question."""


def _own(arguments: Namespace) -> _Asked | None:
    if arguments.command == "trace" and arguments.path:
        return _WAY
    return _OWN.get(arguments.command)
