"""The text of a C++ file before it meets the grammar: bytes, lines, preprocessor directives.

Nothing here builds a tree. Directives are read by line, so that they are found even where the
grammar is lost, and blanking keeps every offset, so that places need no mapping.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import NamedTuple

_DIRECTIVE = re.compile(
    rb"#[ \t]*(include(?:_next)?|import|define|if|ifdef|ifndef|elif|else|endif)\b"
    rb"[ \t]*((?:[^\\\n]+|\\\r?\n|\\[^\n])*)"
)
_DEFINE = re.compile(rb"([A-Za-z_]\w*)(?:\(([^()]*)\))?(.*)", re.DOTALL)
_INCLUDES = (b"include", b"include_next", b"import")
_INCLUDE = re.compile(rb"[<\"]([^>\"\n]+)[>\"]")
_KEPT = re.compile(
    rb"#[ \t]*(?:if[ \t]+0\b|.*?\b(?!(?:el)?if\b|defined\b|__has_)[A-Za-z_]\w*[ \t]*\()", re.DOTALL
)
"""`#if 0`; `#if USE_X()`, but not what the preprocessor itself knows."""
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CONTINUATION = re.compile(rb"\\\r?\n")
_NEWLINE = re.compile(b"\n")
_LINE_END = ord("\n")
_LONG_TABLE = 1 << 14
"""Bytes of the shortest table that is worth looking for."""
_NUMBERS = re.compile(rb"\{[\s\d,.{}+-]{%d,}" % _LONG_TABLE)
_BRACE = re.compile(rb"[{}]")
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Macro(NamedTuple):
    """A `#define NAME(parameters) body`; `parameters` is None for one without parentheses."""

    name: str
    parameters: tuple[str, ...] | None
    body: str
    start: int
    end: int


class Directives(NamedTuple):
    """All that the preprocessor lines of a file say."""

    macros: list[Macro]
    includes: list[tuple[str, int]]
    """(path as written, offset of the path)."""
    guard_starts: list[int]
    guards: list[str]
    """The conditions in force from the offset at the same position of `guard_starts` on."""
    branches: list[tuple[int, int, int, int]]
    """(start, end, group, number in the group) of each branch of an #if with an #else or #elif."""
    marks: list[tuple[int, int, int]]
    """(start, end, group) of each line that begins or ends a branch, where the grammar is to see it."""
    spans: list[tuple[int, int]]
    """The lines that the grammar can do without, in order and from the # on: each #define, and most marks
    (see `_leave_marks_out`)."""


class _Level(NamedTuple):
    condition: str
    start: int
    group: int
    number: int


class Text:
    """Bytes with their line starts; immutable once made."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        if b"\r" not in data or data.count(b"\r") == data.count(b"\r\n"):
            self.line_starts = list(accumulate(map(len, data.splitlines(keepends=True)), initial=0))
        else:  # splitlines would end a line at a lone carriage return; editors and grammars do not.
            self.line_starts = [0, *(match.end() for match in _NEWLINE.finditer(data))]

    def with_data(self, data: bytes) -> Text:
        """Another text with the same lines: one in which something was blanked."""
        text = object.__new__(Text)
        text.data, text.line_starts = data, self.line_starts
        return text

    def place(self, offset: int) -> tuple[int, int]:
        """(1-based line, 0-based byte column) of an offset."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1]


def decoded(data: bytes) -> tuple[bytes, str]:
    """The bytes as the grammar can read them, and what had to be said about them ('' nothing).

    A NUL in the first 8 KB means binary, unless a UTF-16 mark says otherwise. Single-byte
    encodings need no care: names are ASCII, and the rest stays bytes.
    """
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return data[2:].decode(encoding, "replace").encode("utf-8"), f"read as {encoding}"
    if data.startswith(b"\xef\xbb\xbf"):
        return b"   " + data[3:], ""
    if b"\0" in data[:8192]:
        return b"", "binary"
    return data, ""


def blanked(data: bytes, pattern: re.Pattern[bytes], with_arguments: frozenset[bytes]) -> bytes:
    """The text with the macro names that the pattern matches (group 1) replaced by blanks of equal
    length, and with them the parentheses behind those `with_arguments`; line ends stay."""

    def blank(match: re.Match[bytes]) -> bytes:
        text, name = match.group(0, 1)
        start = match.start()
        if start and match.string[start - 1] in _WORD:
            return text  # The end of a longer name. (A \\b in front of the pattern costs twice the time.)
        if name in with_arguments:
            return _blank_bytes(text)
        return b" " * len(name) + text[len(name) :]

    return pattern.sub(blank, data)


def without_tables(data: bytes) -> bytes:
    """The text with what is in the braces of long tables of numbers blanked.

    Numbers name nothing, and the tree of a two-megabyte table costs as much as those of a hundred
    usual files.
    """
    if len(data) < _LONG_TABLE:
        return data
    return without(data, [inside for run in _NUMBERS.finditer(data) for inside in _braced(data, *run.span())])


