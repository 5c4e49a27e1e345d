"""The commands `harness list` and `harness show`: which harnesses there are, and what one says."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchtalkd.config import ConfigError, read_config
from torchtalkd.conventions import TREE_MANIFEST, Conventions, detect, has_own, known, load
from torchtalkd.conventions.origins import Setting, origins
from torchtalkd.frontends.command.opening import chosen, remark
from torchtalkd.roots import NoHarness, Root, RootError, choose_root

_WIDTH = 100


def listed(arguments: Namespace) -> int:
    """Lists the harnesses that are known, and which of them the source is read with."""
    root = _root(arguments)
    rows = [_row(load(name), f"{name}.toml, in the package") for name in known()]
    if root and has_own(root.path):
        own = load("", tree=root.path)
        rows.insert(0, _row(own, str(root.path / TREE_MANIFEST)))
    fitting = detect(root.path) if root else []
    for n, row in enumerate(rows):
        row["detected"] = row["name"] in fitting
        # A tree's own manifest may have the name of the packaged one that it is used in place of.
        row["chosen"] = (
            root is not None and row["name"] == root.harness and row["name"] not in _names(rows[:n])
        )
    if arguments.json:
        print(json.dumps({"root": str(root.path) if root else "", "harnesses": rows, "total": len(rows)}))
        return 0
    for row in rows:
        below = f", extends {', '.join(row['extends'])}" if row["extends"] else ""
        mark = "*" if row["chosen"] else " "
        print(f"{mark} {row['name']:<16} {row['from']}{below}")
    if root:
        why = "named" if root.named else "detected"
        print(f"* is the one that {root.path} is read with ({why})")
    return 0


def show(arguments: Namespace) -> int:
    """Shows the effective values of a harness, each with the file and line that it comes from."""
    root = _root(arguments)
    tree = root.path if root and _is_own(root.path, arguments.name) else None
    made = load(arguments.name, tree=tree)
    settings = origins(arguments.name, tree=tree)
    if arguments.json:
        rows = [one._asdict() for one in settings]
        about = {"name": made.name, "extends": list(made.extends), "fingerprint": made.fingerprint}
        print(json.dumps({**about, "settings": rows, "total": len(rows)}))
        return 0
    print(f"# {made.name}, extends {', '.join(made.extends) or 'nothing'}; fingerprint {made.fingerprint}")
    print("\n".join(_shown(settings)))
    return 0


def _root(arguments: Namespace) -> Root | None:
    """The source that is meant; None where none is, which is no mistake here unless one was named."""
    if arguments.command == "harness list":
        try:
            return chosen(arguments)
        except NoHarness as error:
            remark(str(error))
            return None
        except RootError:
            if arguments.source is not None:
                raise
            return None
    try:
        config = read_config(os.environ)
        return choose_root(arguments.source, None, environ=os.environ, cwd=Path.cwd(), config=config)
    except (RootError, ConfigError) as error:
        if arguments.source is not None:
            # A folder that no harness fits can be shown one all the same.
            remark(str(error))
        return None


def _is_own(root: Path, name: str) -> bool:
    return has_own(root) and load("", tree=root).name == name


def _names(rows: list[dict[str, Any]]) -> set[str]:
    return {row["name"] for row in rows}


def _row(made: Conventions, source: str) -> dict[str, Any]:
    return {
        "name": made.name,
        "from": source,
        "extends": list(made.extends),
        "depends_on": list(made.depends_on),
    }


def _shown(settings: list[Setting]) -> Iterator[str]:
    """One line for each value, below the name of its field."""
    field = ""
    for one in settings:
        if one.field != field:
            field = one.field
            yield f"{field}:"
        value = json.dumps(one.value, ensure_ascii=False)
        yield f"    {value:<{_WIDTH - 40}}  # {os.path.basename(one.file)}:{one.line}"
