"""Files of installed packages: a wheel's Python and yaml, answered from a source tree."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE, _copy
from tests.daemons import Home, new_home, until
from tests.editors import NEOVIM, Editor, places, spot
from tests.test_lsp import MM, YAML, ready
from torchtalkd.daemon.installed import package_folders
from torchtalkd.frontends.lsp.documents import packages_around

WRAPPER = """import torch
from .nn import functional as F

def product(x: torch.Tensor):
    return F.relu(torch.mm(x, x))
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with new_home() as made:
        for name, version in (("tree", "2.6.0"), ("newer", "2.9.1")):
            tree = _copy(DEMO_TREE, made.folder / name)
            (tree / "version.txt").write_text(f"{version}a0\n", "utf-8")
            assert made.run("index", "build", "--source", tree, "--workers", "1").returncode == 0
            assert made.run("init", "--source", tree).returncode == 0
        assert made.run("init", "--source", made.folder / "tree", "--set-default").returncode == 0
        yield made
        made.run("stop")


def environment(home: Home, name: str, version: str) -> tuple[Path, Path]:
    """A virtual environment with a wheel of some version in it: its interpreter and its packages."""
    folder = home.folder / name
    packages = folder / "lib" / "python3.12" / "site-packages"
    (packages / "torch").mkdir(parents=True)
    (packages / "torch" / "version.py").write_text(f"__version__ = '{version}+cpu'\n", "utf-8")
    (packages / "torch" / "wrapper.py").write_text(WRAPPER, "utf-8")
    yaml = packages / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
    yaml.parent.mkdir(parents=True)
    # As a wheel of another version has it: other lines.
    yaml.write_text("# another version\n\n" + (DEMO_TREE / YAML).read_text("utf-8"), "utf-8")
    (folder / "bin").mkdir()
    interpreter = folder / "bin" / "python"
    interpreter.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\n", "utf-8")
    return interpreter, packages


def session(home: Home, interpreter: object) -> Editor:
    made = Editor(home.environ, capabilities=NEOVIM, settings={"interpreter": str(interpreter)})
    made.initialize(initializationOptions={"torchtalk": {"interpreter": str(interpreter)}})
    ready(made)
    return made


def messages(editor: Editor) -> list[str]:
    found = [n["params"] for n in editor.notifications if n["method"] == "window/showMessage"]
    return [params["message"] for params in found]


def asked(editor: Editor, method: str, uri: str, text: str, needle: str, offset: int = 0) -> Any:
    return editor.at(method, uri, *spot(text, needle, offset))


@pytest.mark.parametrize(
    ("version", "named", "root"),
    [("2.9.1", True, "newer"), ("2.9.1", False, "tree"), ("2.4.0", True, "tree")],
)
def test_a_wheel_is_answered_from_its_version(home: Home, version: str, named: bool, root: str) -> None:
    interpreter, packages = environment(home, f"env{version}{named}", version)
    editor = session(home, interpreter if named else "")
    uri = editor.open(packages / "torch" / "wrapper.py")
    found = asked(editor, "definition", uri, WRAPPER, "torch.mm", 6)
    assert places(found) == [MM]
    assert found[0]["targetUri"].startswith(f"file://{home.folder / root}/")
    # A relative import of the package is one of the framework's module.
    assert places(asked(editor, "definition", uri, WRAPPER, "F.relu", 2))[-1][0] == "Activation.cpp"
    said = [message for message in messages(editor) if "2.4.0" in message]
    if version == "2.4.0":
        until(lambda: [m for m in messages(editor) if "2.4.0" in m and "2.6.0" in m], "a message")
    else:
        assert said == []
    assert editor.close() == 0


def test_the_packaged_yaml(home: Home) -> None:
    interpreter, packages = environment(home, "yaml", "2.9.1")
    path = packages / "torchgen/packaged/ATen/native/native_functions.yaml"
    text = path.read_text("utf-8")
    editor = session(home, interpreter)
    uri = editor.open(path, language="yaml")
    found = asked(editor, "definition", uri, text, "MPS: relu_mps", 6)
    assert places(found)[0][0] == "Unary.mm"
    assert found[0]["targetUri"].startswith(f"file://{home.folder}/newer/")
    (delegate,) = asked(editor, "declaration", uri, text, "structured_delegate: mul.out", 21)
    line = (delegate.get("targetSelectionRange") or delegate["range"])["start"]["line"]
    assert (delegate.get("targetUri") or delegate["uri"]) == uri, "the text that is open, not the tree's"
    assert "func: mul.out(" in text.splitlines()[line]
    # For other texts the tree's own yaml stands.
    other = editor.open(packages / "torch" / "wrapper.py")
    (entry,) = asked(editor, "declaration", other, WRAPPER, "torch.mm", 6)
    assert str(home.folder / "newer") in (entry.get("targetUri") or entry["uri"])
    assert editor.close() == 0


def test_nothing_is_opened_that_no_setting_names(home: Home) -> None:
    _, packages = environment(home, "silent", "2.9.1")
    (packages / "torch" / "version.py").unlink()
    Path(packages / "torch" / "version.py").symlink_to("/dev/full")
    editor = session(home, home.folder / "silent" / "bin" / "none")
    uri = editor.open(packages / "torch" / "wrapper.py")
    assert places(asked(editor, "definition", uri, WRAPPER, "torch.mm", 6)) == [MM]
    assert editor.close() == 0


def test_an_interpreter_s_packages(tmp_path: Path) -> None:
    base, folder = tmp_path / "base", tmp_path / "env"
    for prefix, version in ((base, "3.11"), (folder, "3.11")):
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / "python").touch()
        (prefix / "lib" / f"python{version}" / "site-packages").mkdir(parents=True)
    interpreter = str(folder / "bin" / "python")
    own = str(folder / "lib/python3.11/site-packages")
    assert package_folders(interpreter) == [own]
    (folder / "pyvenv.cfg").write_text(f"home = {base}/bin\ninclude-system-site-packages = true\n", "utf-8")
    assert package_folders(interpreter) == [own, str(base / "lib/python3.11/site-packages")]
    for wrong in ("", "bin/python", str(folder / "bin" / "nothing"), str(tmp_path / "a" / "b")):
        assert package_folders(wrong) == []


def test_the_innermost_folder_of_packages() -> None:
    assert packages_around("/a/site-packages/b/site-packages/c.py") == "/a/site-packages/b/site-packages"
    assert packages_around("/a/dist-packages/c.py") == "/a/dist-packages"
    assert packages_around("/a/site-packages") == packages_around("/a/b.py") == ""
