"""locate, trace, search and status on a small tree of PyTorch's shape, read by the parsers."""

from __future__ import annotations

import json
from functools import lru_cache

import pytest

from tests.conftest import DEMO_TREE
from tests.facts_view import harness, view_of, view_of_sources
from torchtalkd.facts import Definition, FileFacts, Reference
from torchtalkd.queries import spelling
from torchtalkd.queries.answers import ROLES, as_json
from torchtalkd.queries.locate import locate
from torchtalkd.queries.search import search
from torchtalkd.queries.status import status
from torchtalkd.queries.trace import trace
from torchtalkd.store.view import View


@lru_cache
def demo() -> View:
    sources = {
        path.relative_to(DEMO_TREE).as_posix(): path.read_text()
        for path in sorted(DEMO_TREE.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    return view_of_sources(sources)


# -- spelling


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("  torch.matmul ", "torch.matmul"),
        ("torch.matmul()", "torch.matmul"),
        ("torch.matmul(a, (b, c))", "torch.matmul"),
        ("'aten::empty_strided'", "aten::empty_strided"),
        ("`at::native::add`", "at::native::add"),
        ("&at::native::foo<float, at::Half>", "at::native::foo"),
        ("aten::add.Tensor(Tensor self, Tensor other) -> Tensor", "aten::add.Tensor"),
        ("at :: native :: add", "at::native::add"),
        ("at::native::(anonymous namespace)::f(at::Tensor&)", "at::native::f"),
        ("at::native::AVX2::f_kernel(at::TensorIteratorBase&)", "at::native::f_kernel"),
        ("::at::add", "at::add"),
        ("", ""),
        ("()", ""),
        ("aten::", ""),
        ("at::native::", ""),
        ("add.", "add"),
    ],
)
def test_a_name_is_freed_from_what_surrounds_it(written: str, text: str) -> None:
    assert spelling.read(written).text == text


@pytest.mark.parametrize(
    ("written", "operator", "overload"),
    [
        ("torch.ops.aten.mm.default", "aten::mm", ""),
        ("torch.ops.aten.mm", "aten::mm", None),
        ("ops.mine.blend", "mine::blend", None),
        ("aten::add.out", "aten::add", "out"),
        ("torch.matmul", "", None),
    ],
)
def test_a_spelling_can_say_that_it_means_an_operator(
    written: str, operator: str, overload: str | None
) -> None:
    read = spelling.read(written)
    assert (read.operator, read.overload) == (operator, overload)


# -- locate


@pytest.mark.parametrize(
    "name",
    [
        "mul",
        "torch.mul",
        "aten::mul",
        "aten.mul",
        "torch.ops.aten.mul",
        "Tensor.mul",
        "torch.Tensor.mul",
        "at::mul",
        "at::Tensor::mul",
        "at::native::mul",
        " torch.mul() ",
    ],
)
def test_every_spelling_of_an_operator_is_the_operator(name: str) -> None:
    first = locate(demo(), name).subjects[0]
    assert (first.kind, first.name) == ("operator", "aten::mul")


@pytest.mark.parametrize(
    ("name", "overloads"),
    [
        ("mul.Tensor", ("aten::mul.Tensor",)),
        ("aten::mul.out", ("aten::mul.out",)),
        ("aten.mul.Tensor", ("aten::mul.Tensor",)),
        ("torch.ops.aten.mul.out", ("aten::mul.out",)),
        ("at::_ops::mul_Tensor::call", ("aten::mul.Tensor",)),
        ("at::mul_out", ("aten::mul.out",)),
        ("at::mul_outf", ("aten::mul.out",)),
        ("mul_outf", ("aten::mul.out",)),
        ("Tensor.mul", ("aten::mul.Tensor",)),
        ("torch.ops.aten.matmul.default", ("aten::matmul",)),
    ],
)
def test_an_overload_can_be_meant(name: str, overloads: tuple[str, ...]) -> None:
    assert locate(demo(), name).subjects[0].overloads == overloads


@pytest.mark.parametrize(
    "name", ["mu", "mull", "torch.mull", "aten::mull", "mul.Scalar", "F.mul", "MUL", "ul", ""]
)
def test_what_is_merely_similar_is_no_answer(name: str) -> None:
    located = locate(demo(), name)
    assert located.subjects == ()
    assert trace(demo(), name).items == ()


