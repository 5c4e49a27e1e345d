"""`modules`: a class with its methods and what they run, a function, lists by category."""

from __future__ import annotations

import json

import pytest

from tests.facts_view import view_of_sources
from torchtalkd import cli
from torchtalkd.frontends.modules_text import modules_text, no_module
from torchtalkd.frontends.text import MOST_BYTES
from torchtalkd.queries.module_card import Card, Method
from torchtalkd.queries.module_names import begins_a_word
from torchtalkd.queries.modules import as_json, modules
from torchtalkd.store.view import View

YAML = """
- func: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
  python_module: nn

- func: gelu(Tensor self) -> Tensor
  python_module: nn
  dispatch:
    CPU: gelu_cpu
    CUDA: gelu_cuda

- func: _foreach_add_(Tensor(a!)[] self, Scalar scalar) -> ()
"""
SOURCES = {
    "aten/src/ATen/native/native_functions.yaml": YAML,
    "aten/src/ATen/native/Linear.cpp": """namespace at::native {
Tensor linear(const Tensor& input) { return at::mm(input); }
}
""",
    "aten/src/ATen/native/Gelu.cpp": """namespace at::native {
Tensor gelu_cpu(const Tensor& self) { return self; }
Tensor gelu_cuda(const Tensor& self) { return self; }
}
""",
    "torch/__init__.py": "from torch import nn, optim\n",
    "torch/nn/__init__.py": "from torch.nn import functional\nfrom torch.nn.modules import *\n",
    "torch/nn/modules/__init__.py": """from .module import Module
from .linear import Linear, LazyLinear, Bilinear
__all__ = ["Module", "Linear", "LazyLinear", "Bilinear"]
""",
    "torch/nn/modules/module.py": '''class Module:
    """Base of all.

    More.
    """

    def forward(self, x):
        raise NotImplementedError

    def train(self):
        return self
''',
    "torch/nn/modules/linear.py": '''from torch import Tensor
from .. import functional as F
from .module import Module

class _Scaled(Module):
    def scale(self, x):
        return x

class Linear(_Scaled):
    r"""Applies a linear map.

    Args:
        features: how many
    """

    def __init__(self, features, bias=True):
        super().__init__()
        self.act = Activation()

    def forward(self, input: Tensor) -> Tensor:
        return self.act(self._apply(input))

    def _apply(self, x):
        return F.linear(x, self.weight, self.bias)

class Activation(Module):
    @staticmethod
    def half(x):
        return x

class LazyLinear(Linear):
    pass

class Bilinear(Module):
    pass
''',
    "torch/nn/functional.py": """import torch; from torch._C import _add_docstr
linear = _add_docstr(torch._C._nn.linear, "text")
gelu = torch._C._nn.gelu

def wrapped(x):
    return torch._C._nn.gelu(x)
""",
    "torch/optim/__init__.py": """from .optimizer import Optimizer
from .adam import Adam
from .nadam import NAdam
""",
    "torch/optim/optimizer.py": """class Optimizer:
    def step(self):
        pass
    def zero_grad(self):
        pass
""",
    "torch/optim/nadam.py": "from .optimizer import Optimizer\nclass NAdam(Optimizer):\n    pass\n",
    "torch/optim/adam.py": """import torch
from .optimizer import Optimizer

class Adam(Optimizer):
    def step(self):
        func = _single if self.single else _multi
        adam(self)

def adam(params):
    func = _multi
    func(params)

def _multi(params):
    torch._foreach_add_(params, 1)
""",
    "torch/other.py": """from torch.nn import Linear as L
class Linear(L):
    pass
class Sub(L):
    pass
""",
    "test/test_nn.py": "from torch import nn\ndef test_it():\n    class Linear(nn.Linear):\n        pass\n",
}


@pytest.fixture(scope="module")
def view() -> View:
    return view_of_sources(SOURCES)


def card(view: View, name: str, focus: str = "methods") -> Card:
    (found,) = modules(view, name, "trace", focus).cards  # type: ignore[arg-type]
    return found


def method(found: Card, name: str) -> Method:
    (one,) = [m for m in found.methods if m.name == name]
    return one


def test_a_class_with_its_methods_and_lines(view: View) -> None:
    found = card(view, "Linear")
    assert (found.name, found.public, found.type) == (
        "torch.nn.modules.linear.Linear",
        "torch.nn.Linear",
        "module",
    )
    assert (found.file, found.line) == ("torch/nn/modules/linear.py", 9)
    own = [(m.name, m.line) for m in found.methods if not m.origin]
    assert own == [("__init__", 16), ("forward", 20), ("_apply", 23)]
    assert [(m.name, m.origin) for m in found.methods if m.origin] == [
        ("scale", "torch.nn.modules.linear._Scaled")
    ]
    assert found.inherited == (("torch.nn.modules.module.Module", 1),)
    assert found.signature == "(self, features, bias=True)"


