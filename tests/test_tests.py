"""The question `tests`: entries of test lists, which tests run over them, what these are called, and what
leads from a name to a test. Compared with the running framework by `tests/bench/opinfo.py` and
`tests/bench/pytest_ids.py`."""

from __future__ import annotations

import re
from argparse import Namespace
from functools import lru_cache

import pytest

from tests.facts_view import harness, ids_in, view_of_sources
from torchtalkd.frontends import tests_text
from torchtalkd.frontends.command import tests as command
from torchtalkd.link import test_functions, test_ids, tests_of
from torchtalkd.link.expression_values import UNKNOWN
from torchtalkd.link.expressions import Evaluation
from torchtalkd.link.test_entries import entries, entries_of
from torchtalkd.link.test_lists import Selection, selected
from torchtalkd.parse import parse
from torchtalkd.queries import tests as asking
from torchtalkd.store.view import View

CORE = "torch/testing/_internal/common_methods_invocations.py"
LISTS = """
from torch.testing._internal.opinfo.definitions import more
from torch.testing._internal import opinfo

def made(name, variant):
    return OpInfo(name, variant_test_name=variant, dtypes=floating_types())

op_db: List[OpInfo] = [
    BinaryUfuncInfo(
        "plus",
        aliases=("special.plus",),
        dtypes=all_types_and(torch.bool),
        supports_out=False,
        skips=(DecorateInfo(unittest.skip("x"), "TestCommon"),),
    ),
    OpInfo("nn.functional.bend", aten_name="bend", aten_backward_name="bend_backward",
           op=lambda x: torch._C.bent(x), dtypes=floating_types_and(torch.half), supports_autograd=False),
    made("window.rise", "fast"),
    made("window.rise", variant="slow"),
    *(UnaryUfuncInfo("poly", variant_test_name=f"n_{n}", supports_sparse=n_known) for n in (1, 2)),
    ReductionOpInfo("total", ref=np.sum if HAVE_NUMPY else None, dtypes=integral_types()),
]
op_db += opinfo.definitions.more.op_db
python_ref_db = [
    ElementwiseBinaryPythonRefInfo("_refs.plus", torch_opinfo_name="plus"),
    PythonRefInfo("_refs.window.rise", torch_opinfo_name="window.rise", torch_opinfo_variant_name="slow"),
]
foreach_unary_op_db = [ForeachFuncInfo("rise", sample_inputs_func=f)]
extended_db = [OpInfo("one")]
extended_db.extend([OpInfo("two")])
extended_db.append(OpInfo("three"))
extended_db.extend(foreach_unary_op_db)
open_db = [OpInfo("four")]
open_db += found_at_run_time()
ops_and_refs = op_db + python_ref_db
unary_ufuncs = [op for op in ops_and_refs if isinstance(op, UnaryUfuncInfo)]
"""
MORE = """
op_db = [OpInfo(name="linalg.twist", dtypes=custom_types(torch.double), supports_out=True)]
"""
MODULES = """
import torch
module_db: List[ModuleInfo] = [
    ModuleInfo(torch.nn.Fold, module_inputs_func=f, train_and_eval_differ=True),
    ModuleInfo(torch.nn.Line, module_inputs_func=f, dtypes=(torch.float16,)),
]
"""
OPTIMIZERS = """
from torch.optim import Walk
optim_db = [OptimizerInfo(Walk, optim_inputs_func=f)]
"""
CASE = """
import unittest
class TestCase(unittest.TestCase):
    def assertEqual(self, x, y): ...
"""
TESTS = """
import torch
from functools import partial
from torch.testing._internal.common_utils import TestCase, parametrize, subtest
from torch.testing._internal.common_utils import instantiate_parametrized_tests
from torch.testing._internal.common_device_type import ops, dtypes, dtypesIfCUDA, OpDTypes, onlyCUDA
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_modules import modules, module_db
from torch.testing._internal.common_optimizers import optims, optim_db
from torch.testing._internal.common_methods_invocations import op_db, unary_ufuncs, ops_and_refs

_float_ops = partial(ops, allowed_dtypes=(torch.float, torch.cfloat))
sizes = parametrize("n", [1, 2])
no_out = [op for op in op_db if not op.supports_out]
NAMES = ["a", "b"]

def only_some(op):
    return cheap(op)

class TestCommon(TestCase):
    @ops(op_db, dtypes=OpDTypes.any_one)
    def test_out(self, device, dtype, op): ...

    @_float_ops(no_out)
    def test_no_out(self, device, dtype, op): ...

    @ops(unary_ufuncs, dtypes=OpDTypes.none)
    def test_unary(self, device, op): ...

    @ops([op for op in op_db if only_some(op)], allowed_dtypes=(torch.float32,))
    def test_some(self, device, dtype, op): ...

    @ops(changed(op_db))
    def test_changed(self, device, dtype, op): ...

    @onlyCUDA
    @dtypes(torch.float, (torch.int, torch.long))
    @dtypesIfCUDA(torch.half)
    def test_types(self, device, dtype):
        helper(torch.plus)

    @modules(module_db)
    def test_module(self, device, dtype, module_info, training): ...

    @optims(optim_db, dtypes=[torch.double])
    def test_walk(self, device, dtype, optim_info): ...

    @sizes
    @parametrize("kind", NAMES)
    def test_sized(self, device, n, kind): ...

instantiate_device_type_tests(TestCommon, globals(), except_for="xla")

def helper(f):
    return torch.bend(f)

@instantiate_parametrized_tests
class TestSmall(TestCase):
    @parametrize("x,y", [(1, "p.q"), subtest((2, None), name="two")], name_fn=lambda x, y: f"{x}__{y}")
    def test_named(self, x, y): ...

    @parametrize("f", [torch.plus, OTHER])
    def test_unknown(self, f): ...

    def test_plain(self):
        self.check(torch.ones(1).bend())

    def check(self, x): ...

class Shared:
    def test_shared(self): ...

class TestHeir(Shared, TestCase):
    def test_own(self): ...

class Hidden:
    class TestInner(TestCase):
        def test_inner(self): ...

class TestDevices(Hidden.TestInner):
    def test_made(self, device): ...

instantiate_device_type_tests(TestDevices, globals(), only_for=("cpu",))
"""
PYTEST = """
import pytest
from test_common import TestSmall

@pytest.fixture(params=["x"])
def prepared(): ...

@pytest.mark.parametrize("a,b", [(1, None), (2.5, True), pytest.param("s", [1], id="named")])
@pytest.mark.parametrize("mode", ["in", "out"])
def test_pairs(a, b, mode): ...

@pytest.mark.parametrize("f", [some.function])
def test_functions(f): ...

def test_prepared(prepared):
    assert_close(prepared)

def assert_close(x): ...
"""
LOOPS = """
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_utils import parametrize

@parametrize("info", module_db)
def test_each_module(info): ...
"""
ALONE = """
from torch.testing._internal.common_modules import module_db

def test_all_modules():
    for info in module_db:
        info.run()
"""
CPP = """
#include <gtest/gtest.h>
TEST(PlusTest, Adds) { auto x = at::plus(a, b); }
TEST_F(CurveFixture, Bows) { at::bend(a); }
TEST_P(SizeTest, Grows) { grow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, SizeTest, ::testing::Values(1, 2));
TYPED_TEST(TypeTest, Holds) { hold<TypeParam>(); }
"""