def test_similar_names_are_offered() -> None:
    assert "mul" in locate(demo(), "mull").nearest
    assert "mul" in locate(demo(), "MUL").nearest
    assert locate(demo(), "mul.Scalar").nearest == ("aten::mul.Tensor", "aten::mul.out")


def test_the_frameworks_own_namespace_comes_first_and_others_are_named() -> None:
    subjects = locate(demo(), "add").subjects
    assert [s.name for s in subjects if s.kind == "operator"] == ["aten::add", "quantized::add"]
    assert [s.answered for s in subjects if s.kind == "operator"] == [True, False]


@pytest.mark.parametrize(
    ("name", "kind", "full"),
    [
        ("mul_kernel", "C++ function", "at::native::mul_kernel"),
        ("mul_stub", "stub", "at::native::mul_stub"),
        ("at::native::mul_out", "structured kernel", "at::native::mul_out"),
        ("MulBackward0", "autograd node", "MulBackward0"),
        ("KERNEL_CUDA", "macro", "KERNEL_CUDA"),
    ],
)
def test_what_is_no_operator_is_answered_with_its_definitions(name: str, kind: str, full: str) -> None:
    answer = trace(demo(), name)
    assert (kind, full) in {(s.kind, s.name) for s in answer.subjects if s.answered}
    assert answer.items


# -- trace


def places(name: str, role: str) -> set[tuple[str, str, str]]:
    items = trace(demo(), name).items
    return {
        (i.symbol.rpartition("::")[2], i.dispatch_key, i.file.rpartition("/")[2])
        for i in items
        if i.role == role
    }


def test_a_trace_has_each_layer_of_a_structured_operator() -> None:
    assert places("mul", "structured_meta") == {("mul_Tensor", "Meta", "BinaryOps.cpp")}
    assert places("mul", "structured_impl") == {
        ("mul_out", "CPU", "BinaryOps.cpp"),
        ("mul_out", "CUDA", "BinaryOps.cpp"),
        ("mul_out_mps", "MPS", "Unary.mm"),
    }
    assert places("mul", "stub_kernel") == {
        ("mul_kernel", "CPU", "BinaryOpsKernel.cpp"),
        ("mul_kernel_cuda", "CUDA", "BinaryMulKernel.cu"),
    }
    assert places("mul", "gpu_kernel") == {("gpu_kernel", "CUDA", "BinaryMulKernel.cu")}
    assert ("mul_tensor_backward", "", "FunctionsManual.cpp") in places("mul", "derivative")


def test_the_functional_overload_shows_what_its_delegate_does() -> None:
    impls = [i for i in trace(demo(), "mul.Tensor").items if i.role == "structured_impl"]
    assert {i.operator for i in impls} == {"aten::mul.Tensor"}
    assert {i.symbol for i in impls} == {"at::native::mul_out", "at::native::mul_out_mps"}


def test_places_that_overloads_share_are_one_item() -> None:
    impls = [i for i in trace(demo(), "mul").items if i.role == "structured_impl" and i.dispatch_key == "CPU"]
    assert len(impls) == 1
    assert set(impls[0].operators) == {"aten::mul.Tensor", "aten::mul.out"}


def test_the_loops_of_a_ufunc_are_its_kernels() -> None:
    kernels = {i.symbol for i in trace(demo(), "add").items if i.dispatch_key == "CUDA"}
    assert kernels == {"at::native::ufunc::add"}


def test_a_registration_has_its_own_line_and_that_of_its_block() -> None:
    (item,) = [i for i in trace(demo(), "quantized::add").items if i.role == "registration"]
    assert item.dispatch_key == "QuantizedCPU"
    assert 0 < item.block_line < item.line


def test_the_focus_yaml_has_schema_dispatch_and_formula() -> None:
    answer = trace(demo(), "mul", "yaml")
    assert {i.role for i in answer.items} == {"yaml", "derivative"}
    assert {i.dispatch_key for i in answer.items} >= {"CPU", "CUDA", "MPS"}
    assert any("mul_tensor_backward" in i.note for i in answer.items)


