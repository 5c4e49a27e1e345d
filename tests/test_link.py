"""The small rules of link: names of operators, of C++, of dispatch keys."""

from __future__ import annotations

import pytest

from tests.facts_view import view_of_sources
from torchtalkd import keys
from torchtalkd.facts import Rules
from torchtalkd.link import dispatch_keys, functions, operators, python_names, stubs


@pytest.mark.parametrize(
    ("base", "stem"),
    [
        ("mul", "MulBackward"),
        ("native_layer_norm", "NativeLayerNormBackward"),
        ("_foreach_add", "ForeachAddBackward"),
        ("conv2d", "Conv2DBackward"),
        ("_thnn_fused_gru_cell_forward", "ThnnFusedGruCellBackward"),
        ("sum_backward", "SumBackwardBackward"),
    ],
)
def test_autograd_nodes_are_named_as_autograd_does(base: str, stem: str) -> None:
    assert operators.node_stem(base) == stem


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("a::b<c<d>>::e<f>", "a::b::e"),
        ("launch<T, n <= 128>", "launch"),
        ("launch<T, n ", "launch"),
        ("T<int>::operator<", "T::operator<"),
    ],
)
def test_template_arguments_do_not_count_in_names(written: str, plain: str) -> None:
    assert keys.without_template_arguments(written) == plain


def test_a_hole_in_a_name_is_no_schema() -> None:
    name = keys.operator_name("{CONCAT(A, _b)}::f.out(Tensor x) -> Tensor")
    assert name == ("{CONCAT(A, _b)}", "f", "out")
    assert str(name) == "{CONCAT(A, _b)}::f.out"


@pytest.mark.parametrize(
    ("functional", "other"),
    [
        ("f(Tensor self, Scalar alpha=1) -> Tensor", "f_(Tensor(a!) self, Scalar alpha=1) -> Tensor(a!)"),
        ("f(Tensor self, *, int n) -> Tensor", "f.out(Tensor self, *, int n, Tensor(a!) out) -> Tensor(a!)"),
        (
            "f(Tensor self, int[2] k=1) -> Tensor",
            "f.x(Tensor self, int[2] k=1, *, Tensor(a!) out) -> Tensor(a!)",
        ),
    ],
)
def test_variants_of_one_operator_share_their_parameters(functional: str, other: str) -> None:
    assert operators.essence(functional) == operators.essence(other)


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("at::add", "add"),
        ("torch::add", "add"),
        ("at::Tensor::add_", "add_"),
        ("at::_ops::add_Tensor::call", "add_Tensor"),
        ("at::_ops::add_Tensor", "add_Tensor"),
        ("at::cpu::add_out", "add_out"),
        ("at::redispatch::add", "add"),
        ("at::native::add", ""),
        ("at::Tensor", "Tensor"),
        ("std::add", ""),
        ("add", ""),
    ],
)
def test_generated_cpp_names_say_their_operator(name: str, last: str) -> None:
    assert operators.generated_operator(name) == last


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("&at::native::f", "at::native::f"),
        ("::at::f<float>", "at::f"),
        ("f<std::pair<int, int>>", "f"),
        ("&CPU_CAPABILITY::f_kernel", "f_kernel"),
        ("(f)", "f"),
    ],
)
def test_a_cpp_name_is_freed_from_what_surrounds_it(written: str, plain: str) -> None:
    assert functions.plain(written) == plain


def test_scopes_go_from_the_inside_out() -> None:
    assert functions.enclosing("at::native::f") == ["at::native", "at", ""]
    assert functions.enclosing("f") == [""]


def test_dispatch_keys_have_one_name() -> None:
    rules = Rules()
    assert dispatch_keys.canonical("Autocast", rules) == "AutocastCUDA"
    assert dispatch_keys.canonical("CatchAll", rules) == "CompositeImplicitAutograd"
    assert dispatch_keys.canonical("CPU", rules) == "CPU"


SOURCES = {
    "aten/src/ATen/native/native_functions.yaml": (
        "- func: add(Tensor self) -> Tensor\n\n"
        "- func: sub(Tensor self) -> Tensor\n\n"
        "- func: copy_(Tensor(a!) self) -> Tensor(a!)\n"
    ),
    "torch/a.py": "from torch.b import *\n",
    "torch/b.py": "from torch.c import f as g\n",
    "torch/c.py": "def f(x):\n    return x\n",
}


@pytest.mark.parametrize(
    ("stub", "base", "foreign"),
    [
        ("at::native::add_stub", "sub", True),
        ("at::native::copy_stub", "sub", True),
        ("at::native::add_stub", "add", False),
        ("at::native::add_stub", "add_", False),
        ("at::native::add_stub", "addmm", False),
        ("at::native::gemm_stub", "sub", False),
    ],
)
def test_a_stub_named_after_another_operator_is_anothers(stub: str, base: str, foreign: bool) -> None:
    assert stubs.is_anothers(view_of_sources(SOURCES), stub, base) is foreign


def test_star_imports_and_new_names_are_followed() -> None:
    resolution = python_names.resolve(view_of_sources(SOURCES), "torch.a.g")
    assert [end.fact.name for end in resolution.ends] == ["torch.c.f"]
    assert [hop.fact.name for hop in resolution.hops] == ["torch.b.g"]


def test_a_name_that_nothing_defines_ends_nowhere() -> None:
    assert python_names.resolve(view_of_sources(SOURCES), "torch.a.h").ends == ()
