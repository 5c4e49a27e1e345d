"""The command `status`: the index as it stands, and the daemon. It builds nothing and waits for nobody."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from torchtalkd import wire
from torchtalkd.bases import bases_of, known_root, known_roots
from torchtalkd.cache import index_folder
from torchtalkd.config import read_config
from torchtalkd.frontends.command.compile_status import compile_status
from torchtalkd.frontends.command.daemons import running
from torchtalkd.frontends.command.opening import chosen, remark
from torchtalkd.frontends.counted import counted
from torchtalkd.frontends.text import as_text
from torchtalkd.index import kept_index
from torchtalkd.queries import status as standing
from torchtalkd.queries.answers import Standing, StatusAnswer, as_json
from torchtalkd.queries.external import joined
from torchtalkd.roots import Root, RootError


def status(arguments: Namespace) -> int:
    """Says what is indexed and which daemons run."""
    if arguments.compile:
        return compile_status(arguments)
    if arguments.socket:
        print(wire.socket_path(os.environ, make=False))
        return 0
    try:
        daemons = running(arguments)
    except wire.WireError as error:
        remark(str(error))
        daemons = {"daemon": None, "other_daemons": []}
    try:
        root = chosen(arguments)
    except RootError:
        # Without a tree the daemons may still be what was asked about.
        if arguments.source is not None or not (daemons["daemon"] or daemons["other_daemons"]):
            raise
        print(json.dumps(daemons) if arguments.json else "\n".join(_daemon_lines(daemons)))
        return 0
    answer = _answer(root)
    state = _state(root, daemons)
    if state.get("indexing"):
        waiting = max(answer.standing.waiting, int(state["waiting"]))
        answer = replace(answer, standing=replace(answer.standing, waiting=waiting))
    if arguments.json:
        watch = state.get("watch") or {"how": "none", "note": "no daemon has this tree open", "folders": 0}
        print(json.dumps({**as_json(answer), "watch": watch, "notes": _notes(state), **daemons}))
        return 0
    head = as_text(answer)
    if not answer.standing.revision:
        head = f"{root.path} · {root.harness} · not indexed yet: `torchtalkd index build` reads it"
    print("\n".join([head, *_state_lines(state), *_daemon_lines(daemons)]))
    return 0


def _answer(root: Root) -> StatusAnswer:
    """What the index says; revision 0 where there is none."""
    kept = kept_index(root.path, root.harness, index_folder(root.path, os.environ))
    if kept is None:
        return StatusAnswer(Standing(0, complete=False), str(root.path), root.harness, "", 0)
    with kept.view:
        answer = standing.status(kept.view)
    waiting = max(answer.standing.waiting, kept.waiting)
    return replace(
        answer,
        standing=replace(answer.standing, waiting=waiting, commit=kept.commit, branch=kept.branch),
        external=joined(answer.external, _bases(root)) if answer.external else (),
    )


def _bases(root: Root) -> dict[str, str]:
    config = read_config(os.environ)
    asked = known_root(root.path, root.harness, os.environ, config=config)
    return bases_of(asked, known_roots(os.environ, config=config)) if asked else {}


def _state(root: Root, daemons: dict[str, Any]) -> dict[str, Any]:
    """What the daemon says of the root, {} where it has none of it."""
    states = (daemons["daemon"] or {}).get("roots", ())
    return next((state for state in states if state["root"] == str(root.path)), {})


def _state_lines(state: dict[str, Any]) -> Iterator[str]:
    if state.get("indexing"):
        far = (
            f"{100 * state['done'] // state['total']} % of {state['total']} files"
            if state["total"]
            else "listing"
        )
        yield f"indexing: {far}"
    if watch := state.get("watch"):
        folders = f", {counted(watch['folders'], 'folder')}" if watch["folders"] else ""
        yield f"watch: {watch['how']}{folders}{': ' + watch['note'] if watch['note'] else ''}"
    for name in ("error", "note"):
        if state.get(name):
            yield f"{name}: {state[name]}"


def _notes(state: dict[str, Any]) -> list[str]:
    """Why the index is not complete, or not up to date."""
    return [state[name] for name in ("error", "note") if state.get(name)]


def _daemon_lines(daemons: dict[str, Any]) -> Iterator[str]:
    daemon = daemons["daemon"]
    if daemon is None:
        yield "daemon: not running"
    elif not daemon["answers"]:
        yield f"daemon: does not answer ({daemon['socket']}); `torchtalkd stop` ends it"
    else:
        clients = (
            ", ".join(f"{count} {want}" for want, count in daemon.get("clients", {}).items()) or "no clients"
        )
        yield (
            f"daemon: process {daemon['pid']}, build {daemon['build']},"
            f" up {_duration(float(daemon.get('uptime', 0)))}, {clients}"
        )
        for state in daemon.get("roots", ()):
            yield f"  {state['root']} ({state['harness']}), revision {state['revision']}"
    for other in daemons["other_daemons"]:
        ending = ", ends with its last client" if other.get("retiring") else ""
        yield f"daemon of another build: process {other.get('pid', '?')}, {other['socket']}{ending}"


def _duration(seconds: float) -> str:
    for name, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {name}"
    return f"{seconds:.0f} s"
