"""Uses of macros that the grammar cannot place: found in the text, before the parse and after it.

`IMPLEMENT(sin, float)` without a semicolon makes the grammar lose its way. Macros that stand as a
statement of their own without one are lifted out of the text before it is parsed (blanked, offsets
kept). They are read afterwards, as are those that the walk did not meet because the grammar took
them for something else: `KERNEL(softmax, int, fp32)` for a declaration.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.parse.collector import Collector, MacroUse, Scope
from torchtalkd.parse.cpp_lone_uses import begins, is_member, lone_uses
from torchtalkd.parse.cpp_text import without
from torchtalkd.parse.macros import arguments
from torchtalkd.parse.shapes import dispatch_stub, macro_use
from torchtalkd.parse.spelling import Spelling

_STATEMENT = re.compile(rb"\n[ \t]*+(?=[A-Zsi])(?:(?:static|inline)[ \t]++)*([A-Z][A-Z0-9_]{2,})[ \t]*+\(")
"""A line that begins with a macro. (The engine looks for a newline first, which is quick; to look for
semicolons and braces too, or behind, costs many times that. The first letter rules out most lines.)"""
_IN_CAPITALS = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_ANY_STATEMENT = re.compile(rb"\n[ \t]*+(?:(?:static|inline)[ \t]++)*([A-Za-z_]\w*+)[ \t]*+\(")
"""The same for a name of any letters. (To compile a pattern of a file's own macros takes as long as to
search a hundred files.)"""
_BEHIND = re.compile(rb"[ \t\r]*(?:;|(?://[^\n]*)?\n(?:\s|//[^\n]*\n)*(?=[A-Za-z_}#~@]|/\*|\Z)|\Z)")
"""What follows a use that is a whole statement: a semicolon, or a line end and a new beginning."""
_VALUE: Final = re.compile(rb"\s*\{\s*[^\s;{}()][^;{}()]*\}\s*;")
"""A value in braces: a body has statements, or is empty."""
_BODIES: Final = frozenset({"function", "kernel", "structured_impl", "structured_meta", "macro_use"})
_NESTED: Final = 24
"""Methods of a local class that may stand between a line and the function around it."""
_USUAL_LENGTH: Final = 400
_LONGEST: Final = 20_000
"""Bytes of a use; the second is only looked at where the first was not enough."""


class Use(NamedTuple):
    """A use of a macro as a statement of its own."""

    name: str
    arguments: list[str]
    start: int
    """Of the statement, `static` included."""
    offset: int
    """Of the name."""
    end: int


def statements(data: bytes, macros: Collection[str], spelling: Spelling) -> list[re.Match[bytes]]:
    """Where a statement begins with one of the macros, or with any name in capitals that the manifest
    does not say to define nothing, or with what can only be a macro where it stands. Group 1 is the name."""
    others = {name for name in macros if not name.isupper() or name.startswith("_")}
    nothing = spelling.makes_nothing
    found = []
    for match in (_ANY_STATEMENT if others else _STATEMENT).finditer(data):
        name = match.group(1).decode()
        if others and not _IN_CAPITALS.fullmatch(name):
            if name in others:
                found.append(match)
        elif name in macros or not nothing(name):
            found.append(match)
    for match in lone_uses(data):
        name = match.group(1).decode()
        if name not in macros and not nothing(name):
            found.append(match)
    found.sort(key=lambda match: match.start(1))
    return found


def lift(data: bytes, candidates: list[re.Match[bytes]], macros: Collection[str]) -> tuple[bytes, list[Use]]:
    """The text without those statements that have no semicolon, and without those that are a use of
    the file's own macros at the left margin; and these.

    Not lifted are a head with a body behind it, a part of an expression, and what follows an `if (…)`.
    """
    lifted: list[Use] = []
    behind = 0
    for match in candidates:
        if match.start(1) < behind:
            continue
        if match.group(1).decode() not in macros:
            # Most statements end with their line: what is balanced there needs no closer look.
            rest = data[match.end() : data.find(b"\n", match.end())].rstrip()
            if (rest.endswith(b";") and not rest.endswith(b"};")) or (
                rest.endswith(b") {") and rest.count(b"(") + 1 == rest.count(b")")
            ):
                continue
        before = data[max(behind, match.start() - 200) : match.start() + 1].rstrip()[-1:]
        ended = before in (b"", b";", b"{", b"}", b":", b">", b'"') or _at_margin(data, match.start(1))
        if not ended and not begins(data, match.start(), behind):
            continue  # The last line may be a comment.
        use = _use(data, match)
        if use is None:
            continue
        after = _VALUE.match(data, use.end)
        if after is not None:
            # `FIELD(int, size){1};` reads as a function that lacks the rest of its body.
            behind = after.end()
            lifted.append(use._replace(end=behind))
            continue
        after = _BEHIND.match(data, use.end)
        if after is None:
            continue
        if after.group().endswith(b";"):
            if use.name not in macros or not _at_margin(data, match.start(1)):
                continue  # The grammar reads it as a call.
            use = use._replace(end=after.end())
        behind = use.end
        lifted.append(use)
    return without(data, [(use.start, use.end) for use in lifted]), lifted


def settle(collector: Collector, candidates: list[re.Match[bytes]], lifted: list[Use]) -> None:
    """Read the lifted uses, and those candidates that the walk did not meet. Inside of a function a
    use is a mere reference."""
    if not candidates:
        return
    inside = _Bodies(collector)
    for use in lifted:
        collector.macro_offsets.add(use.offset)
        owner = inside.owner(collector.text.place(use.offset)[0])
        collector.refer("macro", keys.macro(use.name), use.name, use.offset, owner, len(use.arguments))
        if owner < 0:
            _read(collector, use)
    places = set()
    for match in candidates:
        offset = match.start(1)
        place = collector.text.place(offset)
        if offset in collector.macro_offsets or inside.owner(place[0]) >= 0:
            continue
        unmet = _use(collector.source, match)
        if unmet is not None and _read(collector, unmet):
            places.add(place)
    if places:
        # The grammar took those with a semicolon for calls.
        collector.references[:] = [
            reference._replace(kind="macro", key=keys.macro(reference.name))
            if reference.kind == "call" and (reference.line, reference.column) in places
            else reference
            for reference in collector.references
        ]


def _read(collector: Collector, use: Use) -> bool:
    """Whether it is a use where it stands: in a class it may be a constructor, or a part of something."""
    spelling = collector.spelling
    scope = collector.scope_at(use.offset)
    shape = spelling.shapes.get(use.name)
    if shape is not None:
        if shape.shape == "dispatch_stub":
            dispatch_stub.note(collector, scope, shape, use.offset, use.end, use.arguments)
    elif use.name in collector.macros:
        text = collector.source[use.start : use.end].decode("utf-8", "replace")
        collector.uses.append(
            MacroUse(
                text,
                use.offset,
                scope.prefix,
                scope.ordinal,
                scope.local,
                scope.library,
                use.name,
                0,
                use.end,
            )
        )
    elif not spelling.makes_nothing(use.name):
        if scope.inside_class and not _is_member(collector, scope, use):
            return False
        macro_use.note(collector, scope, use.name, use.offset, use.end, use.arguments)
        return True
    return not scope.inside_class


def _is_member(collector: Collector, scope: Scope, use: Use) -> bool:
    """Of a class that is no function's own, where what was lifted before is blank."""
    if scope.body or scope.is_constructor(use.name):
        return False
    return is_member(collector.data, use.start, use.end)


