"""Functions of a file that its bodies hand on as values, without `&`: `parallel_for(0, n, work)`.

Which plain name is a function's only the file's own definitions tell here; of those few the text is
searched. (To look at every argument of every call would cost more than all the rest.)
"""

from __future__ import annotations

import re
from collections import Counter
from operator import attrgetter
from typing import Final

from torchtalkd import keys
from torchtalkd.parse.collector import Collector
from torchtalkd.parse.cpp_values import function_spans, innermost

_SHORTEST: Final = 4
"""Letters of a name that is looked for: shorter ones are everywhere."""
_MANY: Final = 10
"""Names with which one look at the text for all is quicker than to count one after the other in it."""
_HANDED: Final = re.compile(rb"[(,{=?:]\s*+([A-Za-z_\x80-\xff][\w\x80-\xff]{3,}+)(?=\s*+[,)};])")
"""What may be handed on: a name alone between two of the marks below."""
_KEY: Final = attrgetter("key")
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
    if not defined:
        return
    data = collector.data
    names = [name for name in defined if len(name.encode()) >= _SHORTEST and name.isidentifier()]
    if len(names) > _MANY:
        handed = set(_HANDED.findall(data))
        names = [name for name in names if name.encode() in handed]
    left = [
        (name, raw, more) for name in names if (more := data.count(raw := name.encode()) - defined[name]) > 0
    ]
    if not left:
        return
    met = Counter(map(_KEY, collector.references))
    spans: list[tuple[int, int, int]] | None = None
    for name, raw, more in left:
        if more <= met[keys.cpp(name)]:
            continue
        spans = function_spans(collector) if spans is None else spans
        if spans:
            _search(collector, name, raw, spans)


def _search(collector: Collector, name: str, raw: bytes, spans: list[tuple[int, int, int]]) -> None:
    data, key = collector.data, keys.cpp(name)
    starts = collector.text.line_starts
    places: set[tuple[int, int]] | None = None
    # A search by bytes: a pattern that must look behind itself costs a hundred times that.
    at = data.find(raw)
    while at >= 0:
        end = at + len(raw)
        if (
            data[end : end + 40].lstrip()[:1] in _BEHIND
            and data[max(0, at - 80) : at].rstrip()[-1:] in _BEFORE
        ):
            places = (
                {(r.line, r.column) for r in collector.references if r.key == key}
                if places is None
                else places
            )
            line, column = collector.text.place(at)
            owner = innermost(spans, line)
            # What the body names before is its own: a parameter or a variable hides the function.
            is_free = owner >= 0 and data.find(raw, starts[collector.definitions[owner].line - 1], at) < 0
            if is_free and (line, column) not in places and b"//" not in data[starts[line - 1] : at]:
                collector.refer("address", key, name, at, owner)
        at = data.find(raw, end)
