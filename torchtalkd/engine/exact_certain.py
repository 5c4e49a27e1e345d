"""What does every unit include for certain, whatever a build defines?

A closure of `exact_closure` takes both branches of each #if. What is precompiled must be included by each of
its units in truth, so here an include counts only where its conditions are certainly true: by the macros
that all commands define, and those that no command and no text of the tree defines. Of several files that a
name may mean it is the first, as for a compiler. The tests are in `tests/test_exact_groups.py`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from torchtalkd.compilation.headers import Headers
from torchtalkd.compilation.plain_files import plain_bytes
from torchtalkd.compilation.reaching import closed
from torchtalkd.compilation.report import include_folders_of, system_folders
from torchtalkd.engine.exact_closure import MOST_BYTES, Closures
from torchtalkd.engine.exact_known import Known
from torchtalkd.parse.cpp_text import directives, guard_at
from torchtalkd.store.exact_rows import mask

_DEFINED: Final = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
_TOKEN: Final = re.compile(r"\s*(defined\s*\(\s*\w+\s*\)|defined\s+\w+|\w+|&&|\|\||[!()]|[^\s\w])")
_GUARD: Final = re.compile(
    rb"^[ \t]*#[ \t]*(?:ifndef[ \t]+|if[ \t]+![ \t]*defined[ \t(]*)(\w+)", re.MULTILINE
)
_PLAIN: Final = re.compile(rb"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\\\n]|\\\r?\n|\\.)*", re.MULTILINE | re.DOTALL)
"""Comments, and lines of the preprocessor with those that continue them."""
_DIRECTIVE: Final = re.compile(rb"^[ \t]*#", re.MULTILINE)
_ONCE: Final = re.compile(rb"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)


class Text(NamedTuple):
    """What is wanted of one file."""

    includes: tuple[tuple[str, bool, str], ...]
    """(name, whether it is in quotes, the conditions around it)."""
    defines: frozenset[str]
    once: bool
    """Reading it twice is as good as once: it is guarded, or only includes others."""


class Certain(NamedTuple):
    """A tree's certain includes."""

    closures: Closures
    unguarded: int
    """Headers that are read again each time they are included, as bits."""
    shared: int
    """Files that more than one names, as bits: a part of a header, `x_inl.h`, is named by that alone."""
    lacking: int
    """Files that name a header that is nowhere, as bits: what follows them may be lost in its errors."""


def certain(known: Known, texts: Mapping[str, Text], made: str) -> Certain:
    """`texts`: of each file of C++, by path from the root, absolute of what was generated."""
    commands = {wanted.arguments for wanted in known.wanted.values() if not wanted.header}
    given = [{_macro(argument) for argument in one if argument.startswith("-D")} for one in commands]
    everywhere = set.intersection(*given) | {"__cplusplus"} if given else {"__cplusplus"}
    anywhere = set().union(*given, *(text.defines for text in texts.values()))

    def value(macro: str) -> bool | None:
        if macro in everywhere:
            return True
        return None if macro in anywhere or macro.startswith("_") else False

    folders = _folders(min(commands, key=lambda one: (len(one), one), default=()), known.root, made)
    outside = dict.fromkeys(folder for one in sorted(commands) for folder in include_folders_of(one))
    outside |= dict.fromkeys(system_folders())
    numbers = known.closures.numbers
    headers = Headers(numbers, folders, outside)
    answers: dict[str, bool | None] = {}
    direct: dict[int, frozenset[int]] = {}
    lacking = set[int]()
    for path, text in texts.items():
        meant = set()
        for name, quoted, condition in text.includes:
            if condition not in answers:
                answers[condition] = holds(condition, value)
            if not answers[condition]:
                continue
            header = headers.meant(path, name, beside=quoted)
            if header:
                meant.add(numbers[header])
            elif header is None and path in numbers:
                lacking.add(numbers[path])
        if path in numbers:
            direct[numbers[path]] = frozenset(meant)
    unguarded = mask(
        numbers[path]
        for path, text in texts.items()
        if path in numbers and not text.once and not _is_unit(known, path)
    )
    whole = Closures(numbers, direct, closed(numbers.values(), direct), known.closures.generated)
    named = Counter(number for some in direct.values() for number in some)
    shared = mask(number for number, count in named.items() if count > 1)
    return Certain(whole, unguarded, shared, mask(lacking))


