"""Every registration of an operator, from a small tree: what is found, where, and what hides what."""

from __future__ import annotations

from functools import lru_cache

import pytest

from tests.facts_view import view_of_sources
from torchtalkd.link import builds, operators
from torchtalkd.link.registered import Registered, fallbacks, registered, runtime_keys, table_of
from torchtalkd.store.view import View

YAML = """
- func: twice(Tensor self) -> Tensor
  variants: function
  dispatch:
    CPU, CUDA, MPS: twice_kernel
  autogen: twice.out

- func: pair(Tensor self) -> Tensor
  variants: function

- func: peek(Tensor(a) self) -> Tensor(a)
  variants: function
  dispatch:
    CPU: peek_kernel

- func: halve(Tensor self) -> Tensor
  variants: function
  dispatch:
    CPU: halve_kernel
    Meta: halve_meta
"""
CODE = """
#define BOTH(m, name) m.impl(name, CppFunction::makeFallthrough());
TORCH_LIBRARY_IMPL(_, Negative, m) { m.fallback(CppFunction::makeFromBoxedFunction<&negate>()); }
TORCH_LIBRARY_IMPL(aten, Autocast, m) {
  m.impl("twice", TORCH_FN(cast_twice));
}
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  BOTH(m, "twice")
}
#ifdef USE_VULKAN_API
TORCH_LIBRARY_IMPL(aten, Vulkan, m) { m.impl("twice", twice_vulkan); }
#endif
TORCH_LIBRARY(own, m) { m.def("f(Tensor x) -> Tensor", &f); m.def("g(Tensor x) -> Tensor"); }
"""
META = """
import torch
from torch._decomp import register_decomposition
aten = torch.ops.aten

@register_meta(aten.twice)
def meta_twice(self): ...

@register_meta([aten.pair.default, aten.peek.default])
def not_for_these(self): ...

@register_decomposition(aten.twice)
def hidden(self): ...
"""
REFS = """
@_make_elementwise_unary_reference(PROMOTION)
def halve(a): ...

@_make_elementwise_unary_reference(PROMOTION, aten_op=None)
def pair(a): ...
"""
OPS = """
import torch
lib = torch.library.Library("own", "FRAGMENT")
lib.define("h(Tensor x) -> Tensor")
for key in ("CPU", "CUDA"):
    lib.impl("h", h_kernel, key)
for schema in ["first(Tensor x) -> Tensor", "second(Tensor x) -> Tensor"]:
    name = schema[0 : schema.index("(")]
    lib.define(schema)
    lib.impl(name, shared, "CompositeImplicitAutograd")

@torch.library.custom_op("own::made", mutates_args=())
def made(x: torch.Tensor) -> torch.Tensor: ...

@torch.ops.own.h.default.py_impl(torch._C.DispatchKey.Autograd)
def only_in_python(x): ...
"""


@lru_cache
def tree() -> View:
    return view_of_sources(
        {
            "aten/src/ATen/native/native_functions.yaml": YAML,
            "aten/src/ATen/native/Twice.cpp": CODE,
            "aten/src/ATen/native/vulkan/ops/Twice.cpp": CODE.partition("TORCH_LIBRARY_IMPL(aten, Auto")[0]
            + 'TORCH_LIBRARY_IMPL(aten, Metal, m) { m.impl("twice", twice_metal); }\n',
            "test/cpp/Twice.cpp": 'TORCH_LIBRARY_IMPL(aten, CPU, m) { m.impl("pair", pair_in_a_test); }\n',
            "torch/_meta_registrations.py": META,
            "torch/_refs/__init__.py": REFS,
            "torch/ops.py": OPS,
        }
    )


def found(operator: str, build: str = "") -> tuple[Registered, ...]:
    family = operators.family(tree(), operator)
    assert family is not None, operator
    return registered(tree(), family, builds.build_named(tree().rules, build))[operator]


def places(operator: str, build: str = "") -> set[tuple[str, str]]:
    return {(one.dispatch_key, one.where) for one in found(operator, build)}