@lru_cache
def tree() -> View:
    return view_of_sources(
        {
            CORE: LISTS,
            "torch/testing/_internal/opinfo/definitions/more.py": MORE,
            "torch/testing/_internal/common_modules.py": MODULES,
            "torch/testing/_internal/common_optimizers.py": OPTIMIZERS,
            "torch/testing/_internal/common_utils.py": CASE,
            "test/test_common.py": TESTS,
            "test/test_pytest.py": PYTEST,
            "test/test_loops.py": LOOPS,
            "test/test_alone.py": ALONE,
            "test/cpp/plus_test.cpp": CPP,
        }
    )


def selection(text: str, path: str = CORE) -> Selection:
    file = tree().file(path)
    assert file is not None
    return selected(tree(), file, text)


def names(text: str, path: str = CORE) -> list[str]:
    return [entry.full_name for entry in selection(text, path).entries]


def ids(function: str) -> test_ids.TestIds:
    return ids_in(tree(), function)


def short(made: tuple[str, ...]) -> list[str]:
    return [one.partition("::")[2] for one in made]


# -- entries


def test_the_entries_have_the_names_that_they_have_at_run_time() -> None:
    found = [(e.full_name, e.aten_name, e.aliases) for e in entries(tree()).all if e.of == "operator"]
    assert sorted(found) == sorted(
        [
            ("plus", "plus", ("special.plus",)),
            ("nn.functional.bend", "bend", ()),
            ("window.rise.fast", "window.rise", ()),
            ("window.rise.slow", "window.rise", ()),
            ("poly.n_1", "poly", ()),
            ("poly.n_2", "poly", ()),
            ("total", "total", ()),
            ("_refs.plus", "_refs.plus", ()),
            ("_refs.window.rise.slow", "_refs.window.rise", ()),
            ("_foreach_rise", "_foreach_rise", ()),
            *((name, name, ()) for name in ("one", "two", "three", "four")),
            ("linalg.twist", "linalg.twist", ()),
        ]
    )
    assert [e.name for e in entries(tree()).all if e.of != "operator"] == ["nn.Fold", "nn.Line", "Walk"]


