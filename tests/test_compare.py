"""What differs between two indexes: files, and what is told of operators, kernels, registrations, tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.frontends.command.snapshot_text import difference_lines
from torchtalkd.queries.compare import PARTS, Comparison, compare
from torchtalkd.store.database import open_view

YAML = "aten/src/ATen/native/native_functions.yaml"
CUDA = "aten/src/ATen/native/cuda/BinaryMulKernel.cu"

Compare = Callable[[Callable[[Path], object]], Comparison]


@pytest.fixture
def comparing(mini_tree: Path, tmp_path: Path) -> Compare:
    """Compares the tree before and after an edit."""

    def comparing(edit: Callable[[Path], object]) -> Comparison:
        conventions = load("pytorch", tree=mini_tree)
        build(mini_tree, tmp_path / "before", conventions, workers=1)
        edit(mini_tree)
        build(mini_tree, tmp_path / "after", conventions, workers=1)
        with open_view(tmp_path / "before") as left, open_view(tmp_path / "after") as right:
            assert compare(left, left) == compare(right, right) == nothing()
            return compare(left, right)

    return comparing


def nothing() -> Comparison:
    from torchtalkd.queries.compare import Changes

    return Comparison((), (), (), Changes(), Changes(), Changes(), Changes())


def replaced(path: str, old: str, new: str) -> Callable[[Path], object]:
    """An edit of a file, which must change it."""

    def edit(root: Path) -> None:
        text = (root / path).read_text("utf-8")
        changed = re.sub(old, new, text)
        assert changed != text
        (root / path).write_text(changed, "utf-8")

    return edit


def lines(found: Comparison) -> list[str]:
    return [line.strip() for line in difference_lines("a", "b", found)]


def names(found: Comparison, part: str, what: str) -> set[tuple[str, str]]:
    return {(one.name, one.dispatch_key) for one in getattr(getattr(found, part), what)}


def test_a_dispatch_entry_that_goes(comparing: Compare) -> None:
    found = comparing(replaced(YAML, "    CUDA: roll_cuda\n", ""))
    assert found.files_modified == (YAML,)
    assert names(found, "kernels", "removed") == {("aten::roll", "CUDA")}
    assert any(line.startswith("aten::roll lost its CUDA kernel (was roll_cuda") for line in lines(found))
    assert found.operators == nothing().operators


def test_a_dispatch_entry_that_names_another_function(comparing: Compare) -> None:
    found = comparing(replaced(YAML, "CUDA: roll_cuda\n", "CUDA: roll_other\n"))
    assert not found.kernels.added
    assert [(m.before.what, m.after.what) for m in found.kernels.changed] == [("roll_cuda", "roll_other")]


def test_a_stub_that_loses_a_kernel(comparing: Compare) -> None:
    found = comparing(replaced(CUDA, r"REGISTER_DISPATCH\(mul_stub[^;]*;?", ""))
    assert names(found, "kernels", "removed") == {("at::native::mul_stub", "CUDA")}


def test_a_function_that_goes_while_the_entry_stays(comparing: Compare) -> None:
    found = comparing(replaced("aten/src/ATen/native/cuda/TensorShape.cu", "roll_cuda", "rolled"))
    assert ("aten::roll", "CUDA") in names(found, "kernels", "removed")


def test_an_operator_that_comes_and_one_that_changes(comparing: Compare) -> None:
    def edit(root: Path) -> None:
        with open(root / YAML, "a", encoding="utf-8") as file:
            file.write("\n- func: fresh(Tensor self) -> Tensor\n  dispatch:\n    CPU: fresh_cpu\n")
        replaced(YAML, r"func: relu\(Tensor self\)", "func: relu(Tensor self, int n=1)")(root)

    found = comparing(edit)
    assert names(found, "operators", "added") == {("aten::fresh", "")}
    assert [move.after.name for move in found.operators.changed] == ["aten::relu"]
    assert names(found, "kernels", "added") == {("aten::fresh", "CPU")}
    # The operator says it all.
    assert not any("fresh gained" in line for line in lines(found))


def test_a_registration_that_moves_to_another_file(comparing: Compare) -> None:
    path = "aten/src/ATen/native/quantized/library.cpp"

    def edit(root: Path) -> None:
        (root / path).rename(root / path.replace("library.cpp", "registry.cpp"))

    found = comparing(edit)
    assert found.files_removed == (path,)
    assert found.files_added == (path.replace("library.cpp", "registry.cpp"),)
    for part in PARTS:
        assert not getattr(found, part).added
        assert not getattr(found, part).removed
    moved = [*found.operators.moved, *found.registrations.moved, *found.kernels.moved]
    assert moved
    assert all(move.before.file == path for move in moved)


def test_what_a_macro_of_another_file_registers(comparing: Compare) -> None:
    found = comparing(replaced("aten/src/ATen/autocast_mode.h", "KERNEL_CUDA", "KERNEL_OTHER"))
    assert any(key == "AutocastCUDA" for _, key in names(found, "registrations", "removed"))


def test_a_kernel_function_and_a_test(comparing: Compare) -> None:
    def edit(root: Path) -> None:
        (root / "test/test_ops.py").write_text("class TestOther:\n    def test_fresh(self): pass\n")
        (root / "aten/src/ATen/native/cuda/Fresh.cu").write_text("__global__ void fresh_kernel(int n) {}\n")

    found = comparing(edit)
    assert any("test_fresh" in name for name, _ in names(found, "tests", "added"))
    assert found.tests.removed
    assert ("fresh_kernel", "") in names(found, "kernels", "added")


def test_a_line_that_shifts_is_no_difference(comparing: Compare) -> None:
    found = comparing(replaced(YAML, r"\A", "# a line\n"))
    assert found.files_modified == (YAML,)
    assert {**found.as_json(), "files_modified": ()} == nothing().as_json()
    assert len(lines(found)) == 2


def test_a_kernel_and_a_test_that_move(comparing: Compare) -> None:
    def edit(root: Path) -> None:
        folder = root / "aten/src/ATen/native/cuda"
        (folder / "TensorShape.cu").rename(folder / "Moved.cu")
        (root / "test/test_ops.py").rename(root / "test/test_other.py")

    found = comparing(edit)
    assert [(m.before.name, m.before.dispatch_key, m.after.file) for m in found.kernels.moved] == [
        ("aten::roll", "CUDA", "aten/src/ATen/native/cuda/Moved.cu")
    ]
    assert not found.tests.added
    assert not found.tests.removed
    assert {m.before.file for m in found.tests.moved} == {"test/test_ops.py"}
    assert any("TestCommon.test_matmul moved from test/test_ops.py" in line for line in lines(found))
