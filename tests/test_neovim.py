"""A real Neovim with `editors/neovim` in its runtimepath, headless, against the real bridge and daemon.

`$TORCHTALK_CLIENTS` names a folder that has it: `nvim/bin/nvim`. What Neovim does is `neovim/drive.lua`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE, REPOSITORY, _copy
from tests.daemons import Home, new_home

pytestmark = pytest.mark.full

DRIVE = REPOSITORY / "tests" / "neovim" / "drive.lua"
OTHER = REPOSITORY / "tests" / "neovim" / "other_server.py"
PATIENCE = 240.0
"""Seconds for all steps of one Neovim."""
BUILD_SECONDS = 600.0
"""For a whole index of a real tree."""
SCRIPT = """import torch
import torch.nn.functional as F

def run(x: torch.Tensor, w):
    torch.matmul(x, x)
    F.gelu(x)
    torch.mm(x, x)
    y = x @ x
    run(y, w)
"""
NATIVE = "aten/src/ATen/native"
Step = dict[str, Any]


@pytest.fixture(scope="module")
def nvim() -> str:
    """Neovim's program; skips where there is none."""
    folder = os.environ.get("TORCHTALK_CLIENTS")
    if not folder:
        pytest.skip("needs real clients: set TORCHTALK_CLIENTS to a folder that holds them")
    path = Path(folder) / "nvim" / "bin" / "nvim"
    if not path.exists():
        pytest.skip(f"needs {path}")
    return str(path)


@pytest.fixture(scope="module")
def home(nvim: str) -> Iterator[Home]:
    with new_home() as made:
        tree = _copy(DEMO_TREE, made.folder / "tree")
        (tree / ".git").mkdir()
        assert made.run("index", "build", "--source", tree, "--workers", "1").returncode == 0
        program = made.folder / "bin" / "torchtalkd"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m torchtalkd "$@"\n', "utf-8")
        program.chmod(0o755)
        yield made
        made.run("stop")


@pytest.fixture(scope="module")
def tree(home: Home) -> Path:
    return home.folder / "tree"