def test_an_entry_says_what_its_class_says_where_it_says_nothing() -> None:
    plus, ref = entries(tree()).named("plus")[0], entries(tree()).named("_refs.plus")[0]
    assert [plus.attribute(n) for n in ("supports_out", "supports_autograd", "ref")] == [False, True, None]
    # A reference takes arguments over, but not all of them.
    assert [ref.attribute(n) for n in ("supports_out", "supports_autograd", "supports_gradgrad")] == [
        False
    ] * 3
    assert entries(tree()).named("total")[0].attribute("ref") is UNKNOWN
    assert entries(tree()).named("poly")[0].attribute("supports_sparse") not in (True, False)
    assert plus.attribute("no_such_thing") is UNKNOWN
    assert plus.dtypes() == {"float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"}
    assert entries(tree()).named("linalg.twist")[0].dtypes() == {"float64"}


@pytest.mark.parametrize(
    ("asked_for", "expected"),
    [
        ("aten::plus.Tensor", ["plus", "_refs.plus"]),
        ("torch.special.plus", ["plus"]),
        ("F.bend", ["nn.functional.bend"]),
        ("bend_backward", ["nn.functional.bend"]),
        ("torch.nn.Fold", ["nn.Fold"]),
        ("Walk", ["Walk"]),
        ("nothing", []),
    ],
)
def test_an_entry_is_found_by_each_of_its_names(asked_for: str, expected: list[str]) -> None:
    assert [meant.entry.name for meant in entries_of(tree(), asked_for)] == expected


# -- lists


def test_lists_are_followed_through_sums_files_and_filters() -> None:
    assert names("op_db")[-1] == "linalg.twist"
    assert len(names("ops_and_refs")) == len(names("op_db")) + 2
    assert names("unary_ufuncs") == ["poly.n_1", "poly.n_2"]
    assert names("no_out", "test/test_common.py") == ["plus"]
    assert names("[op for op in op_db if op.name.startswith('linalg.')]") == ["linalg.twist"]
    assert names("filter(lambda op: op.aten_backward_name is not None, op_db)") == ["nn.functional.bend"]
    assert names("[op for op in op_db if op.name in {'plus', 'total'} and op.supports_out]") == ["total"]
    assert selection("op_db").certain
    assert names("extended_db") == ["one", "two", "three", "_foreach_rise"]
    assert selection("open_db").everything


def test_a_filter_that_cannot_be_worked_out_counts_as_everything() -> None:
    whole = names("op_db")
    for text in (
        "[op for op in op_db if costly(op)]",
        "[op for op in op_db if op.no_such_flag]",
        "filter(costly, op_db)",
        "[changed(op) for op in op_db]",
        "[op for op in [changed(op) for op in op_db] if not op.supports_out]",
    ):
        found = selection(text)
        assert [entry.full_name for entry in found.entries] == whole, text
        assert not found.certain, text
    for text in ("changed(op_db)", "nobody_knows", "op_db[:3]", "op_db if", "[op for op in nobody_knows]"):
        found = selection(text)
        assert found.everything and not found.certain, text
        assert len(found.entries) == len(entries(tree()).all), text


