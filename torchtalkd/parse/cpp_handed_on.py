"""Functions of a file that its bodies hand on as values, without `&`: `parallel_for(0, n, work)`.

Which plain name is a function's only the file's own definitions tell here; of those few the text is
searched. (To look at every argument of every call would cost more than all the rest.)
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import Final

from torchtalkd import keys
from torchtalkd.parse.collector import Collector
from torchtalkd.parse.cpp_values import function_spans, innermost

_SHORTEST: Final = 4
"""Letters of a name that is looked for: shorter ones are everywhere."""
_MANY: Final = 8
"""Names with which one look at the text for all is quicker than to search it for one after the other."""
_HANDED: Final = re.compile(rb"[(,{=?:]\s*+([A-Za-z_\x80-\xff][\w\x80-\xff]{3,}+)(?=\s*+[,)};])")
"""What may be handed on: a name alone between two of the marks below."""
_BEFORE: Final = frozenset((b"(", b",", b"{", b"=", b"?", b":"))
"""What stands before a value that is handed on."""
_BEHIND: Final = frozenset((b",", b")", b"}", b";"))
"""What stands behind it."""


def add_handed_on(collector: Collector) -> None:
    """Add an `address` for each place where a body hands on a function of the file."""
    defined = Counter(
        keys.cpp_last(d.name)
        for d in collector.definitions
        if d.kind in ("function", "kernel") and not (d.detail or {}).get("method")
    )
    names = [name for name in defined if len(name.encode()) >= _SHORTEST and name.isidentifier()]
    if len(names) > _MANY:
        handed = set(_HANDED.findall(collector.data))
        names = [name for name in names if name.encode() in handed]
    places = _Places(collector)
    for name in names:
        _search(collector, name, defined[name], places)


class _Places:
    """What is only looked at where a name may be handed on at all: few files have one."""

    def __init__(self, collector: Collector) -> None:
        self._collector = collector

    @cached_property
    def spans(self) -> list[tuple[int, int, int]]:
        """The functions of the file."""
        return function_spans(self._collector)

    @cached_property
    def met(self) -> Counter[str]:
        """How many references have a key."""
        return Counter(r.key for r in self._collector.references)

    @cached_property
    def known(self) -> set[tuple[str, int, int]]:
        """Key and place of each reference."""
        return {(r.key, r.line, r.column) for r in self._collector.references}


def _search(collector: Collector, name: str, defined: int, places: _Places) -> None:
    data, key, raw = collector.data, keys.cpp(name), name.encode()
    # A search by bytes: a pattern that must look behind itself costs a hundred times that.
    at = data.find(raw)
    while at >= 0:
        end = at + len(raw)
        behind = data[end : end + 1]
        if behind.isspace():
            behind = data[end : end + 40].lstrip()[:1]
        if behind in _BEHIND and data[max(0, at - 80) : at].rstrip()[-1:] in _BEFORE:
            if data.count(raw) - defined <= places.met[key]:
                return  # Nothing is left to be handed on: all of them are known.
            line, column = collector.text.place(at)
            starts = collector.text.line_starts
            owner = innermost(places.spans, line)
            # What the body names before is its own: a parameter or a variable hides the function.
            is_free = owner >= 0 and data.find(raw, starts[collector.definitions[owner].line - 1], at) < 0
            if (
                is_free
                and (key, line, column) not in places.known
                and b"//" not in data[starts[line - 1] : at]
            ):
                collector.refer("address", key, name, at, owner)
        at = data.find(raw, end)
