"""The daemon reads exactly in the background, and nobody waits for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemons import Home, new_home, until
from tests.exact_tree import ExactTree


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as made:
        made.environ["TORCHTALK_EXACT"] = "on"
        yield made


def standing(home: Home, tree: ExactTree) -> dict[str, Any]:
    told = home.run("status", "--json", "--source", tree.root, "--harness", "pytorch")
    found: dict[str, Any] = json.loads(told.stdout).get("exact") or {}
    return found


def test_a_save_is_read_exactly_in_the_background(home: Home, tmp_path: Path) -> None:
    tree = ExactTree(tmp_path / "tree", tmp_path / "unused")
    home.run("search", "pick", "--source", tree.root, "--harness", "pytorch")
    until(lambda: standing(home, tree).get("read") == 3, "all three are read exactly")
    tree.edit("c10/Base.h", "struct Base", "struct  Base")
    home.run("search", "pick", "--wait", "--source", tree.root, "--harness", "pytorch")
    until(lambda: standing(home, tree).get("pending") == 0, "the header's units are read again")
    found = standing(home, tree)
    assert (found["read"], found["total"], found["off"], found["failed"]) == (3, 3, "", [])


def test_build_waits_for_the_exact_reading_unless_told_not_to(home: Home, tmp_path: Path) -> None:
    tree = ExactTree(tmp_path / "tree", tmp_path / "unused")
    told = home.run("index", "build", "--exact", "--source", tree.root, "--harness", "pytorch")
    assert "read exactly: 3 of 3 files" in told.stderr
    assert standing(home, tree)["read"] == 3


def test_it_can_be_switched_off(home: Home, tmp_path: Path) -> None:
    home.environ["TORCHTALK_EXACT"] = "off"
    tree = ExactTree(tmp_path / "tree", tmp_path / "unused")
    told = home.run("index", "build", "--exact", "--source", tree.root, "--harness", "pytorch")
    assert "exactly" not in told.stderr
    assert standing(home, tree) == {}


def test_an_extension_is_read_with_the_headers_of_its_framework(home: Home, tmp_path: Path) -> None:
    framework = ExactTree(tmp_path / "pytorch", tmp_path / "unused")
    assert home.run("init", "--source", framework.root, "--harness", "pytorch").returncode == 0
    extension = ExactTree(
        tmp_path / "ext",
        tmp_path / "unused",
        {
            "setup.py": "from torch.utils.cpp_extension import CppExtension\n",
            "csrc/a.cpp": "#include <c10/Base.h>\nint own(int x) { return x; }\n"
            "int twice(c10::Base& b) { return own(b.run(1)); }\n",
        },
    )
    told = home.run("index", "build", "--exact", "--source", extension.root)
    assert "read exactly: 1 of 1 file" in told.stderr
    found = json.loads(home.run("status", "--json", "--source", extension.root).stdout)["exact"]
    assert (found["missing"], found["resolved"], found["unresolved"]) == ([], 2, 0)
