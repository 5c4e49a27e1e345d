"""The command `affected`: a difference is read here, resolved to changed lines, and handed to the query."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from torchtalkd.frontends.affected_text import affected_text, pytest_arguments, run_test_arguments, summary
from torchtalkd.frontends.command.told import Told
from torchtalkd.queries.affected import AffectedAnswer, as_json
from torchtalkd.queries.affected import affected as reaching
from torchtalkd.queries.changed import ChangedFile
from torchtalkd.store.view import View
from torchtalkd.vcs.differences import Difference, NoRevision, read, since, staged


def question(arguments: Namespace) -> Callable[[View], AffectedAnswer]:
    """What the arguments ask."""
    names = [name.strip() for given in arguments.funcs for name in given.split(",") if name.strip()]

    def asked(view: View) -> AffectedAnswer:
        if arguments.unread:
            return replace(reaching(view, (), (), 1), error=arguments.unread)
        try:
            files = [_changed(one) for one in _differences(view, arguments)]
        except NoRevision as error:
            return replace(reaching(view, (), (), 1), error=str(error))
        if not names and not (arguments.since or arguments.staged or arguments.diff_text is not None):
            return replace(reaching(view, (), (), 1), error=_NOTHING)
        return reaching(view, names, files, arguments.depth)

    return asked


_NOTHING = "name what changed, or say --since REV, --staged or --diff FILE"


def _differences(view: View, arguments: Namespace) -> list[Difference]:
    root = Path(view.meta("root"))
    if arguments.since:
        return since(root, arguments.since)
    if arguments.staged:
        return staged(root)
    return read(arguments.diff_text) if arguments.diff_text is not None else []


def _changed(one: Difference) -> ChangedFile:
    return ChangedFile(
        one.path,
        one.old_path,
        one.deleted,
        one.binary,
        tuple(one.added),
        tuple(one.gaps),
        tuple(one.text),
        tuple(one.old_text),
    )


def told(answer: AffectedAnswer, arguments: Namespace) -> Told:
    """The tests; 1 where a name is of nothing, 2 for a wrong call, 3 where nothing can be narrowed."""
    if answer.error:
        return Told("", f"torchtalkd: {affected_text(answer)}\n", 2)
    code = 1 if answer.missing else 3 if answer.everything else 0
    err = f"torchtalkd: {affected_text(answer)}\n" if answer.missing else ""
    form = "json" if arguments.json else arguments.format
    if form == "json":
        return Told(json.dumps(as_json(answer)) + "\n", err, code)
    if answer.missing:
        return Told("", err, code)
    if form in ("pytest", "run_test") and answer.everything:
        err = f"torchtalkd: everything, because {'; '.join(answer.everything)}\n"
    text = {
        "text": lambda: affected_text(answer, whole=arguments.all),
        "pytest": lambda: pytest_arguments(answer),
        "run_test": lambda: run_test_arguments(answer),
        "summary": lambda: summary(answer),
    }[form]()
    return Told(text + "\n" if text else "", err, code)
