"""The commands that ask the index: `trace` and `search`.

`question` and `told` are what the daemon does for them; `trace` and `search` do the same in the
command's own process.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from torchtalkd.frontends.command.opening import asked_across, chosen
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


def told(answer: Answer, arguments: Namespace) -> Told:
    """An answer as the command says it, or on stderr why there is none."""
    whole = False
    if arguments.command == "trace":
        whole = bool(arguments.all or arguments.limit)
        if arguments.limit and not arguments.all:
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


def _run(arguments: Namespace) -> int:
    root = chosen(arguments)
    answer = asked_across(root, question(arguments), all_roots=arguments.all_roots, base=arguments.base)
    return printed(told(answer, arguments))
