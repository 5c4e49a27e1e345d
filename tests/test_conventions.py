"""Manifests: what `extends` and `[[release]]` merge, which harness a tree is, how its paths are read."""

from __future__ import annotations

import fnmatch
import os
import re
import time
from pathlib import Path

import pytest

from torchtalkd.conventions import ManifestError, detect, known, load, python_name_of, values
from torchtalkd.conventions.files import ignored, language_of, role_of
from torchtalkd.conventions.globs import matches
from torchtalkd.conventions.versions import condition_fault, version_matches

PACKAGED = ["pytorch", "torch-extension", "torchvision", "vllm"]


def in_tree(folder: Path, text: str, version: str = "") -> values.Conventions:
    """The conventions of a tree whose own manifest is `text`."""
    (folder / ".torchtalk.toml").write_text(text)
    if version:
        (folder / "version.txt").write_text(version)
    return load("", tree=folder)


# -- merging


def test_tables_merge_lists_are_continued_and_scalars_replaced(tmp_path: Path) -> None:
    parent = load("torch-extension")
    child = in_tree(
        tmp_path,
        'format = 1\nextends = "torch-extension"\nname = "mine"\n'
        '[files]\nmax_bytes = 7\nignore = ["build", "mine"]\nlanguages = { ".cl" = "cpp", ".c" = "" }\n'
        '[cpp]\nblank = ["MY_API", "MY_BOUNDS(...)", "TORCH_API(...)"]\n'
        'shapes = [{ name = "DEFINE_DISPATCH", shape = "structured" }]\n'
        '[link]\noperator_namespace = "mine"\n',
    )
    assert child.extends == ("torch-extension",)
    assert child.files.max_bytes == 7
    assert child.files.ignore == (*parent.files.ignore, "mine")
    assert child.files.languages[".cu"] == "cuda"
    assert child.files.languages[".c"] == ""
    blank = {macro.name: macro.arguments for macro in child.cpp.blank}
    assert (blank["C10_API"], blank["MY_API"], blank["MY_BOUNDS"], blank["TORCH_API"]) == (
        False,
        False,
        True,
        True,
    )
    assert len(child.cpp.shapes) == len(parent.cpp.shapes)
    assert {s.name: s.shape for s in child.cpp.shapes}["DEFINE_DISPATCH"] == "structured"
    assert child.rules.operator_namespace == "mine"
    assert child.rules.backends == parent.rules.backends
    assert child.rules.harness == child.name == "mine"
    assert child.detect_text == {}, "what a manifest is recognised by is its own"


def test_a_trees_own_manifest_takes_the_name_of_what_it_extends(tmp_path: Path) -> None:
    assert in_tree(tmp_path, 'format = 1\nextends = "pytorch"\n').name == "pytorch"
    assert detect(tmp_path) == ["pytorch"]
    assert load("pytorch", tree=tmp_path).extends == ("pytorch", "torch-extension")


