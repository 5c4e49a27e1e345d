"""The question `ops`: operators by what they have and lack, alone and together."""

from __future__ import annotations

from argparse import Namespace
from functools import lru_cache

import pytest

from tests.facts_view import view_of_sources
from torchtalkd.frontends.command import ops as command
from torchtalkd.queries.ops import Wanted, as_json, ops
from torchtalkd.store.view import View

YAML = """
- func: both(Tensor self) -> Tensor
  dispatch:
    CPU: both_cpu
    CUDA: both_cuda

- func: only_cuda(Tensor self) -> Tensor
  dispatch:
    CUDA: only_cuda

- func: made(Tensor self) -> Tensor

- func: plain(Tensor self) -> Tensor
  dispatch:
    CompositeExplicitAutograd: plain

- func: shaped(Tensor self) -> Tensor
  structured_delegate: shaped.out

- func: shaped.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: shaped_out
"""
DERIVATIVES = """
- name: both(Tensor self) -> Tensor
  self: grad
"""
TESTS = """
op_db = [OpInfo("both"), OpInfo("nn.functional.made", aten_name="made"), UnaryUfuncInfo("linalg.shaped")]
"""


@lru_cache
def tree() -> View:
    return view_of_sources(
        {
            "aten/src/ATen/native/native_functions.yaml": YAML,
            "tools/autograd/derivatives.yaml": DERIVATIVES,
            "torch/testing/_internal/common_methods_invocations.py": TESTS,
        }
    )


def listed(**wanted: object) -> set[str]:
    answer = ops(tree(), Wanted(**wanted))  # type: ignore[arg-type]
    return {op.operator.removeprefix("aten::") for op in answer.operators}


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"missing": ("MPS",)}, {"both", "only_cuda", "shaped.out"}),
        ({"missing": ("CPU",)}, {"only_cuda"}),
        ({"having": ("CUDA",), "without": ("CPU",)}, {"only_cuda"}),
        ({"having": ("cuda", "cpu")}, {"both"}),
        ({"composite": True}, {"made"}),
        ({"structured": True}, {"shaped", "shaped.out"}),
        ({"no_derivative": True}, {"only_cuda", "plain", "shaped", "shaped.out"}),
        ({"no_opinfo": True}, {"only_cuda", "plain"}),
        ({"no_opinfo": True, "missing": ("CPU",)}, {"only_cuda"}),
    ],
)
def test_each_condition_narrows(wanted: dict[str, object], names: set[str]) -> None:
    assert listed(**wanted) == names


def test_without_conditions_all_are_listed() -> None:
    answer = as_json(ops(tree(), Wanted()))
    assert answer["count"] == answer["of"] == 6
    assert answer["operators"][0]["file"] == "aten/src/ATen/native/native_functions.yaml"


def test_an_unknown_key_is_answered_with_those_there_are() -> None:
    assert "keys: CPU" in ops(tree(), Wanted(missing=("MPSS",))).error
    assert "cuda, all" in ops(tree(), Wanted(), "debug").error


def test_the_command_counts() -> None:
    flags = dict.fromkeys(("composite", "structured", "no_derivative", "no_opinfo", "json"), False)
    asking = Namespace(missing=["CPU"], having=[], without=[], build="all", **flags)
    told = command.told(command.question(asking)(tree()), asking)
    assert told.out.startswith("1 of 6 operators")
    assert told.code == 0
