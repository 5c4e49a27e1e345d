"""The commands that ask the index: `trace`, `search`, `status`."""

from __future__ import annotations

import json
from argparse import Namespace

from torchtalkd.frontends.command.opening import asked, chosen, remark
from torchtalkd.frontends.text import as_text
from torchtalkd.queries import search as searching
from torchtalkd.queries import status as standing
from torchtalkd.queries import trace as tracing
from torchtalkd.queries.answers import as_json


def trace(arguments: Namespace) -> int:
    """Follows a name; 1 when nothing has that name."""
    answer = asked(
        chosen(arguments), lambda index: tracing.trace(index.view, arguments.name, arguments.focus)
    )
    raise AssertionError(answer)


def search(arguments: Namespace) -> int:
    """Lists what contains a text; 1 when nothing does, 2 for a backend that does not exist."""
    answer = asked(
        chosen(arguments),
        lambda index: searching.search(
            index.view, arguments.query, arguments.mode, arguments.backend, arguments.limit
        ),
    )
    raise AssertionError(answer)


def status(arguments: Namespace) -> int:
    """Says what is indexed."""
    answer = asked(chosen(arguments), lambda index: standing.status(index.view))
    if arguments.json:
        print(json.dumps(as_json(answer), ensure_ascii=False))
    else:
        print(as_text(answer))
    return 0