def test_expressions_come_to_what_python_makes_of_them() -> None:
    def value(text: str) -> object:
        return Evaluation().text(text)

    assert value("[x * 2 for x in range(4) if x != 1]") == [0, 4, 6]
    assert value("list(itertools.product([1], 'a b'.split()))") == [(1, "a"), (1, "b")]
    assert value("not x or True") is True
    assert value("f'{1 + 1}-{\"a\"}'") == "2-a"
    assert value("1 if [] else (2, 3)") == (2, 3)
    for text in ("x + 1", "1 / 0", "[1][5]", "'a' * 10 ** 9", "f(1)(2)", "x if y else z", "]", "(" * 500):
        assert value(text) is UNKNOWN, text


# -- ids


def test_ids_of_operators_are_class_device_operator_and_type() -> None:
    made = ids("test_out")
    assert "test/test_common.py::TestCommonCPU::test_out_plus_cpu_float32" in made.ids
    assert "test/test_common.py::TestCommonCPU::test_out_linalg_twist_cpu_float64" in made.ids
    assert "test/test_common.py::TestCommonCPU::test_out_window_rise_slow_cpu_float32" in made.ids
    assert "test/test_common.py::TestCommonCPU::test_out_total_cpu_int64" in made.ids
    # What a machine has decides whether there is a class for its device.
    assert "test/test_common.py::TestCommonCUDA::test_out_plus_cuda_float32" in made.patterns
    assert short(ids("test_no_out").ids) == ["TestCommonCPU::test_no_out_plus_cpu_float32"]
    assert short(ids("test_unary").ids) == [f"TestCommonCPU::test_unary_poly_n_{n}_cpu" for n in (1, 2)]


def test_ids_that_are_not_certain_are_patterns_with_the_reason() -> None:
    some = ids("test_some")
    assert not some.ids
    assert "TestCommonCPU::test_some_plus_cpu_float32" in short(some.patterns)
    assert "is not worked out" in some.reasons[0]
    assert short(ids("test_changed").patterns)[0] == "TestCommonCPU::test_changed_*_cpu"


def test_ids_of_types_modules_optimizers_and_parameters() -> None:
    c = "TestCommonCPU::test_"
    assert short(ids("test_types").ids) == [f"{c}types_cpu_float32", f"{c}types_cpu_int32_int64"]
    assert "TestCommonCUDA::test_types_cuda_float16" in short(ids("test_types").patterns)
    fold = [f"{c}module_nn_Fold_{mode}_mode_cpu_float{n}" for mode in ("train", "eval") for n in (32, 64)]
    assert short(ids("test_module").ids) == [*fold, f"{c}module_nn_Line_cpu_float16"]
    assert short(ids("test_walk").ids) == [f"{c}walk_Walk_cpu_float64"]
    sized = [f"{c}sized_n_{n}_kind_{kind}_cpu" for n in (1, 2) for kind in "ab"]
    assert short(ids("test_sized").ids) == sized


def test_ids_of_a_class_that_is_not_for_devices() -> None:
    # The other file imports the class, so that its tests are collected there once more.
    both = [f"{path}::TestSmall::test_named_" for path in ("test/test_common.py", "test/test_pytest.py")]
    assert list(ids("test_named").ids) == [begin + end for begin in both for end in ("1__p.q", "two")]
    assert short(ids("test_unknown").patterns)[0] == "TestSmall::test_unknown_*"
    assert short(ids("test_shared").ids) == ["TestHeir::test_shared"]
    assert short(ids("test_own").ids) == ["TestHeir::test_own"]
    # What a class for devices inherits is not made for them.
    assert short(ids("test_made").ids) == ["TestDevicesCPU::test_made_cpu"]
    assert ids("test_inner") == test_ids.TestIds(("test/test_common.py::TestDevicesCPU::test_inner",))


def test_ids_of_pytest() -> None:
    pairs = [
        f"test_pairs[{mode}-{pair}]" for mode in ("in", "out") for pair in ("1-None", "2.5-True", "named")
    ]
    assert sorted(short(ids("test_pairs").ids)) == sorted(pairs)
    assert short(ids("test_functions").patterns) == ["test_functions[*]"]
    assert ids("test_prepared").patterns == ("test/test_pytest.py::test_prepared[*]",)
    assert ids("test_prepared").reasons == ("the fixture prepared has several values",)


