"""The command `index build`."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict

from torchtalkd.bases import base_folders
from torchtalkd.cache import index_folder
from torchtalkd.config import read_config, reads_exactly
from torchtalkd.frontends.command.opening import asked, chosen, remark
from torchtalkd.frontends.command.progress import ProgressLine
from torchtalkd.frontends.command.told import Told, printed
from torchtalkd.frontends.counted import counted
from torchtalkd.index import BuildResult, Index, read_exactly_too
from torchtalkd.queries.answers import StatusAnswer, as_json
from torchtalkd.roots import Root


def build(arguments: Namespace) -> int:
    """Reads a whole tree, or what changed in it; 1 when not all of it could be read.

    It returns when every file is read by name; with `--exact` when C++ is read by libclang, too, where that
    is on and possible.
    """
    root = chosen(arguments)

    def told_of(index: Index) -> Told:
        answer = None
        if arguments.json:
            # Only for who wants to know: of an extension the counting takes a second.
            from torchtalkd.queries.status import status

            answer = status(index.view)
        return told(str(root.path), index.built, answer, arguments)

    code = printed(asked(root, told_of, workers=arguments.workers))
    if waits_for_exact(arguments):
        remark(_exactly(root, arguments))
    return code


def waits_for_exact(arguments: Namespace) -> bool:
    """Whether the command ends only when C++ is read exactly, too."""
    return bool(arguments.exact) and not arguments.no_wait and reads_exactly(os.environ)


def _exactly(root: Root, arguments: Namespace) -> str:
    """Reads exactly; a line that says what came of it."""
    config, line = read_config(os.environ), ProgressLine(f"{root.path} exactly")
    try:
        result = read_exactly_too(
            root.path,
            root.harness,
            index_folder(root.path, os.environ),
            workers=arguments.workers,
            trusted=config.trusted.get(str(root.path), ""),
            database=config.compile_commands.get(str(root.path), ""),
            bases=base_folders(root.path, root.harness, os.environ, config=config),
            progress=line,
        )
    finally:
        line.close()
    return exactly_line(result.off, result.notes, result.read, result.total, result.seconds)


def exactly_line(off: str, notes: Sequence[str], read: int, total: int, seconds: float) -> str:
    """What came of reading exactly, for the user."""
    if off:
        return f"nothing is read exactly: {off}"
    said = f"; {notes[0]}" if notes else ""
    return f"read exactly: {read} of {total} files with bodies in {seconds:.1f} s{said}"


def told(root: str, built: BuildResult | None, answer: StatusAnswer | None, arguments: Namespace) -> Told:
    """What was done, `built` being None where somebody else's index was read as it is; with an `answer` as
    JSON."""
    code = 0 if built is None or built.complete else 1
    if answer is not None:
        done = {"built": asdict(built) if built else None}
        return Told(json.dumps({**as_json(answer), **done}) + "\n", "", code)
    if built is None:
        return Told("", "", code)
    changed = built.parsed or built.removed
    changes = f"{built.parsed} read, {built.removed} removed" if changed else "unchanged"
    problems = f", {counted(built.problems, 'problem')}" if built.problems else ""
    line = (
        f"{root}: {counted(built.files, 'file')} ({changes}{problems}) in {built.seconds:.1f} s,"
        f" revision {built.revision}{'' if built.complete else ', incomplete'}\n"
    )
    return Told(line, "", code)
