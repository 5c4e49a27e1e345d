"""Ids of tests where something beside the known decorators has a say: the tree's own decorators, what a
module does with its classes, devices that a class includes. What is left open is a pattern, and
`affected` prints the file."""

from __future__ import annotations

from functools import cache

import pytest

from tests.facts_view import ids_in, view_of_sources
from torchtalkd.conventions import load
from torchtalkd.frontends.affected_text import pytest_arguments, run_test_arguments
from torchtalkd.link import test_ids
from torchtalkd.parse import parse
from torchtalkd.queries.affected import affected
from torchtalkd.store.view import View

COMMON = """
import functools
import unittest

class TestCase(unittest.TestCase): pass
class NoTest: pass

class _TestParametrizer: pass
class parametrize(_TestParametrizer):
    def __init__(self, names, values): pass
class twice(_TestParametrizer): pass

def skip_unless_fast(msg="slow"):
    return functools.partial(unittest.skip, msg)

def plain(fn):
    @functools.wraps(fn)
    def wrapper(*args): return fn(*args)
    return wrapper

def with_sizes(fn):
    return _sized(fn)

def _sized(fn):
    return parametrize("size", range(calibrated()))(fn)

def if_there(cls):
    class Skipped(cls): pass
    return Skipped
"""
TOP = """
from functools import partial
import unittest
import torch
from torch.testing._internal.common_utils import (
    TestCase, NoTest, parametrize, twice, skip_unless_fast, plain, with_sizes, if_there)
from torch.testing._internal.common_device_type import dtypes, instantiate_device_type_tests

"""
SOURCES = {
    "torch/__init__.py": "from torch import lib\n",
    "torch/lib.py": "".join(f"def f{n}(): return {n}\n" for n in range(1, 10)),
    "torch/testing/_internal/common_utils.py": COMMON,
    "test/test_own.py": TOP
    + """
def layouts(name="layout", strided=False):
    kinds = found_out()
    return parametrize(name, [
        subtest(torch.strided, name="Strided"),
        subtest(torch.sparse_coo, name="COO"),
        subtest(torch.sparse_csr, name="CSR"),
    ][(0 if strided else 1):])

def unknown_values(name="x"):
    values = found_out()
    return parametrize(name, values)

class TestDevices(TestCase):
    @layouts()
    @dtypes(torch.float)
    def test_layouts(self, device, layout, dtype): pass
    @layouts("kind", strided=True)
    def test_kinds(self, device, kind): pass
    @unknown_values()
    def test_values(self, device, x): pass
    @skip_unless_fast
    @dtypes(torch.float)
    def test_lost(self, device): pass
    @plain
    @dtypes(torch.float)
    def test_kept(self, device, dtype): pass
    @with_sizes
    def test_sized(self, device): pass
    @twice
    def test_twice(self, device): pass

class TestSeen(TestCase):
    def test_lazily(self, device): pass

instantiate_device_type_tests(TestDevices, globals(), only_for="cpu")
instantiate_device_type_tests(TestSeen, globals(), include_lazy=True, only_for=("cpu",))
""",
    "test/test_classes.py": TOP
    + """
if not torch.there():
    TestCase = NoTest

class TestMaybe(TestCase):
    def test_maybe(self): pass
""",
    "test/test_templates.py": TOP
    + """
class Template(TestCase):
    def test_inherited(self): torch.lib.f1()
class TestOne(Template): pass
del Template
class OtherTemplate(TestCase):
    def test_kept_here(self): torch.lib.f7()
class TestTwo(OtherTemplate): pass
del OtherTemplate

skip = partial(unittest.skipIf, True)

@skip
class TestReplaced(TestCase):
    def test_replaced(self): pass

@if_there
class TestThere(TestCase):
    def test_there(self): pass

class TestHanded(TestCase):
    def test_handed(self): torch.lib.f2()

if torch.there():
    class TestSometimes(TestCase):
        def test_sometimes(self): pass

class TestBlocks(TestCase):
    def test_always(self): pass
    async def test_async(self): pass
    if torch.there():
        def test_now_and_then(self): pass

def make_more(cls): globals()["More"] = type("More", (cls,), {})
make_more(TestHanded)

if __name__ == "__main__":
    run(TestOne)
""",
    "test/test_single.py": TOP
    + """
@instantiate_parametrized_tests
class TestSingle(TestCase):
    @parametrize("n", [1, 2])
    def test_sizes(self, n): torch.lib.f3()
    def test_other(self): torch.lib.f5()

class TestMade(TestCase):
    def test_on_device(self, device): torch.lib.f4()

instantiate_device_type_tests(TestMade, globals())
""",
    "test/test_spaces.py": """
import pytest
import torch

@pytest.mark.parametrize("text", ["a b", "c"])
def test_spaces(text): torch.lib.f8()

@pytest.mark.parametrize("text", ["a", "c"])
def test_letters(text): torch.lib.f9()
""",
    "test/test_importing.py": "from test_single import TestSingle\n",
    "test/test_more.py": "import test_templates\n\ndef make(cls): ...\n\nmake(test_templates.TestOne)\n",
    "test/fx/test_rewriter.py": TOP + "class TestRewriter(TestCase):\n    def test_near(self): pass\n",
    "test/far/fx/test_rewriter.py": TOP + "class TestRewriter(TestCase):\n    def test_far(self): pass\n",
    "test/test_fx.py": "from fx.test_rewriter import TestRewriter\n",
    "test/jit/test_types.py": TOP
    + """
class TestTypes(TestCase):
    def test_types(self, device): torch.lib.f6()
TestTypesCPU = None
instantiate_device_type_tests(TestTypes, globals(), only_for="cpu")
""",
    "test/test_jit.py": "from jit.test_types import TestTypesCPU\n",
}


