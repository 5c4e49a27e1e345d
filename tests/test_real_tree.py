"""The main job on a real PyTorch: index it from the command line, then ask as people ask."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import dispatcher
from tests.bench import dispatcher as comparison
from tests.bench import modules as module_bench
from tests.bench.dispatch_entries import entries, foreign, found_by_trace, places
from torchtalkd import cli
from torchtalkd.cache import index_folder
from torchtalkd.link.overloads import registered_by_torchgen
from torchtalkd.queries.dispatch import dispatch
from torchtalkd.queries.problems import problems
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

pytestmark = pytest.mark.real_tree

NAMES = [
    "matmul",
    "torch.matmul",
    "aten::mm",
    "torch.ops.aten.mm.default",
    "at::native::add",
    "Tensor.view",
    "F.conv2d",
    "nn.functional.layer_norm",
    "torch.linalg.det",
    "torch._C._nn.linear",
    "add_",
    "add.out",
]


@pytest.fixture(scope="module")
def indexed(pytorch_tree: Path) -> Path:
    """PyTorch, indexed in the cache of this test session."""
    assert cli.main(["index", "build", "--no-wait", "--source", str(pytorch_tree)]) == 0
    return pytorch_tree


def test_the_whole_tree_is_read(indexed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "--json", "--source", str(indexed)]) == 0
    status = json.loads(capfd.readouterr().out)
    assert status["by_name"]["waiting"] == 0
    assert status["by_name"]["files"] > 7000
    assert status["complete"]


@pytest.mark.parametrize("name", NAMES)
def test_each_spelling_is_answered(indexed: Path, name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", name, "--source", str(indexed)]) == 0
    text = capfd.readouterr().out
    assert len(text.encode()) < 10_240
    assert cli.main(["trace", name, "--json", "--source", str(indexed)]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert answer["subjects"][0] in text.splitlines()[0]
    assert answer["items"]
    for item in answer["items"]:
        lines = (indexed / item["file"]).read_bytes().count(b"\n") + 1
        assert 1 <= item["line"] <= lines


def test_an_unchanged_tree_answers_at_once(indexed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    began = time.monotonic()
    assert cli.main(["trace", "torch.add", "--source", str(indexed)]) == 0
    # Measured 0.3 s; the rest is for machines that do something else as well.
    assert time.monotonic() - began < 3
    assert "BinaryOps.cpp" in capfd.readouterr().out


def test_nothing_similar_is_an_answer(indexed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "conv2dd", "--source", str(indexed)]) == 1
    told = capfd.readouterr()
    assert told.out == ""
    assert "Function not found" in told.err
    assert "conv2d" in told.err


@pytest.mark.parametrize("backend", ["CPU", "CUDA", "MPS"])
def test_search_by_backend(indexed: Path, backend: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["search", "conv", "--backend", backend, "--json", "--source", str(indexed)]) == 0
    answer = json.loads(capfd.readouterr().out)
    assert {item["dispatch_key"] for item in answer["items"]} == {backend}


@pytest.fixture(scope="module")
def view(indexed: Path) -> Iterator[View]:
    """The index of PyTorch."""
    with open_view(index_folder(indexed, os.environ)) as opened:
        yield opened


def test_the_kernels_of_dispatch_entries_are_found_where_they_are(indexed: Path, view: View) -> None:
    asked = entries(indexed)
    defined = places(indexed, {kernel.rpartition("::")[2] for _, _, kernel in asked})
    hits, misses = found_by_trace(view, asked, defined)
    assert hits > 3500
    assert len(misses) <= 0.005 * (hits + len(misses)), misses


def test_few_places_are_those_of_another_operator(indexed: Path, view: View) -> None:
    printed, wrong = foreign(view, entries(indexed))
    assert printed > 5000
    assert len(wrong) <= 0.03 * printed, wrong


def test_generated_registrations_are_those_of_the_running_dispatcher(indexed: Path) -> None:
    """Operator, key and generated file; nothing of the keys that the published build has is too much."""
    built = {key for operator in dispatcher.reported() for key, *_ in operator["registrations"]}
    with open_view(index_folder(indexed, os.environ)) as view:
        for operator in dispatcher.reported():
            wanted = {
                (key, where.removeprefix("generated/"))
                for key, where, *_ in operator["registrations"]
                if where.startswith("generated/")
            }
            found = {
                tuple(g) for g in registered_by_torchgen(view, operator["op"]) if g.dispatch_key in built
            }
            assert found == wanted, operator["op"]


def test_the_computed_dispatcher_is_the_running_one(view: View) -> None:
    counts = comparison.compared(view)
    total = sum(counts.registrations.values())
    assert counts.found["by hand"] == counts.registrations["by hand"], counts.missed
    assert sum(counts.found.values()) >= 0.995 * total, counts.missed
    assert counts.denials <= 0.001 * counts.reported, counts.denied
    assert counts.equal >= 0.999 * counts.entries, counts.unequal


def test_the_dispatcher_is_computed_quickly(view: View) -> None:
    comparison.seconds(view)  # what is read once is read
    whole, single = comparison.seconds(view)
    assert whole < 5
    assert single < 0.02


def test_a_released_tree_contradicts_itself_nowhere_but_for_vulkan(view: View) -> None:
    found = problems(view).findings
    assert len(found) <= 1
    assert {(f.kind, "vulkan" in f.file) for f in found} <= {("undeclared operator", True)}


def test_each_dispatch_entry_leads_to_a_function_or_says_why_not(view: View) -> None:
    entries = ended = 0
    for one in dispatch(view).operators:
        for row in one.table:
            if row.kind != "backend fallback":
                entries += 1
                ended += all(kernel.file and not kernel.note.startswith(_UNKNOWN) for kernel in row.kernels)
    assert ended >= 0.99 * entries


_UNKNOWN = "no definition in the tree"


def test_every_listed_class_and_every_module_class_is_found(indexed: Path) -> None:
    with open_view(index_folder(indexed.resolve(), os.environ)) as view:
        reading = module_bench.Reading(indexed, module_bench.python_files(view))
        classes = module_bench.wanted(indexed, reading)
        assert len(classes) > 170
        assert module_bench.misplaced(view, classes) == []
        misses, extras, both = module_bench.compared(view, reading)
        assert (misses, extras) == ([], [])
        assert both > 6000