def drive(nvim: str, home: Home, *steps: Step, setup: str = "") -> list[Any]:
    """What comes of the steps in a Neovim that is set up as the help page says."""
    folder = home.folder / "nvim"
    folder.mkdir(exist_ok=True)
    init, given = folder / "init.lua", folder / "steps.json"
    runtime = json.dumps(str(REPOSITORY / "editors" / "neovim"))
    init.write_text(
        f"vim.opt.runtimepath:append({runtime})\n{setup}\nvim.lsp.enable('torchtalkd')\n", "utf-8"
    )
    given.write_text(json.dumps(steps), "utf-8")
    environ = {
        **home.environ,
        "PATH": f"{home.folder / 'bin'}{os.pathsep}{home.environ['PATH']}",
        "TORCHTALK_TEST_STEPS": str(given),
        **{f"XDG_{name}_HOME": str(folder / name.lower()) for name in ("DATA", "STATE")},
    }
    command = [nvim, "--headless", "-i", "NONE", "-n", "-u", str(init), "-c", f"luafile {DRIVE}"]
    done = subprocess.run(
        command, env=environ, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    out = Path(f"{given}.out")
    assert out.exists(), done
    results = json.loads(out.read_text("utf-8"))
    out.unlink()
    for step, result in zip(steps, results, strict=False):
        assert "error" not in result, (step, result["error"], done.stderr)
    assert len(results) == len(steps)
    return [result.get("result") for result in results]


def short(found: Any) -> Any:
    """Places as file name and line."""
    if isinstance(found, list):
        return [short(one) for one in found]
    return Path(found["file"]).name, found["line"]


def line_of(path: Path, text: str) -> int:
    """The line of a text that a file has, counted from 1."""
    return next(n for n, line in enumerate(path.read_text("utf-8").splitlines(), 1) if text in line)


def at(file: Path, text: str, offset: int = 0) -> tuple[Step, Step]:
    """Opens a file and puts the cursor on a text."""
    return {"do": "open", "file": str(file)}, {"do": "on", "text": text, "offset": offset}


def test_each_request_lands_where_it_should(nvim: str, home: Home, tree: Path) -> None:
    script = tree / "scratch.py"
    script.write_text(SCRIPT, "utf-8")
    linear = tree / NATIVE / "LinearAlgebra.cpp"
    results = drive(
        nvim,
        home,
        *at(script, "torch.matmul", 6),
        {"do": "jump", "request": "definition"},
        {"do": "calls", "request": "incoming_calls"},
        *at(script, "torch.matmul", 6),
        {"do": "tag"},
        *at(script, "F.gelu", 2),
        {"do": "list", "request": "implementation"},
        {"do": "hover"},
        *at(script, "torch.matmul", 6),
        {"do": "list", "request": "references"},
        {"do": "list", "request": "declaration"},
        *at(tree / NATIVE / "native_functions.yaml", "MPS: relu_mps", 5),
        {"do": "jump", "request": "definition"},
    )
    matmul = ("LinearAlgebra.cpp", line_of(linear, "Tensor matmul("))
    assert results[0] == str(tree), "its root"
    assert short(results[2]) == matmul
    assert any(name == "aten::matmul" or "matmul" in name for name in [r["text"] for r in results[3]])
    assert short(results[6]) == matmul
    kernels = {name for name, _ in short(results[9])}
    assert len(kernels) > 1 and any(name.endswith((".cu", ".cpp")) for name in kernels)
    assert "aten::gelu(Tensor self" in results[10]
    assert ("functional.py", line_of(tree / "torch/functional.py", "torch.matmul(")) in short(results[13])
    assert [name for name, _ in short(results[14])] == ["native_functions.yaml"]
    assert short(results[17])[0] == "Unary.mm"


def test_the_command(nvim: str, home: Home, tree: Path) -> None:
    script = tree / "scratch.py"
    script.write_text(SCRIPT, "utf-8")
    results = drive(
        nvim,
        home,
        *at(script, "torch.mm", 6),
        {"do": "split", "command": "TorchTalk", "place": f"{NATIVE}/LinearAlgebra.cpp:"},
        *at(script, "torch.mm", 6),
        {"do": "split", "command": "TorchTalk dispatch mul"},
        {"do": "split", "command": "TorchTalk yaml gelu"},
        {"do": "split", "command": "TorchTalk torch.matmul"},
        {"do": "split", "command": "TorchTalk torch.matmul"},
        {"do": "quickfix", "command": "TorchTalk chain"},
        {"do": "says", "command": "TorchTalk status"},
        {"do": "says", "command": "TorchTalk trace nothing_is_called_so"},
        {"do": "lua", "code": "return vim.fn.getcompletion('TorchTalk ', 'cmdline')"},
        {"do": "lua", "code": "return require('torchtalkd').status()"},
        {"do": "lua", "code": "return vim.fn.getcwd()"},
        {"do": "said"},
    )
    assert "aten::mm" in results[2]["text"] and results[2]["name"] == "torchtalk://aten::mm"
    assert not results[2]["modifiable"]
    there = results[2]["there"]
    assert Path(there["file"]).name == "LinearAlgebra.cpp" and there["line"] > 1
    assert (
        "BinaryOpsKernel.cpp" in results[5]["text"] and results[5]["name"] == "torchtalk://aten::mul.dispatch"
    )
    assert "aten::gelu" in results[6]["text"]
    assert "LinearAlgebra.cpp" in results[7]["text"] and results[7] == results[8]
    assert results[9]["title"] == "aten::mm"
    files = {name for name, _ in short(results[9]["items"])}
    assert {"native_functions.yaml", "LinearAlgebra.cpp", "Blas.cu"} <= files
    assert str(tree) in results[10] and "(pytorch)" in results[10]
    assert "nothing" in results[11]
    assert results[12] == ["chain", "dispatch", "status", "trace", "yaml"]
    assert results[13] == "torchtalkd"
    assert results[14] == str(home.folder / "nvim"), "the window's folder is that of the split alone"
    assert len(results[15]) == 2


def test_beside_another_server(nvim: str, home: Home, tree: Path) -> None:
    script = tree / "scratch.py"
    script.write_text(SCRIPT, "utf-8")
    other = json.dumps([sys.executable, str(OTHER), str(tree / "torch/functional.py"), "3"]).strip("[]")
    setup = (
        f"vim.lsp.config('other', {{ cmd = {{ {other} }}, filetypes = {{ 'python' }} }})\n"
        "vim.lsp.enable('other')"
    )
    both = {"do": "open", "file": str(script), "clients": 2}
    results = drive(
        nvim,
        home,
        both,
        {"do": "on", "text": "torch.mm", "offset": 6},
        {"do": "list", "request": "definition"},
        {"do": "hover"},
        {"do": "on", "text": "run(y, w)"},
        {"do": "jump", "request": "definition"},
        both,
        {"do": "on", "text": "run(y, w)"},
        {"do": "hover"},
        {"do": "each", "request": "textDocument/definition"},
        {"do": "each", "request": "textDocument/hover"},
        {"do": "said"},
        setup=setup,
    )
    assert {name for name, _ in short(results[2])} == {"functional.py", "LinearAlgebra.cpp"}
    assert "the other server's words" in results[3] and "aten::mm" in results[3]
    assert short(results[5]) == ("functional.py", 3), "with nothing of ours there is one place, and one jump"
    assert results[8].strip() == "the other server's words"
    assert results[9] == results[10] == {"torchtalkd": False, "other": True}
    assert results[11] == []


def test_a_script_outside_and_unsaved_text(nvim: str, home: Home, tree: Path) -> None:
    outside = home.folder / "project"
    outside.mkdir(exist_ok=True)
    (outside / "run.py").write_text(SCRIPT, "utf-8")
    setup = (
        "vim.lsp.config('torchtalkd', { cmd = { 'torchtalkd', 'lsp', '--source', "
        + json.dumps(str(tree))
        + " } })"
    )
    results = drive(
        nvim,
        home,
        {"do": "open", "file": str(outside / "run.py")},
        {"do": "type", "after": 2, "lines": ["", "torch.mul(1, 2)"]},
        {"do": "on", "text": "torch.mul(", "offset": 6},
        {"do": "list", "request": "implementation"},
        {"do": "on", "text": "torch.matmul", "offset": 6},
        {"do": "lua", "code": "vim.o.hidden = true"},
        {"do": "jump", "request": "definition"},
        setup=setup,
    )
    assert results[1] is True
    assert {"BinaryOpsKernel.cpp", "BinaryMulKernel.cu"} <= {name for name, _ in short(results[3])}
    assert short(results[6])[0] == "LinearAlgebra.cpp"


def test_help_health_and_other_files(nvim: str, home: Home, tree: Path) -> None:
    (tree / "scratch.py").write_text(SCRIPT, "utf-8")
    (tree / "other.yaml").write_text("a: 1\n", "utf-8")
    doc = REPOSITORY / "editors" / "neovim" / "doc"
    tags = home.folder / "help" / "doc"
    _copy(doc, tags)
    results = drive(
        nvim,
        home,
        {"do": "open", "file": str(tree / "other.yaml"), "clients": 0},
        {"do": "lua", "code": "return #vim.lsp.get_clients()"},
        *at(tree / "scratch.py", "torch.mm"),
        {"do": "health"},
        {"do": "lua", "code": f"vim.cmd.helptags({json.dumps(str(tags))}) return vim.v.errmsg"},
        {"do": "lua", "code": f"vim.opt.runtimepath:append({json.dumps(str(tags.parent))}) return 0"},
        {"do": "lua", "code": "vim.cmd.help(':TorchTalk') return vim.fn.expand('%:t')"},
        {"do": "lua", "code": "_G.health = 'vim.lsp'"},
        {"do": "health"},
    )  # fmt: skip
    assert results[1] == 0, "of yaml only the files that are the server's business"
    assert "ERROR" not in results[4] and "WARNING" not in results[4] and "OK" in results[4]
    assert results[5] == ""
    assert (tags / "tags").read_text("utf-8").count("torchtalkd.txt") >= 6
    assert results[7] == "torchtalkd.txt"
    ours = results[9][results[9].index("torchtalkd") :]
    assert "ERROR" not in results[9], results[9]
    assert "not executable" not in ours


@pytest.mark.real_tree
def test_on_pytorch_s_tree_and_on_a_script_outside_of_it(nvim: str, home: Home, pytorch_tree: Path) -> None:
    assert home.run("init", "--source", pytorch_tree, "--set-default").returncode == 0
    home.start("index", "build", "--source", pytorch_tree).communicate(timeout=BUILD_SECONDS)
    project = home.folder / "scripts"
    project.mkdir(exist_ok=True)
    (project / "train.py").write_text(SCRIPT, "utf-8")
    native = pytorch_tree / NATIVE
    functional = pytorch_tree / "torch" / "nn" / "functional.py"
    steps = []
    for script in (project / "train.py", pytorch_tree / "torch" / "_linalg_utils.py"):
        steps += [
            *at(script, "torch.matmul(", 6),
            {"do": "jump", "request": "definition"},
        ]
    results = drive(
        nvim,
        home,
        *steps,
        *at(project / "train.py", "F.gelu", 2),
        {"do": "list", "request": "implementation"},
        {"do": "hover"},
        *at(project / "train.py", "torch.mm", 6),
        {"do": "list", "request": "references"},
        *at(native / "cuda" / "ActivationGeluKernel.cu", "GeluCUDAKernelImpl"),
        {"do": "calls", "request": "incoming_calls"},
        *at(functional, "torch.relu(", 6),
        {"do": "list", "request": "definition"},
        {"do": "split", "command": "TorchTalk"},
        *at(project / "train.py", "x @ x", 2),
        {"do": "jump", "request": "definition"},
    )
    matmul = ("LinearAlgebra.cpp", line_of(native / "LinearAlgebra.cpp", "Tensor matmul("))
    assert short(results[2]) == short(results[5]) == matmul
    names = {name for name, _ in short(results[8])}
    assert {"Activation.cpp", "Activation.mm"} & names and len(names) > 2
    assert "aten::gelu" in results[9]
    assert len(results[12]) > 20
    assert any("gelu" in call["text"] for call in results[15])
    assert len(results[18]) == 1
    assert "aten::relu" in results[19]["text"]
    assert short(results[22]) == matmul
