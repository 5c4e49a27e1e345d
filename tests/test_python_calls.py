"""Who calls a Python function, class or method, and what a body calls: the same seen from both ends."""

from __future__ import annotations

import pytest

from tests.facts_view import view_of_sources
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import python_classes, python_names
from torchtalkd.link.python_callers import bound_to, callers, unknown_callers
from torchtalkd.link.python_calls import calls
from torchtalkd.store.view import View

SOURCES = {
    "torch/nn/__init__.py": "from torch.nn.modules import *\nfrom torch.nn.modules import Module as Base\n",
    "torch/nn/modules/__init__.py": "from .module import Module\nfrom .linear import Linear, Wide as Broad\n",
    "torch/nn/modules/module.py": """
class Module:
    def __init__(self):
        self.reset()

    def reset(self):
        pass

    def _call_impl(self, *args):
        return self.forward(*args)

    __call__ = _call_impl

    def forward(self, x):
        raise NotImplementedError
""",
    "torch/nn/modules/linear.py": """
from .. import functional as F
from .module import Module

class Linear(Module):
    def __init__(self, features):
        super().__init__()

    def forward(self, x):
        return F.twice(self._scaled(x))

    def _scaled(self, x):
        return x

class Wide(Linear):
    def _scaled(self, x):
        return super()._scaled(x)

    @property
    def width(self):
        return 1
""",
    "torch/nn/functional.py": """
import triton

def _twice(x):
    return x

twice = _twice

@triton.jit
def kernel(x):
    pass

def launches(x):
    kernel[(1,)](x)
""",
    "torch/models.py": """
from torch import nn
from torch.nn import Linear as L

class Block(nn.Base):
    def __init__(self):
        super().__init__()
        self.fc = L(3)
        self.wide = nn.Broad(4)

    def forward(self, x):
        x.reset()
        return self.wide(self.fc(x))

class Sub(Block):
    def again(self, x):
        return self.fc(x)
""",
    "torch/function.py": """
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

def scale(x):
    return Scale.apply(x)
""",
    "torch/custom.py": """
from torch.library import custom_op

@custom_op("mine::f", mutates_args=())
def f(x):
    return x
""",
    "test/test_models.py": """
from torch.models import Block, Sub

def test_block():
    Block()(1)
    for one in (Block, Sub):
        one()
""",
}


@pytest.fixture(scope="module")
def view() -> View:
    return view_of_sources(SOURCES)


def end(view: View, name: str) -> FiledDefinition:
    return python_names.resolve(view, name).ends[0]


def ways_in(view: View, name: str) -> set[tuple[str, str, str]]:
    found = callers(view, end(view, name))
    return {(caller.caller.fact.name, caller.how, caller.evidence) for caller in found}


def ways_out(view: View, name: str) -> list[tuple[str, str, list[str]]]:
    found = calls(view, end(view, name))
    return [(c.reference.fact.name, c.how, [e.fact.name for e in c.ends]) for c in found]


def test_a_call_through_an_alias_is_one_of_the_function(view: View) -> None:
    assert ways_in(view, "torch.nn.functional._twice") == {
        ("torch.nn.modules.linear.Linear.forward", "call", "declared")
    }


def test_an_attribute_is_what_the_class_is_given(view: View) -> None:
    found = ways_in(view, "torch.nn.Linear.forward")
    assert ("torch.models.Block.forward", "held", "declared") in found
    assert ("torch.models.Sub.again", "held", "declared") in found
    assert ("torch.models.Block.__init__", "construct", "candidate") in found
    assert ("torch.nn.modules.module.Module._call_impl", "self", "candidate") in found
    assert ways_out(view, "torch.models.Block.forward") == [
        ("reset", "method", []),
        ("self.wide", "held", ["torch.nn.modules.linear.Linear.forward"]),
        ("self.fc", "held", ["torch.nn.modules.linear.Linear.forward"]),
    ]


def test_an_override_is_a_candidate_and_super_the_next_above(view: View) -> None:
    assert ways_in(view, "torch.nn.modules.linear.Wide._scaled") == {
        ("torch.nn.modules.linear.Linear.forward", "self", "candidate")
    }
    assert ("torch.nn.modules.linear.Wide._scaled", "super", "declared") in ways_in(
        view, "torch.nn.Linear._scaled"
    )


def test_constructing_runs_the_inherited_init(view: View) -> None:
    found = ways_in(view, "torch.models.Block.__init__")
    assert ("test.test_models.test_block", "construct", "declared") in found
    assert ("torch.models.Block.__init__", "super", "declared") in ways_in(view, "torch.nn.Module.__init__")


def test_what_an_object_runs_unasked_has_those_who_make_one(view: View) -> None:
    assert ways_in(view, "torch.nn.modules.linear.Wide.width") == {
        ("torch.models.Block.__init__", "construct", "candidate")
    }


def test_a_class_in_a_list_is_a_value(view: View) -> None:
    assert ("test.test_models.test_block", "value", "candidate") in ways_in(view, "torch.models.Sub")
    assert ("torch.models.Sub", "base", "declared") in ways_in(view, "torch.models.Block")


def test_a_receiver_that_is_not_known_stands_apart(view: View) -> None:
    reset = end(view, "torch.nn.Module.reset")
    assert [c.caller.fact.name for c in unknown_callers(view, reset)] == ["torch.models.Block.forward"]
    assert ways_in(view, "torch.nn.Module.reset") == {
        ("torch.nn.modules.module.Module.__init__", "self", "declared")
    }


def test_kernels_are_launched_and_autograd_functions_applied(view: View) -> None:
    assert ways_in(view, "torch.nn.functional.kernel") == {
        ("torch.nn.functional.launches", "launch", "declared")
    }
    assert ways_in(view, "torch.function.Scale.forward") == {("torch.function.scale", "call", "declared")}


def test_a_custom_operator_binds_its_function(view: View) -> None:
    found = bound_to(view, end(view, "torch.custom.f"))
    assert {(d.fact.kind, d.fact.name) for d in found} == {("registration", "mine::f")}


def test_what_leads_back_leads_forward(view: View) -> None:
    bodies = [d for path in SOURCES for d in view.definitions_in(view.file(path) or pytest.fail(path))]
    seen = 0
    for target in bodies:
        if target.fact.kind not in ("function", "kernel"):
            continue
        for caller in callers(view, target):
            if caller.evidence == "candidate":
                continue
            ends = {e.id for c in calls(view, caller.caller) for e in c.ends}
            assert target.id in ends, (caller.caller.fact.name, target.fact.name)
            seen += 1
    assert seen > 8


def test_a_class_known_by_other_names_has_all_its_subclasses(view: View) -> None:
    below = python_classes.descendants(view, end(view, "torch.nn.Module"))
    assert {d.fact.name.rpartition(".")[2] for d in below} == {"Linear", "Wide", "Block", "Sub"}
    order = python_classes.ancestry(view, end(view, "torch.models.Sub"))
    assert [d.fact.name.rpartition(".")[2] for d in order] == ["Sub", "Block", "Module"]
