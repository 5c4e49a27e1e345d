"""The daemon: its folder and socket, whether it answers, and whether it is of this build."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from torchtalkd import wire
from torchtalkd.doctor.values import FIX, NOTE, OK, Finding, Place


def daemon(place: Place) -> Iterator[Finding]:
    """The socket, then each daemon that runs."""
    try:
        path = wire.socket_path(place.environ, make=False)
    except wire.WireError as error:
        # Its sentence ends with what to do.
        yield Finding("socket", FIX, str(error), _mend(str(error)))
        return
    if len(os.fsencode(path)) > 107:
        yield Finding("socket", NOTE, f"{path} is too long for a socket: another folder is used")
    if not path.exists():
        yield Finding("socket", OK, f"{path} (there is none before a daemon runs)")
    else:
        found = path.stat()
        mode = f"{stat.S_IMODE(found.st_mode):o}"
        if found.st_uid != os.geteuid():
            yield Finding("socket", FIX, f"{path} belongs to user {found.st_uid}", f"rm {path}")
        elif stat.S_IMODE(found.st_mode) & 0o077:
            yield Finding("socket", FIX, f"{path} is open to others (mode {mode})", f"chmod 600 {path}")
        elif not any(one["mine"] for one in place.daemons):
            yield Finding("socket", NOTE, f"nobody answers at {path}: the next start clears it away")
        else:
            yield Finding("socket", OK, f"{path}, mode {mode}, yours")
    if not any(one["mine"] for one in place.daemons):
        yield Finding("daemon", OK, "not running: the next question starts it")
    for one in place.daemons:
        yield _running(one)


def _running(one: dict[str, object]) -> Finding:
    if not one["answers"]:
        said = f"the daemon behind {one['socket']} does not answer"
        return Finding("daemon", FIX, said, "torchtalkd stop --all")
    said = f"process {one.get('pid')}, version {one.get('version')}, build {one.get('build')}"
    if one["mine"]:
        return Finding("daemon", OK, f"{said}: the build that is installed")
    ending = "it ends with its last client" if one.get("retiring") else "`torchtalkd stop --all` ends it"
    return Finding("daemon", NOTE, f"{said} of {one.get('package')} is another build: {ending}")


def _mend(said: str) -> str:
    """The command at the end of a sentence of `check_private`, or what helps where it names none."""
    _, colon, command = said.rpartition(": ")
    if colon and command.startswith("chmod "):
        return command
    return "name another folder with XDG_RUNTIME_DIR, one of your own with mode 700"
