"""Where whole words stand in a text. Pure."""

from __future__ import annotations

from collections.abc import Iterable

_IN_WORDS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def occurrences(data: bytes, words: Iterable[bytes]) -> list[tuple[int, int]]:
    """Where the words stand, by offset: (start, end). Looked for one after the other: a file has its own
    few, and to compile a pattern of them takes longer, as does a pattern that begins with no letter."""
    found: list[tuple[int, int]] = []
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
