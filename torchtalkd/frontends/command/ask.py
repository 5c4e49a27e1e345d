"""The commands that ask the index: `trace`, `search`, `status`."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import replace

from torchtalkd.frontends.command.opening import asked, chosen, remark
from torchtalkd.frontends.text import as_text
from torchtalkd.queries import search as searching
from torchtalkd.queries import status as standing
from torchtalkd.queries import trace as tracing
from torchtalkd.queries.answers import Answer, StatusAnswer, as_json


def trace(arguments: Namespace) -> int:
    """Follows a name; 1 when nothing has that name."""
    answer = asked(
        chosen(arguments), lambda index: tracing.trace(index.view, arguments.name, arguments.focus)
    )
    if arguments.limit and not arguments.all:
        answer = replace(answer, items=answer.items[: arguments.limit])
    code = _told(answer, arguments, whole=bool(arguments.all or arguments.limit))
    if answer.shown < answer.total and not arguments.json:
        print(f"{answer.total - answer.shown} more: --all")
    return code


def search(arguments: Namespace) -> int:
    """Lists what contains a text; 1 when nothing does, 2 for a backend that does not exist."""
    answer = asked(
        chosen(arguments),
        lambda index: searching.search(
            index.view, arguments.query, arguments.mode, arguments.backend, arguments.limit
        ),
    )
    return _told(answer, arguments, whole=False)


def status(arguments: Namespace) -> int:
    """Says what is indexed."""
    answer = asked(chosen(arguments), lambda index: standing.status(index.view))
    _print(answer, arguments, whole=False)
    return 0


def _told(answer: Answer, arguments: Namespace, *, whole: bool) -> int:
    """Prints an answer, or says on stderr why there is none."""
    if answer.error:
        remark(as_text(answer))
        return 2
    if answer.found:
        _print(answer, arguments, whole=whole)
        return 0
    if arguments.json:
        _print(answer, arguments, whole=whole)
    else:
        remark(as_text(answer))
    return 1


def _print(answer: Answer | StatusAnswer, arguments: Namespace, *, whole: bool) -> None:
    print(json.dumps(as_json(answer)) if arguments.json else as_text(answer, whole=whole))
