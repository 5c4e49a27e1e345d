"""An answer does not depend on the order in which files came into the index."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchtalkd.conventions import load
from torchtalkd.engine import build, update
from torchtalkd.frontends.text import as_text
from torchtalkd.queries.search import search
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view

KERNEL = """namespace at::native {
void same_kernel(int x) { }
Tensor same_thing(const Tensor& a) { return a; }
}
TORCH_LIBRARY_IMPL(aten, CUDA, m) { m.impl("mul.Tensor", TORCH_FN(same_thing)); }
"""
FUNCTION = "import torch\n\n\ndef same_thing(x):\n    return torch.mul(x, x)\n"


def answers(folder: Path, name: str) -> list[list[str]]:
    """What a search, cut short or not, and a trace say beside the revision."""
    with open_view(folder) as view:
        asked = (
            search(view, name, "bindings", "", 5),
            search(view, name, "kernels", "", 5),
            search(view, name, "bindings", "", 200),
            trace(view, name),
        )
        return [as_text(answer).split("\n")[1:] for answer in asked]


@pytest.mark.parametrize("name", ["same_thing", "same_kernel", "same", "mul", "aten::mul", "torch.mul"])
def test_files_that_came_back_are_shown_where_they_were(mini_tree: Path, tmp_path: Path, name: str) -> None:
    conventions = load("pytorch", tree=mini_tree)
    texts = {f"aten/src/ATen/native/z{n:02}.cpp": KERNEL for n in range(12)}
    texts |= {f"torch/z{n:02}.py": FUNCTION for n in range(12)}
    for path, text in texts.items():
        (mini_tree / path).write_text(text)
    build(mini_tree, tmp_path / "index", conventions, workers=1)
    for path in sorted(texts)[1::3]:
        (mini_tree / path).unlink()
        update(mini_tree, tmp_path / "index", conventions, [path], workers=1)
        (mini_tree / path).write_text(texts[path])
        update(mini_tree, tmp_path / "index", conventions, [path], workers=1)
    build(mini_tree, tmp_path / "fresh", conventions, workers=1)
    assert answers(tmp_path / "index", name) == answers(tmp_path / "fresh", name)
