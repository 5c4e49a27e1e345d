"""A question put to the index that a command's arguments mean, brought up to date first."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TypeVar

from torchtalkd.cache import index_folder
from torchtalkd.config import read_config
from torchtalkd.frontends.command.progress import ProgressLine
from torchtalkd.index import Index, is_damaged, open_index
from torchtalkd.roots import Root, choose_root

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
