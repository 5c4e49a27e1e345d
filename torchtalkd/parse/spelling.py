"""A manifest's C++ conventions, compiled: what the walk looks up for every name it meets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from os.path import commonprefix

from torchtalkd.conventions.values import Conventions, Shape, StubRule
from torchtalkd.parse.cpp_text import Macro


@dataclass(frozen=True, slots=True)
class Spelling:
    """How this framework's C++ is spelled."""

    blank: tuple[re.Pattern[bytes], ...]
    """What is blanked before the grammar sees the text."""
    shapes: dict[str, Shape]
    """By name as written."""
    launchers: frozenset[str]
    dispatch_macros: tuple[str, ...]
    """Prefixes."""
    ignored_macros: re.Pattern[str]
    """Macros that define nothing."""
    making: re.Pattern[str]
    """What the body of a macro that makes definitions or registrations contains."""
    macros: dict[str, Macro]
    """Macros whose definition is not in the tree."""
    stub_rules: tuple[StubRule, ...]
    python_module: str
    """What pybind functions of an unnamed module belong to."""
    tables: dict[str, str]
    """PyMethodDef table → Python module or class."""


_CACHE: list[tuple[Conventions, Spelling]] = []


def spelling(conventions: Conventions) -> Spelling:
    """The compiled conventions; the last one asked for is kept."""
    if _CACHE and _CACHE[0][0] is conventions:
        return _CACHE[0][1]
    made = _compile(conventions)
    _CACHE[:] = [(conventions, made)]
    return made


def _compile(conventions: Conventions) -> Spelling:
    cpp = conventions.cpp
    plain = [b.name for b in cpp.blank if not b.arguments]
    calls = [b.name for b in cpp.blank if b.arguments]
    patterns = []
    if calls:
        nested = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
        patterns.append(re.compile(f"{any_of(calls)}\\b\\s*{nested}".encode()))
    if plain:
        patterns.append(re.compile(f"{any_of(plain)}\\b".encode()))
    return Spelling(
        blank=tuple(patterns),
        shapes={shape.name: shape for shape in cpp.shapes},
        launchers=frozenset(cpp.launchers),
        dispatch_macros=tuple(cpp.dispatch_macros),
        ignored_macros=re.compile("|".join(translate(pattern) for pattern in cpp.file_scope_macros) or r"(?!)"),
        making=re.compile(r"\{|\.impl\s*\(|\.def\s*\(|\b(?:" + (any_of(s.name for s in cpp.shapes) or "(?!)") + r")\b"),
        macros={m.name: Macro(m.name, m.parameters, m.body, 0, 0) for m in cpp.macros},
        stub_rules=cpp.stub_rules,
        python_module=cpp.default_python_module,
        tables=dict(cpp.python_names),
    )


def any_of(words: Iterable[str]) -> str:
    """A regular expression for any of the words, common beginnings taken together.

    Python's engine tries alternatives one by one; as a tree of beginnings, sixty words cost a
    quarter of the time.
    """
    by_first: dict[str, list[str]] = {}
    ends = False
    for word in sorted(set(words)):
        if word:
            by_first.setdefault(word[0], []).append(word[1:])
        else:
            ends = True
    if not by_first:
        return ""
    parts = []
    for first, rest in by_first.items():
        shared = commonprefix(rest)
        parts.append(re.escape(first + shared) + any_of(word[len(shared) :] for word in rest))
    joined = parts[0] if len(parts) == 1 and not ends else "(?:" + "|".join(parts) + ")"
    return joined + "?" if ends else joined