def test_ids_of_gtest() -> None:
    assert ids("PlusTest.Adds") == test_ids.TestIds(("PlusTest.Adds",))
    assert ids("CurveFixture.Bows").ids == ("CurveFixture.Bows",)
    assert ids("SizeTest.Grows").patterns == ("All/SizeTest.Grows/*",)
    assert ids("TypeTest.Holds").patterns == ("*TypeTest/*.Holds",)


# -- which tests run it


def test_tests_that_run_an_operator_through_lists() -> None:
    found = {r.test.name: r.certain for r in tests_of.tests_of_operator(tree(), "aten::plus")}
    assert found == {"test_out": True, "test_no_out": True, "test_some": False, "test_changed": False}
    found = {r.test.name: r.certain for r in tests_of.tests_of_operator(tree(), "bend")}
    assert found == {"test_out": True, "test_some": False, "test_changed": False}
    found = {r.test.name: r.certain for r in tests_of.tests_of_module(tree(), "torch.nn.Fold")}
    assert found == {"test_module": True, "test_each_module": True, "test_all_modules": False}


def test_entries_that_run_a_python_name() -> None:
    for name in ("torch.plus", "torch.Tensor.plus_", "torch.special.plus"):
        assert [e.name for e in tests_of.entries_running(tree(), {name})] == ["plus"], name
    assert [e.name for e in tests_of.entries_running(tree(), {"torch.nn.Fold"})] == ["nn.Fold"]


def test_tests_of_a_file_that_refer_to_a_name() -> None:
    file = tree().file("test/test_common.py")
    assert file is not None
    found = {r.test.name: (r.certain, r.reason) for r in tests_of.tests_naming(tree(), file, {"torch.bend"})}
    assert found["test_types"] == (False, "its body refers to torch.bend through helper")
    assert found["test_plain"][0] is False  # .bend(…) of an unknown receiver
    assert set(found) == {"test_types", "test_plain"}


# -- the question


def find(query: str, **rest: object) -> asking.TestsAnswer:
    return asking.tests(tree(), query, **rest)  # type: ignore[arg-type]


def test_exact_names_come_before_alike_ones_and_each_item_says_why() -> None:
    answer = find("test_out")
    assert answer.items[0].name == "TestCommon.test_out"
    assert answer.items[0].reason == "it is called so"
    answer = find("plus")
    assert [(i.kind, i.name) for i in answer.items[:2]] == [
        ("BinaryUfuncInfo", "plus"),
        ("ElementwiseBinaryPythonRefInfo", "_refs.plus"),
    ]
    reasons = {item.name: item.reason for item in answer.items}
    assert reasons["PlusTest.Adds"] == "its name has the word plus"
    assert (
        reasons["TestCommon.test_no_out"]
        == "@ops(no_out, allowed_dtypes=(torch.float, torch.cfloat)) has plus"
    )
    assert all(item.file and item.line and item.reason for item in answer.items)


def test_tests_are_found_by_what_their_bodies_refer_to() -> None:
    answer = find("torch.bend")
    by_body = {item.name: item.certain for item in answer.items if "body" in item.reason}
    assert by_body == {"CurveFixture.Bows": True, "TestSmall.test_plain": False}


def test_the_focus_chooses_functions_classes_or_files() -> None:
    assert {item.kind for item in find("plus", focus="functions").items} == {"function", "C++ test"}
    assert [item.name for item in find("plus", focus="classes").items] == ["TestCommon"]
    assert {item.name for item in find("plus", focus="files").items} == {
        "test/test_common.py",
        "test/cpp/plus_test.cpp",
    }
    assert len(find("plus", limit=1).items) == 1
    assert find("plus", limit=1).total == find("plus").total


def test_what_is_not_there_and_what_cannot_be_asked() -> None:
    assert "plus" in find("plos").nearest
    assert not find("plos").items
    assert find("plus", mode="fnd").error == "unknown mode 'fnd'; allowed: find, utils, file_info"
    assert "unknown focus" in find("plus", focus="tests").error
    assert "unknown category" in find("", mode="utils", category="x").error


