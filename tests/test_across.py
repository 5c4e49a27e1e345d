"""Questions that cross roots: an extension's names in its framework, and who uses what of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.facts_view import view_of_sources
from torchtalkd import cli
from torchtalkd.cache import index_folder
from torchtalkd.frontends.text import as_text
from torchtalkd.queries.across import search, trace
from torchtalkd.queries.answers import Answer, Item
from torchtalkd.queries.others import Other, Others, base_of
from torchtalkd.store.view import View

YAML = "aten/src/ATen/native/native_functions.yaml"
BASE = {
    YAML: "- func: twist(Tensor self) -> Tensor\n  variants: function, method\n  dispatch:\n"
    "    CPU: twist_cpu\n\n- func: bend(Tensor self) -> Tensor\n",
    "aten/src/ATen/native/Twist.cpp": "namespace at::native {\nTensor twist_cpu(const Tensor& self) {\n"
    "  return self;\n}\nTensor bend(const Tensor& self) {\n  return self;\n}\n}\n",
    "torch/__init__.py": "",
    "torch/nn/__init__.py": "from . import functional\n",
    "torch/nn/functional.py": "import torch\n\n\ndef twist(input):\n    return torch.twist(input)\n",
    "aten/src/ATen/ATen.h": "#pragma once\n",
}
EXTENSION = {
    "vllm/__init__.py": "",
    "vllm/a.py": "import torch\nimport torch.nn.functional as F\n\n\ndef wring(x):\n    y = torch.twist(x)\n"
    "    z = F.twist(y)\n    return own(z).twist()\n\n\ndef own(x):\n    return x\n",
    "vllm/b.py": "from torch import twist\n\n\ndef plain(x):\n    return twist(twist(x))\n",
    "csrc/a.cpp": "#include <ATen/ATen.h>\nvoid f(at::Tensor x) {\n  at::twist(x);\n  mine::twist(x);\n}\n",
    "tests/test_a.py": "import torch\n\n\ndef test_a():\n    torch.ops.aten.twist(1)\n",
}
PLACES = [
    ("csrc/a.cpp", 3), ("vllm/a.py", 6), ("vllm/a.py", 7), ("vllm/b.py", 1), ("vllm/b.py", 5),
    ("vllm/b.py", 5), ("tests/test_a.py", 5),
]  # fmt: skip
"""Every place of the extension that means aten::twist, library code first."""


@pytest.fixture
def base() -> View:
    return view_of_sources(BASE, "pytorch")


@pytest.fixture
def extension() -> View:
    return view_of_sources(EXTENSION, "vllm")


def upwards(base: View, *, everything: bool = False) -> Others:
    """The others of a question about the extension."""
    return Others((Other("/src/base", base, "pytorch"),), everything, ("vllm", "torch-extension"))


def downwards(extension: View) -> Others:
    """The others of a question about the framework."""
    return Others((Other("/src/ext", extension),), True, ("pytorch", "torch-extension"))


def used(answer: Answer) -> list[Item]:
    return [item for item in answer.items if item.role == "external"]


def test_a_name_belongs_to_what_provides_it(extension: View) -> None:
    bases = extension.rules.bases
    for name in ("torch", "torch.nn.Linear", "at::empty", "ATen/ATen.h", "torch/library.h"):
        assert base_of(bases, name) == "pytorch"
    for name in ("torchy.x", "vllm.torch", "std::move", "mine::at", "empty", "vector", ""):
        assert base_of(bases, name) == ""


@pytest.mark.parametrize("name", ["torch.twist", "aten::twist", "bend", "at::twist", "F.twist", "twist_cpu"])
def test_a_name_that_the_tree_has_not_is_answered_by_its_base(base: View, extension: View, name: str) -> None:
    alone = trace(extension, name)
    assert not alone.found and alone.wants == ("pytorch",)
    answer = trace(extension, name, "full", upwards(base))
    kernels = [(i.root, i.file, i.line) for i in answer.items if i.role == "native"]
    line = 5 if name == "bend" else 2
    assert kernels == [("/src/base", "aten/src/ATen/native/Twist.cpp", line)]
    assert {item.root for item in answer.items} == {"/src/base"}
    assert [(o.root, o.harness, o.standing.revision) for o in answer.others] == [("/src/base", "pytorch", 1)]
    text = as_text(answer)
    assert ", in /src/base" in text.splitlines()[0]
    assert "with /src/base (pytorch) · revision 1" in text
    assert f"/src/base/aten/src/ATen/native/Twist.cpp:{line}" in text


def test_an_operator_that_a_tree_only_registers_for_is_declared_by_its_base(base: View) -> None:
    sources = {
        "vllm/over.py": "import torch\n\n\ndef twist_mine(x):\n    return x\n\n\n"
        'lib = torch.library.Library("aten", "IMPL")\nlib.impl("aten::twist", twist_mine, "CUDA")\n',
    }
    extension = view_of_sources(sources, "vllm")
    theirs, mine = ("/src/base", "at::native::twist_cpu"), ("", "vllm.over.twist_mine")
    assert trace(extension, "aten::twist").wants == ("pytorch",)
    for name in ("aten::twist", "torch.twist"):
        answer = trace(extension, name, "dispatch", upwards(base))
        assert {theirs, mine} <= {(item.root, item.symbol) for item in answer.items}, name
        assert [(s.name, s.root) for s in answer.subjects if s.kind == "operator"] == [
            ("aten::twist", "/src/base")
        ]
        assert answer.total == len(answer.items)
    answer = trace(base, "torch.twist", "dispatch", downwards(extension))
    assert ("/src/ext", "vllm.over.twist_mine") in {(item.root, item.symbol) for item in answer.items}


def test_what_the_tree_has_is_its_own(base: View, extension: View) -> None:
    answer = trace(extension, "vllm.a.own", "full", upwards(base))
    assert {item.root for item in answer.items} == {""}
    assert answer.wants == ()


def test_what_nobody_has_is_found_nowhere(base: View, extension: View) -> None:
    answer = trace(extension, "torch.twst", "full", upwards(base))
    assert not answer.found
    assert "nothing in these trees is called" in as_text(answer)
    assert any("twist" in name for name in answer.nearest)


def test_a_function_shows_what_it_takes_and_the_kernels_of_it(base: View, extension: View) -> None:
    assert trace(extension, "vllm.a.wring").wants == ("pytorch",)
    answer = trace(extension, "vllm.a.wring", "full", upwards(base))
    taken = [(i.symbol, i.line, i.operator, i.declared_root, i.declared_file) for i in used(answer)]
    assert taken == [
        ("torch.twist", 6, "aten::twist", "/src/base", YAML),
        ("torch.nn.functional.twist", 7, "aten::twist", "/src/base", "torch/nn/functional.py"),
    ]
    kernels = [(i.root, i.symbol, i.through) for i in answer.items if i.role == "native"]
    assert kernels == [("/src/base", "at::native::twist_cpu", "vllm.a.wring > aten::twist")]
    assert "is aten::twist /src/base/torch/nn/functional.py:4" in as_text(answer)


def test_an_imported_name_is_that_of_the_base(base: View, extension: View) -> None:
    answer = trace(extension, "twist", "full", upwards(base))
    assert [s.kind for s in answer.subjects] == ["Python alias"]
    assert [(i.symbol, i.file, i.line, i.operator) for i in used(answer)] == [
        ("torch.twist", "vllm/b.py", 1, "aten::twist")
    ]
    assert "at::native::twist_cpu" in {item.symbol for item in answer.items}


def test_external_references_show_their_place(base: View, extension: View) -> None:
    assert search(extension, "twist", "external").wants == ("pytorch",)
    answer = search(extension, "", "external", limit=100, others=upwards(base))
    joined = {
        item.symbol: (item.declared_root, item.declared_file, item.declared_line) for item in answer.items
    }
    assert joined["torch.twist"] == ("/src/base", YAML, 1)
    assert joined["torch.nn.functional"] == ("/src/base", "torch/nn/functional.py", 1)
    assert joined["ATen/ATen.h"] == ("/src/base", "aten/src/ATen/ATen.h", 1)
    assert joined["at::twist"] == ("/src/base", YAML, 1)


def test_all_roots_say_who_uses_it(base: View, extension: View) -> None:
    answer = trace(base, "torch.twist", "full", downwards(extension))
    assert [(i.root, i.file, i.line) for i in used(answer)] == [("/src/ext", *place) for place in PLACES]
    (count,) = answer.uses
    assert (count.root, count.harness, count.places, count.files) == ("/src/ext", "vllm", 7, 4)
    assert "used in /src/ext (vllm): 7 places in 4 files" in as_text(answer)
    assert trace(base, "torch.twist").uses == ()
    assert trace(base, "aten::bend", "full", downwards(extension)).uses == ()


def test_only_the_first_uses_are_listed_and_all_are_counted(base: View, extension: View) -> None:
    whole = trace(base, "torch.twist", "full", downwards(extension))
    first = trace(base, "torch.twist", "full", downwards(extension), most_uses=2)
    assert [(i.file, i.line) for i in used(first)] == PLACES[:2]
    assert (first.uses[0].places, first.uses[0].shown) == (7, 2)
    assert first.total == whole.total == whole.shown
    assert "(the first 2 below)" in as_text(first)


def test_from_the_extension_its_own_uses_are_listed(base: View, extension: View) -> None:
    answer = trace(extension, "torch.twist", "full", upwards(base, everything=True))
    assert [(i.root, i.file, i.line) for i in used(answer)] == [("", *place) for place in PLACES]
    assert answer.uses[0].root == ""


def test_a_search_of_all_roots_ranks_them_together(base: View, extension: View) -> None:
    alone = search(base, "twist", "bindings")
    answer = search(extension, "twist", "bindings", others=upwards(base, everything=True))
    assert [(i.root, i.file, i.line) for i in answer.items] == [
        ("/src/base", i.file, i.line) for i in alone.items
    ]
    assert answer.total == alone.total
    both = search(base, "twist", "external", limit=3, others=downwards(extension))
    assert both.shown == 3 < both.total
    assert {item.root for item in both.items} == {"/src/ext"}
    # The framework is the asked tree itself.
    assert {item.declared_root for item in both.items} == {""}
    assert both.items[0].declared_file


def test_a_backend_of_another_root_is_no_mistake(base: View, extension: View) -> None:
    assert search(extension, "twist", "kernels", "CPU").error
    answer = search(extension, "twist", "kernels", "CPU", others=upwards(base, everything=True))
    assert not answer.error
    assert [item.symbol for item in answer.items] == ["at::native::twist_cpu"]
    assert search(extension, "twist", "kernels", "NPU", others=upwards(base, everything=True)).error


# -- the command, without a daemon

Run = Callable[..., Any]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command in this process, in a home without other roots."""
    for name in ("CACHE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))

    def run(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def waves(extension_tree: Path) -> Path:
    """The small extension, with a function that calls names of the framework."""
    source = extension_tree / "waves" / "more.py"
    source.write_text("import torch\n\n\ndef double(x):\n    return torch.mul(x, torch.relu(x))\n", "utf-8")
    return extension_tree


def test_the_commands_cross_roots(run: Run, mini_tree: Path, waves: Path) -> None:
    code, _, err = run("trace", "torch.mul", "--source", waves)
    assert code == 1 and "pytorch has such names, and no tree of it is known" in err
    assert "no tree" not in run("trace", "nothing_like_it", "--source", waves)[2]
    run("index", "build", "--source", mini_tree)
    code, out, _ = run("trace", "torch.mul", "--source", waves, "--json")
    said = json.loads(out)
    assert code == 0
    assert said["root"] == str(waves)
    assert {item["root"] for item in said["items"]} == {str(mini_tree)}
    assert [(o["root"], o["harness"], o["revision"]) for o in said["other_roots"]] == [
        (str(mini_tree), "pytorch", 1)
    ]
    kernel = next(i for i in said["items"] if i["role"] == "stub_kernel")
    assert (Path(kernel["root"]) / kernel["file"]).is_file()
    assert (Path(kernel["declared_root"]) / kernel["declared_file"]).is_file()
    said = json.loads(run("trace", "torch.mul", "--source", mini_tree, "--all-roots", "--json")[1])
    assert [(i["root"], i["file"], i["line"]) for i in said["items"] if i["role"] == "external"] == [
        (str(waves), "waves/more.py", 5)
    ]
    assert said["uses"][0]["places"] == 1
    code, out, _ = run("search", "relu", "--mode", "external", "--source", waves)
    assert f"is aten::relu {mini_tree}/" in out


def test_what_waits_in_a_base_is_counted_and_no_old_line_cited(
    run: Run, mini_tree: Path, waves: Path
) -> None:
    run("index", "build", "--source", mini_tree)
    path = mini_tree / "aten/src/ATen/native/cpu/BinaryOpsKernel.cpp"
    path.write_text("\n\n" + path.read_text("utf-8"), "utf-8")
    said = json.loads(run("trace", "torch.mul", "--source", waves, "--json")[1])
    assert said["waiting"] == said["other_roots"][0]["waiting"] == 1
    assert said["complete"] is False
    assert not [item for item in said["items"] if item["file"].endswith(path.name)]


def test_a_base_can_be_named(run: Run, mini_tree: Path, waves: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for name in ("aten", "torch", "version.txt"):
        os.symlink(mini_tree / name, other / name)
    code, _, err = run("trace", "torch.mul", "--source", waves, "--base", mini_tree)
    assert code == 1 and f"without {mini_tree}: it is not indexed" in err
    run("index", "build", "--source", mini_tree)
    assert run("trace", "torch.mul", "--source", waves, "--base", mini_tree)[0] == 0
    code, _, err = run("trace", "torch.mul", "--source", mini_tree, "--base", waves)
    assert code == 2 and "depends on" in err and str(waves) in err
    code, _, err = run("trace", "torch.mul", "--source", waves, "--base", tmp_path / "none")
    assert code == 2 and "does not exist" in err


def test_a_base_whose_index_is_damaged_is_said(run: Run, mini_tree: Path, waves: Path) -> None:
    run("index", "build", "--source", mini_tree)
    (index_folder(mini_tree, os.environ) / "index.db").write_bytes(b"no database" * 1000)
    code, _, err = run("trace", "torch.mul", "--source", waves, "--base", mini_tree)
    assert code == 1 and f"without {mini_tree}: it is not indexed" in err


def test_status_says_where_external_references_lead(run: Run, mini_tree: Path, waves: Path) -> None:
    run("index", "build", "--source", waves)
    assert "no tree of pytorch is known" in " ".join(run("status", "--source", waves)[1].split())
    run("init", "--source", mini_tree)
    assert f"joined to {mini_tree}" in " ".join(run("status", "--source", waves)[1].split())
    said = json.loads(run("status", "--source", waves, "--json")[1])
    assert [(e["base"], e["root"]) for e in said["external"]] == [("pytorch", str(mini_tree))]
