"""A Python text without what cannot bear on some of its lines, for `ast`, which is slow. Pure.

A test file of 300 KB may load one library: all of its other classes and functions need not be parsed
to know which. They stay as `class A: pass` and `def f(): pass` where they were, so that every line
keeps its number.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import Final

from torchtalkd.facts import Definition, FileFacts

_WORD: Final = re.compile(rb"[A-Za-z_]\w*")
_HEAD: Final = re.compile(rb"[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]")
_EMPTY: Final = {"class": b"class %s: pass", "function": b"def %s(): pass", "kernel": b"def %s(): pass"}
_SHORT: Final = 4
"""Lines of a definition that is not worth it."""


def emptied(data: bytes, facts: FileFacts, lines: Sequence[int]) -> bytes:
    """The text in which definitions without any of the `lines` (from 1, ascending) have no body: each
    class, as `static_values` knows them by no name, and each function that is named nowhere else, of a
    module or class. What a function within another returns counts as returned by that one.

    `facts` are those of the text; where it has an error its definitions may end in the wrong place, and
    it is returned as it is.
    """
    if b"\r" in data or facts.problems:
        return data
    text = data.split(b"\n")
    written: Counter[bytes] | None = None
    reached = 0
    for definition in facts.definitions:
        first, last = definition.line, definition.end_line
        if first <= reached or last - first < _SHORT or not _is_apart(definition, facts.definitions):
            continue
        following = bisect_left(lines, first)
        if following < len(lines) and lines[following] <= last:
            continue
        head = _HEAD.match(text[first - 1])
        name = definition.name.rpartition(".")[2].encode()
        if head is None or not name.isascii():
            continue
        if definition.kind != "class":
            written = written or Counter(_WORD.findall(data))
            if written[name] != 1:
                continue
        indent = head[0][: len(head[0]) - len(head[0].lstrip())]
        text[first - 1 : last] = [indent + _EMPTY[definition.kind] % name, *[b""] * (last - first)]
        reached = last
    return b"\n".join(text)


def _is_apart(definition: Definition, definitions: Sequence[Definition]) -> bool:
    """Whether it is a function or class of a module or class."""
    around = definition.scope
    return definition.kind in _EMPTY and around >= 0 and definitions[around].kind in ("module", "class")