def read_text(data: bytes) -> Text:
    """What is wanted of a file's bytes."""
    found = directives(data)
    includes = tuple(
        (name, data[offset - 1 : offset] == b'"', guard_at(found, offset)) for name, offset in found.includes
    )
    defines = frozenset(name.decode() for name in _DEFINED.findall(data))
    guard = _GUARD.search(data)
    guarded = (
        guard is not None and guard.group(1).decode() in defines and guard.start() <= _first_directive(data)
    )
    once = guarded or bool(_ONCE.search(data)) or not _PLAIN.sub(b"", data).strip()
    return Text(includes, defines, once)


def _first_directive(data: bytes) -> int:
    """Where the first line of the preprocessor begins; an include guard is one."""
    match = _DIRECTIVE.search(data)
    return match.start() if match else len(data)


def holds(condition: str, value: Callable[[str], bool | None]) -> bool | None:
    """Whether a condition is true; None where that is not certain. `value` says it of a macro's being
    defined; numbers and what macros stand for are never certain."""
    tokens: list[str] = _TOKEN.findall(condition)
    if not tokens:
        return True
    position = 0

    def either() -> bool | None:
        nonlocal position
        found = both()
        while position < len(tokens) and tokens[position] == "||":
            position += 1
            other = both()
            found = True if found or other else None if None in (found, other) else False
        return found

    def both() -> bool | None:
        nonlocal position
        found = one()
        while position < len(tokens) and tokens[position] == "&&":
            position += 1
            other = one()
            found = False if False in (found, other) else None if None in (found, other) else True
        return found

    def one() -> bool | None:
        nonlocal position
        token = tokens[position] if position < len(tokens) else ""
        position += 1
        if token == "!":
            found = one()
            return None if found is None else not found
        if token == "(":
            found = either()
            position += 1
            return found
        if token.startswith("defined"):
            return value(re.findall(r"\w+", token)[-1])
        # A macro's value, a comparison: the rest of this operand is passed over.
        depth = 0
        while position < len(tokens) and (depth or tokens[position] not in ("&&", "||", ")")):
            depth += {"(": 1, ")": -1}.get(tokens[position], 0)
            position += 1
        return None

    found = either()
    return found if position >= len(tokens) else None


def _macro(argument: str) -> str:
    return argument[2:].partition("=")[0].partition("(")[0]


def _folders(arguments: Sequence[str], root: str, made: str) -> list[str]:
    """The folders for includes of the command with the fewest, in their order: as keys of files begin."""
    found: list[str] = []
    waiting = False
    for argument in arguments:
        folder = argument if waiting else argument[2:] if argument.startswith("-I") else ""
        waiting = argument in ("-isystem", "-iquote", "-I", "-idirafter")
        if folder == root or folder.startswith(f"{root}/"):
            found.append(folder[len(root) :].strip("/"))
        elif folder == made or folder.startswith(f"{made}/"):
            found.append(folder)
    return found


def _is_unit(known: Known, path: str) -> bool:
    return path in known.wanted and not known.wanted[path].header


def texts(known: Known, paths: Collection[str]) -> dict[str, Text]:
    """Of the files at some paths; one that has gone, or is no plain file any more, is left out, for then it
    is read again anyway."""
    found = {}
    for path in paths:
        data = plain_bytes(path if path.startswith("/") else f"{known.root}/{path}", MOST_BYTES)
        if data is not None:
            found[path] = read_text(data)
    return found
