"""The question `dispatch`: tables with their reasons, keys, builds, what does not exist, and its text."""

from __future__ import annotations

import json
from argparse import Namespace

import pytest

from tests.test_registered import tree
from torchtalkd.codegen.printed_schema import printed_schema
from torchtalkd.codegen.schema import parse_schema
from torchtalkd.frontends.command import dispatch as command
from torchtalkd.frontends.dispatch_text import dispatch_text
from torchtalkd.queries.dispatch import DispatchAnswer, as_lines, dispatch
from torchtalkd.queries.trace import trace


def asked(*names: str, **more: str) -> DispatchAnswer:
    return dispatch(tree(), names, **more)  # type: ignore[arg-type]


def test_one_object_a_line_in_the_shape_of_the_reference() -> None:
    (line,) = as_lines(asked("aten::halve"))
    assert line["op"] == "aten::halve"
    assert line["schema"] == "aten::halve(Tensor self) -> Tensor"
    assert ["Meta", "generated/RegisterMeta.cpp", "inactive"] in line["registrations"]
    assert line["table"]["CPU"] == ["kernel", "generated/RegisterCPU.cpp"]
    assert "CUDA" not in line["table"]


def test_a_packet_is_all_its_overloads_and_no_name_is_every_operator() -> None:
    assert [one.operator for one in asked("aten::twice").operators] == ["aten::twice", "aten::twice.out"]
    every = {one.operator for one in asked().operators}
    assert {"aten::twice", "aten::pair", "own::f", "own::g", "own::made"} <= every
    assert not any(name.endswith("*") for name in every)


@pytest.mark.parametrize(
    ("operator", "key", "said"),
    [
        ("aten::twice", "CUDA", "registered for CUDA itself"),
        ("aten::pair", "CUDA", "no CUDA kernel of its own: made of other operators"),
        ("aten::twice.out", "CUDA", "no CUDA kernel of its own: default backend kernel"),
        ("aten::twice", "Conjugate", "falls through"),
        ("aten::twice", "AutogradCPU", "every autograd key"),
        ("aten::twice", "Negative", "the fallback of Negative"),
    ],
)
def test_each_entry_says_why(operator: str, key: str, said: str) -> None:
    found = next(one for one in asked(operator).operators if one.operator == operator)
    (row,) = (row for row in found.table if row.key == key)
    assert said in row.why


def test_an_operator_that_only_python_declares_is_one() -> None:
    (line,) = as_lines(asked("own::made"))
    assert line["table"]["CUDA"] == ["default backend kernel", "python"]


def test_a_key_may_be_written_in_any_case_and_alone() -> None:
    (one,) = asked("aten::pair", key="cuda").operators
    assert [row.key for row in one.table] == ["CUDA"]


def test_what_does_not_exist_is_answered_with_what_does() -> None:
    assert "CUDA" in asked("aten::pair", key="CUDDA").error
    assert "keys: CPU, CUDA" in asked("aten::pair", key="CUDDA").error
    missing = asked("aten::halv")
    assert missing.missing == ("aten::halv",)
    assert missing.nearest[0] == "halve"
    assert "cuda, all" in asked("aten::pair", build="debug").error


def test_the_text_names_the_function_and_joins_equal_keys() -> None:
    text = dispatch_text(asked("aten::pair"))
    assert "CPU, CUDA" in text
    assert "no kernels of their own: made of other operators" in text
    everything = dispatch_text(asked("aten::twice", build="all"))
    assert "only #if defined(USE_VULKAN_API)" in everything


def arguments(**more: object) -> Namespace:
    given = {"names": [], "all": False, "key": "", "build": "", "json": False, "command": "dispatch"}
    return Namespace(**{**given, **more})


def test_the_command_fails_where_a_name_is_no_operators() -> None:
    asking = arguments(names=["aten::halve", "nothing_of_that_name"], json=True)
    told = command.told(command.question(asking)(tree()), asking)
    assert told.code == 1
    assert json.loads(told.out)["op"] == "aten::halve"
    assert "nothing_of_that_name" in told.err


def test_all_is_one_line_an_operator() -> None:
    asking = arguments(all=True)
    told = command.told(command.question(asking)(tree()), asking)
    assert told.code == 0
    assert any(line.startswith("aten::pair  math kernel: CPU") for line in told.out.splitlines())


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("f(Tensor a, float p=1.0) -> Tensor", "ns::f(Tensor a, float p=1.) -> Tensor"),
        ("f(Tensor a, *, Scalar p=0.5) -> Tensor", "ns::f(Tensor a, *, Scalar p=0.5) -> Tensor"),
        ("f(Dimname[1] d, int r=Mean) -> Tensor", "ns::f(str[1] d, int r=1) -> Tensor"),
        ("f(int[2] d=1, SymInt[2] e=1) -> Tensor", "ns::f(int[2] d=1, SymInt[2] e=[1, 1]) -> Tensor"),
        ("f(str s='a', int[] d=[-2,-1]) -> Tensor", 'ns::f(str s="a", int[] d=[-2, -1]) -> Tensor'),
    ],
)
def test_schemas_are_printed_as_the_dispatcher_does(written: str, printed: str) -> None:
    assert printed_schema(parse_schema(written), "ns") == printed


def test_a_trace_shows_the_table_of_the_common_backends_and_why() -> None:
    items = [item for item in trace(tree(), "aten::pair", "dispatch").items if item.role == "entry"]
    assert [(item.dispatch_key, item.kind) for item in items] == [
        ("CPU", "math kernel"),
        ("CUDA", "math kernel"),
        ("Meta", "math kernel"),
    ]
    assert items[1].note.startswith("no CUDA kernel of its own")
    keys_of = {i.dispatch_key for i in trace(tree(), "aten::twice", "dispatch").items if i.role == "entry"}
    assert {"CPU", "CUDA", "MPS"} <= keys_of
    assert not any(item.role == "entry" for item in trace(tree(), "aten::twice").items)