def test_generated_registrations_have_the_files_of_the_build() -> None:
    generated = {where for _, where in places("aten::twice") if where.startswith("generated/")}
    assert {"generated/RegisterCPU.cpp", "generated/RegisterCUDA.cpp"} <= generated
    assert "generated/RegisterMPS.cpp" not in generated
    assert ("MPS", "generated/RegisterMPS.cpp") in places("aten::twice", "all")


def test_what_is_written_by_hand_has_the_line_of_its_block() -> None:
    code = "aten/src/ATen/native/Twice.cpp"
    assert {("AutocastCUDA", f"{code}:4"), ("Conjugate", f"{code}:7")} <= places("aten::twice")
    (conjugate,) = (one for one in found("aten::twice") if one.dispatch_key == "Conjugate")
    assert conjugate.falls_through
    assert places("own::f") == {("CompositeImplicitAutograd", f"{code}:13")}
    assert places("own::g") == set()


def test_a_build_lacks_files_and_what_undefined_macros_guard() -> None:
    assert {key for key, _ in places("aten::twice")}.isdisjoint({"Vulkan", "Metal"})
    everything = {one.dispatch_key: one for one in found("aten::twice", "all")}
    assert "USE_VULKAN_API" in everything["Vulkan"].guard
    assert "Metal" in everything


def test_tests_register_nothing() -> None:
    assert ("CPU", "test/cpp/Twice.cpp:1") not in places("aten::pair", "all")


def test_a_meta_function_in_python_hides_a_generated_one() -> None:
    meta = [one for one in found("aten::halve") if one.dispatch_key == "Meta"]
    assert [(one.where, one.hidden) for one in meta] == [
        ("python", False),
        ("generated/RegisterMeta.cpp", True),
    ]
    assert meta[0].source.file.path == "torch/_refs/__init__.py"


def test_a_packet_stands_for_all_its_overloads_and_meta_comes_before_a_decomposition() -> None:
    for operator in ("aten::twice", "aten::twice.out"):
        (meta,) = (one for one in found(operator) if one.dispatch_key == "Meta")
        assert (meta.where, meta.source.fact.convention) == ("python", "meta")


@pytest.mark.parametrize("operator", ["aten::pair", "aten::peek"])
def test_composites_and_views_keep_their_meta_function(operator: str) -> None:
    assert ("Meta", "python") not in places(operator)


def test_libraries_in_python() -> None:
    assert places("own::h") == {("CPU", "python"), ("CUDA", "python")}
    for operator in ("own::first", "own::second"):
        assert places(operator) == {("CompositeImplicitAutograd", "python")}
    assert {key for key, _ in places("own::made")} == {"CompositeExplicitAutograd", "Autograd", "Meta"}


def test_the_table_takes_fallbacks() -> None:
    build = builds.build_named(tree().rules)
    table = table_of(tree(), found("aten::twice"), build)
    assert (table["CPU"].kind, table["CPU"].dispatch_key) == ("kernel", "CPU")
    assert table["Negative"].kind == "backend fallback"
    assert fallbacks(tree(), build)["Negative"].where == "aten/src/ATen/native/Twice.cpp:3"


def test_builds_are_named() -> None:
    rules = tree().rules
    default = builds.build_named(rules)
    assert default is not None
    assert default.default
    assert builds.build_named(rules, "all") is None
    with pytest.raises(builds.UnknownBuild, match="cuda, all"):
        builds.build_named(rules, "toaster")
    assert {"MPS", "AutogradMPS", "Vulkan", "FuncTorchBatched"} <= set(runtime_keys(rules.dispatch))


def test_a_name_may_be_assigned_before_it_is_registered() -> None:
    code = """
def register_prims():
    name = "philox"
    register_rng_prim(name=name, schema="(Tensor x) -> Tensor", impl_aten=philox, impl_meta=philox_meta)
"""
    view = view_of_sources({"torch/_prims/rng_prims.py": code})
    family = operators.family(view, "rngprims::philox")
    assert family is not None
    (several,) = registered(view, family, None).values()
    assert {one.dispatch_key for one in several} == {"Meta", "Autograd", "CompositeExplicitAutograd"}