def test_forward_leads_to_operators_and_held_modules(view: View) -> None:
    runs = method(card(view, "nn.Linear"), "forward").runs
    assert [(r.kind, r.name, r.via) for r in runs] == [
        ("module", "torch.nn.modules.module.Module.forward", ()),
        ("operator", "aten::linear", ("_apply",)),
    ]
    assert runs[0].attribute == "act"
    assert [(k.symbol, k.file, k.line) for k in runs[1].kernels] == [
        ("at::native::linear", "aten/src/ATen/native/Linear.cpp", 2)
    ]


def test_the_full_focus_adds_bases_docstring_and_inherited_methods(view: View) -> None:
    found = card(view, "torch.nn.Linear", "full")
    assert [(b.name, b.file, b.line) for b in found.bases] == [
        ("torch.nn.modules.linear._Scaled", "torch/nn/modules/linear.py", 5)
    ]
    assert found.above == ("torch.nn.modules.linear._Scaled", "torch.nn.modules.module.Module")
    assert found.docstring.startswith("Applies a linear map.\n\nArgs:\n    features")
    assert method(found, "train").origin == "torch.nn.modules.module.Module"
    assert not card(view, "torch.nn.Linear").bases


def test_exact_comes_before_fuzzy(view: View) -> None:
    answer = modules(view, "Adam")
    assert answer.exact
    assert [c.public for c in answer.cards] == ["torch.optim.Adam"]
    assert [row.public for row in answer.rows] == ["torch.optim.NAdam"]
    listed = modules(view, "adam", "list")
    assert [row.public for row in listed.rows] == ["torch.optim.Adam", "torch.optim.NAdam"]


def test_of_several_classes_of_a_name_the_public_one_is_shown(view: View) -> None:
    answer = modules(view, "Linear")
    assert answer.cards[0].public == "torch.nn.Linear"
    assert [row.name for row in answer.rows] == [
        "torch.other.Linear",
        "torch.nn.modules.linear.LazyLinear",
    ]


def test_private_lazy_and_differently_spelled_names(view: View) -> None:
    assert card(view, "_Scaled").line == 5
    assert card(view, "Scaled").line == 5
    assert card(view, "LAZYLINEAR").name == "torch.nn.modules.linear.LazyLinear"
    assert card(view, "linear.Linear").line == 9


def test_a_function_of_the_functional_module(view: View) -> None:
    found = card(view, "F.gelu")
    assert (found.kind, found.name, found.file, found.line) == (
        "alias",
        "torch.nn.functional.gelu",
        "torch/nn/functional.py",
        3,
    )
    assert [(k.dispatch_key, k.line) for k in found.runs[0].kernels] == [("CPU", 2), ("CUDA", 3)]
    assert card(view, "gelu") == found
    assert [r.name for r in card(view, "wrapped").runs] == ["aten::gelu"]
    assert card(view, "linear").name == "torch.nn.functional.linear"


def test_what_a_file_chooses_among_is_followed(view: View) -> None:
    runs = method(card(view, "Adam"), "step").runs
    assert [(r.name, r.via) for r in runs] == [("aten::_foreach_add_", ("adam", "_multi"))]


def test_lists_by_category(view: View) -> None:
    nn = modules(view, "nn", "list")
    assert [row.public for row in nn.rows] == [
        "torch.nn.modules.linear.Activation",
        "torch.nn.Bilinear",
        "torch.nn.LazyLinear",
        "torch.nn.Linear",
        "torch.nn.modules.linear._Scaled",
    ]
    assert nn.category == "nn"
    assert [row.public for row in modules(view, "optim", "list").rows] == [
        "torch.optim.Adam",
        "torch.optim.NAdam",
    ]
    everything = modules(view, "all", "list", limit=2)
    assert (everything.total, len(everything.rows)) == (9, 2)
    assert modules(view, "", "list").total == 9


def test_not_found_gives_the_nearest_names(view: View) -> None:
    answer = modules(view, "Liear")
    assert not answer.found
    assert "Linear" in answer.nearest
    assert "Linear" in no_module(answer)
    assert not modules(view, "Liear", "list").found


