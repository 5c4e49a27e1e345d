"""A question put to the index that a command's arguments mean, brought up to date first."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from torchtalkd.bases import choose, given_base, known_root, known_roots
from torchtalkd.cache import index_folder
from torchtalkd.config import read_config
from torchtalkd.frontends.command.progress import ProgressLine
from torchtalkd.index import Index, Kept, is_damaged, kept_or_why, moved_on, open_index
from torchtalkd.queries.answers import Answer
from torchtalkd.queries.cited import cited, without
from torchtalkd.queries.others import NONE, Other, Others
from torchtalkd.roots import Root, choose_root
from torchtalkd.store.view import View

T = TypeVar("T")


def chosen(arguments: Namespace) -> Root:
    """The root that the arguments mean."""
    return choose_root(
        arguments.source,
        arguments.harness,
        environ=os.environ,
        cwd=Path.cwd(),
        config=read_config(os.environ),
    )


def asked(
    root: Root,
    question: Callable[[Index], T],
    *,
    folder: Path | None = None,
    workers: int | None = None,
    again: Collection[str] = (),
) -> T:
    """The answer of a question about a root, with the index in `folder` or else in the cache.

    Builds the index or reads again what changed, and the files of `again`, with progress on stderr.
    A question that meets damage in the index is put again when that was set aside and built anew.
    """
    folder = folder or index_folder(root.path, os.environ)
    try:
        return _asked(root, question, folder, workers, again, verify=False)
    except Exception as error:
        if not is_damaged(error):
            raise
    return _asked(root, question, folder, workers, again, verify=True)


def asked_across(
    root: Root,
    question: Callable[[View, Others], Answer],
    *,
    all_roots: bool = False,
    base: str | None = None,
) -> Answer:
    """As `asked`, for a question that may look into other roots. Their indexes are read as they stand,
    and what has changed in their trees since counts as waiting; nothing of them is written."""

    def ask(index: Index) -> Answer:
        wants: tuple[str, ...] | None = None
        if not all_roots:
            answer = question(index.view, NONE)
            wants = answer.wants
            if not wants and base is None:
                return answer
        with ExitStack() as opened:
            others, kept = _around(root, wants, base, opened)
            if wants is not None and not (others.roots or others.notes) and answer.found:
                return answer
            return _true_now(question(index.view, others), kept)

    return asked(root, ask)


def _around(
    root: Root, wants: tuple[str, ...] | None, base: str | None, opened: ExitStack
) -> tuple[Others, dict[str, Kept]]:
    """The other roots that a question looks into, all that are related where it `wants` None, and their
    indexes by root."""
    config = read_config(os.environ)
    known = known_root(root.path, root.harness, os.environ, config=config)
    if known is None:
        return NONE, {}
    given = given_base(base, cwd=Path.cwd(), environ=os.environ, config=config)
    choices = choose(known, known_roots(os.environ, config=config), wants=wants, given=given)
    others: list[Other] = []
    kept: dict[str, Kept] = {}
    notes: list[str] = []
    for choice in choices:
        path = str(choice.root.path)
        found = kept_or_why(choice.root.path, choice.root.harness, choice.root.folder)
        if isinstance(found, str):
            notes.append(f"without {path}: {found}")
            continue
        kept[path] = found._replace(view=opened.enter_context(found.view))
        others.append(Other(path, found.view, choice.base))
    unknown = set(known.depends_on if wants is None else wants) - {choice.base for choice in choices}
    return Others(tuple(others), wants is None, known.harnesses, tuple(notes), tuple(unknown)), kept


def _true_now(answer: Answer, kept: Mapping[str, Kept]) -> Answer:
    """The answer as the other trees are now: with what of them waits, and no line of an older text. The
    asked root was read a moment ago, within this very command."""
    paths = cited(answer)
    moved = {
        path: frozenset(moved_on(one.view, paths.get(path, set()), Path(path))) for path, one in kept.items()
    }
    others = tuple(
        replace(
            other,
            standing=replace(
                other.standing,
                waiting=max(other.standing.waiting, kept[other.root].waiting),
                commit=kept[other.root].commit,
                branch=kept[other.root].branch,
            ),
        )
        for other in answer.others
    )
    return replace(without(answer, moved), others=others)


def remark(sentence: str) -> None:
    """Something worth knowing that is no part of the answer."""
    print(f"torchtalkd: {sentence}", file=sys.stderr, flush=True)


def _asked(
    root: Root,
    question: Callable[[Index], T],
    folder: Path,
    workers: int | None,
    again: Collection[str],
    *,
    verify: bool,
) -> T:
    line = ProgressLine(str(root.path))
    try:
        index = open_index(
            root.path,
            root.harness,
            folder,
            workers=workers,
            progress=line,
            say=remark,
            verify=verify,
            again=again,
        )
    finally:
        line.close()
    with index.view:
        for note in index.built.notes if index.built else ():
            remark(note)
        return question(index)