@cache
def tree() -> View:
    return view_of_sources(SOURCES)


def ids(function: str) -> test_ids.TestIds:
    return ids_in(tree(), function)


def own(function: str) -> list[str]:
    made = ids(function)
    assert not made.patterns, made
    return [one.partition("::")[2] for one in made.ids]


def test_a_function_of_the_file_that_returns_such_a_decorator_is_followed() -> None:
    c = "TestDevicesCPU::test_"
    assert own("test_layouts") == [f"{c}layouts_COO_cpu_float32", f"{c}layouts_CSR_cpu_float32"]
    assert own("test_kinds") == [f"{c}kinds_{kind}_cpu" for kind in ("Strided", "COO", "CSR")]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("test_values", "not written out"),
        ("test_lost", "is not called"),
        ("test_sized", "what @with_sizes makes"),
        ("test_twice", "what @twice makes"),
        ("test_maybe", "TestCase is a test case is decided where it runs"),
        ("test_replaced", "what @skip makes"),
        ("test_there", "what @if_there makes"),
        ("test_sometimes", "stands in a block"),
        ("test_now_and_then", "stands in a block"),
    ],
)
def test_what_another_decorator_or_the_machine_decides_is_left_open(function: str, reason: str) -> None:
    made = ids(function)
    assert not made.ids and made.patterns
    assert reason in made.reasons[0]


def test_a_decorator_that_only_wraps_changes_nothing_nor_does_async() -> None:
    assert own("test_async") == ["TestBlocks::test_async"]
    assert own("test_kept") == ["TestDevicesCPU::test_kept_cpu_float32"]


def test_a_device_that_a_class_includes_is_there_whatever_it_is_only_for() -> None:
    assert own("test_lazily") == ["TestSeenCPU::test_lazily_cpu", "TestSeenLAZY::test_lazily_lazy"]


def test_a_class_that_the_module_deletes_leaves_its_tests_to_its_heirs() -> None:
    made = ids("test_inherited")
    assert made.ids == ("test/test_templates.py::TestOne::test_inherited",)
    # Another file hands the heir on.
    assert made.patterns == ("test/test_more.py::*::test_inherited*",)
    assert own("test_kept_here") == ["TestTwo::test_kept_here"]


def test_of_a_class_that_is_handed_on_there_may_be_more_tests() -> None:
    made = ids("test_handed")
    assert made.ids == ("test/test_templates.py::TestHanded::test_handed",)
    assert made.patterns == ("test/test_templates.py::*::test_handed*",) and not made.certain


def test_an_import_means_the_nearest_file_and_also_a_class_that_is_made() -> None:
    both = ("test/fx/test_rewriter.py", "test/test_fx.py")
    assert set(ids("test_near").ids) == {f"{path}::TestRewriter::test_near" for path in both}
    assert ids("test_far").ids == ("test/far/fx/test_rewriter.py::TestRewriter::test_far",)
    both = ("test/jit/test_types.py", "test/test_jit.py")
    assert set(ids("test_types").ids) == {f"{path}::TestTypesCPU::test_types_cpu" for path in both}


@pytest.mark.parametrize(
    ("function", "printed"),
    [
        (
            "f3",
            [
                f"test/test_{file}.py::TestSingle::test_sizes_n_{n}"
                for file in ("importing", "single")
                for n in (1, 2)
            ],
        ),
        ("f5", [f"test/test_{file}.py::TestSingle::test_other" for file in ("importing", "single")]),
        ("f7", ["test/test_templates.py::TestTwo::test_kept_here"]),
        ("f1", ["test/test_more.py", "test/test_templates.py"]),
        ("f9", ["test/test_spaces.py::test_letters[a]", "test/test_spaces.py::test_letters[c]"]),
        ("f8", ["test/test_spaces.py"]),
        # More may be made of the class, or on another machine.
        ("f2", ["test/test_templates.py"]),
        ("f4", ["test/test_single.py"]),
    ],
)
def test_affected_prints_the_ids_that_pytest_prints_or_the_file(function: str, printed: list[str]) -> None:
    lines = pytest_arguments(affected(tree(), [f"torch.lib.{function}"])).split("\n")
    assert lines == printed


def test_the_own_runner_is_given_the_file_that_runs_the_tests_of_another() -> None:
    answer = affected(tree(), ["torch.lib.f6"])
    assert pytest_arguments(answer).split("\n") == [
        "test/jit/test_types.py::TestTypesCPU::test_types_cpu",
        "test/test_jit.py",
    ]
    assert run_test_arguments(answer) == "test_jit"


def test_a_decorator_of_any_depth_is_no_end_of_the_reader() -> None:
    deep = "(" * 5_000 + "1" + ")" * 5_000
    source = f"def layouts(n):\n    x = {deep}\n    return parametrize(n, {deep})\n\n"
    facts = parse(
        "test/test_deep.py", (source + "@layouts('a')\ndef test_it(a): ...\n").encode(), load("pytorch")
    )
    assert [d.name for d in facts.definitions if d.kind == "function"] == [
        "test.test_deep.layouts",
        "test.test_deep.test_it",
    ]
