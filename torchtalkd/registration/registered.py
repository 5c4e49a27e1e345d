"""What the clients' configurations say of this server. Reads only."""

from __future__ import annotations

import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from torchtalkd.registration.json_text import NotPlain, parsed, without_comments
from torchtalkd.registration.known import CLIENTS, Client
from torchtalkd.registration.program import NAME

_PROGRAMS = ("torchtalkd", "torchtalk")


class Registered(NamedTuple):
    """A server of this program in a client's configuration, or a file that cannot be read."""

    client: str
    """The key of `CLIENTS`."""
    file: Path
    name: str
    """What the server is called there."""
    command: tuple[str, ...]
    problem: str = ""
    """Why it cannot work, a sentence; '' where nothing is wrong."""


def registered(environ: Mapping[str, str], project: Path) -> list[Registered]:
    """What is registered for the user, and for a project folder."""
    found: list[Registered] = []
    for key, client in CLIENTS.items():
        for spelled in client.files:
            file = _place(spelled, environ, project)
            if file is not None:
                found.extend(_in_file(key, client, file, environ, project))
    return found


def present(environ: Mapping[str, str], project: Path) -> list[str]:
    """The clients that have a configuration at all."""
    return [
        key
        for key, client in CLIENTS.items()
        if any(
            (file := _place(spelled, environ, project)) is not None and file.exists()
            for spelled in client.files
        )
    ]


def _place(spelled: str, environ: Mapping[str, str], project: Path) -> Path | None:
    home = environ.get("HOME") or os.path.expanduser("~")
    if spelled == "~/.codex/config.toml" and environ.get("CODEX_HOME"):
        return Path(environ["CODEX_HOME"]) / "config.toml"
    if spelled.startswith("~/.config/") and os.path.isabs(environ.get("XDG_CONFIG_HOME", "")):
        return Path(environ["XDG_CONFIG_HOME"]) / spelled.removeprefix("~/.config/")
    if spelled.startswith("~/"):
        return Path(home) / spelled[2:]
    return project / spelled


def _in_file(
    key: str, client: Client, file: Path, environ: Mapping[str, str], project: Path
) -> Iterator[Registered]:
    try:
        text = file.read_text("utf-8")
        raw = tomllib.loads(text) if client.toml else parsed(without_comments(text))
    except (FileNotFoundError, NotADirectoryError):
        return
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, NotPlain) as error:
        yield Registered(key, file, "", (), f"cannot be read: {error}")
        return
    own = _object(_object(raw, client.projects), str(project)) if client.projects else {}
    for servers in (_object(raw, client.section), _object(own, client.section)):
        for name, entry in servers.items():
            command = _command(entry)
            if command and (name == NAME or _is_ours(command)):
                yield Registered(key, file, str(name), command, _problem(str(name), entry, command, environ))


def _object(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _command(entry: Any) -> tuple[str, ...]:
    """The words of a server's command; () where it has none: a server elsewhere, or what is no entry."""
    if not isinstance(entry, dict):
        return ()
    first, more = entry.get("command"), entry.get("args") or []
    words = [*first] if isinstance(first, list) else [first, *(more if isinstance(more, list) else [])]
    return tuple(words) if words and all(isinstance(word, str) for word in words) else ()


def _is_ours(command: tuple[str, ...]) -> bool:
    return "mcp-serve" in command and any(Path(word).name in _PROGRAMS for word in command)


def _problem(
    name: str, entry: Mapping[str, Any], command: tuple[str, ...], environ: Mapping[str, str]
) -> str:
    if shutil.which(command[0], path=environ.get("PATH")) is None:
        return f"its command {command[0]} does not exist or cannot be run"
    if "mcp-serve" not in command:
        return f"its command is no server of this program: {' '.join(command)}"
    for flag, value in pairwise(command):
        if flag in ("--source", "--pytorch-source") and not os.path.isdir(value):
            return f"its source tree {value} does not exist"
    if entry.get("enabled") is False or entry.get("disabled") is True:
        return "it is switched off"
    return "" if name == NAME else f"it is called {name}; instructions look for {NAME}"
