"""Long answers in pages: nothing is lost, nothing comes twice, each page fits."""

from __future__ import annotations

import random

import pytest

from torchtalkd.frontends.mcp import paging, replies
from torchtalkd.frontends.mcp.calls import Call, served, to
from torchtalkd.frontends.mcp.replies import Asked, NoSuchPage
from torchtalkd.frontends.mcp.tools import SETS
from torchtalkd.queries.answers import Answer, Item, Standing, Subject

ROLES = ("python", "native", "registration", "test", "lowering")


def long_answer(items: int, seed: int = 0, width: int = 10) -> Answer:
    chance = random.Random(seed)
    found = tuple(
        Item(chance.choice(ROLES), "f" * chance.randint(1, width), f"torch/{n}.py", n + 1)
        for n in range(items)
    )
    return Answer("trace", "f", "full", (Subject("operator", "aten::f"),), found, items, Standing(7))


def all_pages(answer: Answer, notes: list[str] | None = None) -> list[str]:
    found = []
    while True:
        asked = Asked(Call("trace", {"func": "f", "page": len(found) + 1}))
        text = replies.trace_text(answer, notes or [], asked)
        found.append(text)
        if f"page={len(found) + 1}" not in text:
            return found


def rows(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.startswith("  ") and not line.startswith("  … ")]


@pytest.mark.parametrize(("items", "width"), [(3, 5), (100, 40), (400, 250), (3_000, 12)])
@pytest.mark.parametrize("seed", range(3))
def test_the_pages_hold_every_place_once(items: int, width: int, seed: int) -> None:
    answer = long_answer(items, seed, width)
    found = all_pages(answer, ["n" * 390, "m" * 390, "o" * 390])
    whole = rows(replies.as_text(answer, whole=True))
    assert sorted(row for text in found for row in rows(text)) == sorted(whole)
    for number, text in enumerate(found, 1):
        assert len(text.encode()) < 10_000 and text.count("\n") < 255
        first = text.split("\n")[0]
        assert first.startswith("aten::f, operator") and "revision 7" in first
        if len(found) > 1:
            assert first.endswith(f"page {number} of {len(found)}")
        assert text.split("\n")[-1].startswith("Next: ")
        assert len(rows(text)) > 0


def test_the_first_page_has_something_of_each_layer() -> None:
    first = all_pages(long_answer(3_000))[0]
    for title in ("Python:", "kernels:", "registrations by hand:", "tests:", "inductor lowerings:"):
        assert title in first


def test_a_page_says_what_it_goes_on_with() -> None:
    found = all_pages(long_answer(3_000))
    for text in found[1:]:
        lines = text.split("\n")
        assert lines[1].endswith("(continued):"), lines[:3]
        assert "(continued) (continued)" not in text


def test_a_page_behind_the_last_one() -> None:
    asked = Asked(Call("trace", {"func": "f", "page": 9}))
    with pytest.raises(NoSuchPage, match=r"one page: trace\(func=\"f\", page=1\)"):
        replies.trace_text(long_answer(3), [], asked)


def test_titles_above_a_row_stand_again_on_its_page() -> None:
    lines = ["a:", *[f"  row {n}" for n in range(300)], "b:", "  c:", *[f"    deep {n}" for n in range(600)]]
    found = paging.pages("head", lines)
    assert [line for page in found for line in page if "continued" not in line] == lines
    assert found[1][0] == "a (continued):"
    assert found[-1][:2] == ["b (continued):", "  c (continued):"]
    assert all(len(page) <= paging.MOST_LINES for page in found)
    assert paging.pages("head", []) == [[]]


def test_a_title_is_not_left_alone_at_the_end_of_a_page() -> None:
    for count in range(230, 245):
        found = paging.pages("head", [*["x"] * count, "title:", "  row"])
        assert not any(page[-1] == "title:" for page in found)


def test_only_tools_that_a_client_has_are_named() -> None:
    call = to("", "trace", func="f").call
    assert served(call, SETS["classic"]) == call
    assert served(Call("nothing", {}), SETS["all"]) is None
