"""What looks like a registration in a text, and which lines of a manifest would read it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from torchtalkd.conventions import load
from torchtalkd.harness.proposals import proposal
from torchtalkd.harness.sites import sites

CPP = r"""
// TORCH_LIBRARY(comment, m) { m.def("no"); }
#define MYLIB_LIBRARY(ns, m) \
  TORCH_LIBRARY(ns, m) { m.def("macro") }
const char* text = "REGISTER_DISPATCH(no, &no)";
auto raw = R"x(
REGISTER_THING(no, &no)
)x";
MYLIB_LIBRARY(mine, m) {
  m.def("turn(Tensor x) -> Tensor");
  m.impl(
      TORCH_SELECTIVE_NAME("mine::turn"),
      TORCH_FN(turn));
}
MYLIB_LIBRARY_IMPL(mine, CUDA, m) { m.impl("turn", &turn_cuda); }
TORCH_LIBRARY_IMPL(declared, CUDA, m);
REGISTER_NPU_DISPATCH(turn_stub, &turn_kernel)
REGISTER_ONE(alone)
REGISTER_KERNEL("name",
                [](int a, int b) { return a; });
SOME_MODULE(_C, m) { m.def("f", &f).def("g", &g); }
int x = object.define("not a registration");
"""

PYTHON = """
import atexit
from lib import register_fake, register_op, registry

@register_fake("mine::turn")
def fake(x):
    return x

@registry.register_module()
class Module:
    @other.register_thing
    def method(self): ...

@dispatched.register
def _(x: int): ...

register_op("mine::turn", fake, "CPU")
register_op("mine::other")(fake)
if True:
    register_op(op_name="third", op_func=fake)
atexit.register("text", fake)
registry.register(fake)

class Net:
    def __init__(self):
        self.register_buffer("weight", weight)
"""


def shown(path: str, text: str, language: str) -> list[tuple[int, int, str, str]]:
    return [(site.line, site.end_line, site.form, site.name) for site in sites(path, text, language)]


def test_registrations_in_cpp_are_found_by_their_spelling() -> None:
    assert shown("a.cpp", CPP, "cpp") == [
        (9, 9, "library", "MYLIB_LIBRARY"),
        (10, 10, "entry", "def"),
        (11, 13, "entry", "impl"),
        (15, 15, "library", "MYLIB_LIBRARY_IMPL"),
        (15, 15, "entry", "impl"),
        (17, 17, "macro", "REGISTER_NPU_DISPATCH"),
        (19, 20, "macro", "REGISTER_KERNEL"),
        (21, 21, "library", "SOME_MODULE"),
        (21, 21, "entry", "def"),
        (21, 21, "entry", "def"),
    ]


def test_arguments_are_cut_at_commas_outside_of_brackets() -> None:
    (kernel,) = [site for site in sites("a.cpp", CPP, "cuda") if site.name == "REGISTER_KERNEL"]
    assert kernel.arguments == ('"name"', "[](int a, int b) { return a; }")
    assert kernel.text == 'REGISTER_KERNEL("name",'


def test_registrations_in_python_are_found_by_their_spelling() -> None:
    assert shown("a.py", PYTHON, "python") == [
        (5, 5, "decorator", "register_fake"),
        (9, 9, "decorator", "register_module"),
        (11, 11, "decorator", "register_thing"),
        (17, 17, "call", "register_op"),
        (18, 18, "call", "register_op"),
        (20, 20, "call", "register_op"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "def (",
        "register(" * 3000,
        "\x00register",
        "@register_fake('x')\n",
        "REGISTER_A(((",
        ".def(x",
        "'\\",
    ],
)
def test_no_text_is_too_strange(text: str) -> None:
    assert sites("a", text, "python") == []
    assert sites("a", text, "cpp") == []


@pytest.mark.parametrize(
    "piece",
    [
        'R"(',
        "/*",
        "A_LIBRARY(",
        "A_LIBRARY_",
        'm.def("',
        "REGISTER_A(",
        "REGISTER_",
        "'",
        '"',
        "#\\\n",
        "\n(",
        "@register_f\n",
    ],
)
def test_no_file_is_slow(piece: str) -> None:
    begun = time.process_time()
    for text in (piece * (1_000_000 // len(piece)), f"m.def(\n{piece}\n" * (1_000_000 // (len(piece) + 8))):
        assert len(sites("a.cpp", text, "cpp")) <= 15_000
        assert len(sites("a.py", text, "python")) <= 15_000
    assert time.process_time() - begun < 10, "3 s on the machine it was measured on"


def test_an_expression_without_end_is_no_name() -> None:
    (site,) = sites("a.py", "register_f('a', " + "+".join("b" * 900) + ", f)\n", "python")
    assert site.arguments[0] == "'a'"


def one(text: str, language: str, form: str) -> str:
    return proposal([site for site in sites("a", text, language) if site.form == form])


PROPOSED = {
    # text: (language, form, lines that the proposal has)
    'MYLIB_LIBRARY_IMPL(a, CUDA, m) { m.impl("f", f); }': (
        "cpp",
        "library",
        ['{ name = "MYLIB_LIBRARY_IMPL", shape = "torch_library", options = { form = "impl" } }'],
    ),
    "MYLIB_LIBRARY_FRAGMENT(a, m) {}": ("cpp", "library", ['options = { form = "fragment" }']),
    "OUR_MODULE(name, m) {}": ("cpp", "library", ['name = "OUR_MODULE", shape = "pybind11"']),
    "REGISTER_MPS_THING(stub, &kernel)": (
        "cpp",
        "macro",
        ['shape = "dispatch_stub", dispatch_key = "MPS", options = { form = "register" }'],
    ),
    "@lib.register_meta('turn')\ndef f(): ...": (
        "python",
        "decorator",
        ['kind = "meta"', "operand = 0", 'prefix = "NAMESPACE::"'],
    ),
    "new_custom_op(op_name='a::turn', op_func=f)": (
        "python",
        "call",
        ['call = "new_custom_op"', 'kind = "registration"', 'operand = "op_name"', 'target = "op_func"'],
    ),
    "register_lowering(aten.add, f, name='x')": ("python", "call", ['kind = "lowering"', "target = 1"]),
}


@pytest.mark.parametrize("text", PROPOSED)
def test_a_known_shape_is_proposed_as_toml_that_loads(text: str, tmp_path: Path) -> None:
    language, form, lines = PROPOSED[text]
    proposed = one(text, language, form)
    for line in lines:
        assert line in proposed
    (tmp_path / ".torchtalk.toml").write_text(f'format = 1\nextends = "torch-extension"\n{proposed}')
    load("", tree=tmp_path)


@pytest.mark.parametrize(
    ("text", "language", "form"),
    [
        ("MYLIB_LIBRARY_IMPL(only, two) {}", "cpp", "library"),
        ('REGISTER_THING("name", f)', "cpp", "macro"),
        ("@registry.register('silu')\nclass A: ...", "python", "decorator"),
        ("@register_meta(f)\ndef g(): ...", "python", "decorator"),
    ],
)
def test_nothing_is_proposed_where_the_shape_is_not_known(text: str, language: str, form: str) -> None:
    assert one(text, language, form) == ""
