"""The fixed questions about PyTorch: the right answer is in what the tools say, at under half of reading."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.asked import Cost, Question, asked, places, questions, tokens
from torchtalkd import cli
from torchtalkd.cache import index_folder
from torchtalkd.frontends.host import RootState
from torchtalkd.frontends.mcp.arguments import checked
from torchtalkd.frontends.mcp.desk import Desk
from torchtalkd.queries.answers import Answer
from torchtalkd.queries.others import NONE, Others
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

T = TypeVar("T")


class Opened:
    """A root whose index is open."""

    def __init__(self, view: View) -> None:
        self._view = view

    async def _answer(self, question: Callable[[View], T]) -> T:
        return question(self._view)

    def ask(self, question: Callable[[View], T], patience: float = 0, *, wait: bool = False) -> Awaitable[T]:
        return self._answer(question)

    def across(
        self, question: Callable[[View, Others], Answer], *, wait: bool = False, all_roots: bool = False
    ) -> Awaitable[Answer]:
        return self._answer(lambda view: question(view, NONE))

    async def bases(self) -> dict[str, str]:
        return {}

    def state(self) -> RootState:
        return RootState(self._view.meta("root"), "pytorch", self._view.revision, False, 0, 0, 0, "", "")


@pytest.mark.real_tree
def test_the_questions_are_answered_at_under_half_of_reading(
    pytorch_tree: Path, record_property: Callable[[str, object], None]
) -> None:
    assert cli.main(["index", "build", "--no-wait", "--source", str(pytorch_tree)]) == 0
    costs: list[tuple[Question, Cost]] = []
    with open_view(index_folder(pytorch_tree, os.environ)) as view:
        desk = Desk(Opened(view), "")

        def call(tool: str, **arguments: Any) -> str:
            said = asyncio.run(desk.answer(tool, checked(tool, arguments)))
            assert not said.is_error, (tool, arguments, said.text)
            return said.text

        costs = [(one, asked(one, pytorch_tree, call)) for one in questions(pytorch_tree)]
    assert len(costs) >= 30
    for question, cost in costs:
        record_property(question.ask, f"{cost.calls} calls, {cost.tokens} tokens")
        assert not cost.missing, (question.ask, cost.missing)
        # An answer of the size of a page is what clients take at once; each question is worth one or a few.
        assert cost.tokens < 2_500 * cost.calls
        assert cost.tokens < cost.files / 2 or cost.tokens < cost.around, (question.ask, cost)
    spent = sum(cost.tokens for _, cost in costs)
    assert spent < sum(cost.files for _, cost in costs) / 2
    # And less than a reader takes who knows beforehand which lines to read.
    assert spent < sum(cost.around for _, cost in costs)


def test_tokens_are_counted_alike_for_text_and_bytes() -> None:
    assert tokens("aaaa") == tokens(b"aaaa") == 1 and tokens("aaaaa") == 2 and tokens("ü") == 1


def test_places_are_read_as_answers_write_them() -> None:
    text = (
        "at::f, function · 2 places\n"
        "  aten/src/A.cpp:12, :14  at::f  (call at :20, B.h:3)\n"
        "  aten/src/x/B.h:1  g\n"
    )
    assert set(places(text)) >= {
        ("aten/src/A.cpp", 12),
        ("aten/src/A.cpp", 14),
        ("aten/src/A.cpp", 20),
        ("aten/src/x/B.h", 3),
        ("aten/src/x/B.h", 1),
    }
