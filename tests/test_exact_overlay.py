"""What is answered exactly of a text that is not saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exact_tree import BASE, USES, ExactTree, called, callers
from torchtalkd.parse.draft import draft
from torchtalkd.store.overlaid import overlaid

USES_AT = "aten/src/ATen/native/Uses.cpp"


@pytest.fixture
def tree(tmp_path: Path) -> ExactTree:
    made = ExactTree(tmp_path / "tree", tmp_path / "store")
    made.exactly()
    return made


def test_a_draft_moves_bodies_along_and_drops_what_it_edits(tree: ExactTree) -> None:
    text = ("// new\n" + USES).replace("+ x;", "+ x + 1;")
    with tree.view() as below:
        shown = overlaid(below, [draft(USES_AT, text.encode(), tree.conventions).overlay])
        assert called(shown, USES_AT, "at::native::helper") is None
        assert (called(shown, USES_AT, "at::native::use") or [""])[0] == (
            f"9:31 call at::native::helper > {USES_AT}:5"
        )
        assert callers(shown, USES_AT, "at::native::helper") == ["at::native::use 9 call"]
        assert callers(shown, "c10/Base.cpp", "c10::pick", "(double") == []
        assert callers(below, "c10/Base.cpp", "c10::pick", "(double") == ["at::native::helper 5 call"]


def test_a_draft_of_a_header_drops_all_that_may_see_it(tree: ExactTree) -> None:
    with tree.view() as below:
        shown = overlaid(below, [draft("c10/Base.h", BASE.encode(), tree.conventions).overlay])
        assert called(shown, USES_AT, "at::native::use") is None
        assert shown.exact_share().pending == 2


def test_a_keystroke_in_a_body_drops_it(tree: ExactTree) -> None:
    with tree.view() as below:
        first = draft(USES_AT, USES.encode(), tree.conventions)
        text = USES.replace("return f(1)", "return  f(1)")
        then = draft(USES_AT, text.encode(), tree.conventions, first)
        shown = overlaid(below, [then.overlay])
        assert called(shown, USES_AT, "at::native::use") is None
        assert called(shown, USES_AT, "at::native::helper") == ["5:19 call c10::pick > c10/Base.cpp:6"]
