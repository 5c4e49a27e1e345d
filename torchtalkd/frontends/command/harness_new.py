"""The command `harness new`: drafts a manifest from a tree."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from pathlib import Path

from torchtalkd.config import read_config
from torchtalkd.conventions import TREE_MANIFEST, conventions_of, detect, has_own, known
from torchtalkd.conventions.check import name_fault
from torchtalkd.frontends.command.opening import asked
from torchtalkd.harness.draft import draft
from torchtalkd.harness.survey import survey
from torchtalkd.index import Index
from torchtalkd.queries.verify import unmatched
from torchtalkd.roots import Root, RootError, root_at

_FALLBACK = "torch-extension"


def new(arguments: Namespace) -> int:
    """Writes the draft into the tree, or where it is said. Never over another file unless told to."""
    fault = name_fault(arguments.name)
    if not fault and arguments.name in known():
        fault = f"'{arguments.name}' is a harness that ships; take a name of the tree's own"
    if fault:
        raise RootError(fault)
    root = _root(arguments)
    target = Path(arguments.output).expanduser() if arguments.output else root.path / TREE_MANIFEST
    if not arguments.print and os.path.lexists(target) and not arguments.force:
        raise RootError(f"{target} exists; --force replaces it, --print shows the draft instead")
    text = _drafted(arguments.name, root)
    if arguments.print:
        print(text, end="")
        return 0
    if target.is_symlink():
        # What it points to may be anybody's.
        target.unlink()
    target.write_text(text, "utf-8")
    print(f"wrote {target}")
    print(f"next: read it, then `torchtalkd harness verify --source {root.path}`", file=sys.stderr)
    return 0


def _root(arguments: Namespace) -> Root:
    """The tree, which need not look like one of a known framework."""
    config = read_config(os.environ)
    cwd = Path.cwd()
    named = arguments.harness
    root = root_at(arguments.source or ".", named or _FALLBACK, "--source", cwd=cwd, config=config)
    if named:
        return root
    fitting = detect(root.path)
    return root._replace(harness=next(iter(fitting), _FALLBACK), named=not fitting)


def _drafted(name: str, root: Root) -> str:
    conventions = conventions_of(root.path, root.harness, named=root.named)
    found = survey(root.path, conventions)

    def text(index: Index) -> str:
        # Its own manifest is what the draft takes the place of.
        below = root.harness if not has_own(root.path) else next(iter(conventions.extends), _FALLBACK)
        return draft(name, below, found, index.view.counts(), unmatched(index.view, found.sites))

    return asked(root, text)
