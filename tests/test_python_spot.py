"""What stands at a place of a Python text, as far as its syntax tells."""

from __future__ import annotations

import pytest

from torchtalkd.parse.python_spot import python_spot, python_text
from torchtalkd.spots import Spot, Value

TEXT = """
import torch, torch.nn as nn
import torch.nn.functional as F
from torch import Tensor, matmul as mm
from .near import foo
try:
    import fast as impl
except ImportError:
    impl = None
aten = torch.ops.aten
alias = torch.mm

def plain(x: torch.Tensor, y: "Tensor", z: "Optional[Tensor]" = None, w=None, o: Tensor | None = None):
    a = torch.randn(3)
    a.add(1)
    x.mul_(a)
    y.t()
    w.sub(2)
    o.exp()
    b = a @ x
    b += y
    -b
    b < a
    (a + b).sum(dim=1)
    F.gelu(x); nn.functional.relu(x); mm(a, b); aten.add.Tensor(a, b); alias(a)
    if w:
        a = torch.zeros(3)
    a.cos()
    x = x.view(2)
    x.abs()
    for t in x:
        t.neg()
    [q.sin() for q in x]
    foo(x); impl.run(x)

class Net(nn.Module):
    weight: Tensor
    def __init__(self):
        self.inner = nn.Linear(3, 4)
    def forward(self, inp: Tensor) -> Tensor:
        self.weight.neg_()
        return self.inner(inp)
    @staticmethod
    def other(inp):
        inp.tan()

@torch.library.impl("my::op", "CPU")
def kernel(x): ...
lib = torch.library.Library("aten", "IMPL")
lib.impl("add.Tensor", kernel)
"""


def spot(needle: str, offset: int = 0, text: str = TEXT) -> Spot | None:
    at = text.encode().index(needle.encode()) + offset
    data = text.encode()
    line = data.count(b"\n", 0, at) + 1
    return python_spot(python_text("pkg/sub/m.py", data, ()), line, at - (data.rfind(b"\n", 0, at) + 1))


def shown(value: Value) -> str:
    inner = ", ".join(shown(of) for of in value.of)
    if value.kind == "name":
        return value.name
    return f"{value.kind}{':' + value.name if value.name else ''}({inner})"


@pytest.mark.parametrize(
    ("needle", "offset", "value"),
    [
        ("torch.randn", 0, "torch"),
        ("torch.randn", 6, "torch.randn"),
        ("torch.randn", 11, "torch.randn"),  # behind the last letter
        ("a.add(1)", 2, "member:add(result(torch.randn))"),
        ("x.mul_", 2, "member:mul_(instance(torch.Tensor))"),
        ("y.t()", 2, "member:t(instance(torch.Tensor))"),
        ("w.sub", 2, "member:sub(unknown())"),
        ("o.exp", 2, "member:exp(instance(torch.Tensor))"),
        ("F.gelu", 2, "torch.nn.functional.gelu"),
        ("nn.functional.relu", 3, "torch.nn.functional"),
        ("nn.functional.relu", 15, "torch.nn.functional.relu"),
        ("mm(a, b)", 0, "torch.matmul"),
        ("aten.add.Tensor", 5, "torch.ops.aten.add"),
        ("aten.add.Tensor", 9, "torch.ops.aten.add.Tensor"),
        ("alias(a)", 0, "torch.mm"),
        ("a.cos()", 2, "member:cos(several(result(torch.zeros), result(torch.randn)))"),
        ("x.abs()", 2, "member:abs(result(member:view(instance(torch.Tensor))))"),
        ("t.neg()", 2, "member:neg(unknown())"),
        ("q.sin()", 2, "member:sin(unknown())"),
        ("foo(x)", 0, "pkg.sub.near.foo"),
        ("impl.run", 5, "fast.run"),
        ("self.weight.neg_", 12, "member:neg_(instance(torch.Tensor))"),
        ("self.inner(inp)", 5, "result(torch.nn.Linear)"),
        ("inp.tan", 4, "member:tan(unknown())"),
        ("matmul as mm", 0, "torch.matmul"),
        ("matmul as mm", 10, "torch.matmul"),
        (".near import", 1, "pkg.sub.near"),
        ("nn.Module", 3, "torch.nn.Module"),
    ],
)
def test_a_name_means(needle: str, offset: int, value: str) -> None:
    found = spot(needle, offset)
    assert found is not None and found.kind == "value" and shown(found.value) == value


@pytest.mark.parametrize(
    ("needle", "offset", "method"),
    [("a @ x", 2, "__matmul__"), ("b += y", 2, "__iadd__"), ("    -b", 4, "__neg__"), ("b < a", 2, "__lt__")],
)
def test_an_operator_is_a_method(needle: str, offset: int, method: str) -> None:
    found = spot(needle, offset)
    assert found is not None and (found.kind, found.text) == ("operation", method)


def test_a_string_knows_what_it_is_passed_to() -> None:
    found = spot('"my::op"', 3)
    assert found is not None and (found.kind, found.text, found.argument) == ("text", "my::op", 0)
    assert shown(found.value) == "torch.library.impl"
    found = spot('"add.Tensor"', 3)
    assert found is not None and shown(found.value) == "member:impl(result:aten(torch.library.Library))"


def test_a_call_knows_its_arguments() -> None:
    found = spot("(a + b).sum", 9)
    assert found is not None and found.passed is not None
    assert found.passed == (0, ("dim",), True)


@pytest.mark.parametrize("needle", ["dim=1", "x: torch", "return self", "# nothing"])
def test_nothing_stands_there(needle: str) -> None:
    assert spot(needle, 0, TEXT + "\n# nothing\n") is None


def test_definitions_have_their_full_names() -> None:
    assert getattr(spot("forward"), "text", "") == "pkg.sub.m.Net.forward"
    assert getattr(spot("plain"), "text", "") == "pkg.sub.m.plain"


@pytest.mark.parametrize("line", [0, 1, 10_000])
def test_places_beyond_the_text_are_nothing(line: int) -> None:
    assert python_spot(python_text("m.py", b"", ()), line, 5) is None


def test_a_long_chain_of_assignments_costs_little() -> None:
    steps = "\n".join(f"    x = torch.add(x, x) if x else x + x  # {n}" for n in range(300))
    found = spot("x.relu", 2, f"import torch\ndef f(x):\n{steps}\n    x.relu()\n")
    assert found is not None and found.value.kind == "member"
