"""affected: from what changed to the tests that reach it, in a small tree of PyTorch's shapes."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.facts_view import view_of_sources
from torchtalkd.frontends.affected_text import affected_text, pytest_arguments, run_test_arguments
from torchtalkd.queries.affected import AffectedAnswer, affected, as_json
from torchtalkd.queries.changed import ChangedFile
from torchtalkd.store.view import View

NATIVE = "aten/src/ATen/native"
SOURCES = {
    f"{NATIVE}/native_functions.yaml": """
- func: relu(Tensor self) -> Tensor
  variants: function, method
  dispatch:
    CPU: relu
    CUDA: relu_cuda
- func: twice(Tensor self) -> Tensor
  variants: function, method
- func: rare(Tensor self) -> Tensor
- func: rare_backward(Tensor grad) -> Tensor
  dispatch:
    CPU: rare_backward_cpu
- func: on_device(Tensor self) -> Tensor
  dispatch:
    CUDA: on_device_cuda
""",
    "tools/autograd/derivatives.yaml": """
- name: rare(Tensor self) -> Tensor
  self: rare_backward(grad)
""",
    f"{NATIVE}/Relu.cpp": """
#include <ATen/native/Relu.h>
namespace at::native {
static void relu_kernel(Tensor& x) { x.fill_(0); }
Tensor relu(const Tensor& self) {
  relu_kernel(self);
  return self;
}
Tensor twice(const Tensor& self) { return at::relu(at::relu(self)); }
Tensor rare(const Tensor& self) { return self; }
Tensor rare_backward_cpu(const Tensor& grad) { return grad; }
Tensor nobody(const Tensor& self) { return self; }
}
""",
    f"{NATIVE}/Relu.h": "#pragma once\nnamespace at::native { inline int lanes() { return 4; } }\n",
    f"{NATIVE}/cuda/Relu.cu": """
namespace at::native {
Tensor relu_cuda(const Tensor& self) { return self; }
Tensor on_device_cuda(const Tensor& self) { return at::relu(self); }
}
""",
    "torch/__init__.py": "from torch.functional import *\nfrom torch import nn\n",
    "torch/functional.py": "import torch\n\ndef clamp_low(x):\n    return torch.relu(x)\n",
    "torch/nn/__init__.py": """
import torch

class Module:
    def __call__(self, x):
        return self.forward(x)

class ReLU(Module):
    def forward(self, x):
        return torch.relu(x)

class Same(Module):
    def forward(self, x):
        return x
""",
    "torch/testing/_internal/common_utils.py": """
import unittest
import torch

class TestCase(unittest.TestCase):
    def assertEqual(self, x, y):
        return x.twice() is y
""",
    "test/test_plain.py": """
import torch
from torch.testing._internal.common_utils import TestCase

class TestPlain(TestCase):
    def test_low(self):
        torch.functional.clamp_low(1)

    def test_nothing(self):
        pass
""",
    "test/test_modules.py": """
import torch
from torch import nn

def test_relu():
    nn.ReLU()(1)

def test_other():
    pass
""",
    "test/test_same.py": "from torch import nn\n\ndef test_same():\n    nn.Same()(1)\n",
    "test/test_rare.py": "import torch\n\ndef test_rare():\n    torch.rare(1).backward()\n",
    "test/test_device.py": "import torch\n\ndef test_device():\n    torch.on_device(1)\n",
    "test/test_asserts.py": """
from torch.testing._internal.common_utils import TestCase

class TestAsserts(TestCase):
    def test_equal(self):
        self.assertEqual(1, 1)
