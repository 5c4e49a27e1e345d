"""What does the user's configuration say, and how is it changed?

The file is `$XDG_CONFIG_HOME/torchtalk/config.toml`, shared with TorchTalk. Ours are the
tables `[torchtalkd]` and `[torchtalkd.sources]`; everything else in it belongs to others:

    [torchtalkd]
    default = "/src/pytorch"
    idle_seconds = 1800               # after which a daemon that nobody uses ends
    exact = "off"                     # C++ is read by name only; "on" where nothing is said

    [torchtalkd.sources]
    "/src/pytorch" = "pytorch"        # root = harness

    [torchtalkd.compile_commands]
    "/src/pytorch" = "/build/compile_commands.json"

    [torchtalkd.trusted]
    "/src/pytorch" = "deacb4…"        # digest of the code that may run to generate its headers

A change edits single lines of the text, so comments and foreign keys stay as they are, and
is written only if the new text reads back as exactly what was wanted. The tests are in
`tests/test_config.py`.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

_OURS = "torchtalkd"
_SOURCES = "torchtalkd.sources"
TRUSTED = "trusted"
COMPILE_COMMANDS = "compile_commands"
_OF_A_ROOT = (TRUSTED, COMPILE_COMMANDS)
"""Tables with something to remember of a root besides its harness."""


class ConfigError(Exception):
    """The file cannot be read or changed; `str()` is a whole sentence that names it."""


class Config(NamedTuple):
    """What the file says about us; empty where there is no file."""

    default: str = ""
    """The root that is meant when nothing else says one."""
    sources: Mapping[str, str] = {}
    """Roots that `init` remembered, with the harness of each ('': whatever fits)."""
    trusted: Mapping[str, str] = {}
    """Root → digest of the code of its own that the user lets run (`compilation.generated`)."""
    compile_commands: Mapping[str, str] = {}
    """Root → the compile_commands.json that `init` was given for it."""


def config_path(environ: Mapping[str, str]) -> Path:
    """Where the file is, whether it exists or not."""
    return xdg_folder(environ, "XDG_CONFIG_HOME", ".config") / "config.toml"


def xdg_folder(environ: Mapping[str, str], variable: str, fallback: str) -> Path:
    """Our folder below a base folder of the XDG specification, which wants relative values ignored."""
    base = environ.get(variable, "")
    if os.path.isabs(base):
        return Path(base) / "torchtalk"
    home = environ.get("HOME") or os.path.expanduser("~")
    return Path(home) / fallback / "torchtalk"


def read_config(environ: Mapping[str, str]) -> Config:
    """Reads the file. A default that only TorchTalk's own table names counts too. Raises ConfigError."""
    path = config_path(environ)
    raw = _parsed(path, _text(path))
    ours = raw.get(_OURS, {})
    sources = ours.get("sources", {}) if isinstance(ours, dict) else None
    default = ours.get("default", "") if isinstance(ours, dict) else None
    if not isinstance(default, str) or not isinstance(sources, dict):
        raise ConfigError(f"{path}: [{_OURS}] default must be a string and [{_SOURCES}] a table of strings")
    if any(not isinstance(harness, str) for harness in sources.values()):
        raise ConfigError(f"{path}: [{_SOURCES}] must give a harness, as a string, for each root")
    tables = {name: ours.get(name, {}) for name in _OF_A_ROOT} if isinstance(ours, dict) else {}
    for name, table in tables.items():
        if not isinstance(table, dict) or any(not isinstance(value, str) for value in table.values()):
            raise ConfigError(f"{path}: [{_OURS}.{name}] must be a table of strings")
    if not default and isinstance(theirs := raw.get("source"), dict):
        default = theirs.get("pytorch_source") if isinstance(theirs.get("pytorch_source"), str) else ""
    return Config(default or "", sources, **tables)


def read_idle_seconds(environ: Mapping[str, str]) -> float:
    """How long a daemon stays that has no clients and no questions. Raises ConfigError."""
    path = config_path(environ)
    ours = _parsed(path, _text(path)).get(_OURS, {})
    idle = ours.get("idle_seconds", 1800.0) if isinstance(ours, dict) else 1800.0
    if isinstance(idle, bool) or not isinstance(idle, int | float) or idle <= 0:
        raise ConfigError(f"{path}: [{_OURS}] idle_seconds must be a positive number")
    return float(idle)


def reads_exactly(environ: Mapping[str, str]) -> bool:
    """Whether C++ is also read by libclang: `exact` in the file, or the environment's TORCHTALK_EXACT, which
    comes first. A file that cannot be read says nothing against it: whoever needs it complains."""
    said = environ.get("TORCHTALK_EXACT", "")
    if not said:
        path = config_path(environ)
        try:
            ours = _parsed(path, _text(path)).get(_OURS, {})
        except ConfigError:
            return True
        found = ours.get("exact", "on") if isinstance(ours, dict) else "on"
        said = found if isinstance(found, str) else "on" if found else "off"
    return said.lower() not in ("off", "0", "no", "false")


