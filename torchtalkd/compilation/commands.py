"""What would a compiler be told of each unit of a tree?

The tests are in `tests/test_compilation_made.py` and `tests/test_compilation_database.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from torchtalkd.compilation.configured import configure
from torchtalkd.compilation.machine import Machine, machine
from torchtalkd.compilation.made import made_units, unit_paths
from torchtalkd.compilation.values import Commands
from torchtalkd.compilation.versions import ready
from torchtalkd.conventions.values import Conventions


def commands(
    root: Path,
    conventions: Conventions,
    made: Path,
    *,
    paths: Iterable[str] | None = None,
    database: Path | None = None,
    found: Machine | None = None,
) -> Commands:
    """The commands of a resolved root.

    `made` is the folder in the cache that holds, mirroring the tree, what was generated and configured;
    the configured headers are written there. `paths` are the units where they are known, else the tree is
    walked. `database` is a compile_commands.json that somebody names. Runs nothing. Raises OSError where the
    cache cannot be written.
    """
    found = found or machine(root, conventions)
    ready(made)
    configure(root, conventions.compilation.configured, conventions.rules.version, made)
    units = made_units(
        root, conventions, made, paths if paths is not None else unit_paths(root, conventions), found
    )
    return Commands(
        tuple(units), "", found.off, (), found.packages, found.builtin, (str(made), *found.cuda.folders)
    )
