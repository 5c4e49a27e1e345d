"""The command `affected`, in a process of its own: exit codes, formats, where a difference comes from."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import DEMO_TREE
from tests.test_differences import git
from torchtalkd import cli

KERNEL = "aten/src/ATen/native/TensorShape.cpp"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo tree as a git repository with one commit."""
    folder = tmp_path_factory.mktemp("tree") / "pytorch"
    shutil.copytree(DEMO_TREE, folder)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "one")
    return folder


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHTALK_NO_DAEMON", "1")


def run(tree: Path, *words: str) -> int:
    return cli.main(["affected", "--source", str(tree), *words])


def test_names_and_formats(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, "aten::mul", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["changed"] and found["total"] >= found["selected"]
    for form in ("text", "pytest", "run_test", "summary"):
        assert run(tree, "aten::mul", "--format", form) == 0
        assert "Traceback" not in capsys.readouterr().err


def test_exit_codes(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, "no_such_function") == 1
    assert run(tree) == 2
    assert run(tree, "--since", "no-such-revision") == 2
    assert run(tree, "--diff", "no-such-file") == 2
    assert run(tree, "aten::mul", "--depth", "0") == 2
    assert run(tree, "--since", "HEAD", "--staged") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_what_changed_since_a_revision(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tree, "--since", "HEAD", "--format", "pytest") == 0
    assert capsys.readouterr().out == ""
    (tree / "test" / "test_new.py").write_text("def test_new():\n    pass\n")
    (tree / "CMakeLists.txt").write_text("project(x)\n")
    assert run(tree, "--since", "HEAD", "--format", "pytest") == 3
    told = capsys.readouterr()
    assert "everything, because CMakeLists.txt" in told.err and "test/test_new.py" in told.out
    (tree / "CMakeLists.txt").unlink()
    assert run(tree, "--since", "HEAD", "--format", "pytest") == 0
    assert capsys.readouterr().out == "test/test_new.py\n"
    git(tree, "add", "test/test_new.py")
    assert run(tree, "--staged", "--format", "run_test") == 0
    assert capsys.readouterr().out == "test_new\n"


def test_a_difference_from_standard_input(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = (tree / KERNEL).read_text().split("\n")
    number = next(n for n, line in enumerate(lines, 1) if line.startswith("  "))
    text = f"--- a/{KERNEL}\n+++ b/{KERNEL}\n@@ -{number} +{number} @@\n-  old();\n+  renewed();\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert run(tree, "--diff", "-", "--json") == 0
    assert [thing["file"] for thing in json.loads(capsys.readouterr().out)["changed"]] == [KERNEL]