def remember_source(environ: Mapping[str, str], root: str, harness: str, *, default: bool) -> None:
    """Writes a root with its harness, and makes it the default if wanted. Raises ConfigError, OSError."""
    with _locked(config_path(environ)) as path:
        text = _with_key(path, _text(path), _SOURCES, root, harness)
        if default:
            text = _with_key(path, text, _OURS, "default", root)
        _write(path, text)


def remember_of_root(environ: Mapping[str, str], table: str, root: str, value: str | None) -> None:
    """Writes what `TRUSTED` or `COMPILE_COMMANDS` says of a root; None takes it out. Raises ConfigError,
    OSError."""
    with _locked(config_path(environ)) as path:
        _write(path, _with_key(path, _text(path), f"{_OURS}.{table}", root, value))


def forget_source(environ: Mapping[str, str], root: str) -> bool:
    """Takes a root out of the file; False if it was not in it. Raises ConfigError, OSError."""
    config = read_config(environ)
    ours = _parsed(config_path(environ), _text(config_path(environ))).get(_OURS, {})
    others = [name for name in _OF_A_ROOT if root in getattr(config, name)]
    if root not in config.sources and ours.get("default") != root and not others:
        return False
    with _locked(config_path(environ)) as path:
        text = _with_key(path, _text(path), _SOURCES, root, None)
        for name in others:
            text = _with_key(path, text, f"{_OURS}.{name}", root, None)
        if ours.get("default") == root:
            text = _with_key(path, text, _OURS, "default", None)
        _write(path, text)
    return True


# -- the text


def _with_key(path: Path, text: str, table: str, key: str, value: str | None) -> str:
    """The text with one key of one of our tables set, or with None removed."""
    wanted = _parsed(path, text)
    inner = wanted
    for name in table.split("."):
        inner = inner.setdefault(name, {})
    if value is None:
        inner.pop(key, None)
    else:
        inner[key] = value
    for edited in _edits(text, table, key, value):
        if _reads_as(edited, wanted):
            return edited
    line = f"{_literal(key)} = {_literal(value)}" if value is not None else f"without {_literal(key)}"
    raise ConfigError(
        f"{path} is written in a way that cannot be changed safely; please write into [{table}]: {line}"
    )


def _edits(text: str, table: str, key: str, value: str | None) -> Iterator[str]:
    """The ways to make the change, the likeliest first. A line that looks like the table's header
    may be inside a string: whoever reads the result back will see that."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\]\s*(#.*)?$")
    spelled = re.compile(rf"\s*(?:{re.escape(_literal(key))}|'{re.escape(key)}'|{re.escape(key)})\s*=")
    new = [] if value is None else [f"{key if key.isidentifier() else _literal(key)} = {_literal(value)}\n"]
    yield from [text] if value is None else []
    for start in [i + 1 for i, line in enumerate(lines) if header.match(line)]:
        end = next((i for i in range(start, len(lines)) if lines[i].lstrip().startswith("[")), len(lines))
        for i in range(start, end):
            if spelled.match(lines[i]):
                yield "".join(lines[:i] + new + lines[i + 1 :])
        yield "".join(lines[:start] + new + lines[start:])
    yield "".join([*lines, *(["\n"] if lines else []), f"[{table}]\n", *new])


def _reads_as(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return _same(tomllib.loads(text), wanted)
    except tomllib.TOMLDecodeError:
        return False


def _literal(text: str) -> str:
    """A TOML basic string: JSON's escapes are among TOML's, which wants DEL escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Equal, where a table that is empty or absent makes no difference."""

    def bare(table: Mapping[str, Any]) -> dict[str, Any]:
        inner = {name: bare(value) if isinstance(value, dict) else value for name, value in table.items()}
        return {name: value for name, value in inner.items() if value != {}}

    return bare(one) == bare(other)


# -- the file


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from error


@contextmanager
def _locked(path: Path) -> Iterator[Path]:
    """The file to write (behind symbolic links), with other programs of ours kept waiting."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield path
    finally:
        os.close(folder)


def _write(path: Path, text: str) -> None:
    """In one step: whoever reads sees the old text or the new one."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError(f"a path that is not UTF-8 cannot be written to {path}") from error
    descriptor, temporary = tempfile.mkstemp(prefix=".config-", suffix=".toml", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            os.fchmod(stream.fileno(), path.stat().st_mode & 0o777 if path.exists() else 0o644)
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
