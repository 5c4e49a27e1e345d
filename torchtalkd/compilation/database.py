"""What does a compile_commands.json say of the units of a tree?

It is data from strangers: `flags.py` says what of it counts, no compiler that it names is run, and a file
that is too large, no JSON, or no file at all costs a sentence and no more. The format is that of
https://clang.llvm.org/docs/JSONCompilationDatabase.html. The tests are in
`tests/test_compilation_database.py`.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from torchtalkd.compilation.flags import Translated, translated
from torchtalkd.compilation.plain_files import is_within, plain_bytes

NAME: Final = "compile_commands.json"
MOST_BYTES: Final = 200_000_000
MOST_ENTRIES: Final = 200_000
"""PyTorch's largest builds have 10,000 entries, 60 MB."""
MOST_VARIANTS: Final = 4
"""Ways to compile one file that are kept."""
_BUILDS: Final = (
    *("build", "build-*", "build_*", "cmake-build-*", "_build", "out"),
    *("build/*", "out/*", "_skbuild/*/*"),
)
_MOST_LETTERS: Final = 1_000_000
"""Of one command."""
_MOST_FLAGS: Final = 3_000_000
"""Of all commands that differ by more than their file: a build has some dozens of those."""
_WORD: Final = re.compile(r"""(?:[^\s"'\\]+|"(?:[^"\\]|\\.)*"|'[^']*'|\\.)+""", re.DOTALL)
_PIECE: Final = re.compile(r""""((?:[^"\\]|\\.)*)"|'([^']*)'|\\(.)|([^"'\\]+)""", re.DOTALL)
_COPY: Final = re.compile(r"(.+\.\w+)\.(\w+)\.\w+")
"""`native/cpu/X.cpp.AVX2.cpp`: a copy that a build makes of a file, to compile it once more."""
_TARGET: Final = re.compile(r"(?:^|/)CMakeFiles/([^/]+)\.dir/")
_DROPPED: Final = frozenset({"-o", "-MF", "-MT", "-MQ", "-MJ", "--output-file"})


class Entry(NamedTuple):
    """How one file of the tree is compiled."""

    path: str
    variant: str
    """What tells it from other ways to compile the file: an instruction set, a target."""
    flags: Translated
    is_nvcc: bool


class Database(NamedTuple):
    """What was read."""

    path: str
    entries: tuple[Entry, ...]
    """By path, at most `MOST_VARIANTS` of one."""
    notes: tuple[str, ...]
    """Whole sentences: why it could not be read, or what was left out."""


def find_database(root: Path, named: Path | None = None) -> Path | None:
    """The compile_commands.json of a tree: the one that somebody names (or the folder that holds it), the one
    at its top, the newest of its build folders. A named one that is not there is returned all the same."""
    if named is not None:
        return named / NAME if named.is_dir() else named
    if os.path.lexists(root / NAME):
        return root / NAME
    found = {path: _age(path) for pattern in _BUILDS for path in root.glob(f"{pattern}/{NAME}")}
    return max((path for path in found if found[path]), key=lambda path: (found[path], path), default=None)


def _age(path: Path) -> int:
    """When a file was written; 0 for what is no file, or gone."""
    try:
        return path.stat().st_mtime_ns if path.is_file() else 0
    except OSError:
        return 0


def read_database(path: Path, root: Path) -> Database:
    """Reads a database for the units of a resolved root. Never raises for what is in it."""
    data = plain_bytes(path, MOST_BYTES)
    if data is None:
        what = f"larger than {MOST_BYTES:,} bytes" if os.path.isfile(path) else "no file that can be read"
        return Database(str(path), (), (f"{path} is {what}",))
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        return Database(str(path), (), (f"{path} is not valid JSON: {str(error)[:200]}",))
    if not isinstance(raw, list):
        return Database(str(path), (), (f"{path} is not a list of commands",))
    if len(raw) > MOST_ENTRIES:
        return Database(str(path), (), (f"{path} has {len(raw):,} commands, more than {MOST_ENTRIES:,}",))
    return _read(path, raw, root)


