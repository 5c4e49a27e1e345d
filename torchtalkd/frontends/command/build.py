"""The command `index build`."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from torchtalkd.frontends.command.opening import asked, chosen
from torchtalkd.frontends.command.told import Told, printed
from torchtalkd.frontends.counted import counted
from torchtalkd.index import BuildResult, Index
from torchtalkd.queries.answers import StatusAnswer, as_json
from torchtalkd.queries.status import status


def build(arguments: Namespace) -> int:
    """Reads a whole tree, or what changed in it; 1 when not all of it could be read.

    `--no-wait` returns when every file is read by name, which is all there is to read so far.
    """
    root = chosen(arguments)

    def told_of(index: Index) -> Told:
        return told(str(root.path), index.built, status(index.view), arguments)

    return printed(asked(root, told_of, workers=arguments.workers))


def told(root: str, built: BuildResult | None, answer: StatusAnswer, arguments: Namespace) -> Told:
    """What was done, `built` being None where somebody else's index was read as it is."""
    code = 0 if built is None or built.complete else 1
    if arguments.json:
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
