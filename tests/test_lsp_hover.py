"""Cards as text: nothing of a tree acts as markup, and nothing is longer than one reads."""

from __future__ import annotations

import pytest

from torchtalkd.frontends.host import OpenRoot, RootState
from torchtalkd.frontends.lsp.hover import MOST_LINES, code, escaped, markdown, plain_text
from torchtalkd.frontends.lsp.places import Places
from torchtalkd.queries.answers import Item
from torchtalkd.queries.card import Card

PLACES = Places(OpenRoot("/r", None, None), {}, "utf-16")  # type: ignore[arg-type]
STATE = RootState("/r", "h", 1, False, 0, 0, 0, "", "")


@pytest.mark.parametrize("text", ["a`b", "``", "`", "a|b", "x"])
def test_a_code_span_shows_what_stands_there(text: str) -> None:
    made = code(text)
    fence = made[: len(made) - len(made.lstrip("`"))]
    assert made.endswith(fence) and fence not in text and text.replace("|", "\\|") in made


def test_markup_is_shown_not_obeyed() -> None:
    assert escaped("[a](command:x) <b> *c*") == r"\[a\]\(command\:x\) \<b\> \*c\*"


def test_a_tree_cannot_write_into_a_hover() -> None:
    bad = "x```\n[click](command:evil) <img src=x>"
    item = Item("native", f"at::{bad}", "a (b)|c.cpp", 3, dispatch_key="CPU|`")
    card = Card(
        "operator", f"ns::{bad}", f"f(Tensor x) -> {bad}", (item,), 2, (("self", bad),), (bad,), note=bad
    )
    text = markdown([card], PLACES, STATE)
    assert "\n[click]" not in text and "\n<img" not in text and "(b%29|" not in text
    assert "\x1b" not in plain_text([Card("macro", "\x1b[31m")], PLACES, STATE)


def test_it_is_short() -> None:
    rows = tuple(Item("native", f"k{n}", "a.cpp", n, dispatch_key=f"K{n}") for n in range(40))
    card = Card("operator", "aten::x", "x(" + "Tensor a, " * 200 + ")", rows, 7, (("a", "b"),) * 9)
    for make in (markdown, plain_text):
        text = make([card, card], PLACES, STATE)
        assert len(text.splitlines()) <= MOST_LINES and max(map(len, text.splitlines())) < 400


def test_it_says_what_state_the_index_is_in() -> None:
    behind = RootState("/r", "h", 1, True, 5, 10, 5, "", "")
    assert "50 %" in markdown([Card("stub", "s")], PLACES, behind)