@pytest.mark.parametrize(
    ("text", "name", "begins"),
    [
        ("adam", "NAdam", True),
        ("adam", "SparseAdam", True),
        ("nms", "PythonMsgPrinter", False),
        ("norm", "BatchNorm2d", True),
        ("norm2d", "_LazyInstanceNorm2d", True),
        ("cell", "LSTMCell", True),
        ("lstm", "_LSTMLayer", True),
        ("inear", "Linear", False),
    ],
)
def test_a_text_begins_a_word_of_a_name(text: str, name: str, begins: bool) -> None:
    assert begins_a_word(text, name) is begins


def test_wrong_questions_say_what_is_allowed(view: View) -> None:
    with pytest.raises(ValueError, match="trace, list"):
        modules(view, "Linear", "show")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="methods, full"):
        modules(view, "Linear", "trace", "all")  # type: ignore[arg-type]
    assert "nn, optim" in modules(view).error


def test_an_extension_lists_what_inherits_from_the_frameworks_module() -> None:
    sources = {
        "vllm/model_executor/custom_op.py": "from torch import nn\nclass CustomOp(nn.Module):\n    pass\n",
        "vllm/model_executor/models/llama.py": """import torch.nn as nn
import torch
import my_ext
class Llama(nn.Module):
    def __init__(self):
        self.embed = nn.Embedding(3, 4)
    def forward(self, x):
        return my_ext.fused(torch.relu(self.embed(x)))
class Mistral(Llama):
    pass
""",
        "vllm/layers.py": """from vllm.model_executor.custom_op import CustomOp
class Norm(CustomOp):
    pass
""",
    }
    sources["csrc/ext.cpp"] = """Tensor fused(const Tensor& x) { return x; }
PYBIND11_MODULE(my_ext, m) { m.def("fused", &fused); }
"""
    view = view_of_sources(sources, "vllm")
    names = [row.name.rpartition(".")[2] for row in modules(view, "nn", "list").rows]
    assert names == ["CustomOp", "Llama", "Mistral", "Norm"]
    assert [r.name.rpartition(".")[2] for r in modules(view, "models", "list").rows] == ["Llama", "Mistral"]
    assert [r.name.rpartition(".")[2] for r in modules(view, "custom_ops", "list").rows] == ["Norm"]
    (found,) = modules(view, "Mistral", "trace", "full").cards
    assert found.type == "model"
    runs = method(found, "forward").runs
    assert {(r.kind, r.name, r.attribute) for r in runs} == {
        ("module", "torch.nn.Embedding", "embed"),
        ("outside", "torch.relu", ""),
        ("binding", "my_ext.fused", ""),
    }
    (bound,) = [r for r in runs if r.kind == "binding"]
    assert [(k.symbol, k.file, k.line) for k in bound.kernels] == [("fused", "csrc/ext.cpp", 1)]
    assert "self.embed → torch.nn.Embedding (not in this tree)" in modules_text(modules(view, "Mistral"))


def test_the_text_has_the_place_first_and_fits(view: View) -> None:
    for name, mode, focus in (
        ("Linear", "trace", "full"),
        ("gelu", "trace", "methods"),
        ("nn", "list", "methods"),
    ):
        text = modules_text(modules(view, name, mode, focus))  # type: ignore[arg-type]
        assert len(text.encode()) < MOST_BYTES
    text = modules_text(modules(view, "Linear"))
    first, second, *rest = text.splitlines()
    assert first.startswith("torch.nn.Linear · module · torch/nn/modules/linear.py:9 · revision 1")
    assert second == "class torch.nn.modules.linear.Linear(self, features, bias=True)"
    assert any("at::native::linear  aten/src/ATen/native/Linear.cpp:2" in line for line in rest)
    assert rest[-1] == "next: trace aten::linear"


def test_json_and_the_files_that_are_cited(view: View) -> None:
    answer = modules(view, "Linear")
    said = json.loads(json.dumps(as_json(answer)))
    assert said["modules"][0]["line"] == 9
    assert said["rows"][0]["file"] == "torch/other.py"
    assert "aten/src/ATen/native/Linear.cpp" in answer.cited
    moved = answer.without(frozenset(["torch/other.py"]))
    assert moved.cards
    assert all(row.file != "torch/other.py" for row in moved.rows)
    assert not answer.without(frozenset(["aten/src/ATen/native/Linear.cpp"])).cards


def test_the_command_takes_a_mode_and_a_focus() -> None:
    arguments = cli.parser().parse_args(["modules", "Linear", "--mode", "list", "--limit", "3"])
    assert (arguments.name, arguments.mode, arguments.focus, arguments.limit) == (
        "Linear",
        "list",
        "methods",
        3,
    )