def _use(data: bytes, match: re.Match[bytes]) -> Use | None:
    opening = match.end() - 1
    for reach in (_USUAL_LENGTH, _LONGEST):
        found = arguments(data[opening : opening + reach].decode("latin-1"), 0)
        if found is not None:
            head = match.group()[1:]
            start = match.start() + 1 + len(head) - len(head.lstrip())
            return Use(match.group(1).decode(), found[0], start, match.start(1), opening + found[1])
    return None


def _at_margin(data: bytes, offset: int) -> bool:
    line = data[data.rfind(b"\n", 0, offset) + 1 : offset]
    return not line or line in (b"static ", b"inline ")


class _Bodies:
    """Which function a line stands in, its first line left out."""

    def __init__(self, collector: Collector) -> None:
        self._spans = sorted(
            (definition.line, definition.end_line, ordinal)
            for ordinal, definition in enumerate(collector.definitions)
            if definition.end_line > definition.line
            and definition.kind in _BODIES
            and not definition.declares
        )

    def owner(self, line: int) -> int:
        """The ordinal of the innermost function; -1 for none."""
        before = bisect_left(self._spans, (line, 0, 0))
        for first, last, ordinal in reversed(self._spans[max(0, before - _NESTED) : before]):
            if first < line <= last:
                return ordinal
        return -1