def test_what_tests_are_written_with() -> None:
    found = {(item.kind, item.name.rpartition(".")[2]) for item in find("", mode="utils", limit=100).items}
    assert {("fixture", "prepared"), ("assertion", "assert_close"), ("assertion", "assertEqual")} <= found
    assert {("decorator", "ops"), ("decorator", "onlyCUDA"), ("decorator", "parametrize")} <= found
    only = find("only", mode="utils", category="decorators")
    assert [item.name.rpartition(".")[2] for item in only.items] == ["onlyCUDA"]
    assertions = find("", mode="utils", category="assertions").items
    # What all tests use comes before what one file has for itself.
    assert [(item.name.rpartition(".")[2], item.line > 0) for item in assertions] == [
        ("assertEqual", True),
        ("assert_close", True),
    ]


def test_a_part_of_a_path_is_enough_for_a_file() -> None:
    for query in ("test_common", "test_common.py", "test/test_common.py", "./test/test_common.py", "comm"):
        assert find(query, mode="file_info").items[0].file == "test/test_common.py", query
    answer = find("test_common", mode="file_info", limit=20)
    by_name = {item.name: item for item in answer.items}
    assert by_name["TestCommon"].details[0].startswith("instantiate_device_type_tests(TestCommon")
    assert '@parametrize("n", [1, 2])' in by_name["TestCommon"].details
    assert "torch.testing._internal.common_methods_invocations.op_db" in answer.items[0].details[0]
    assert by_name["test/test_common.py"].count == sum(
        item.count for item in answer.items if item.kind == "class"
    )
    other = find("test_pytest", mode="file_info", limit=20)
    assert "collected here" in {item.name: item for item in other.items}["TestSmall"].reason
    assert find("plus_test", mode="file_info").items[1].kind == "C++ test"
    assert not find("no_such_file", mode="file_info").items
    assert find("", mode="file_info").error


def test_the_command_tells_text_or_json_and_exits_by_what_there_is() -> None:
    arguments = {
        "query": "plus",
        "mode": "find",
        "limit": 10,
        "focus": "all",
        "category": "all",
        "json": False,
    }
    told = command.told(command.question(Namespace(**arguments))(tree()), Namespace(**arguments))
    assert told.code == 0
    assert re.search(rf"{CORE}:\d+  BinaryUfuncInfo plus: the entry is called plus", told.out)
    assert "ids: test/test_common.py::TestCommonCPU::test_no_out_plus_cpu_float32" in told.out
    nothing = Namespace(**{**arguments, "query": "plos"})
    assert command.told(command.question(nothing)(tree()), nothing).code == 1
    wrong = Namespace(**{**arguments, "focus": "x"})
    assert command.told(command.question(wrong)(tree()), wrong).code == 2
    answer = find("plus")
    assert asking.as_json(answer)["total"] == answer.total
    assert asking.as_json(answer)["items"][0]["name"] == "plus"
    assert len(tests_text.tests_text(answer).splitlines()) < 100


# -- files that are not as they should be


@pytest.mark.parametrize(
    ("path", "source"),
    [
        (
            "test/test_old.py",
            "class TestOld:\n    def test_a(self):\n        print 'x', `y`\n        exec 'z'\n",
        ),
        ("test/test_new.py", "class TestNew:\n    def test_a(self): ...\n\nphrase 1 => {x}:\n    always\n"),
        ("test/notes/tour.ipynb", '{"cells": [{"source": ["def test_a(): pass"]}], "nbformat": 4}'),
    ],
)
def test_a_file_that_cannot_be_read_is_one_problem_and_no_more(path: str, source: str) -> None:
    facts = parse(path, source.encode(), harness())
    assert len(facts.problems) <= 1
    assert facts.role == "test"
    if path.endswith(".ipynb"):
        assert [problem.kind for problem in facts.problems] == ["syntax"]
        assert not facts.definitions


def test_a_half_typed_file_keeps_its_other_tests() -> None:
    source = TESTS.replace("def test_unary(self, device, op): ...", "def test_unary(self, dev")
    view = view_of_sources({CORE: LISTS, "test/test_common.py": source})
    file = view.file("test/test_common.py")
    assert file is not None
    found = {test.name: test.cases for test in test_functions.tests_in(view, file)}
    assert {"test_out", "test_types", "test_walk", "test_named", "test_own"} <= set(found)
    assert found["test_walk"][0].text == "optims(optim_db, dtypes=[torch.double])"
