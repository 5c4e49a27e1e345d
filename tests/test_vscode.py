"""A real VS Code (code-server, in Chromium) with the packaged extension, against the real bridge and daemon.

`$TORCHTALK_CLIENTS` names a folder that has it: `vscode/node_modules` with `code-server` and
`playwright-core`. The screenshots stay in `$TORCHTALK_ARTEFACTS`, else in the test's folder. What is done
on the screen is `vscode/drive.js`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE, REPOSITORY, _copy
from tests.daemons import Home, new_home, until

pytestmark = pytest.mark.full

EXTENSION = REPOSITORY / "editors" / "vscode"
DRIVE = REPOSITORY / "tests" / "vscode" / "drive.js"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
BUILD_SECONDS = 900.0
"""For a whole index of a real tree, and for what npm does."""
SESSION_SECONDS = 300.0
"""For all steps of one window."""
NATIVE = "aten/src/ATen/native"
SCRIPT = """import torch

def run(x: torch.Tensor, w):
    torch.matmul(x, x)
    torch.nn.functional.gelu(x)
    torch.mm(x, x)
"""
Step = dict[str, Any]


@pytest.fixture(scope="module")
def modules() -> Path:
    """Where code-server and playwright-core are; skips where they are not."""
    folder = os.environ.get("TORCHTALK_CLIENTS")
    if not folder:
        pytest.skip("needs real clients: set TORCHTALK_CLIENTS to a folder that holds them")
    path = Path(folder) / "vscode" / "node_modules"
    if not (path / "code-server").is_dir():
        pytest.skip(f"needs {path / 'code-server'}")
    return path


@pytest.fixture(scope="module")
def chromium() -> str:
    """A browser; skips where there is none."""
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if not found:
        pytest.skip("needs Chromium")
    return found


@pytest.fixture(scope="module")
def home(modules: Path, chromium: str) -> Iterator[Home]:
    with new_home() as made:
        tree = _copy(DEMO_TREE, made.folder / "tree")
        (tree / ".git").mkdir()
        (tree / "scratch.py").write_text(SCRIPT, "utf-8")
        program(made.folder / "bin" / "torchtalkd")
        yield made
        made.run("stop")


def program(path: Path, also: str = "") -> None:
    """The program as a user has it: one word; `also` is done first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\n{also}\nexec {sys.executable} -P -m torchtalkd "$@"\n', "utf-8")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def extensions(home: Home, modules: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of extensions that has ours, packaged from this work tree and installed."""
    if not (EXTENSION / "node_modules").is_dir():
        pytest.skip(f"needs `npm ci` in {EXTENSION}")
    package = tmp_path_factory.mktemp("package") / "torchtalkd.vsix"
    vsce = [
        "npx",
        "vsce",
        "package",
        "--no-dependencies",
        "--allow-missing-repository",
        "--out",
        str(package),
    ]
    done = subprocess.run(
        vsce, cwd=EXTENSION, capture_output=True, text=True, timeout=BUILD_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    folder = home.folder / "extensions"
    command = [*code_server(modules), "--extensions-dir", str(folder), "--install-extension", str(package)]
    done = subprocess.run(command, env=home.environ, capture_output=True, text=True, timeout=120, check=False)
    assert "successfully installed" in done.stdout, done
    return folder


def code_server(modules: Path) -> list[str]:
    """The command."""
    return ["node", str(modules / "code-server" / "out" / "node" / "entry.js")]


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the screenshots stay."""
    named = os.environ.get("TORCHTALK_ARTEFACTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


DESKTOP_KEYS = [
    {"key": "ctrl+f12", "command": "-editor.action.revealDefinition"},
    {
        "key": "ctrl+f12",
        "command": "editor.action.goToImplementation",
        "when": "editorHasImplementationProvider && editorTextFocus",
    },
]
"""Browsers keep F12 for themselves, so in one VS Code gives Ctrl-F12 to Go to Definition as well, and that
wins (src/vs/editor/contrib/gotoSymbol/browser/goToCommands.ts). On a desktop it means implementations."""


class Window:
    """How VS Code is opened in a folder."""

    def __init__(self, home: Home, modules: Path, chromium: str, extensions: Path, shots: Path) -> None:
        self.home, self.modules, self.chromium = home, modules, chromium
        self.extensions, self.shots = extensions, shots

    def drive(
        self, name: str, folder: Path, *steps: Step, trusted: bool = True, path: str = "", **settings: Any
    ) -> list[Any]:
        """What comes of the steps; each must succeed."""
        given = self.home.folder / f"{name}.json"
        with self._served(name, folder, trusted, path, settings) as address:
            given.write_text(
                json.dumps(
                    {
                        "name": name,
                        "url": f"{address}/?folder={folder}",
                        "playwright": str(self.modules / "playwright-core"),
                        "chromium": self.chromium,
                        "shots": str(self.shots),
                        "steps": steps,
                    }
                ),
                "utf-8",
            )
            done = subprocess.run(
                ["node", str(DRIVE), str(given)],
                capture_output=True,
                text=True,
                timeout=SESSION_SECONDS,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        results = json.loads(done.stdout)
        for step, result in zip(steps, results, strict=False):
            assert "error" not in result, (step, result["error"], self.shots, self._log(name))
        assert len(results) == len(steps)
        return [result["result"] for result in results]

    def _log(self, name: str) -> str:
        """What the extension wrote."""
        logs = sorted((self.home.folder / f"data-{name}" / "logs").rglob("torchtalkd.log"))
        return "\n".join(log.read_text("utf-8") for log in logs)

    @contextmanager
    def _served(
        self, name: str, folder: Path, trusted: bool, path: str, settings: dict[str, Any]
    ) -> Iterator[str]:
        data = self.home.folder / f"data-{name}"
        (data / "User").mkdir(parents=True)
        quiet = {
            "workbench.startupEditor": "none",
            "extensions.ignoreRecommendations": True,
            "git.enabled": False,
        }
        (data / "User" / "settings.json").write_text(json.dumps({**quiet, **settings}), "utf-8")
        (data / "User" / "keybindings.json").write_text(json.dumps(DESKTOP_KEYS), "utf-8")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            *code_server(self.modules),
            *("--auth", "none", "--bind-addr", f"127.0.0.1:{port}"),
            *("--user-data-dir", str(data), "--extensions-dir", str(self.extensions)),
            *("--disable-telemetry", "--disable-update-check"),
            *(["--disable-workspace-trust"] if trusted else []),
            str(folder),
        ]
        environ = self.home.environ | {
            "PATH": path or f"{self.home.folder / 'bin'}{os.pathsep}{self.home.environ['PATH']}",
            "HOME": str(self.home.folder),
            # Else the login shell is asked for its PATH.
            "VSCODE_CLI": "1",
        }
        log = self.home.folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(command, env=environ, stdout=out, stderr=out, start_new_session=True)
        try:
            until(lambda: answers(port), f"code-server answers: {log.read_text('utf-8')}")
            yield f"http://127.0.0.1:{port}"
        finally:
            # With all that it started, which is one session.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answers(port: int) -> bool:
    """Whether a server is there."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
            return True
    except (urllib.error.URLError, OSError):
        return False


@pytest.fixture(scope="module")
def window(home: Home, modules: Path, chromium: str, extensions: Path, shots: Path) -> Window:
    return Window(home, modules, chromium, extensions, shots)


def at(file: Path, text: str, offset: int = 0, *, root: Path) -> Step:
    """Opens a file with the cursor on a text that it has."""
    lines = file.read_text("utf-8").splitlines()
    number = next(n for n, line in enumerate(lines) if text in line)
    column = lines[number].index(text) + offset + 1
    return {"do": "open", "file": str(file.relative_to(root)), "line": number + 1, "column": column}


def shot(name: str) -> Step:
    """A screenshot."""
    return {"do": "shot", "name": name}


def line_of(path: Path, text: str) -> int:
    """The line of a text that a file has, counted from 1."""
    return next(n for n, line in enumerate(path.read_text("utf-8").splitlines(), 1) if text in line)


def everything(root: Path, scripts: tuple[Path, Path], kernel: Path, name: str) -> list[Step]:
    """The steps that show each thing once."""
    return [
        at(scripts[0], "torch.matmul(", 7, root=root),
        {"do": "status", "says": r"torchtalkd$|check"},
        {"do": "view", "has": "Kernels"},
        shot("operator"),
        {"do": "jump", "key": "F12"},
        shot("definition"),
        at(scripts[1], "functional.gelu(", 12, root=root),
        {"do": "hover"},
        shot("hover"),
        {"do": "press", "keys": ["Escape", "Escape"]},
        {"do": "peek", "key": "Control+F12"},
        shot("implementation"),
        {"do": "press", "keys": ["Escape", "Escape"]},
        at(kernel, name, 1, root=root),
        {"do": "peek", "command": "Peek Call Hierarchy"},
        shot("calls"),
        {"do": "press", "keys": ["Escape", "Escape"]},
        {"do": "command", "command": "torchtalkd: Trace Operator", "name": "gelu"},
        {"do": "editor", "named": "gelu"},
        shot("trace"),
        {"do": "command", "command": "torchtalkd: Show Dispatch Table", "name": "gelu"},
        {"do": "editor", "named": "dispatch"},
        shot("dispatch"),
        {"do": "command", "command": "torchtalkd: Show Status"},
        {"do": "message", "has": root.name},
        shot("status"),
        {"do": "statuses"},
    ]


def check(found: list[Any], root: Path) -> None:
    """What each of the steps must show, in any tree."""
    assert found[4] == {
        "file": "LinearAlgebra.cpp",
        "line": line_of(root / NATIVE / "LinearAlgebra.cpp", "Tensor matmul("),
    }
    rows = [row["text"] for row in found[2]["rows"]]
    assert "aten::matmul" in found[2]["title"]
    assert [row for row in rows if row.startswith("Schema")] and [r for r in rows if r.startswith("Kernels")]
    assert any("LinearAlgebra.cpp:" in row for row in rows)
    assert len(rows) == len(set(rows)), "no row is there twice"
    hover = "".join(found[7]["parts"])
    assert "aten::gelu(Tensor self" in hover and "CPU" in hover
    assert len(found[7]["parts"]) == 1, "one hover, not two"
    files = "\n".join(found[10]["rows"])
    assert len(found[10]["rows"]) > 2 and ".cpp" in files, "a kernel for each backend"
    assert any("gelu" in row for row in found[14]["rows"][1:] or found[14]["rows"])
    assert found[17][0].strip() == "gelu" and len(found[17]) == len(set(found[17]))
    assert "aten::gelu" in found[18]["text"] and found[18]["links"] > 0
    assert "CPU" in found[21]["text"]
    assert str(root) in found[24]["text"]
    assert found[26][-1]


def test_the_demo_tree(window: Window, home: Home) -> None:
    root = home.folder / "tree"
    kernel = root / NATIVE / "cuda" / "UnaryOpsKernel.cu"
    found = window.drive(
        "demo", root, *everything(root, (root / "scratch.py",) * 2, kernel, "gelu_kernel_cuda")
    )
    check(found, root)


def test_the_program_is_missing(window: Window, home: Home) -> None:
    node = str(Path(shutil.which("node") or "").parent)
    found = window.drive(
        "missing",
        home.folder / "tree",
        {"do": "open", "file": "scratch.py"},
        {"do": "message", "has": "pip install torchtalkd"},
        {"do": "status", "says": "torchtalkd"},
        shot("missing"),
        {"do": "command", "command": "torchtalkd: Show Status"},
        shot("said_again"),
        path=f"{node}{os.pathsep}/usr/bin{os.pathsep}/bin",
    )
    assert found[1]["buttons"] == ["Copy the command", "Open the settings"]
    assert "not found" in found[1]["text"]


def test_a_folder_that_is_not_trusted(window: Window, home: Home) -> None:
    folder = home.folder / "strange"
    _copy(DEMO_TREE, folder)
    (folder / ".git").mkdir()
    (folder / "scratch.py").write_text(SCRIPT, "utf-8")
    marker = home.folder / "was_run"
    program(folder / ".venv" / "bin" / "torchtalkd", f"touch {marker}")
    program(folder / ".venv" / "bin" / "python", f"touch {marker}")
    (folder / ".vscode").mkdir()
    own = {"torchtalk.command": [str(folder / ".venv" / "bin" / "torchtalkd")]}
    (folder / ".vscode" / "settings.json").write_text(json.dumps(own), "utf-8")
    window.drive(
        "untrusted",
        folder,
        {"do": "trust", "answer": "No"},
        at(folder / "scratch.py", "torch.matmul(", 7, root=folder),
        {"do": "status", "says": "torchtalkd"},
        {"do": "view", "has": "Kernels"},
        shot("limited"),
        {"do": "jump", "key": "F12"},
        trusted=False,
    )
    assert not marker.exists(), "the folder's own program was run"
    window.drive(
        "trusted",
        folder,
        {"do": "trust", "answer": "Yes"},
        at(folder / "scratch.py", "torch.matmul(", 7, root=folder),
        {"do": "view", "has": "Kernels"},
        trusted=False,
    )
    assert marker.exists(), "in a trusted folder its own program is taken"


@pytest.mark.real_tree
def test_pytorch_s_tree(window: Window, home: Home, pytorch_tree: Path) -> None:
    home.start("index", "build", "--source", pytorch_tree).communicate(timeout=BUILD_SECONDS)
    internal = pytorch_tree / "torch" / "testing" / "_internal"
    scripts = (
        pytorch_tree / "torch" / "_linalg_utils.py",
        internal / "distributed" / "distributed_test.py",
    )
    kernel = pytorch_tree / NATIVE / "cuda" / "ActivationGeluKernel.cu"
    found = window.drive(
        "pytorch", pytorch_tree, *everything(pytorch_tree, scripts, kernel, "GeluCUDAKernelImpl")
    )
    check(found, pytorch_tree)
