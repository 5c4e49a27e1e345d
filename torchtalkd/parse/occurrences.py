"""Where whole words stand in a text. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

_IN_WORDS: Final = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_NAME: Final = re.compile(rb"\b[A-Za-z_]\w*")
_MANY: Final = 40
"""Names with which one look at each name of the text is quicker than a search for one after the other."""


def occurrences(data: bytes, words: Collection[bytes]) -> list[tuple[int, int]]:
    """Where the words stand, by offset: (start, end).

    No pattern is made of the words: a file has its own few, and to compile one takes longer than all of
    these searches.
    """
    found: list[tuple[int, int]] = []
    if len(words) > _MANY:
        names = {word for word in words if _NAME.fullmatch(word)}
        found = [match.span() for match in _NAME.finditer(data) if match[0] in names]
        words = [word for word in words if word not in names]
    for word in filter(None, words):
        start = data.find(word)
        while start >= 0:
            end = start + len(word)
            before = data[start - 1] if start else 0
            behind = data[end] if end < len(data) else 0
            if before not in _IN_WORDS and behind not in _IN_WORDS:
                found.append((start, end))
            start = data.find(word, end)
    found.sort()
    return found
