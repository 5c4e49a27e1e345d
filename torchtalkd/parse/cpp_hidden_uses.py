"""Uses of a file's own macros that the grammar does not show: `CALL(uint8_t, float, kAuto);` in a body
reads like a declaration, and a macro may be handed to another one by its name.

Each becomes a reference `macro` of the function around it. Macros also use macros: what a body hands
to one that calls its parameter is called there.
"""

from __future__ import annotations

import re

from torchtalkd import keys
from torchtalkd.parse.collector import Collector
from torchtalkd.parse.cpp_text import Macro
from torchtalkd.parse.cpp_values import function_spans, innermost
from torchtalkd.parse.macros import arguments, is_called
from torchtalkd.parse.occurrences import occurrences

_WORDS = re.compile(r"[A-Za-z_]\w*")
_CALLED = re.compile(r"\b([A-Za-z_]\w*+)\s*+\(")
_NAME = re.compile(r"&?\s*((?:\w+::)*[A-Za-z_]\w*)\s*(?:<[^<>(){};]*>)?$")


def add_hidden_uses(collector: Collector) -> None:
    """Add the uses in bodies that the walk did not meet."""
    own = {macro.name.encode() for macro in collector.directives.macros if macro.parameters is not None}
    found = occurrences(collector.source, own)
    spans = function_spans(collector) if found else []
    if not spans:
        return
    met = {(r.line, r.column) for r in collector.references if r.kind == "macro"}
    for start, end in found:
        place = collector.text.place(start)
        if place in met:
            continue
        owner = innermost(spans, place[0])
        if owner >= 0 and collector.definitions[owner][3:5] < place:
            name = collector.source[start:end].decode()
            collector.refer("macro", keys.macro(name), name, start, owner)


def handed_on(collector: Collector, macro: Macro) -> list[str]:
    """The names that a macro's body hands to macros of this file which call them."""
    found: dict[str, None] = {}
    words = _WORDS.findall(macro.body)
    if collector.macros.keys().isdisjoint(words):
        return []
    for name, inner in collector.macros.items():
        if name == macro.name or name not in words or not inner.parameters:
            continue
        called = [number for number, p in enumerate(inner.parameters) if is_called(inner.body, p)]
        if not called:
            continue
        for match in _CALLED.finditer(macro.body):
            if match[1] != name:
                continue
            given = arguments(macro.body, match.end() - 1)
            for number in called:
                if given is not None and number < len(given[0]):
                    word = _NAME.match(given[0][number].strip())
                    if word and word[1] not in (macro.parameters or ()):
                        found.setdefault(word[1])
    return list(found)