def test_an_entry_comes_before_the_lines_of_its_dispatch() -> None:
    keyed = [bool(i.dispatch_key) for i in trace(demo(), "mul", "yaml").items if i.role == "yaml"]
    assert keyed == sorted(keyed)
    assert True in keyed


def test_the_focus_dispatch_goes_on_from_a_composite() -> None:
    answer = trace(demo(), "matmul", "dispatch")
    further = {(i.operator, i.dispatch_key) for i in answer.items if i.through}
    assert ("aten::mm", "CPU") in further
    assert not [i for i in trace(demo(), "matmul").items if i.operator == "aten::mm"]


def test_an_unknown_focus_is_refused() -> None:
    with pytest.raises(ValueError, match="full, yaml, dispatch"):
        trace(demo(), "mul", "all")  # type: ignore[arg-type]


def test_a_kernel_is_answered_with_the_operators_that_name_it() -> None:
    items = trace(demo(), "mul_kernel").items
    assert ("registration", "at::native::mul_stub", "CPU") in {
        (i.role, i.symbol, i.dispatch_key) for i in items
    }


EXTENSION = """\
#include <torch/library.h>
namespace mine {
struct Box { Box(int n) {} };
}
TORCH_LIBRARY(mine, m) {
  m.def("twice(Tensor x) -> Tensor", [](const at::Tensor& x) { return x * 2; });
}
"""
PYTHON = """\
import torch
lib = torch.library.Library("yours", "DEF")
lib.define("cube(Tensor x) -> Tensor")

@torch.library.register_fake("theirs::roll")
def roll_fake(x):
    return x
"""


@lru_cache
def extension() -> View:
    return view_of_sources({"csrc/ops.cpp": EXTENSION, "mine/ops.py": PYTHON}, "torch-extension")


def test_a_schema_with_a_lambda_is_a_registration_too() -> None:
    (item,) = [i for i in trace(extension(), "twice").items if i.role == "registration"]
    assert (item.line, item.block_line, item.note) == (6, 5, "lambda")


def test_only_a_library_block_is_a_block() -> None:
    (item,) = trace(extension(), "cube").items
    assert (item.line, item.block_line) == (3, 0)


def test_an_operator_of_another_tree_is_known_by_its_meta_function() -> None:
    assert [(i.role, i.line) for i in trace(extension(), "roll").items] == [("meta", 6)]


def test_a_class_comes_before_its_constructors() -> None:
    assert [s.kind for s in locate(extension(), "Box").subjects] == ["C++ class", "C++ function"]


LAUNCH = "void f() { distribution_nullary_kernel(1); }\n"


@pytest.mark.parametrize(("beside", "found"), [("__global__ void k() {}\n", True), ("", False)])
def test_a_launch_in_a_header_is_on_the_device_where_the_header_is(beside: str, found: bool) -> None:
    header = "namespace at::native {\n" + beside + LAUNCH + "}\n"
    view = view_of_sources({"aten/src/ATen/native/cuda/Templates.h": header})
    assert [i.role for i in trace(view, "f").items if i.role == "gpu_kernel"] == ["gpu_kernel"] * found


def test_roles_are_the_contracts() -> None:
    names = ("mul", "add", "matmul", "quantized::add", "mul_kernel", "KERNEL_CUDA")
    for item in (item for name in names for item in trace(demo(), name).items):
        assert item.role in ROLES
        assert item.line >= 1
        assert item.evidence in ("exact", "declared", "unique", "candidate")


# -- search


def test_search_lists_exact_names_before_those_that_begin_or_contain() -> None:
    operators = [i.operator for i in search(demo(), "add", limit=50).items if i.operator]
    assert operators[0].startswith("aten::add") or operators[0].startswith("quantized::add")
    assert search(demo(), "MUL").items == search(demo(), "mul").items


def test_search_counts_what_it_does_not_show() -> None:
    answer = search(demo(), "mul", limit=1)
    assert answer.shown == 1
    assert answer.total > 1


def test_search_finds_kernels_behind_stubs() -> None:
    found = {i.symbol.rpartition("::")[2] for i in search(demo(), "mul", "kernels", limit=50).items}
    assert {"mul_out", "mul_kernel", "mul_kernel_cuda", "mul_out_mps"} <= found


def test_search_narrows_to_a_backend_in_any_case() -> None:
    items = search(demo(), "mul", "kernels", "cuda", 50).items
    assert {i.dispatch_key for i in items} == {"CUDA"}