def _read(path: Path, raw: list[Any], root: Path) -> Database:
    build = Path(os.path.realpath(path)).parent
    top = os.path.realpath(root)
    kept: dict[str, dict[object, tuple[str, Entry]]] = {}
    known: dict[object, Translated] = {}
    left: Counter[str] = Counter()
    different = 0
    for item in raw:
        read = _call(item, build)
        if read is None:
            left["cannot be read"] += 1
            continue
        words, folder, file = read
        place = _place(os.path.normpath(os.path.join(folder, file)), top, build)
        if place is None:
            left["is of a file that is not the tree's"] += 1
            continue
        own, copy = place
        flags, target = _without_outputs(words, folder, file)
        is_nvcc = any(os.path.basename(word) in ("nvcc", "nvcc.exe") for word in words[:4])
        key = (folder, *flags)
        if key not in known:
            different += len(flags)
            if different > _MOST_FLAGS:
                left["is one too many that differs from all others"] += 1
                continue
            known[key] = translated(flags, folder, (Path(top),))
        told = known[key]
        left.update(told.refused)
        ways = kept.setdefault(own, {})
        if (told.arguments, told.kind, copy) not in ways and len(ways) < MOST_VARIANTS:
            ways[told.arguments, told.kind, copy] = target, Entry(own, copy, told, is_nvcc)
    notes = [f"{count} of the commands in {path}: {_told(why)}" for why, count in sorted(left.items())]
    entries = tuple(entry for own in sorted(kept) for entry in _apart(list(kept[own].values())))
    return Database(str(path), entries, tuple(notes))


def _told(why: str) -> str:
    return f"left out, as one {why}" if why.startswith(("cannot", "is ")) else f"one {why}"


def _apart(ways: list[tuple[str, Entry]]) -> Iterator[Entry]:
    """The entries of one file under names that differ: what copy of it is compiled, else for which target. A
    single one needs no target."""
    seen: Counter[str] = Counter()
    for target, entry in ways:
        name = entry.variant or (target if len(ways) > 1 else "")
        seen[name] += 1
        yield entry._replace(variant=name if seen[name] == 1 else f"{name or 'way'}-{seen[name]}")


def _call(item: Any, build: Path) -> tuple[list[str], str, str] | None:
    """The words of an entry, the folder it runs in and its file; None where it has no such."""
    if not isinstance(item, dict):
        return None
    file, folder = item.get("file"), item.get("directory", "")
    if not isinstance(file, str) or not isinstance(folder, str) or not file or not _is_path(file + folder):
        return None
    words = item.get("arguments")
    if words is None:
        command = item.get("command")
        if not isinstance(command, str) or len(command) > _MOST_LETTERS:
            return None
        words = split(command)
    elif not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    return words, os.path.normpath(os.path.join(build, folder)), file


def _is_path(text: str) -> bool:
    """Whether a text can be a path at all: JSON can say what no file system can."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def split(command: str) -> list[str]:
    """The words of a command as a POSIX shell splits them; nothing is expanded."""
    if not any(quote in command for quote in "\"'\\"):
        return command.split()
    return [_unquoted(word) for word in _WORD.findall(command)]


def _unquoted(word: str) -> str:
    if not any(quote in word for quote in "\"'\\"):
        return word
    return "".join(
        re.sub(r'\\(["\\$`])', r"\1", double) if double else single or escaped or plain
        for double, single, escaped, plain in _PIECE.findall(word)
    )


def _without_outputs(words: list[str], folder: str, file: str) -> tuple[tuple[str, ...], str]:
    """The flags of a call without its program, its file and what it writes, and the target that it is for."""
    flags, target = [], ""
    waiting = iter(words[1:])
    for word in waiting:
        if word in _DROPPED:
            value = next(waiting, "")
            if word in ("-o", "--output-file") and (found := _TARGET.search(value)):
                target = found.group(1)
        elif word != file and word not in ("-c", "--compile"):
            flags.append(word)
    return tuple(flags), target


def _place(file: str, root: str, build: Path) -> tuple[str, str] | None:
    """The path from the root of a file that is compiled, and which copy of it that is ('' for itself); None
    for one that is not the tree's."""
    copied = _COPY.fullmatch(file)
    if copied and is_within(file, build):
        original = os.path.join(root, os.path.relpath(copied.group(1), build))
        if os.path.isfile(original):
            return os.path.relpath(original, root), copied.group(2)
    if not is_within(file, root):
        # A build may name the tree through a link.
        file = os.path.realpath(file)
    return (os.path.relpath(file, root), "") if is_within(file, root) and os.path.isfile(file) else None
