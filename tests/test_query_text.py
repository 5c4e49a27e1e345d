"""Captures are asked for by the first letters of their names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchtalkd import parse
from torchtalkd.parse.query_text import query_text

NAMES = sorted(path.stem for path in (Path(parse.__file__).parent / "queries").glob("*.scm"))


def _patterns(text: str) -> Iterator[str]:
    """The patterns of a query, with the captures behind each."""
    text = re.sub(r";[^\n]*", "", text)
    depth, begin = 0, 0
    for at, letter in enumerate(text):
        if letter in "([" and depth == 0 and text[begin:at].strip():
            yield text[begin:at]
            begin = at
        depth += (letter in "([") - (letter in ")]")
    yield text[begin:]


@pytest.mark.parametrize("name", NAMES)
def test_the_letters_tell_the_captures_of_a_pattern_apart(name: str) -> None:
    whole = (Path(parse.__file__).parent / "queries" / f"{name}.scm").read_text("utf-8")
    patterns = list(_patterns(whole))
    assert patterns
    for pattern, short in zip(patterns, _patterns(query_text(name)), strict=True):
        captures = set(re.findall(r"@(\w+)", pattern))
        assert captures
        assert sorted(capture[0] for capture in captures) == sorted(set(re.findall(r"@(\w+)", short))), (
            pattern
        )
