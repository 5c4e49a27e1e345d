"""A C++ text without the macros that their endings tell: `class MYLIB_API Foo` reads as `class Foo`.

What a project calls its own exports no manifest can list; how such names end it can
(`cpp.blank_suffixes`).
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd.parse.cpp_text import without
from torchtalkd.parse.spelling import Spelling

_BEFORE: Final = re.compile(rb"(?<![\w#])[A-Z][A-Z0-9_]*\Z")
"""The beginning of a name in capitals, up to its ending."""
_REACH: Final = 120
"""Bytes looked back for the beginning of a name."""


def without_attributes(data: bytes, spelling: Spelling) -> bytes:
    """The text with these names blanked where they stand before a type or a name, but not in
    `#ifdef MYLIB_API`."""
    spans: list[tuple[int, int]] = []
    for mark in spelling.attribute_marks:
        # A search by bytes: a pattern for the whole name would try every word in capitals.
        at = data.find(mark)
        while at >= 0:
            ending = spelling.attribute_endings.match(data, at)
            window = data[max(0, at - _REACH) : at] if ending is not None else b""
            name = _BEFORE.search(window)
            if name is not None and ending is not None:
                start = at - len(window) + name.start()
                if not data[data.rfind(b"\n", 0, start) + 1 : start].lstrip().startswith(b"#"):
                    spans.append((start, ending.end()))
            at = data.find(mark, at + len(mark))
    return without(data, sorted(spans)) if spans else data