""",
    "test/test_none.py": "def test_none():\n    assert True\n",
}


@pytest.fixture(scope="module")
def view() -> View:
    return view_of_sources(SOURCES)


RELU = {"test_plain.py", "test_modules.py", "test_asserts.py"}
"""Who runs relu: through functions, modules, and `twice`, which assertEqual calls."""


def files(answer: AffectedAnswer) -> set[str]:
    """The names of the selected test files."""
    assert not answer.error and not answer.missing
    return {test.file.removeprefix("test/") for test in answer.tests}


def test_a_kernel_reaches_the_tests_that_run_its_operator(view: View) -> None:
    assert files(affected(view, ["at::native::relu"])) == RELU


def test_a_static_helper_is_followed_through_its_kernel(view: View) -> None:
    assert files(affected(view, ["relu_kernel"])) == RELU


def test_what_the_test_infrastructure_runs_counts_for_whoever_asserts(view: View) -> None:
    assert files(affected(view, ["at::native::twice"])) == {"test_asserts.py"}


def test_a_formula_leads_to_the_operator_that_it_is_of(view: View) -> None:
    assert files(affected(view, ["rare_backward_cpu"])) == {"test_rare.py"}


def test_a_kernel_of_one_device_is_not_run_from_another(view: View) -> None:
    assert "test_device.py" not in files(affected(view, ["at::native::relu"]))
    assert files(affected(view, ["aten::relu"])) >= {"test_device.py"}


def test_a_method_counts_only_where_the_test_has_the_class(view: View) -> None:
    assert files(affected(view, ["torch.nn.Same.forward"])) == {"test_same.py"}
    assert files(affected(view, ["torch.nn.Module.__call__"])) == {"test_same.py", "test_modules.py"}


def test_a_macro_may_make_several_functions_on_one_line() -> None:
    path = f"{NATIVE}/Pair.cpp"
    entries = "- func: pair(Tensor self) -> Tensor\n- func: pair_(Tensor(a!) self) -> Tensor(a!)\n"
    source = """#define BOTH(NAME) \\
  Tensor NAME(const Tensor& self) { return self; } \\
  Tensor NAME##_(const Tensor& self) { return self; }
namespace at::native {
BOTH(pair)
}
"""
    test = "import torch\n\ndef test_pair():\n    torch.pair(1)\n"
    sources = {
        **SOURCES,
        f"{NATIVE}/native_functions.yaml": SOURCES[f"{NATIVE}/native_functions.yaml"] + entries,
        path: source,
        "test/test_pair.py": test,
    }
    change = ChangedFile(path, path, added=(5,), text=("BOTH(pair)",))
    answer = affected(view_of_sources(sources), (), [change])
    assert {thing.name for thing in answer.things} == {"at::native::pair", "at::native::pair_"}
    assert files(answer) == {"test_pair.py"}


def test_single_tests_are_named_where_nothing_else_leads_there(view: View) -> None:
    answer = affected(view, ["torch.functional.clamp_low"])
    (test,) = answer.tests
    assert (test.file, test.certainty, test.tests) == (
        "test/test_plain.py",
        "certain",
        ("TestPlain::test_low",),
    )
    assert pytest_arguments(answer) == "test/test_plain.py::TestPlain::test_low"
    assert run_test_arguments(answer) == "test_plain"
    assert "torch.functional.clamp_low" in " > ".join(test.why)


def test_a_function_that_nobody_calls_counts_as_its_file(view: View) -> None:
    answer = affected(view, ["at::native::nobody"])
    assert files(answer) >= RELU
    assert any("nothing is seen to call" in note for note in answer.notes)


def test_a_name_of_nothing_is_told(view: View) -> None:
    answer = affected(view, ["at::native::relu", "no_such_name"])
    assert answer.missing == ("no_such_name",) and not answer.found
    assert "no_such_name" in affected_text(answer)


def test_depth_never_loses_a_test(view: View) -> None:
    for name in ("relu_kernel", "rare_backward_cpu", "torch.nn.ReLU.forward"):
        assert files(affected(view, [name], depth=1)) == files(affected(view, [name], depth=9))
    assert affected(view, ["relu_kernel"], depth=0).error


# -- from lines


def changed(path: str, *lines: int, **rest: object) -> ChangedFile:
    """Some lines of a file are new, and say what they say."""
    text = SOURCES.get(path, "").split("\n")
    said = tuple(text[line - 1] for line in lines)
    return ChangedFile(path, path, added=lines, text=said)._replace(**rest)  # type: ignore[arg-type]


def line_of(path: str, part: str) -> int:
    """The line of a file that has a text."""
    return next(n for n, line in enumerate(SOURCES[path].split("\n"), 1) if part in line)


def of_line(view: View, path: str, part: str, **rest: object) -> AffectedAnswer:
    return affected(view, (), [changed(path, line_of(path, part), **rest)])


@pytest.mark.parametrize(
    ("path", "part", "expected"),
    [
        (f"{NATIVE}/Relu.cpp", "relu_kernel(self)", RELU),
        (f"{NATIVE}/Relu.cpp", "x.fill_(0)", RELU),
        (f"{NATIVE}/cuda/Relu.cu", "at::relu(self)", {"test_device.py"}),
        (f"{NATIVE}/native_functions.yaml", "func: rare(Tensor", {"test_rare.py"}),
        ("tools/autograd/derivatives.yaml", "self: rare_backward", {"test_rare.py"}),
        ("torch/functional.py", "return torch.relu", {"test_plain.py"}),
        ("torch/nn/__init__.py", "return torch.relu", {"test_modules.py"}),
        ("torch/testing/_internal/common_utils.py", "x.twice()", {"test_asserts.py"}),
        ("test/test_none.py", "assert True", {"test_none.py"}),
    ],
)
def test_a_changed_line(view: View, path: str, part: str, expected: set[str]) -> None:
    answer = of_line(view, path, part)
    assert files(answer) == expected and not answer.everything


def test_the_top_of_a_module_is_for_who_imports_it(view: View) -> None:
    answer = affected(view, (), [changed("torch/functional.py", 1)])
    assert files(answer) == {
        f"test_{name}.py" for name in ("plain", "modules", "same", "rare", "device", "asserts")
    }
    assert not answer.everything


def test_what_functionalizes_runs_the_copies_of_its_views() -> None:
    run = "import torch\n\ndef test_it():\n    {}\n    torch.rand(1).part(0)\n"
    sources = {
        f"{NATIVE}/native_functions.yaml": """
