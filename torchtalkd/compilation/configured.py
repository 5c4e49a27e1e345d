"""The headers that a build fills in from templates, made without a build, in the cache.

The rules are those of CMake's configure_file: https://cmake.org/cmake/help/latest/command/configure_file.html.
The tests are in `tests/test_compilation_made.py`.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from torchtalkd.compilation.plain_files import plain_text
from torchtalkd.conventions.compiling import ConfiguredHeader

_MOST_BYTES: Final = 1_000_000
_DEFINE: Final = re.compile(r"^([ \t]*)#([ \t]*)cmakedefine(01)?[ \t]+(\w+)(.*)$", re.MULTILINE)
_NAME: Final = re.compile(r"@(\w+)@|\$\{(\w+)\}")


def filled_in(template: str, values: Mapping[str, str], other: str) -> str:
    """The text that a template becomes. A name without a value is undefined to `#cmakedefine`, and
    `other` where its value is wanted."""

    def define(found: re.Match[str]) -> str:
        before, space, zero_one, name, rest = found.groups()
        is_set = values.get(name, "") not in ("", "0", "OFF", "FALSE", "NO")
        if zero_one:
            return f"{before}#{space}define {name} {int(is_set)}"
        return f"{before}#{space}define {name}{rest}" if is_set else f"{before}/* #{space}undef {name} */"

    def value(found: re.Match[str]) -> str:
        return values.get(found.group(1) or found.group(2), other)

    return _NAME.sub(value, _DEFINE.sub(define, template))


def configure(root: Path, headers: Iterable[ConfiguredHeader], version: str, out: Path) -> list[str]:
    """Writes the configured headers below `out`, at their places; one that is as it should be is not
    touched, so that nothing that took it in counts as changed. Returns the names of those made. Raises
    OSError."""
    made = []
    for header in headers:
        text = plain_text(root, header.template, _MOST_BYTES)
        if text is None:
            continue  # This tree has no such template: another release, or an installed wheel.
        values = {name: _of_version(value, version) for name, value in header.values.items()}
        _write(out / header.name, filled_in(text, values, header.other))
        made.append(header.name)
    return made


def _of_version(value: str, version: str) -> str:
    numbers = [*re.findall(r"\d+", version.partition("+")[0])[:3], "0", "0", "0"]
    for name, text in (
        ("version", version),
        ("major", numbers[0]),
        ("minor", numbers[1]),
        ("patch", numbers[2]),
    ):
        value = value.replace(f"{{{name}}}", text)
    return value


def _write(path: Path, text: str) -> None:
    try:
        if path.read_text("utf-8") == text:
            return
    except (OSError, UnicodeDecodeError):
        pass  # It is not there yet, or is not ours: it is replaced.
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=".made-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
