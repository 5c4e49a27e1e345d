"""The commands `trust` and `untrust`: whether a tree's own code may run to generate its headers.

Only these commands, and `init --trust`, ever grant it. The tests are in `tests/test_trust.py`.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from torchtalkd.cache import index_folder
from torchtalkd.compilation import generate, made_folder, standing
from torchtalkd.compilation.generated import Standing, code_digest, what_runs
from torchtalkd.compilation.sources import TooMuch
from torchtalkd.compilation.versions import drop
from torchtalkd.config import TRUSTED, read_config, remember_of_root
from torchtalkd.conventions import conventions_of
from torchtalkd.frontends.command.opening import remark
from torchtalkd.roots import Root, root_at


def trust(arguments: Namespace) -> int:
    """Trusts a tree and makes its headers; 1 where there is nothing to trust, or it failed."""
    if arguments.list:
        return _listed(arguments)
    if arguments.path is None:
        print("torchtalkd: name the tree, or say --list", file=sys.stderr)
        return 2
    config = read_config(os.environ)
    root = root_at(arguments.path, arguments.harness, "trust", cwd=Path.cwd(), config=config)
    done = trusted(root, run=not arguments.no_run)
    if arguments.json:
        print(json.dumps(done))
    else:
        print("\n".join(lines(done)))
    return 1 if done["state"] in ("none", "failed") else 0


def untrust(arguments: Namespace) -> int:
    """Takes trust back and deletes what was generated; 1 where there was none."""
    path = Path(os.path.realpath(Path(arguments.path).expanduser()))
    if str(path) not in read_config(os.environ).trusted:
        print(f"torchtalkd: {path} is not trusted; `torchtalkd trust --list` lists what is", file=sys.stderr)
        return 1
    remember_of_root(os.environ, TRUSTED, str(path), None)
    drop(made_folder(index_folder(path, os.environ)))
    if arguments.json:
        print(json.dumps({"root": str(path), "trusted": False}))
    else:
        print(f"{path} is no longer trusted, and what it generated is deleted")
    return 0


def trusted(root: Root, *, run: bool) -> dict[str, Any]:
    """Remembers a tree's present code as trusted, and runs it if wanted; what came of it, as `--json` shows
    it."""
    conventions = conventions_of(root.path, root.harness, named=root.named)
    made = made_folder(index_folder(root.path, os.environ))
    try:
        digest = code_digest(root.path, conventions)
    except TooMuch as error:
        return _told(root, Standing("failed", str(error), "", ""), ())
    if not digest:
        nothing = f"{root.path} has no code that generates headers, as a tree of {root.harness}"
        return _told(root, Standing("none", nothing, "", ""), ())
    remember_of_root(os.environ, TRUSTED, str(root.path), digest)
    runs = what_runs(root.path, conventions)
    if run:
        found = generate(root.path, conventions, made, digest, again=True, told=remark)
    else:
        found = standing(root.path, conventions, made, digest)
    return _told(root, found, runs)


def lines(done: dict[str, Any]) -> list[str]:
    """What came of it, for the terminal."""
    if not done["code"]:
        return [done["sentence"]]
    said = [f"{done['root']} is trusted: {', '.join(done['runs'])} may run, of digest {done['code'][:12]}"]
    if done["state"] == "current":
        said.append(f"headers are generated: {done['files']:,} files in {done['seconds']:.0f} s")
    elif done["sentence"]:
        said.append(done["sentence"])
    return said


def _told(root: Root, found: Standing, runs: tuple[str, ...]) -> dict[str, Any]:
    return {"root": str(root.path), "runs": list(runs), **found._asdict()}


def _listed(arguments: Namespace) -> int:
    config = read_config(os.environ)
    rows = [_row(path, digest) for path, digest in sorted(config.trusted.items())]
    if arguments.json:
        print(json.dumps({"trusted": rows, "total": len(rows)}))
        return 0
    if not rows:
        print("no tree is trusted: `torchtalkd trust PATH` trusts one", file=sys.stderr)
    for row in rows:
        print(f"{row['root']}  ({row['code'][:12]}, {row['state']})")
    return 0


def _row(path: str, digest: str) -> dict[str, Any]:
    """A trusted tree, and how it stands with its headers."""
    if not Path(path).is_dir():
        return {"root": path, "code": digest, "state": "gone"}
    root = root_at(path, None, "trust", cwd=Path.cwd(), config=read_config(os.environ))
    conventions = conventions_of(root.path, root.harness, named=root.named)
    found = standing(root.path, conventions, made_folder(index_folder(root.path, os.environ)), digest)
    return {"root": path, "code": digest, "state": found.state}
