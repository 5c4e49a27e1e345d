"""A manifest's C++ conventions, compiled: what the walk looks up for every name it meets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from os.path import commonprefix
from typing import NamedTuple

from torchtalkd.conventions.values import Conventions, Cpp, Shape, StubRule
from torchtalkd.parse.cpp_text import Macro


class Callee(NamedTuple):
    """What a called name is."""

    key: str
    name: str
    """Without template arguments."""
    plain: bool
    """No macro, launcher or shape: a call of it is a call and nothing else."""
    member: str
    """The key where it is called on an object; mostly the same."""


@dataclass(frozen=True, slots=True)
class Spelling:
    """How this framework's C++ is spelled."""

    blank: re.Pattern[bytes]
    """A name that is blanked before the grammar sees the text (group 1), with what is in parentheses
    behind it."""
    blank_capitals: re.Pattern[bytes]
    """The same without the names in `blank_small`."""
    blank_small: tuple[bytes, ...]
    """Names to be blanked that begin with a small letter, as half of all text does: looking for them
    takes as long as for all the others, so it is first asked whether a text has them at all."""
    blank_arguments: frozenset[bytes]
    """The names whose parentheses are blanked too."""
    attribute_endings: re.Pattern[bytes]
    """How the name of a macro ends that is blanked for it; what a project calls its own exports."""
    attribute_marks: tuple[bytes, ...]
    """What each of these endings begins with, as few as will do: what a text is searched for."""
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
    value_suffixes: tuple[tuple[bytes, bytes], ...]
    """How the names of functions end that are passed as plain values; with each what it shares with most
    others, `ernel` of `_kernel` and `Kernel`: a text without that has neither."""
    callees: dict[bytes, Callee]
    """What `cpp_walk` has found out about called names so far, by their bytes as written."""
    judged: dict[str, bool]
    """What `makes_nothing` has found out so far; derived from the fields above alone."""
    cpp: Cpp
    """The tables themselves, for look-ups that need the file's path too."""

    def blank_in(self, data: bytes) -> re.Pattern[bytes]:
        """The pattern of what is to be blanked in a text: `blank`, or a quicker one that finds the same."""
        return self.blank if any(name in data for name in self.blank_small) else self.blank_capitals

    def makes_nothing(self, name: str) -> bool:
        """Whether a macro is one that defines and registers nothing: a check, a dispatch over types."""
        known = self.judged.get(name)
        if known is None:
            known = self.judged[name] = (
                name.startswith(self.dispatch_macros) or self.ignored_macros.match(name) is not None
            )
        return known


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
    # Parentheses behind a name are taken with it; which names lose them too is asked afterwards, since
    # an alternation of two patterns would be slower than both.
    nested = r"(?:\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?"
    names = any_of(macro.name for macro in cpp.blank) or "(?!)"
    small = [macro.name for macro in cpp.blank if macro.name[:1].islower()]
    capitals = any_of({macro.name for macro in cpp.blank}.difference(small)) or "(?!)"
    endings = any_of(cpp.blank_suffixes) or "(?!)"
    making = any_of(shape.name for shape in cpp.shapes) or "(?!)"
    ignored = "|".join(translate(pattern) for pattern in cpp.file_scope_macros) or "(?!)"
    return Spelling(
        blank=re.compile(rf"({names})\b{nested}".encode()),
        blank_capitals=re.compile(rf"({capitals})\b{nested}".encode()),
        blank_small=tuple(name.encode() for name in small),
        blank_arguments=frozenset(macro.name.encode() for macro in cpp.blank if macro.arguments),
        attribute_endings=re.compile(rf"{endings}(?=\s+[A-Za-z_])".encode()),
        attribute_marks=tuple(
            ending.encode()
            for ending in cpp.blank_suffixes
            if ending and not any(o and o != ending and ending.startswith(o) for o in cpp.blank_suffixes)
        ),
        shapes={shape.name: shape for shape in cpp.shapes},
        launchers=frozenset(cpp.launchers) | frozenset(cpp.cpu_launchers),
        dispatch_macros=tuple(cpp.dispatch_macros),
        ignored_macros=re.compile(ignored),
        making=re.compile(r"\{|\.impl\s*\(|\.def\s*\(" + rf"|\b(?:{making})\b"),
        macros={m.name: Macro(m.name, m.parameters, m.body, 0, 0) for m in cpp.macros},
        stub_rules=cpp.stub_rules,
        python_module=cpp.default_python_module,
        value_suffixes=tuple(
            (suffix.encode(), _shared_end(suffix, cpp.value_suffixes).encode())
            for suffix in cpp.value_suffixes
        ),
        callees={},
        judged={},
        cpp=cpp,
    )


def _shared_end(word: str, words: Iterable[str]) -> str:
    """The end of three letters or more that a word shares with another one; the word where there is none."""
    pairs = ([word[::-1], other[::-1]] for other in words if other != word)
    ends = {commonprefix(pair)[::-1] for pair in pairs}  # noqa: RUF071 - words, not paths
    return max((end for end in ends if len(end) > 2), key=len, default=word)


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
        shared = commonprefix(rest)  # noqa: RUF071 - words, not paths
        parts.append(re.escape(first + shared) + any_of(word[len(shared) :] for word in rest))
    joined = parts[0] if len(parts) == 1 and not ends else "(?:" + "|".join(parts) + ")"
    return joined + "?" if ends else joined