def _braced(data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The insides of the outermost pairs of braces between two offsets."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for brace in _BRACE.finditer(data, start, end):
        if brace.group() == b"{":
            opened.append(brace.end())
        elif opened:
            inside = opened.pop()
            while found and found[-1][0] > inside:
                found.pop()
            found.append((inside, brace.start()))
    return found


def without(data: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    """The text with some stretches blanked; line ends stay. The spans are in order and apart."""
    pieces: list[bytes] = []
    position = 0
    for start, end in spans:
        pieces += (data[position:start], _blank_bytes(data[start:end]))
        position = end
    pieces.append(data[position:])
    return b"".join(pieces)


def _blank_bytes(text: bytes) -> bytes:
    return b"\n".join(b" " * len(line) for line in text.split(b"\n"))


def directives(data: bytes) -> Directives:
    """Read all preprocessor lines. Never raises; an unbalanced #endif or #if is passed over."""
    found = Directives([], [], [0], [""], [], [], [])
    if b"#" not in data:
        return found
    stack: list[_Level] = []
    groups = 0
    pending_guard = b""
    for match in _DIRECTIVE.finditer(data):
        # Only the first word of a line is a directive; a ^ in the pattern would cost more than all the rest.
        start = match.start()
        if start and data[start - 1] != _LINE_END and data[data.rfind(b"\n", 0, start) + 1 : start].strip():
            continue
        word = match.group(1)
        if word in _INCLUDES:
            path = _INCLUDE.match(match.group(2))
            # Where a macro names the file, it may be any.
            name = path.group(1).decode("utf-8", "replace") if path else "*"
            found.includes.append((name, match.start(2) + 1))
            continue
        if word == b"define":
            first = len(stack) == 1 and not found.macros and not found.includes
            _define(found, match)
            if stack and pending_guard and match.group(2).split(b"(")[0].strip() == pending_guard:
                stack[-1] = stack[-1]._replace(condition="")  # An include guard is no condition.
                found.guards[-1] = _joined(stack)
                if first and not found.macros[-1].body:
                    found.macros.pop()  # Nor is it a macro that anybody uses.
            pending_guard = b""
            continue
        pending_guard = b""
        if word in (b"if", b"ifdef", b"ifndef"):
            condition = _condition(match.group(2))
            if word == b"ifdef":
                condition = f"defined({condition})"
            elif word == b"ifndef":
                pending_guard = match.group(2).strip()
                condition = f"!defined({condition})"
            stack.append(_Level(condition, match.end(), groups, 0))
            found.marks.append((match.start(), match.end(), groups))
            groups += 1
        elif word in (b"else", b"elif") and stack:
            top = stack[-1]
            found.marks.append((match.start(), match.end(), top.group))
            found.branches.append((top.start, match.start(), top.group, top.number))
            condition = _condition(match.group(2)) if word == b"elif" else _negated(top.condition)
            stack[-1] = _Level(condition, match.end(), top.group, top.number + 1)
        elif word == b"endif" and stack:
            top = stack.pop()
            found.marks.append((match.start(), match.end(), top.group))
            if top.number:
                found.branches.append((top.start, match.start(), top.group, top.number))
        else:
            continue
        found.guard_starts.append(match.end())
        found.guards.append(_joined(stack))
    if found.marks and data.count(b"{") == data.count(b"}"):
        _leave_marks_out(found, data)
    return found


def _leave_marks_out(found: Directives, data: bytes) -> None:
    """Takes the lines of an #if to those that the grammar can do without: all branches are read in any case,
    and it has no place for an #if among arguments, between `.def(…)` and `.def(…)`, in front of an `else`.

    Only in a text whose braces match. Where an #if cuts through them, as `if (a) {` and `if (b) {` with one
    brace that closes both, its lines help the grammar to find back. So they do in `#if 0`, where anything
    may stand, and where a branch stops in the midst of an expression. An #if that uses a macro, as
    `#if AT_CUDNN_ENABLED()` does, stays too: the grammar sees the use.
    """
    kept = {group for start, end, group in found.marks if _KEPT.match(data, start, end)}
    branches: dict[int, list[bytes]] = {}
    for start, end, group, _ in found.branches:
        branches.setdefault(group, []).append(data[start:end])
    kept.update(group for group, texts in branches.items() if not _end_whole(texts))
    found.spans.extend((start, end) for start, end, group in found.marks if group not in kept)
    found.spans.sort()
    found.marks[:] = [mark for mark in found.marks if mark[2] in kept]


def _end_whole(branches: list[bytes]) -> bool:
    """Whether each branch ends where a statement, an argument or one of a chain of calls does."""
    ends: tuple[bytes, ...] = (b";", b"}", b",")
    if all(branch.lstrip().startswith(b".") for branch in branches):
        ends = (*ends, b")")
    for branch in branches:
        for line in reversed(branch.splitlines()):
            code = line.partition(b"//")[0].strip()
            if code and not code.startswith(b"#"):
                if not code.endswith(ends):
                    return False
                break
    return True


def guard_at(directives: Directives, offset: int) -> str:
    """The conditions of the #if lines around an offset, outermost first; '' for none."""
    if len(directives.guards) == 1:
        return ""
    return directives.guards[bisect_right(directives.guard_starts, offset) - 1]


def _define(found: Directives, match: re.Match[bytes]) -> None:
    define = _DEFINE.match(match.group(2))
    if define is None:
        return
    name, parameters, body = define.groups()
    found.spans.append((match.start(), match.end()))
    found.macros.append(
        Macro(
            name.decode(),
            None
            if parameters is None
            else tuple(
                p.strip().decode("utf-8", "replace")
                for p in _CONTINUATION.sub(b" ", parameters).split(b",")
                if p.strip()
            ),
            _CONTINUATION.sub(b"\n", _COMMENT.sub(b" ", body)).strip().decode("utf-8", "replace"),
            match.start(2),
            match.end(),
        )
    )


def _condition(text: bytes) -> str:
    return " ".join(_CONTINUATION.sub(b" ", _COMMENT.sub(b" ", text)).decode("utf-8", "replace").split())


def _negated(condition: str) -> str:
    if not condition:
        return ""
    if condition.startswith("!") and " " not in condition and condition.count("(") <= 1:
        return condition[1:]
    return f"!({condition})" if " " in condition else f"!{condition}"


def _joined(stack: list[_Level]) -> str:
    return " && ".join(level.condition for level in stack if level.condition)
