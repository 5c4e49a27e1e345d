"""Python of real extensions against what Python's own parser sees in the same files."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.bench.external import compare
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.link import registries
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

pytestmark = pytest.mark.real_tree


class Tree(NamedTuple):
    root: Path
    view: View
    parsed: dict[str, ast.Module]


def opened(trees: Path, name: str, harness: str, folder: Path) -> Tree:
    root = trees / name
    if not root.is_dir():
        pytest.skip(f"needs the tree {name}")
    build(root, folder, load(harness, tree=root))
    view = open_view(folder)
    parsed: dict[str, ast.Module] = {}
    for file in view.files():
        if file.language == "python" and file.role != "template":
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                parsed[file.path] = ast.parse((root / file.path).read_bytes())
    return Tree(root, view, parsed)


@pytest.fixture(scope="module")
def vllm(trees: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    tree = opened(trees, "vllm", "vllm", tmp_path_factory.mktemp("vllm"))
    yield tree
    tree.view.close()


@pytest.fixture(scope="module")
def vision(trees: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tree]:
    tree = opened(trees, "vision", "torchvision", tmp_path_factory.mktemp("vision"))
    yield tree
    tree.view.close()


class Call(NamedTuple):
    path: str
    node: ast.Call
    decorated: str
    """Name of what it decorates, '' if nothing."""

    def text(self, position: int, keyword: str) -> str:
        """The value of a text argument; '' if it is none."""
        given = next((k.value for k in self.node.keywords if k.arg == keyword), None)
        if given is None and len(self.node.args) > position:
            given = self.node.args[position]
        return given.value if isinstance(given, ast.Constant) and isinstance(given.value, str) else ""


def calls(tree: Tree, wanted: Callable[[str], object]) -> Iterator[Call]:
    for path, module in tree.parsed.items():
        decorates = {
            id(decorator): node.name
            for node in ast.walk(module)
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            for decorator in node.decorator_list
        }
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and wanted(ast.unparse(node.func)):
                yield Call(path, node, decorates.get(id(node), ""))


def bound(tree: Tree, kind: str, *conventions: str) -> set[tuple[str, str]]:
    """(file, name without namespace) of what conventions bind."""
    return {
        (file.path, d.fact.name.rpartition("::")[2])
        for file in tree.view.files()
        if file.language == "python"
        for d in tree.view.definitions_in(file)
        if d.fact.kind == kind and d.fact.convention in conventions
    }


def last(name: str) -> str:
    return name.rpartition(".")[2]


def test_operators_that_the_helper_registers(vllm: Tree) -> None:
    found = list(calls(vllm, lambda f: last(f) == "direct_register_custom_op"))
    theirs = {(c.path, c.text(0, "op_name")) for c in found if c.text(0, "op_name")}
    mine = bound(vllm, "registration", "direct_register_custom_op", "direct_register_custom_op_library")
    assert theirs <= mine
    # A partial of it with a library of its own registers too.
    partials = {
        c.path for c in calls(vllm, lambda f: last(f) == "partial") if "register" in ast.unparse(c.node)
    }
    assert {path for path, _ in mine - theirs} <= partials


def test_fakes_and_custom_operators(vllm: Tree) -> None:
    theirs = {
        (c.path, c.text(0, "qualname").rpartition("::")[2])
        for c in calls(vllm, lambda f: last(f) == "register_fake")
    }
    assert bound(vllm, "meta", "register_fake", "impl_abstract", "register_fake_call") == theirs
    theirs = {
        (c.path, c.text(0, "name").rpartition("::")[2])
        for c in calls(vllm, lambda f: last(f) in ("custom_op", "triton_op"))
    }
    assert bound(vllm, "registration", "custom_op", "triton_op") == theirs


def test_classes_of_custom_operators(vllm: Tree) -> None:
    wanted = re.compile(r"(?:CustomOp|PluggableLayer)\.register")
    theirs = {
        (c.path, c.text(0, "name"))
        for c in calls(vllm, wanted.fullmatch)
        if c.decorated and c.text(0, "name")
    }
    mine = bound(vllm, "registry", "vllm_custom_op", "vllm_pluggable_layer")
    assert theirs <= mine
    assert not {path for path, _ in mine - theirs if not path.startswith("tests/")}


def test_entries_of_factories_and_processors(vllm: Tree) -> None:
    theirs = {
        (c.path, c.text(0, "name")) for c in calls(vllm, re.compile(r"\w*Factory\.register_\w+").fullmatch)
    }
    # A name that is a variable is not known.
    theirs = {(path, name) for path, name in theirs if name}
    assert bound(vllm, "registry", "vllm_factories", "vllm_factories_of_classes") == theirs
    theirs = {
        (c.path, c.decorated) for c in calls(vllm, lambda f: last(f) == "register_processor") if c.decorated
    }
    assert bound(vllm, "registry", "vllm_multimodal_processors") == theirs


def test_every_model_leads_to_its_class(vllm: Tree) -> None:
    entries = [d for d in vllm.view.definitions_of_kind("registry") if d.fact.convention == "vllm_models"]
    written: dict[str, tuple[str, str]] = {}
    module = vllm.parsed["vllm/model_executor/models/registry.py"]
    for node in ast.walk(module):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple):
                    written[key.value] = tuple(e.value for e in value.elts if isinstance(e, ast.Constant))
    assert {d.fact.name for d in entries} == set(written)
    lost = [d.fact.name for d in entries if not registries.stands_for(vllm.view, d)]
    assert not lost


def test_every_attention_backend_leads_to_its_class(vllm: Tree) -> None:
    entries = [
        d for d in vllm.view.definitions_of_kind("registry") if d.fact.convention == "vllm_attention_backends"
    ]
    assert len(entries) > 30
    lost = [d for d in entries if not registries.stands_for(vllm.view, d)]
    for entry in lost:
        # The module itself is not in the tree.
        (target,) = vllm.view.targets(entry)
        module = target.fact.name.rpartition(".")[0].replace(".", "/")
        assert not (vllm.root / f"{module}.py").exists(), target.fact.name


def test_triton_kernels(vllm: Tree) -> None:
    kernel = re.compile(r"(?:triton\.(?:jit|autotune|heuristics)|gluon\.jit|cute\.kernel|tilelang\.jit)\b")
    theirs = {
        (path, node.name)
        for path, module in vllm.parsed.items()
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
        and any(kernel.match(ast.unparse(decorator)) for decorator in node.decorator_list)
    }
    mine = {
        (d.file.path, last(d.fact.name))
        for d in vllm.view.definitions_of_kind("kernel")
        if d.file.language == "python"
    }
    assert mine == theirs


@pytest.mark.parametrize("name", ["vllm", "vision"])
def test_imports_of_the_framework(name: str, request: pytest.FixtureRequest) -> None:
    tree: Tree = request.getfixturevalue(name)
    mine, theirs = compare(tree.root, tree.view)
    assert mine == theirs
    assert mine


def test_models_of_torchvision(vision: Tree) -> None:
    theirs = {
        (c.path, c.text(0, "name") or c.decorated)
        for c in calls(vision, lambda f: last(f) == "register_model")
        if c.decorated
    }
    assert bound(vision, "registry", "torchvision_models") == theirs


def test_operators_of_torchvision_have_their_meta_functions(vision: Tree) -> None:
    for call in calls(vision, lambda f: last(f) == "register_meta"):
        if call.decorated:
            answer = trace(vision.view, f"torch.ops.torchvision.{call.text(0, 'op_name')}")
            metas = [i.symbol for i in answer.items if i.role == "meta"]
            assert f"torchvision._meta_registrations.{call.decorated}" in metas
