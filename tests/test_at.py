"""What a place means, and which overloads a call fits, without a protocol around it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import DEMO_TREE
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.link.passed import fits
from torchtalkd.parse.python_spot import python_spot, python_text
from torchtalkd.queries.at import at
from torchtalkd.queries.broken import broken
from torchtalkd.queries.declaration import declaration
from torchtalkd.queries.definition import definition
from torchtalkd.queries.implementation import implementation
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.references import references
from torchtalkd.queries.symbols import symbols
from torchtalkd.spots import Passed
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

NATIVE = "aten/src/ATen/native"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    folder = tmp_path_factory.mktemp("index")
    build(DEMO_TREE, folder, load("pytorch", tree=DEMO_TREE), workers=1)
    with open_view(folder) as opened:
        yield opened


def place(view: View, path: str, needle: str, offset: int = 0, text: str = "") -> Meant | None:
    data = (text or (DEMO_TREE / path).read_text("utf-8")).encode()
    where = data.index(needle.encode()) + offset
    line = data.count(b"\n", 0, where) + 1
    column = where - (data.rfind(b"\n", 0, where) + 1)
    spot = None
    if path.endswith(".py"):
        spot = python_spot(python_text(path, data, ()), line, column)
        if spot is None:
            return None
    return at(view, view.file(path), data.split(b"\n"), line, column, spot)


@pytest.mark.parametrize(
    ("path", "needle", "offset", "kind", "name"),
    [
        (f"{NATIVE}/native_functions.yaml", "- func: relu(", 9, "operator", "aten::relu"),
        (f"{NATIVE}/native_functions.yaml", "relu_mps", 2, "C++ function", "at::native::relu_mps"),
        (f"{NATIVE}/native_functions.yaml", "autogen: relu.out", 10, "operator", "aten::relu.out"),
        (f"{NATIVE}/native_functions.yaml", "tags: [core", 8, "tag", "core"),
        (f"{NATIVE}/BinaryOps.cpp", "FUNC(mul_out", 7, "structured kernel", "at::native::mul_out"),
        (f"{NATIVE}/BinaryOps.cpp", "mul_stub(device", 2, "stub", "at::native::mul_stub"),
        (f"{NATIVE}/BinaryOps.cpp", "DEFINE_DISPATCH(mul_stub", 18, "stub", "at::native::mul_stub"),
        (f"{NATIVE}/cuda/BinaryMulKernel.cu", "&mul_k", 3, "C++ function", "at::native::mul_kernel_cuda"),
        (f"{NATIVE}/LinearAlgebra.cpp", "at::linalg_det(self", 5, "operator", "aten::linalg_det"),
        (f"{NATIVE}/LinearAlgebra.cpp", "self.mm(other", 6, "operator", "aten::mm"),
        ("torch/functional.py", "torch.matmul(result", 8, "operator", "aten::matmul"),
        ("torch/__init__.py", "fused_scale(x", 3, "operator", "aten::fused_scale"),
    ],
)  # fmt: skip
def test_a_place_means(view: View, path: str, needle: str, offset: int, kind: str, name: str) -> None:
    meant = place(view, path, needle, offset)
    assert meant is not None and (meant.subjects[0].kind, meant.subjects[0].name) == (kind, name)


@pytest.mark.parametrize(
    ("path", "needle", "offset"),
    [
        (f"{NATIVE}/native_functions.yaml", "variants: function", 2),
        (f"{NATIVE}/native_functions.yaml", "Tensor self", 8),
        (f"{NATIVE}/LinearAlgebra.cpp", "const Tensor& self", 15),
        (f"{NATIVE}/LinearAlgebra.cpp", "return fold", 1),
        ("torch/functional.py", "result = matrices", 1),
        ("torch/functional.py", "The product", 5),
    ],
)
def test_a_place_means_nothing(view: View, path: str, needle: str, offset: int) -> None:
    assert place(view, path, needle, offset) is None


def test_every_place_of_every_file_has_an_answer(view: View) -> None:
    """Whatever stands there, no question raises."""
    for path in (f"{NATIVE}/native_functions.yaml", f"{NATIVE}/LinearAlgebra.cpp", "torch/nn/functional.py"):
        data = (DEMO_TREE / path).read_bytes()
        lines, file = data.split(b"\n"), view.file(path)
        text = python_text(path, data, ()) if path.endswith(".py") else None
        for number, line in enumerate(lines, 1):
            for column in range(0, len(line) + 2, 3):
                spot = python_spot(text, number, column) if text is not None else None
                if text is not None and spot is None:
                    continue
                meant = at(view, file, lines, number, column, spot)
                if meant is not None:
                    assert meant.line == number and meant.column <= column <= max(meant.end, column)
                    for question in (definition, implementation, declaration):
                        assert all(item.file for item in question(view, meant))
                    assert references(view, meant, path, limit=3).total >= 0


@pytest.mark.parametrize(
    ("schema", "passed", "receiver", "fit"),
    [
        ("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", Passed(1, (), True), False, True),
        ("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", Passed(1, ("dim",), True), False, False),
        ("sum.d(Tensor self, int[1]? dim, bool k=False) -> Tensor", Passed(1, ("dim",), True), False, True),
        ("sum.d(Tensor self, int[1]? dim, bool k=False) -> Tensor", Passed(0, (), True), True, False),
        ("view(Tensor(a) self, SymInt[] size) -> Tensor(a)", Passed(3, (), True), True, True),
        (
            "zeros(SymInt[] size, *, ScalarType? dtype=None) -> Tensor",
            Passed(2, ("dtype",), True),
            False,
            True,
        ),
        ("mm(Tensor self, Tensor mat2) -> Tensor", Passed(3, (), True), False, False),
        ("mm(Tensor self, Tensor mat2) -> Tensor", Passed(0, ("input", "mat2"), True), False, True),
        ("mm(Tensor self, Tensor mat2) -> Tensor", Passed(0, (), False), False, True),
        ("not a schema", Passed(9, (), True), False, True),
    ],
)
def test_what_a_call_fits(schema: str, passed: Passed, receiver: bool, fit: bool) -> None:
    assert fits(schema, passed, receiver) == fit


def test_symbols_come_exact_ones_first(view: View) -> None:
    assert symbols(view, "mm")[0].fact.name.startswith("aten::mm")
    assert [d.fact.name for d in symbols(view, "at::native::matmul")] == ["at::native::matmul"]
    assert symbols(view, "rlu_mps") != [], "letters in order, where nothing else fits"
    assert symbols(view, "") == symbols(view, "zzzzzz") == []


@pytest.mark.real_tree
def test_little_of_a_released_tree_is_broken(pytorch_tree: Path, tmp_path: Path) -> None:
    """2.6.0 has one registration of an operator that it does not define, for Vulkan."""
    build(pytorch_tree, tmp_path / "i", load("pytorch", tree=pytorch_tree))
    with open_view(tmp_path / "i") as opened:
        found = [b.message for file in opened.files() for b in broken(opened, file)]
    assert len(found) <= 1 and all("no schema" in message for message in found)
