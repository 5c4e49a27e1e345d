"""Commands about source trees themselves: `init`, `roots`, `forget`."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from torchtalkd.bases import bases_of, known_roots
from torchtalkd.cache import drop_index, index_folder, kept_indexes
from torchtalkd.config import (
    COMPILE_COMMANDS,
    config_path,
    forget_source,
    read_config,
    remember_of_root,
    remember_source,
)
from torchtalkd.frontends.command.trusting import lines, trusted
from torchtalkd.roots import RootError, root_at


def init(arguments: Namespace) -> int:
    """Remembers a tree. The first one becomes the default, a later one with --set-default."""
    config = read_config(os.environ)
    root = root_at(arguments.source, arguments.harness, "--source", cwd=Path.cwd(), config=config)
    database = _database(arguments.compile_commands)
    default = bool(arguments.set_default or not config.default)
    remember_source(os.environ, str(root.path), root.harness, default=default)
    if database:
        remember_of_root(os.environ, COMPILE_COMMANDS, str(root.path), database)
    trust = trusted(root, run=True) if arguments.trust else None
    is_default = default or config.default == str(root.path)
    if arguments.json:
        answer: dict[str, Any] = {"root": str(root.path), "harness": root.harness, "default": is_default}
        answer |= {"trust": trust} if trust else {}
        print(json.dumps({**answer, "config": str(config_path(os.environ))}))
        return 0
    print(f"{root.path} is remembered as a tree of {root.harness}{', the default' if is_default else ''}")
    for line in (
        *([f"its units are compiled as {database} says"] if database else []),
        *(lines(trust) if trust else []),
    ):
        print(line)
    print("next: `torchtalkd index build` reads it, `torchtalkd trace NAME` asks about it")
    return 0


def _database(given: str | None) -> str:
    """The absolute path of a compile_commands.json that somebody names, or of the folder that holds it."""
    if given is None:
        return ""
    path = os.path.realpath(Path(given).expanduser())
    if not os.path.exists(path):
        raise RootError(f"--compile-commands names {path}, which does not exist")
    return path


def roots(arguments: Namespace) -> int:
    """Lists the trees that are remembered, indexed, or both."""
    trees = known_trees()
    if arguments.json:
        print(json.dumps({"roots": trees, "total": len(trees)}))
        return 0
    if not trees:
        print("no source tree is known yet: `torchtalkd init --source PATH` remembers one", file=sys.stderr)
    for tree in trees:
        marks = [tree["harness"] or "?"]
        marks += ["default"] * tree["default"] + ["gone"] * (not tree["exists"])
        marks.append(f"indexed, {tree['bytes'] / 1e6:.0f} MB" if tree["indexed"] else "not indexed")
        marks += [f"{name} from {root}" for name, root in tree["bases"].items()]
        print(f"{tree['root'] or tree['index']}  ({', '.join(marks)})")
    return 0


def forget(arguments: Namespace) -> int:
    """Forgets a tree and deletes its index; the tree itself, and foreign files, stay."""
    path = Path(os.path.realpath(Path(arguments.path).expanduser()))
    dropped = drop_index(path, os.environ)
    remembered = forget_source(os.environ, str(path))
    if not dropped and not remembered:
        print(f"torchtalkd: {path} is not known; `torchtalkd roots` lists what is", file=sys.stderr)
        return 1
    print(f"forgot {path}" + "".join(f"\ndeleted {folder}" for folder in dropped))
    return 0


def known_trees() -> list[dict[str, Any]]:
    """Each known tree as the `--json` of `roots` shows it, by path."""
    config = read_config(os.environ)
    kept = {index.folder: index for index in kept_indexes(os.environ)}
    paths = {*config.sources, *([config.default] if config.default else [])}
    paths |= {index.root for index in kept.values() if index.root}
    trees = []
    for path in sorted(paths):
        index = kept.pop(index_folder(Path(path), os.environ), None)
        trees.append(_tree(path, config.sources.get(path, ""), path == config.default, index))
    known = known_roots(os.environ, config=config)
    by_path = {str(root.path): root for root in known}
    for tree in trees:
        asked = by_path.get(tree["root"])
        tree["bases"] = bases_of(asked, known) if asked is not None else {}
    # What is left takes room but does not say of which tree it is: another format, or damaged.
    return trees + [_tree(index.root, "", False, index) for index in kept.values()]


def _tree(path: str, harness: str, default: bool, index: Any) -> dict[str, Any]:
    return {
        "root": path,
        "harness": harness or (index.harness if index else ""),
        "default": default,
        "exists": bool(path) and Path(path).is_dir(),
        "indexed": index is not None,
        "index": str(index.folder) if index else "",
        "bytes": index.bytes if index else 0,
        "bases": {},
    }