def test_bindings_with_paths_are_tried_first(tmp_path: Path) -> None:
    binding = '[[python.bindings]]\nid = "{0}"\ncall = "f"\nkind = "docs"\n'
    made = in_tree(
        tmp_path, "format = 1\n" + binding.format("a") + binding.format("b") + 'paths = ["x/**"]\n'
    )
    assert [b.id for b in made.python.bindings] == ["b", "a"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("version.txt", "setup.py"):
        os.mkfifo(tmp_path / name)
    assert load("pytorch", tree=tmp_path).rules.version == ""
    assert "torch-extension" not in detect(tmp_path)
    os.mkfifo(tmp_path / ".torchtalk.toml")
    for asked in (lambda: load("pytorch", tree=tmp_path), lambda: detect(tmp_path)):
        with pytest.raises(ManifestError, match="a pipe"):
            asked()


def test_a_release_applies_to_its_versions_only(tmp_path: Path) -> None:
    text = (
        'format = 1\n[cpp]\nblank = ["A"]\n'
        '[[release]]\nversions = ">=2.5,<2.7"\n[release.cpp]\nblank = ["B"]\n'
        '[[release]]\nversions = ">=2.6"\ncpp.blank = ["C"]\nlink.default_dispatch = "New"\n'
    )

    def blanks(version: str) -> list[str]:
        return [macro.name for macro in in_tree(tmp_path, text, version).cpp.blank]

    assert blanks("") == ["A"]
    assert blanks("2.4.1\n") == ["A"]
    assert blanks("2.5.0a0+git1234") == ["A", "B"]
    assert blanks("2.6.0a0") == ["A", "B", "C"]
    assert blanks("2.7") == ["A", "C"]
    made = in_tree(tmp_path, text, "2.6.0a0\n")
    assert (made.rules.version, made.rules.default_dispatch) == ("2.6.0a0", "New")


def test_versions_compare_as_numbers() -> None:
    assert version_matches(">=2.9", "2.10.0")
    assert version_matches("==2.6", "2.6.0a0+cpu")
    assert not version_matches("!=2.6", "2.6.0")
    assert not version_matches(">=1", "")
    assert condition_fault(">= 2.5 , < 3") == ""
    assert condition_fault("2.5")
    assert condition_fault("")


# -- the fingerprint


def test_the_fingerprint_changes_when_a_field_does_and_only_then(tmp_path: Path) -> None:
    base = 'format = 1\nextends = "torch-extension"\n'
    first = in_tree(tmp_path, base).fingerprint
    assert in_tree(tmp_path, "# a comment\n" + base).fingerprint == first
    assert in_tree(tmp_path, base, "2.6.0").fingerprint == first, "a version alone changes no fact"
    additions = [
        "[files]\nmax_bytes = 9\n",
        '[files]\nignore = ["x"]\n',
        '[cpp]\nblank = ["X"]\n',
        '[cpp]\nblank = ["X(...)"]\n',
        '[cpp]\nblank = ["TORCH_API(...)"]\n',
        '[cpp.python_names]\nx = "y"\n',
        '[link]\nbackends = ["X"]\n',
        'name = "other"\n',
        "expected_minimums = { operator = 1 }\n",
    ]
    assert (
        len({first, *(in_tree(tmp_path, base + more).fingerprint for more in additions)})
        == len(additions) + 1
    )


def test_loading_twice_gives_equal_values() -> None:
    assert load("pytorch") == load("pytorch")


# -- the packaged manifests


def test_the_packaged_manifests_load() -> None:
    assert known() == PACKAGED
    for name in known():
        made = load(name)
        assert made.name == made.rules.harness == name
        assert re.fullmatch(r"[0-9a-f]{32}", made.fingerprint)
        assert "TORCH_LIBRARY_IMPL" in {shape.name for shape in made.cpp.shapes}
    assert load("pytorch").extends == ("torch-extension",)


def test_no_file_is_in_two_layers_and_no_binding_shadows_another() -> None:
    python = load("pytorch").python
    for path in ["torch/_refs/__init__.py", "torch/_refs/fft.py", "torch/_refs/nn/functional/__init__.py"]:
        assert len([layer for layer in python.layers if matches(layer.pattern, path)]) == 1
    calls = [(b.call, b.operand, b.target, b.library, b.paths) for b in python.bindings]
    assert len(calls) == len(set(calls))
    for exact in (b for b in python.bindings if "*" not in b.call):
        wild = [b for b in python.bindings if "*" in b.call and fnmatch.fnmatchcase(exact.call, b.call)]
        assert all(python.bindings.index(exact) < python.bindings.index(b) for b in wild), exact


def test_a_method_table_of_one_file_goes_before_that_of_all() -> None:
    cpp = load("pytorch").cpp
    assert python_name_of(cpp, "torch/csrc/autograd/init.cpp", "methods") == "torch._C"
    assert python_name_of(cpp, "functorch/csrc/dim/dim.cpp", "methods") == "functorch._C.dim"
    assert python_name_of(cpp, "a.cpp", "nothing") == ""


@pytest.mark.parametrize(
    ("path", "language", "role"),
    [
        ("aten/src/ATen/native/native_functions.yaml", "native_functions", "library"),
        ("torchgen/packaged/ATen/native/tags.yaml", "tags", "library"),
        ("torchgen/packaged/autograd/derivatives.yaml", "derivatives", "library"),
        ("tools/autograd/derivatives.yaml", "derivatives", "library"),
        ("tools/autograd/deprecated.yaml", "", "library"),
        ("aten/src/ATen/native/cuda/Loops.cuh", "cuda", "library"),
        ("aten/src/ATen/native/mps/operations/Unary.mm", "objcpp", "library"),
        ("aten/src/ATen/templates/TensorBody.h", "cpp", "template"),
        ("torchgen/packaged/autograd/templates/python_functions.h", "cpp", "template"),
        ("torch/csrc/autograd/generated/test/Functions.cpp", "cpp", "generated"),
        ("test/test_torch.py", "python", "test"),
        ("c10/test/util/x.cpp", "cpp", "test"),
        ("torch/testing/_internal/opinfo/core.py", "python", "library"),
        ("torch/_C/__init__.pyi", "", "library"),
        (".cpp", "", "library"),
        ("a.b/Makefile", "", "library"),
    ],
)
def test_language_and_role_of_pytorchs_files(path: str, language: str, role: str) -> None:
    files = load("pytorch").files
    assert (language_of(files, path), role_of(files, path)) == (language, role)
    assert not ignored(files, path)


def test_what_is_ignored_is_ignored_with_all_below() -> None:
    files = load("pytorch").files
    for path in [
        ".git",
        ".git/HEAD",
        "build/x.cpp",
        "a/__pycache__/b.py",
        "x.egg-info/a",
        "third_party/a/b.h",
    ]:
        assert ignored(files, path), path
    for path in ["tools/build/a.py", "builds/a.cpp", "gitx/a.py", "torch/lib/libshm/core.cpp", ""]:
        assert not ignored(files, path), path


def test_a_tree_below_folders_named_build_and_tests_is_a_tree(tmp_path: Path) -> None:
    root = tmp_path / "build" / "tests" / "third_party" / "tree"
    yaml = root / "aten/src/ATen/native/native_functions.yaml"
    yaml.parent.mkdir(parents=True)
    yaml.write_text("")
    assert detect(root)[0] == "pytorch"
    files = load("pytorch", tree=root).files
    path = yaml.relative_to(root).as_posix()
    assert (ignored(files, path), role_of(files, path)) == (False, "library")


def test_rules_are_quick_enough_for_a_whole_tree() -> None:
    files = load("pytorch").files
    started = time.perf_counter()
    for n in range(20_000):
        path = f"aten/src/ATen/native/cuda/folder{n % 300}/File{n}.cpp"
        ignored(files, path), language_of(files, path), role_of(files, path)
    assert time.perf_counter() - started < 2, "0.2 s on the machine it was measured on"


# -- detect


def test_detect_names_the_most_specific_harness_first(tmp_path: Path) -> None:
    assert detect(tmp_path) == []
    assert detect(tmp_path / "missing") == []
    (tmp_path / "setup.py").write_text("from torch.utils.cpp_extension import CUDAExtension\n")
    assert detect(tmp_path) == ["torch-extension"]
    (tmp_path / "torchvision" / "csrc").mkdir(parents=True)
    (tmp_path / "torchvision" / "__init__.py").write_text("")
    assert detect(tmp_path) == ["torchvision", "torch-extension"]
    (tmp_path / ".torchtalk.toml").write_text('format = 1\nname = "mine"\nextends = "torch-extension"\n')
    assert detect(tmp_path) == ["mine", "torchvision", "torch-extension"]


def test_a_project_that_does_not_name_torch_is_none(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\n")
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["numpy"]\n')
    assert detect(tmp_path) == []


def test_an_unpacked_wheel_is_pytorch(tmp_path: Path) -> None:
    yaml = tmp_path / "torchgen/packaged/ATen/native/native_functions.yaml"
    yaml.parent.mkdir(parents=True)
    yaml.write_text("")
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.9.1+cpu'\n")
    assert detect(tmp_path) == ["pytorch"]
    assert load("pytorch", tree=tmp_path).rules.version == "2.9.1+cpu"


@pytest.mark.real_tree
def test_the_real_trees_are_recognised(trees: Path) -> None:
    for folder, name in (("pytorch", "pytorch"), ("vision", "torchvision"), ("vllm", "vllm")):
        if (trees / folder).is_dir():
            assert detect(trees / folder) == [name, "torch-extension"]


@pytest.mark.real_tree
def test_every_path_that_the_manifest_names_is_in_the_real_tree(pytorch_tree: Path) -> None:
    made = load("pytorch", tree=pytorch_tree)
    tables = [key.partition(":")[0] for key in made.cpp.python_names if ":" in key]
    languages = [
        key for key in made.files.languages if "/" in key and "packaged" not in key and "**" not in key
    ]
    for path in [*tables, *languages, *(p for b in made.python.bindings for p in b.paths if "*" not in p)]:
        assert next(pytorch_tree.glob(path), None) is not None, path