- func: part.int(Tensor(a) self, int at) -> Tensor(a)
  variants: function, method
- func: part_copy.int(Tensor self, int at) -> Tensor
  dispatch:
    CompositeExplicitAutograd: part_copy_symint
  tags: view_copy
""",
        f"{NATIVE}/Part.cpp": "namespace at::native {\nTensor part_copy_symint(Tensor x) { return x; }\n}\n",
        "aten/src/ATen/FunctionalInverses.cpp": """
namespace at::functionalization {
Tensor FunctionalInverses::part_int_inverse(const Tensor& base) { return base; }
}
""",
        "test/test_functional.py": run.format("torch._enable_functionalization(reapply_views=False)"),
        "test/test_eager.py": run.format("pass"),
        "test/test_no_view.py": "import torch\n\ndef test_it():\n    torch._enable_functionalization()\n",
    }
    with view_of_sources(sources) as tree:
        for name in ("at::native::part_copy_symint", "part_int_inverse"):
            assert files(affected(tree, [name])) == {"test_functional.py"}


def test_lines_that_each_define_something_are_told_apart() -> None:
    path = f"{NATIVE}/Unary.cpp"
    lines = [f"TORCH_IMPL_FUNC({name}_out)(const Tensor& self, const Tensor& r) {{ }}" for name in "abc"]
    text = "\n".join(["namespace at::native {", *lines, "}", ""])
    with view_of_sources({path: text}) as unary:
        for line, name in enumerate("abc", 2):
            change = ChangedFile(path, path, added=(line,), text=("x",))
            assert [thing.name for thing in affected(unary, (), [change]).things] == [
                f"at::native::{name}_out"
            ]


def test_comments_and_blank_lines_change_nothing(view: View) -> None:
    said = {"text": ("  // only a comment", "")}
    answer = of_line(view, f"{NATIVE}/Relu.cpp", "relu_kernel(self)", **said)
    assert files(answer) == set() and not answer.everything
    assert any("no code changed" in note for note in answer.notes)


def test_a_line_of_cpp_that_begins_with_a_star_is_code(view: View) -> None:
    answer = of_line(view, f"{NATIVE}/Relu.cpp", "relu_kernel(self)", text=("*pointer = 3;",))
    assert files(answer)


def test_what_is_gone_affects_who_still_says_its_name(view: View) -> None:
    gone = ChangedFile(
        "torch/functional.py",
        "torch/functional.py",
        gaps=(3,),
        old_text=("def relu(x):",),
        text=("def relu(x):",),
    )
    assert "test_plain.py" in files(affected(view, (), [gone]))
    gone = ChangedFile(
        f"{NATIVE}/Old.cpp",
        f"{NATIVE}/Old.cpp",
        True,
        old_text=("void relu_kernel(Tensor& x) {",),
        text=("x",),
    )
    assert files(affected(view, (), [gone])) == RELU


@pytest.mark.parametrize(
    ("path", "because"),
    [
        ("CMakeLists.txt", "part of the build"),
        ("cmake/Options.cmake", "part of the build"),
        ("aten/src/ATen/templates/Functions.h", "template"),
        (f"{NATIVE}/tags.yaml", "no entry"),
    ],
)
def test_everything_where_nothing_can_be_narrowed(path: str, because: str) -> None:
    view = view_of_sources({**SOURCES, path: "x\n"})
    answer = affected(view, (), [ChangedFile(path, path, added=(1,), text=("x",))])
    assert because in answer.everything[0]
    assert len(answer.tests) == answer.total == 7
    assert affected_text(answer).startswith("everything, because ")


def test_a_widely_included_header_is_everything() -> None:
    header = f"{NATIVE}/Relu.h"
    wide: Mapping[str, str] = {
        f"{NATIVE}/Wide{n}.cpp": "#include <ATen/native/Relu.h>\nint f() { return 1; }\n" for n in range(60)
    }
    view = view_of_sources({**SOURCES, **wide})
    answer = affected(view, (), [changed(header, 2)])
    assert "included by 61 of" in answer.everything[0]


@pytest.mark.parametrize("header", [True, False])
def test_a_macro_without_parameters_counts_for_all_around_it(header: bool) -> None:
    source = SOURCES[f"{NATIVE}/Relu.cpp"]
    define = "#define LOWEST 0\n"
    path = f"{NATIVE}/Lowest.h" if header else f"{NATIVE}/Relu.cpp"
    texts = {path: define, f"{NATIVE}/Relu.cpp": "#include <ATen/native/Lowest.h>\n" + source}
    if not header:
        texts[path] = define + source
    view = view_of_sources({**SOURCES, **texts})
    line = ChangedFile(path, path, added=(1,), text=(define.rstrip(),))
    for answer in (affected(view, (), [line]), affected(view, ["LOWEST"])):
        assert files(answer) >= RELU and not answer.everything


def test_paths_of_a_difference_may_begin_elsewhere(view: View) -> None:
    for path in ("pytorch/torch/functional.py", "functional.py"):
        line = line_of("torch/functional.py", "return torch.relu")
        answer = affected(view, (), [ChangedFile(path, path, added=(line,), text=("x",))])
        assert files(answer) == {"test_plain.py"}


def test_documents_and_unknown_files_select_nothing_and_are_told(view: View) -> None:
    changes = [ChangedFile("docs/a.md", text=("x",), added=(1,)), ChangedFile("data.bin", binary=True)]
    answer = affected(view, (), changes)
    assert not answer.tests and not answer.everything and answer.found
    assert any("docs/a.md" in note for note in answer.notes) and any(
        "data.bin" in note for note in answer.notes
    )


def test_the_json_says_all_of_it(view: View) -> None:
    found = as_json(affected(view, ["at::native::relu"]))
    assert (found["selected"], found["total"], found["everything"]) == (3, 7, [])
    assert {test["file"] for test in found["tests"]} == {f"test/{name}" for name in RELU}
    assert all(test["why"] and test["certainty"] in ("certain", "possible") for test in found["tests"])


def test_each_way_is_one_that_its_test_goes() -> None:
    """A way leads through no class that only another test file has, however short that would be."""
    step = "class {0}:\n    def step(self):\n        {1}\n\n"
    sources = SOURCES | {
        "test/test_short.py": "import torch\n\n"
        + step.format("Short", "torch.relu(1)")
        + "def test_it(x):\n    Short()\n    x.step()\n",
        "test/test_long.py": "import torch\n\n"
        + "def third():\n    torch.relu(1)\n\ndef second():\n    third()\n\n"
        + step.format("Long", "second()")
        + "def test_it(x):\n    Long()\n    x.step()\n",
    }
    answer = affected(view_of_sources(sources), ["at::native::relu"])
    ways = {test.file: test.why for test in answer.tests}
    assert "test.test_short.Short.step" in ways["test/test_short.py"]
    assert not any("Short" in hop for hop in ways["test/test_long.py"])
    assert any("third" in hop for hop in ways["test/test_long.py"])
