"""Everything that the doctor looks at, in the order in which it is told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from torchtalkd import wire
from torchtalkd.doctor.clients import clients
from torchtalkd.doctor.compiling import compiling
from torchtalkd.doctor.daemon import daemon
from torchtalkd.doctor.languages import languages
from torchtalkd.doctor.programs import programs
from torchtalkd.doctor.trees import trees
from torchtalkd.doctor.values import FIX, Finding, Place
from torchtalkd.doctor.versions import versions
from torchtalkd.doctor.watches import watches

PARTS: Final[Mapping[str, Callable[[Place], Iterator[Finding]]]] = {
    "versions": versions,
    "programs": programs,
    "daemon": daemon,
    "trees": trees,
    "compiling": compiling,
    "watches": watches,
    "clients": clients,
    "languages": languages,
}


def look(
    environ: Mapping[str, str] = os.environ,
    cwd: Path | None = None,
    source: str | None = None,
    harness: str | None = None,
) -> list[Finding]:
    """What was found. Takes as long as a sweep of each remembered tree; raises nothing of its own."""
    place = Place(environ, cwd or Path.cwd(), source, harness, _daemons(environ))
    found: list[Finding] = []
    for name, part in PARTS.items():
        try:
            found.extend(part(place))
        except OSError as error:
            # One part that cannot be looked at is itself something to mend.
            why = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            found.append(Finding(name, FIX, f"cannot be looked at: {why}", "make it readable for this user"))
    return found


def _daemons(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """The daemons that run; what is wrong with their folder is told by the part that looks at it."""
    found: list[dict[str, Any]] = []
    with suppress(wire.WireError, OSError):
        mine = wire.socket_path(environ, make=False)
        for running in wire.daemons(environ):
            told: dict[str, Any] = {
                **running.hello,
                "socket": str(running.socket),
                "answers": bool(running.hello),
                "mine": running.socket == mine,
            }
            with suppress(wire.WireError):
                told |= wire.control(running.socket, "status", timeout=2.0)
            found.append(told)
    return found
