"""Uses of macros that the grammar cannot place: found in the text, before the parse and after it.

`IMPLEMENT(sin, float)` without a semicolon makes the grammar lose its way. Uses of the file's own
macros at the left margin are lifted out of the text before it is parsed (blanked, offsets kept)
and expanded afterwards. Uses that the walk did not meet are read from the text in the end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.parse.collector import Collector, MacroUse
from torchtalkd.parse.cpp_text import Macro, without
from torchtalkd.parse.macros import arguments
from torchtalkd.parse.shapes import dispatch_stub, macro_use

_AFTER = re.compile(rb"[ \t]*([;{(=.,?:<>\[]|->)?")
_STATEMENT = re.compile(rb"(?:(?<=\n)|(?<=[;{}]))[ \t]*([A-Z][A-Z0-9_]{2,})[ \t]*\(")
_BODIES = frozenset({"function", "kernel", "structured_impl", "structured_meta", "macro_use"})
_USUAL_LENGTH = 400
_LONGEST = 20_000
"""Bytes of a use; the second is only looked at where the first was not enough."""


class Lifted(NamedTuple):
    """A use that was taken out of the text."""

    name: str
    text: str
    start: int
    end: int


def lift(data: bytes, macros: Mapping[str, Macro]) -> tuple[bytes, list[Lifted]]:
    """The text without the uses at the left margin, and these. A use that is the head of a body,
    or part of an expression, stays."""
    if not macros:
        return data, []
    names = b"|".join(re.escape(name.encode()) for name in macros)
    pattern = re.compile(rb"^(?:(?:static|inline)[ \t]+)*(" + names + rb")[ \t]*\(", re.MULTILINE)
    lifted: list[Lifted] = []
    behind = 0
    for match in pattern.finditer(data):
        if match.start() < behind:
            continue
        found = None
        for reach in (_USUAL_LENGTH, _LONGEST):
            if found is None:
                window = data[match.start() : match.start() + reach].decode("latin-1")
                found = arguments(window, match.end() - 1 - match.start())
        if found is None:
            continue
        end = match.start() + found[1]
        after = _AFTER.match(data, end)
        follows = after.group(1) if after else None
        if follows not in (None, b";"):
            continue
        text = data[match.start() : end].decode("utf-8", "replace")
        behind = after.end() if after and follows else end
        lifted.append(Lifted(match.group(1).decode(), text, match.start(), behind))
    return without(data, [(use.start, use.end) for use in lifted]), lifted


def settle(collector: Collector, lifted: list[Lifted]) -> None:
    """Give each lifted use its place among the scopes: to be expanded, or a mere reference where it
    turns out to stand inside a function."""
    bodies = [
        (definition.line, definition.end_line, ordinal)
        for ordinal, definition in enumerate(collector.definitions)
        if definition.end_line > definition.line
        and definition.kind in ("function", "kernel", "structured_impl")
    ]
    for use in lifted:
        line = collector.text.place(use.start)[0]
        owner = max((ordinal for first, last, ordinal in bodies if first < line <= last), default=-1)
        collector.refer("macro", keys.macro(use.name), use.name, use.start, owner)
        if owner >= 0:
            continue
        collector.macro_offsets.add(use.start)
        _expand_later(collector, use)


def recover(collector: Collector) -> None:
    """Read the macros at the head of a statement, outside of functions, that the grammar took for
    something else: `KERNEL(softmax, int, fp32)` for a declaration, `DECLARE(void (*)(int), f)` for
    nothing at all."""
    spelling = collector.spelling
    inside: set[int] | None = None
    for match in _STATEMENT.finditer(collector.data):
        offset = match.start(1)
        if offset in collector.macro_offsets:
            continue
        if inside is None:
            inside = _lines_inside_functions(collector)
        if collector.text.place(offset)[0] in inside:
            continue
        name = match.group(1).decode()
        shape = spelling.shapes.get(name)
        scope = collector.scope_at(offset)
        known = name in collector.macros
        if (shape is None or shape.shape != "dispatch_stub") and not known:
            if shape is not None or scope.inside_class or spelling.ignored_macros.match(name):
                continue
        window = collector.data[offset : offset + _LONGEST].decode("latin-1")
        found = arguments(window, match.end() - 1 - offset)
        if found is None:
            continue
        texts, length = found
        if shape is not None and shape.shape == "dispatch_stub":
            dispatch_stub.note(collector, scope, shape, offset, offset + length, texts)
        elif known:
            text = collector.data[offset : offset + length].decode("utf-8", "replace")
            _expand_later(collector, Lifted(name, text, offset, offset + length))
        else:
            macro_use.note(collector, scope, name, offset, offset + length, texts)


def _lines_inside_functions(collector: Collector) -> set[int]:
    lines: set[int] = set()
    for definition in collector.definitions:
        if definition.kind in _BODIES and not definition.declares:
            lines.update(range(definition.line + 1, definition.end_line + 1))
    return lines


def _expand_later(collector: Collector, use: Lifted) -> None:
    scope = collector.scope_at(use.start)
    collector.uses.append(
        MacroUse(
            use.text, use.start, scope.prefix, scope.ordinal, scope.local, scope.library, use.name, 0, use.end
        )
    )
