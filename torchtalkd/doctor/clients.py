"""The clients of agents: who has this server registered, and would what is registered start?"""

from __future__ import annotations

import os
import shutil
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from torchtalkd.doctor.programs import is_ours
from torchtalkd.doctor.values import FIX, NOTE, OK, Finding, Place
from torchtalkd.registration.known import CLIENTS, adding
from torchtalkd.registration.program import program, serving
from torchtalkd.registration.registered import Registered, present, registered


def clients(place: Place) -> Iterator[Finding]:
    """Each registration; and where a client has none, how it gets one."""
    found = registered(place.environ, place.cwd)
    for one in found:
        yield _registration(one, place)
    yield from _twice(found)
    having = {one.client for one in found if one.command}
    for key in present(place.environ, place.cwd):
        if key not in having:
            said = f"{CLIENTS[key].title}: this server is not registered"
            yield Finding("clients", NOTE, said, f"torchtalkd mcp-config {key}")
    if not found and not present(place.environ, place.cwd):
        yield Finding(
            "clients", NOTE, "no client of agents has a configuration here", "torchtalkd mcp-config CLIENT"
        )


def _registration(one: Registered, place: Place) -> Finding:
    client = CLIENTS[one.client]
    said = f"{client.title}, {one.file}"
    again = adding(client, serving(program(place.environ, sys.argv[0]), place.source))
    fix = f"torchtalkd mcp-config {one.client}" + (f", or {again}" if again else "")
    if not one.command:
        return Finding("clients", FIX, f"{said} {one.problem}", f"mend {one.file}")
    if one.problem:
        return Finding("clients", FIX, f"{said}: {one.problem}", fix)
    path = shutil.which(one.command[0], path=place.environ.get("PATH"))
    if path and os.path.basename(path) in ("torchtalkd", "torchtalk") and not is_ours(Path(path)):
        return Finding("clients", FIX, f"{said} starts {path}, which is another program", fix)
    return Finding("clients", OK, f"{said}: {' '.join(one.command)}")


def _twice(found: list[Registered]) -> Iterator[Finding]:
    """Two servers in one file would give a model each tool twice. Of equal name the nearer one counts."""
    files: dict[tuple[str, Path], dict[str, None]] = defaultdict(dict)
    for one in found:
        if one.command:
            files[one.client, one.file].setdefault(one.name)
    for (key, file), names in files.items():
        if len(names) > 1:
            said = f"{CLIENTS[key].title}, {file} starts this server {len(names)} times: {', '.join(names)}"
            yield Finding("clients", FIX, said, f"remove all but one of them from {file}")
