"""The whole way of a call: keys in order, composites that go on, stubs, device kernels, and where it ends."""

from __future__ import annotations

from argparse import Namespace
from functools import lru_cache

import pytest

from tests.facts_view import view_of_sources
from torchtalkd.frontends.command import way as command
from torchtalkd.frontends.way_text import dot, mermaid, way_text
from torchtalkd.queries.way import Asked, Step, WayAnswer, as_json, way
from torchtalkd.store.view import View

YAML = """
- func: outer(Tensor self) -> Tensor
  variants: function

- func: inner(Tensor self) -> Tensor
  structured_delegate: inner.out

- func: inner.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: inner_out_cpu
    CUDA: inner_out_cuda

- func: solve(Tensor self) -> Tensor
  dispatch:
    CUDA: solve_cuda
  autogen: solve.out
"""
DERIVATIVES = """
- name: inner(Tensor self) -> Tensor
  self: inner_backward(grad)
"""
CPU = """
namespace at::meta {
TORCH_META_FUNC(inner)(const Tensor& self) { set_output(self); }
}
namespace at::native {
Tensor outer(const Tensor& self) { return at::inner(self); }
DEFINE_DISPATCH(inner_stub);
TORCH_IMPL_FUNC(inner_out_cpu)(const Tensor& self, const Tensor& out) { inner_stub(kCPU, out, self); }
}
TORCH_LIBRARY_IMPL(aten, AutocastCUDA, m) { m.impl("inner", cast_inner); }
"""
KERNEL = """
namespace at::native {
static void inner_kernel(Tensor& out, const Tensor& self) { loop(out, self); }
REGISTER_DISPATCH(inner_stub, &inner_kernel);
}
"""
CUDA = """
namespace at::native {
__global__ void inner_device(float* out) {}
TORCH_IMPL_FUNC(inner_out_cuda)(const Tensor& self, const Tensor& out) { inner_device<<<1, 2>>>(out.data()); }
Tensor solve_cuda(const Tensor& self) { cusolverDnXgetrf(self); return self; }
}
"""


@lru_cache
def tree() -> View:
    return view_of_sources(
        {
            "aten/src/ATen/native/native_functions.yaml": YAML,
            "tools/autograd/derivatives.yaml": DERIVATIVES,
            "torch/csrc/autograd/FunctionsManual.cpp": "namespace torch::autograd::generated::details {\n"
            "Tensor inner_backward(const Tensor& grad) { return grad; }\n}\n",
            "aten/src/ATen/native/Inner.cpp": CPU,
            "aten/src/ATen/native/cpu/InnerKernel.cpp": KERNEL,
            "aten/src/ATen/native/cuda/Inner.cu": CUDA,
        }
    )


def walked(name: str, backend: str = "cpu", **more: bool) -> WayAnswer:
    return way(tree(), name, Asked(backend, **more))


def roles(answer: WayAnswer) -> list[tuple[str, str]]:
    return [(step.role, step.symbol.rpartition("::")[2]) for step in answer.steps]


def the(answer: WayAnswer, role: str) -> Step:
    (step,) = (step for step in answer.steps if step.role == role)
    return step


def test_a_composite_goes_on_in_the_operators_it_calls() -> None:
    answer = walked("torch.outer")
    assert roles(answer) == [
        ("python", "torch.outer"),
        ("composite", "outer"),
        ("operator", "inner"),
        ("autograd", "InnerBackward0"),
        ("meta", "inner"),
        ("kernel", "inner_out_cpu"),
        ("stub", "inner_stub"),
        ("kernel", "inner_kernel"),
    ]
    assert [step.after for step in answer.steps] == list(range(8))


def test_the_derivative_shows_its_formula_where_a_gradient_is_wanted() -> None:
    steps = walked("aten::inner", requires_grad=True).steps
    formulas = [(step.symbol, step.file) for step in steps if step.role == "formula"]
    assert formulas == [
        ("self", "tools/autograd/derivatives.yaml"),
        ("torch::autograd::generated::details::inner_backward", "torch/csrc/autograd/FunctionsManual.cpp"),
    ]


def test_device_kernels_and_libraries_are_ends() -> None:
    device = the(walked("aten::inner", "cuda"), "device")
    assert (device.symbol, device.line) == ("at::native::inner_device", 3)
    assert the(walked("aten::solve", "cuda"), "library").symbol == "cuSOLVER"


def test_hip_reads_the_cuda_file_and_says_so() -> None:
    device = the(walked("aten::inner", "hip"), "device")
    assert device.file == "aten/src/ATen/native/cuda/Inner.cu"
    assert "HIP is compiled from this CUDA source" in device.note


def test_autocast_comes_before_autograd() -> None:
    found = [role for role, _ in roles(walked("aten::inner", "cuda", autocast=True))]
    assert found.index("autocast") < found.index("autograd") < found.index("kernel")
    assert "autocast" not in [role for role, _ in roles(walked("aten::inner", "cuda"))]


def test_a_generated_variant_leads_to_what_it_wraps() -> None:
    assert ("kernel", "solve_cuda") in roles(walked("aten::solve.out", "cuda"))


def test_where_there_is_no_kernel_the_way_says_so() -> None:
    assert the(walked("aten::solve", "cpu"), "end").note == "no kernel for CPU"


@pytest.mark.parametrize("name", ["aten::innr", "no_such_thing"])
def test_an_unknown_name_has_no_way(name: str) -> None:
    assert not walked(name).operator


def test_an_unknown_backend_is_answered_with_those_there_are() -> None:
    assert "CUDA" in walked("aten::inner", "cudda").error


def test_graphs_have_each_step_and_each_arrow() -> None:
    answer = walked("torch.outer")
    assert mermaid(answer).count(" --> ") == len(answer.steps) - 1
    assert dot(answer).count(" -> ") == len(answer.steps) - 1
    assert dot(answer).startswith("digraph")
    assert '"' not in mermaid(answer).split('["')[1].split('"]')[0]


def test_text_and_json_say_the_same() -> None:
    answer = walked("torch.outer")
    assert len(way_text(answer).splitlines()) == 1 + len(answer.steps)
    assert len(as_json(answer)["steps"]) == len(answer.steps)


def test_the_command_fails_for_what_does_not_exist() -> None:
    given = {"path": "cpu", "requires_grad": False, "autocast": False, "vmap": False, "json": False}
    asking = Namespace(name="no_such_thing", mermaid=False, dot=False, **given)
    told = command.told(command.question(asking)(tree()), asking)
    assert (told.code, told.out) == (1, "")
    assert "no_such_thing" in told.err
