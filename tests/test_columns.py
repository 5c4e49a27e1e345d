"""Columns as clients count them, and changes to lines of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchtalkd.columns import Change, Encoding, changed, from_bytes, lines_of, to_bytes

ENCODINGS = ["utf-8", "utf-16", "utf-32"]
LINE = "é𝛼b\tz"
"""Two bytes and one unit; four bytes and two units; ASCII."""


@pytest.mark.parametrize(
    ("encoding", "column", "byte"),
    [
        ("utf-8", 2, 2),
        ("utf-8", 3, 2),  # within the four bytes
        ("utf-8", 6, 6),
        ("utf-16", 1, 2),
        ("utf-16", 2, 2),  # within the surrogate pair
        ("utf-16", 3, 6),
        ("utf-16", 5, 8),
        ("utf-32", 2, 6),
        ("utf-32", 99, 9),
        ("utf-16", 99, 9),
        ("utf-8", 99, 9),
        ("utf-16", -1, 0),
    ],
)
def test_a_column_means_a_byte(encoding: Encoding, column: int, byte: int) -> None:
    assert to_bytes(LINE.encode(), column, encoding) == byte


def test_a_carriage_return_is_behind_the_end() -> None:
    for encoding in ("utf-8", "utf-16", "utf-32"):
        assert to_bytes(b"ab\r", 3, encoding) == 2


@given(
    st.text(alphabet="aé𝛼\t", max_size=8), st.sampled_from(["utf-8", "utf-16", "utf-32"]), st.integers(0, 8)
)
def test_there_and_back(text: str, encoding: Encoding, count: int) -> None:
    line = text.encode()
    byte = len(text[:count].encode())
    assert to_bytes(line, from_bytes(line, byte, encoding), encoding) == byte


@given(st.data())
def test_a_change_is_that_of_the_text(data: st.DataObject) -> None:
    alphabet = st.text(alphabet="aé𝛼\n", max_size=12)
    text, piece = data.draw(alphabet), data.draw(alphabet)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))

    def place(at: int) -> tuple[int, int]:
        before = text[:at].rpartition("\n")[2]
        return text.count("\n", 0, at), len(before.encode("utf-16-le")) // 2

    change = Change(*place(start), *place(end), piece)
    assert changed(lines_of(text), change, "utf-16") == lines_of(text[:start] + piece + text[end:])


def test_a_change_behind_the_end_appends() -> None:
    assert changed([b"a"], Change(7, 0, 9, 3, "b"), "utf-16") == [b"ab"]
    assert changed([b"ab"], Change(0, 2, 0, 1, "x"), "utf-16") == [b"abx"]


def test_half_a_pair_is_no_crash() -> None:
    assert lines_of("a\ud800b") == [b"a?b"]
