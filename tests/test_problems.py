"""The question `problems`: each kind is found, and what only looks like one is not."""

from __future__ import annotations

from argparse import Namespace

import pytest

from tests.facts_view import view_of_sources
from torchtalkd.frontends.command import problems as command
from torchtalkd.queries.broken import broken
from torchtalkd.queries.problems import as_json, problems

YAML = "aten/src/ATen/native/native_functions.yaml"
ENTRY = """
- func: f(Tensor self, int dim) -> Tensor
  dispatch:
    CPU: f_cpu
"""
RIGHT = "namespace at::native { Tensor f_cpu(const Tensor& self, int64_t dim) { return self; } }\n"
STUB = """
namespace at::native {
DEFINE_DISPATCH(f_stub);
Tensor f_cpu(const Tensor& self, int64_t dim) { f_stub(kCPU, self); return self; }
}
"""


def found(sources: dict[str, str], harness: str = "pytorch") -> list[tuple[str, str, int]]:
    answer = problems(view_of_sources(sources, harness))
    return [(f.kind, f.file.rpartition("/")[2], f.line) for f in answer.findings]


def test_a_right_tree_has_none() -> None:
    assert found({YAML: ENTRY, "aten/src/ATen/native/F.cpp": RIGHT}) == []


def test_a_kernel_that_nobody_defines() -> None:
    assert found({YAML: ENTRY}) == [("missing kernel", "native_functions.yaml", 4)]


def test_a_kernel_whose_name_a_macro_pastes_together() -> None:
    code = """
#define ONE(n) Tensor f_##n(const Tensor& self, int64_t dim) { return self; }
FOR_EACH_DEVICE(ONE)
"""
    assert found({YAML: ENTRY, "aten/src/ATen/native/F.cpp": code}) == []


@pytest.mark.parametrize("parameters", ["const Tensor& self", "const Tensor& self, const Tensor& dim"])
def test_a_kernel_that_takes_something_else(parameters: str) -> None:
    code = f"namespace at::native {{ Tensor f_cpu({parameters}) {{ return self; }} }}\n"
    assert found({YAML: ENTRY, "aten/src/ATen/native/F.cpp": code}) == [
        ("signature", "native_functions.yaml", 4)
    ]


def test_a_copy_of_a_view_is_generated() -> None:
    entry = """
- func: g_copy(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutogradNonFunctional: g_copy
  tags: view_copy
"""
    assert found({YAML: entry}) == []


def test_a_stub_that_nobody_registers() -> None:
    sources = {YAML: ENTRY, "aten/src/ATen/native/F.cpp": STUB}
    assert found(sources) == [("stub without kernel", "native_functions.yaml", 4)]
    kernel = "namespace at::native { REGISTER_DISPATCH(f_stub, &f_kernel); }\n"
    assert found({**sources, "aten/src/ATen/native/cpu/F.cpp": kernel}) == []
    none = "namespace at::native { REGISTER_DISPATCH(f_stub, nullptr); }\n"
    assert found({**sources, "aten/src/ATen/native/cpu/F.cpp": none}) == [], "that it has none is said"


def test_an_implementation_of_nothing() -> None:
    code = (
        RIGHT + 'TORCH_LIBRARY_IMPL(aten, CUDA, m) {\n  m.impl("f.out", f_out);\n  m.impl("f", f_cuda);\n}\n'
    )
    sources = {YAML: ENTRY, "aten/src/ATen/native/F.cpp": code}
    assert found(sources) == [("undeclared operator", "F.cpp", 3)]
    template = 'TORCH_LIBRARY(aten, m) {\n  m.def("f.out(Tensor self) -> Tensor");\n}\n'
    assert found({**sources, "aten/src/ATen/templates/RegisterSchema.cpp": template}) == []


def test_an_implementation_for_another_trees_operator_is_none() -> None:
    code = 'TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) { m.impl("add.Tensor", my_add); }\n'
    assert found({"mine.cpp": code}, "torch-extension") == []


