"""The commands that tell clients of agents of this server: `mcp-config`, `cursor-add`."""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from pathlib import Path

from torchtalkd.config import read_config
from torchtalkd.registration.cursor import cursor_add as added
from torchtalkd.registration.known import CLIENTS, adding, snippet
from torchtalkd.registration.program import program, serving
from torchtalkd.registration.texts import texts
from torchtalkd.roots import choose_root


def config(arguments: Namespace) -> int:
    """Prints what a client's configuration needs; where it goes is told on stderr."""
    client = CLIENTS[arguments.client]
    words = serving(program(os.environ, sys.argv[0]), _source(arguments), arguments.harness)
    text = snippet(client, words)
    if arguments.json:
        said = {"client": arguments.client, "files": list(client.files), "command": words}
        print(json.dumps({**said, "adds": adding(client, words), "snippet": text}))
        return 0
    where = " or ".join(client.files)
    command = adding(client, words)
    print(f"torchtalkd: {client.title}: into {where}, beside what is there", file=sys.stderr)
    if command:
        print(f"torchtalkd: or: {command}", file=sys.stderr)
    print(text)
    return 0


def cursor(arguments: Namespace) -> int:
    """Adds the server and the rules to a project; 1 where something is left to be done by hand."""
    project = Path(arguments.project).expanduser()
    if not project.is_dir():
        print(f"torchtalkd: the project {arguments.project} is no folder", file=sys.stderr)
        return 2
    words = serving(program(os.environ, sys.argv[0]), _source(arguments), arguments.harness)
    found = added(project.resolve(), words, texts("cursor"))
    code = int(any(done.is_wrong for done in found))
    if arguments.json:
        print(json.dumps([{"file": str(d.file), "done": d.what, "ok": not d.is_wrong} for d in found]))
        return code
    for done in found:
        print(f"{done.file}: {done.what}")
    return code


def _source(arguments: Namespace) -> str | None:
    """The named tree, checked and with its whole path; None where none is named, as the server chooses
    for itself then."""
    if arguments.source is None:
        return None
    root = choose_root(
        arguments.source,
        arguments.harness,
        environ=os.environ,
        cwd=Path.cwd(),
        config=read_config(os.environ),
    )
    return str(root.path)
