"""Who calls what in a real PyTorch: questions with answers that were found by reading its source."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from torchtalkd import cli
from torchtalkd.cache import index_folder
from torchtalkd.queries.graph import GraphAnswer, graph
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

pytestmark = pytest.mark.real_tree

QUESTIONS: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("graph_questions.toml").read_text("utf-8")
)["question"]


@pytest.fixture(scope="module")
def view(pytorch_tree: Path) -> View:
    """PyTorch, indexed in the cache of this test session."""
    assert cli.main(["index", "build", "--no-wait", "--source", str(pytorch_tree)]) == 0
    return open_view(index_folder(pytorch_tree, os.environ))


def named(answer: GraphAnswer) -> tuple[set[str], set[str]]:
    """The names of the answer in library code: those that are certain, and all."""
    nodes = [node for node in answer.nodes if node.level and node.role == "library"]
    certain = {node.name for node in nodes if any(way.evidence != "candidate" for way in node.ways)}
    return certain, {node.name for node in nodes}


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: f"{asked['mode']} {asked['func']}")
def test_the_answer_is_what_the_source_says(view: View, asked: dict[str, Any]) -> None:
    answer = graph(
        view, asked["func"], asked["mode"], asked.get("depth", 2), walk_python=asked.get("python", False)
    )
    certain, found = named(answer)
    wanted = set(asked["answer"])
    assert wanted <= found, asked["read"]
    assert certain <= wanted, asked["read"]


def test_there_are_questions_of_each_kind() -> None:
    assert len(QUESTIONS) >= 40
    assert {asked["mode"] for asked in QUESTIONS} == {"callers", "calls", "impact"}
