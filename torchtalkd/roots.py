"""Which source tree is meant, and which framework's is it?

In this order: what the command says, `TORCHTALK_SOURCE` or `PYTORCH_SOURCE`, the work tree
that the current folder is in, the configured default. The first of them that says anything
decides: a wrong one is an error, not a reason to answer about another tree. The tests are
in `tests/test_roots.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torchtalkd.config import Config
from torchtalkd.conventions import detect, has_own, known

VARIABLES = ("TORCHTALK_SOURCE", "PYTORCH_SOURCE")


class RootError(Exception):
    """No tree can be meant; `str()` is a whole sentence that says what to do."""


class NoHarness(RootError):
    """The tree is there, but no harness fits it."""


class Root(NamedTuple):
    """A source tree to index."""

    path: Path
    """Absolute, symbolic links resolved."""
    harness: str
    """Name of the manifest that fits."""
    why: str
    """What chose it: `--source`, a variable's name, `current folder`, `default`."""
    named: bool = False
    """Whether somebody named the harness; if not it was detected."""


def choose_root(
    source: str | None, harness: str | None, *, environ: Mapping[str, str], cwd: Path, config: Config
) -> Root:
    """The tree that a command means. Reads the file system only. Raises RootError, ManifestError."""
    if source is not None:
        return root_at(source, harness, "--source", cwd=cwd, config=config)
    for variable in VARIABLES:
        if value := environ.get(variable):
            return root_at(value, harness, variable, cwd=cwd, config=config)
    if found := _around(cwd):
        return root_at(str(found), harness, "current folder", cwd=cwd, config=config)
    if config.default:
        return root_at(config.default, harness, "default", cwd=cwd, config=config)
    raise RootError(
        f"which source tree? {cwd} is in none that is known; use --source PATH, set {VARIABLES[0]},"
        f" or run `torchtalkd init --source PATH` once"
    )


def root_at(path: str, harness: str | None, why: str, *, cwd: Path, config: Config) -> Root:
    """The tree at a path that something (`why`) names. Raises RootError, ManifestError."""
    if not path:
        raise RootError(f"{why} names no path")
    root = Path(os.path.realpath(cwd / Path(path).expanduser()))
    given = f"{why} names {root}" if why != "--source" else str(root)
    try:
        if not root.exists():
            raise RootError(
                f"{given}, which does not exist" if given != str(root) else f"{root} does not exist"
            )
        if not root.is_dir():
            raise RootError(f"{root} is a file; name the top folder of a source tree")
        os.scandir(root).close()
        fitting = detect(root)
    except PermissionError as error:
        raise RootError(f"cannot read {error.filename or root}: {error.strerror}") from error
    if harness and harness not in known() and harness not in fitting:
        own = [name for name in fitting if name not in known()]
        raise RootError(f"there is no harness {harness!r}; known harnesses are {', '.join(own + known())}")
    # A manifest of the tree's own is used by itself, also where another was remembered before it came.
    named = harness or ("" if has_own(root) else config.sources.get(str(root), ""))
    chosen = named or next(iter(fitting), "")
    if not chosen:
        inside = _around(root)
        hint = f"it is inside {inside}: use that, or" if inside else "name the top folder of a checkout, or"
        raise NoHarness(
            f"{root} does not look like a source tree of a known framework;"
            f" known harnesses are {', '.join(known())}; {hint} force one with --harness,"
            " or describe the tree: `torchtalkd harness new NAME` drafts a manifest"
        )
    return Root(root, chosen, why, bool(named))


def _around(cwd: Path) -> Path | None:
    """The tree that a folder is in: in a work tree the outermost that fits (an extension inside
    a framework's tests is not the question), without version control the nearest."""
    folders = [cwd, *cwd.parents]
    top = next((i for i, folder in enumerate(folders) if (folder / ".git").exists()), None)
    if top is not None:
        folders = folders[top::-1]
    for folder in folders:
        try:
            if detect(folder):
                return folder
        except PermissionError:
            # A parent that cannot be read is not a tree one works in.
            continue
    return None
