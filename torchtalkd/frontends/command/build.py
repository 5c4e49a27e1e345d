"""The command `index build`."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from torchtalkd.frontends.command.opening import asked, chosen
from torchtalkd.index import Index
from torchtalkd.queries.answers import as_json
from torchtalkd.queries.status import status


def build(arguments: Namespace) -> int:
    """Reads a whole tree, or what changed in it; 1 when not all of it could be read.

    `--no-wait` returns when every file is read by name, which is all there is to read so far.
    """
    root = chosen(arguments)

    def told(index: Index) -> int:
        built = index.built
        if arguments.json:
            done = {"built": asdict(built) if built else None}
            print(json.dumps({**as_json(status(index.view)), **done}))
        elif built:
            changed = built.parsed or built.removed
            changes = f"{built.parsed} read, {built.removed} removed" if changed else "unchanged"
            problems = f", {built.problems} problems" if built.problems else ""
            print(
                f"{root.path}: {built.files} files ({changes}{problems}) in {built.seconds:.1f} s,"
                f" revision {built.revision}{'' if built.complete else ', incomplete'}"
            )
        return 0 if built is None or built.complete else 1

    return asked(root, told, workers=arguments.workers)
