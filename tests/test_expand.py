"""Macros expanded as a compiler does, from a table."""

from __future__ import annotations

import pytest

from torchtalkd.link.expand import Macro, expanded

TABLE = {
    "STR": Macro(("x",), "#x"),
    "PASTE": Macro(("a", "b"), "a ## b"),
    "CAT": Macro(("a", "b"), "PASTE(a, b)"),
    "ONE": Macro(("x",), "[x]"),
    "TWO": Macro(("x", "y"), "[x|y]"),
    "PICK": Macro(("_0", "_1", "N", "..."), "N"),
    "COUNT": Macro(("...",), "PICK(__VA_ARGS__, TWO, ONE)"),
    "CALL": Macro(("...",), "COUNT(__VA_ARGS__)(__VA_ARGS__)"),
    "LIST": Macro(("_",), "_(a) _(b, c)"),
    "SELF": Macro(("x",), "SELF(x) + 1"),
    "REST": Macro(("first", "rest..."), "first then rest"),
    "KERNELX": Macro(("x",), "<x>"),
}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("STR(a b)", '"a b"'),
        ('STR("q")', '"\\"q\\""'),
        ("PASTE(al, pha)", "alpha"),
        ("CAT(KERNEL, X)(y)", "<y>"),
        ("ONE(f(a, b))", "[f(a, b)]"),
        ("CALL(a)", "[a]"),
        ("CALL(a, b)", "[a|b]"),
        ("LIST(CALL)", "[a] [b|c]"),
        ("SELF(2)", "SELF(2) + 1"),
        ("REST(a, b, c)", "a then b, c"),
        ("ONE", "ONE"),
        ("ONE (a)", "[a]"),
        ("ONE(ONE(a))", "[[a]]"),
        ("ONE(", "ONE("),
        ('"ONE(a)"', '"ONE(a)"'),
        ("unknown(ONE(a))", "unknown([a])"),
    ],
)
def test_a_use_is_expanded(text: str, result: str) -> None:
    assert expanded(text, TABLE.get) == result


def test_a_macro_that_doubles_itself_stops() -> None:
    table = {f"M{n}": Macro(("x",), f"M{n + 1}(x) M{n + 1}(x)") for n in range(40)}
    assert len(expanded("M0(a)", table.get)) < 5_000_000
