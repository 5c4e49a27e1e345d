"""Where whole words stand in a text."""

from __future__ import annotations

import pytest

from torchtalkd.parse.occurrences import occurrences

OTHERS = {f"other_{n}".encode() for n in range(100)}


@pytest.mark.parametrize("others", [set(), OTHERS], ids=["few", "many"])
def test_only_whole_words_count(others: set[bytes]) -> None:
    text = b"CALL(MY_CALL, CALLS, CALL2) 0CALL CALL\xe9 def f(x) xdef f(y)\nCALL"
    words = {b"CALL", b"def f", b""} | others
    assert [(start, text[start:end]) for start, end in occurrences(text, words)] == [
        (0, b"CALL"),
        (34, b"CALL"),
        (40, b"def f"),
        (59, b"CALL"),
    ]


@pytest.mark.parametrize("others", [set(), OTHERS], ids=["few", "many"])
def test_words_within_each_other_are_told_apart(others: set[bytes]) -> None:
    words = {b"A", b"AA", b"A_A"} | others
    assert occurrences(b"A AA A_A AAA", words) == [(0, 1), (2, 4), (5, 8)]
    assert occurrences(b"", words) == []
