"""`status --compile`, and the headers that are missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.compiling import compiled_tree
from torchtalkd import cli
from torchtalkd.compilation.missing import GENERATED, Missing, missing_headers
from torchtalkd.compilation.report import include_folders_of
from torchtalkd.conventions import load


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.chdir(tmp_path)
    return compiled_tree(tmp_path / "pytorch")


def told(root: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    """The report as JSON, and as text."""
    capsys.readouterr()
    assert cli.main(["status", "--compile", "--json", "--source", str(root)]) == 0
    whole = json.loads(capsys.readouterr().out)
    assert cli.main(["status", "--compile", "--source", str(root)]) == 0
    return whole, capsys.readouterr().out


def test_it_says_what_was_made_and_what_is_missing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole, text = told(root, capsys)
    assert whole["units"]["cpp"] == 3
    assert whole["variants"]["DEFAULT"] == 1
    assert whole["missing"] is None
    assert "missing headers: not known before `torchtalkd index build`" in text
    if sys.platform != "darwin":
        assert whole["left_out"]["objcpp"] == 1
        assert "Objective-C++: 1 unit can be read exactly on macOS only" in text
    assert whole["configured"] == ["aten/src/ATen/Config.h"]

    assert cli.main(["index", "build", "--no-daemon", "--source", str(root)]) == 0
    whole, text = told(root, capsys)
    missing = {one["name"]: one for one in whole["missing"]}
    assert missing["ATen/Functions.h"] == {"name": "ATen/Functions.h", "units": 1, "whose": GENERATED}
    assert whole["wanting_generated"] == 1
    assert f"generated headers missing: torchtalkd trust {root} (wanted by 1 unit)" in text
    # fmt/core.h comes through a header of the tree.
    if not any(one["name"] == "fmt" and one["where"] for one in whole["packages"]):
        assert missing["fmt/core.h"] == {"name": "fmt/core.h", "units": 2, "whose": "fmt"}
        assert "missing: fmt, wanted by at most 2 units: apt install libfmt-dev" in text
    assert missing["nowhere.h"]["units"] == 1
    assert "in some branch, and nowhere here: nowhere.h (1)" in text
    assert "ATen/Config.h" not in missing
    assert "ATen/Sub.h" not in missing

    assert cli.main(["trust", str(root)]) == 0
    whole, text = told(root, capsys)
    assert whole["generated"]["state"] == "current"
    assert "generated headers: 5 files, made in " in text
    assert GENERATED not in {one["whose"] for one in whole["missing"]}
    assert whole["bytes"] > 0


def test_without_a_cpp_library_it_says_what_to_install(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from torchtalkd.compilation import machine as module
    from torchtalkd.compilation.standard_library import StandardLibrary

    monkeypatch.setattr(
        sys.modules[module.__module__], "standard_library", lambda: StandardLibrary((), "", "install g++")
    )
    assert cli.main(["status", "--compile", "--source", str(root)]) == 1
    assert "EXACT READING IS OFF: install g++" in capsys.readouterr().out


def test_an_extension_takes_the_headers_of_a_known_frameworks_tree(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extension = tmp_path / "ext"
    (extension / "csrc").mkdir(parents=True)
    (extension / "setup.py").write_text("from torch.utils.cpp_extension import CppExtension\n")
    (extension / "csrc/a.cpp").write_text(
        "#include <ATen/Sub.h>\n#include <ATen/ops/add.h>\n#include <ATen/Config.h>\n"
    )
    assert cli.main(["index", "build", "--no-daemon", "--source", str(extension)]) == 0

    def missing() -> set[str]:
        return {one["name"] for one in told(extension, capsys)[0]["missing"]}

    installed = any(one["where"] for one in told(extension, capsys)[0]["packages"] if one["name"] == "torch")
    if not installed:
        assert missing() == {"ATen/Sub.h", "ATen/ops/add.h", "ATen/Config.h"}
    assert cli.main(["init", "--source", str(root)]) == 0
    # What is filled in from templates is there, though nobody has read the framework itself.
    assert missing() <= {"ATen/ops/add.h"}
    assert cli.main(["trust", str(root)]) == 0
    assert missing() == set()


INCLUDES = {
    "a.cpp": ["x/a.h", "gone.h", "*"],
    "b.cpp": ["x/b.h"],
    "x/a.h": ["b.h", "pybind11/stl.h"],
    "x/b.h": ["deep/gone.h", "sys.h", "../x/a.h"],
}


def test_missing_headers_are_counted_through_others(tmp_path: Path) -> None:
    (tmp_path / "sys.h").write_text("")
    recipe = load("pytorch").compilation
    found = missing_headers(["a.cpp", "b.cpp"], INCLUDES, [""], [str(tmp_path)], recipe)
    assert found == [
        Missing("deep/gone.h", 2, ""),
        Missing("pybind11/stl.h", 2, "pybind11"),
        Missing("gone.h", 1, ""),
    ]
    assert missing_headers([], INCLUDES, [""], [], recipe) == []


def test_the_folders_that_arguments_name() -> None:
    arguments = ("-Ia", "-I", "b", "-isystem", "c", "-iquote", "d", "-DX", "-resource-dir", "r", "-x", "c++")
    assert include_folders_of(arguments) == ["a", "b", "c", "d", "r/include"]
    gcc = include_folders_of(("--gcc-install-dir=/usr/lib/gcc/x86_64-linux-gnu/12",))
    assert gcc[0] == "/usr/include/c++/12"
    assert "/usr/include/x86_64-linux-gnu/c++/12" in gcc
    assert include_folders_of(("-isysroot", "/sdk")) == ["/sdk/usr/include/c++/v1", "/sdk/usr/include"]