def test_an_unknown_backend_is_refused_with_those_that_exist() -> None:
    answer = search(demo(), "mul", backend="TPU")
    assert "TPU" in answer.error
    assert "CUDA" in answer.error


def test_search_finds_nothing() -> None:
    answer = search(demo(), "no_such_name_at_all")
    assert (answer.found, answer.total) == (False, 0)


# -- status and JSON


def test_status_counts() -> None:
    answer = status(demo())
    assert answer.files > 10
    assert answer.counts["operator"] > 3
    assert as_json(answer)["by_name"] == {"files": answer.files, "waiting": 0}


def test_json_has_the_contracts_keys() -> None:
    said = json.loads(json.dumps(as_json(trace(demo(), "mul"))))
    keys = {
        "query",
        "subjects",
        "items",
        "total",
        "shown",
        "revision",
        "commit",
        "branch",
        "waiting",
        "complete",
    }
    assert keys <= said.keys()
    assert said["subjects"][0] == "aten::mul"
    assert said["total"] == said["shown"] == len(said["items"])
    for item in said["items"]:
        assert {"role", "symbol", "operator", "evidence", "file", "line"} <= item.keys()


# -- facts written by hand


def test_a_static_function_of_another_file_is_not_meant() -> None:
    yaml = FileFacts(
        "aten/src/ATen/native/native_functions.yaml",
        "native_functions",
        "library",
        (
            Definition("op:f", "aten::f", "operator", 1, 8, 1, signature="f(Tensor self) -> Tensor"),
            Definition(
                "op:f",
                "aten::f",
                "registration",
                3,
                9,
                3,
                scope=0,
                dispatch_key="CPU",
                convention="native_functions",
            ),
        ),
        (Reference("cpp:f_cpu", "f_cpu", "target", 3, 9, 1),),
    )
    hidden = Definition(
        "cpp:f_cpu",
        "at::native::f_cpu",
        "function",
        5,
        7,
        6,
        local=True,
        signature="(const Tensor& self) -> Tensor",
    )
    shown = hidden._replace(line=9, local=False)
    only_hidden = view_of(yaml, FileFacts("a.cpp", "cpp", "library", (hidden,)), rules=harness().rules)
    assert [i.role for i in trace(only_hidden, "f").items] == ["yaml", "yaml"]
    both = view_of(
        yaml,
        FileFacts("a.cpp", "cpp", "library", (hidden,)),
        FileFacts("b.cpp", "cpp", "library", (shown,)),
        rules=harness().rules,
    )
    assert [(i.file, i.line) for i in trace(both, "f").items if i.role == "native"] == [("b.cpp", 9)]


def test_aliases_that_turn_in_a_circle_end() -> None:
    first = Definition("py:f", "torch.f", "alias", 1, 0, 1)
    second = Definition("py:g", "torch.g", "alias", 2, 0, 2)
    targets = (
        Reference("py:g", "torch.g", "target", 1, 4, 0),
        Reference("py:f", "torch.f", "target", 2, 4, 1),
    )
    view = view_of(
        FileFacts("torch/x.py", "python", "library", (first, second), targets), rules=harness().rules
    )
    assert [item.line for item in trace(view, "torch.f").items] in ([], [1])


def test_a_method_written_by_hand_is_not_that_of_an_operator_of_its_name() -> None:
    table = (
        "static PyObject* THPVariable_{0}(PyObject* self) {{ return nullptr; }}\n"
        "static PyMethodDef torch_functions_manual[] = {{\n"
        '  {{"{0}", castPyCFunctionWithKeywords(THPVariable_{0}), METH_VARARGS, nullptr}},\n}};\n'
    )
    for name, kind in (("made", "Python binding"), ("mul", "operator")):
        view = view_of_sources(
            {
                "aten/src/ATen/native/native_functions.yaml": "- func: mul(Tensor self) -> Tensor\n",
                "torch/csrc/autograd/python_torch_functions_manual.cpp": table.format(name),
                "torch/csrc/jit/special.cpp": 'TORCH_LIBRARY(aten, m) { m.def("made(int x) -> Tensor"); }\n',
            }
        )
        assert trace(view, f"torch.{name}").subjects[0].kind == kind