def test_a_second_registration_for_one_key() -> None:
    block = 'TORCH_LIBRARY_IMPL(aten, CPU, m) {\n  m.impl("f", other);\n}\n'
    code = {YAML: ENTRY, "aten/src/ATen/native/F.cpp": RIGHT + block}
    assert found(code) == [("registered twice", "native_functions.yaml", 4)]


def test_a_meta_function_in_python_may_override() -> None:
    entry = ENTRY + "    Meta: f_meta\n"
    code = RIGHT + RIGHT.replace("f_cpu", "f_meta")
    meta = "aten = torch.ops.aten\n@register_meta(aten.f)\ndef meta_f(self, dim): ...\n"
    sources = {YAML: entry, "aten/src/ATen/native/F.cpp": code, "torch/_meta_registrations.py": meta}
    assert found(sources) == []


def test_a_derivative_of_nothing() -> None:
    derivatives = "- name: nothing(Tensor self) -> Tensor\n  self: grad\n"
    sources = {YAML: ENTRY, "aten/src/ATen/native/F.cpp": RIGHT}
    assert found({**sources, "tools/autograd/derivatives.yaml": derivatives}) == [
        ("derivative of nothing", "derivatives.yaml", 1)
    ]


def test_an_entry_that_cannot_be_read_is_one() -> None:
    sources = {YAML: ENTRY + "\n- func: broken(Tensor\n", "aten/src/ATen/native/F.cpp": RIGHT}
    assert found(sources) == [("unreadable entry", "native_functions.yaml", 6)]


DECLARED = 'TORCH_LIBRARY(mine, m) {\n  m.def("f(Tensor x) -> Tensor");\n  m.impl("f", kCPU, &f);\n}\n'
FAKE = '@torch.library.register_fake("mine::f")\ndef fake(x): ...\n'


def test_an_extensions_operator_without_a_fake_function() -> None:
    assert found({"mine.cpp": DECLARED}, "torch-extension") == [("no fake function", "mine.cpp", 2)]
    assert found({"mine.cpp": DECLARED, "mine.py": FAKE}, "torch-extension") == []
    made = DECLARED.replace("kCPU, ", "")
    assert found({"mine.cpp": made}, "torch-extension") == [], "a composite needs none"
    writes = DECLARED.replace("f(Tensor x) -> Tensor", "f(Tensor(a!) x) -> ()")
    assert found({"mine.cpp": writes}, "torch-extension") == [], "there is nothing to do"


def test_custom_op_declares_its_operator_and_wants_a_fake_function() -> None:
    code = '@torch.library.custom_op("mine::f", mutates_args=())\ndef f(x): ...\n'
    assert found({"mine.py": code}, "torch-extension") == [("no fake function", "mine.py", 1)]
    assert found({"mine.py": code + "\n@f.register_fake\ndef fake(x): ...\n"}, "torch-extension") == []


def test_an_editor_shows_those_of_its_file() -> None:
    twice = 'TORCH_LIBRARY_IMPL(aten, CUDA, m) {\n  m.impl("f", one);\n}\n'
    sources = {
        YAML: ENTRY,
        "aten/src/ATen/native/F.cpp": RIGHT + twice,
        "aten/src/ATen/native/G.cpp": twice.replace("one", "two"),
        "tools/autograd/derivatives.yaml": "- name: nothing(Tensor self) -> Tensor\n  self: grad\n",
    }
    view = view_of_sources(sources)
    codes = {b.code for file in view.files() for b in broken(view, file)}
    assert codes == {"registered-twice", "no-operator"}
    mine = view_of_sources({"mine.cpp": DECLARED}, "torch-extension")
    (file,) = mine.files()
    assert [(b.code, b.line, b.name) for b in broken(mine, file)] == [("no-fake", 2, "f")]


def test_the_command_fails_if_there_is_one() -> None:
    view = view_of_sources({YAML: ENTRY})
    asking = Namespace(json=False)
    told = command.told(command.question(asking)(view), asking)
    assert told.code == 1
    assert "missing kernel: CPU: nothing defines f_cpu" in told.out
    assert as_json(problems(view))["counts"] == {"missing kernel": 1}
