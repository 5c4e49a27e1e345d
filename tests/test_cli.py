"""The command line: each command, each failure, exit codes, the shape of `--json`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import DEMO_TREE, REPOSITORY
from torchtalkd import __version__, cli
from torchtalkd.cache import cache_home, index_folder
from torchtalkd.config import Config, config_path, read_config
from torchtalkd.store import lock


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test, and a current folder that is in no tree."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.chdir(folder)
    return folder


class Ran:
    """What a command printed, and its exit code."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def told(self, code: int, *words: str) -> None:
        """That it failed as a command should: nothing on stdout, one sentence on stderr."""
        assert (self.code, self.out) == (code, "")
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert lines[0].startswith("torchtalkd: ")
        for word in words:
            assert word in lines[0]


Run = Callable[..., Ran]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process."""

    def run(*arguments: object) -> Ran:
        capfd.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        return Ran(code, *capfd.readouterr())

    return run


# -- the program


def test_version_and_help_are_answers(run: Run) -> None:
    assert run("--version").out == f"torchtalkd {__version__}\n"
    shown = run("--help")
    assert shown.code == 0
    for command in ("demo", "init", "index", "status", "trace", "search", "roots", "forget"):
        assert re.search(rf"^ +{command} ", shown.out, re.MULTILINE)
    assert run("trace", "--help").code == 0


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("frobnicate",),
        ("trace",),
        ("trace", "add", "everything"),
        ("trace", " "),
        ("trace", "add", "--limit", "-3"),
        ("search",),
        ("search", ""),
        ("search", "add", "--mode", "all"),
        ("search", "add", "--limit", "none"),
        ("index",),
        ("index", "destroy"),
        ("index", "build", "--workers", "0"),
        ("init",),
        ("forget",),
        ("--unknown",),
        ("status", "--sour", "x"),
    ],
)
def test_a_wrong_call_is_told_with_where_to_look(run: Run, arguments: tuple[str, ...]) -> None:
    run(*arguments).told(2, "--help")


def test_nothing_heavy_is_imported_to_start() -> None:
    program = "import sys; from torchtalkd.cli import main; main(['--version']); print(sorted(sys.modules))"
    loaded = eval(_python("-c", program).splitlines()[-1])
    assert not {"tree_sitter", "sqlite3", "clang", "yaml", "mcp", "pygls", "tomllib", "json"} & set(loaded)


def test_an_unsupported_system_gets_a_sentence(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        windows = run("status")
    windows.told(2, "WSL")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version_info", (3, 10, 4))
        old = run("status")
    old.told(2, "3.10", "3.11")


def test_a_mistake_of_ours_is_a_sentence_too(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "roots", "no_such_module")
    run("roots").told(1, "TORCHTALK_DEBUG=1")
    monkeypatch.setenv("TORCHTALK_DEBUG", "1")
    assert "Traceback" in run("roots").err


def test_the_module_is_the_program() -> None:
    assert _python("-m", "torchtalkd", "--version") == f"torchtalkd {__version__}\n"


def _python(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout


# -- demo


def test_demo_needs_nothing_and_leaves_nothing(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    before = sorted(DEMO_TREE.rglob("*"))
    shown = run("demo")
    assert (shown.code, shown.err) == (0, "")
    for layer in (
        "native_functions.yaml",
        "BinaryOpsKernel.cpp",
        "BinaryMulKernel.cu",
        "Unary.mm",
        "init --source",
    ):
        assert layer in shown.out
    assert list(temporary.iterdir()) == []
    assert list(home.iterdir()) == []
    assert sorted(DEMO_TREE.rglob("*")) == before


# -- trees: init, roots, forget, and which one is meant


def test_init_remembers_and_the_first_is_the_default(run: Run, mini_tree: Path, extension_tree: Path) -> None:
    shown = run("init", "--pytorch-source", mini_tree)
    assert (shown.code, shown.err) == (0, "")
    assert "pytorch, the default" in shown.out
    assert run("init", "--source", extension_tree).code == 0
    config = read_config(os.environ)
    assert config.default == str(mini_tree)
    assert config.sources == {str(mini_tree): "pytorch", str(extension_tree): "torch-extension"}
    again = run("init", "--source", extension_tree, "--harness", "pytorch", "--set-default", "--json")
    assert json.loads(again.out) == {
        "root": str(extension_tree),
        "harness": "pytorch",
        "default": True,
        "config": str(config_path(os.environ)),
    }
    assert read_config(os.environ).default == str(extension_tree)


def test_init_refuses_what_is_no_tree(run: Run, tmp_path: Path) -> None:
    run("init", "--source", tmp_path).told(2, "does not look like", "known harnesses are", "pytorch")
    run("init", "--source", tmp_path / "missing").told(2, "does not exist")
    run("init", "--source", tmp_path, "--harness", "jax").told(2, "no harness 'jax'")
    assert not config_path(os.environ).exists()


def test_roots_lists_what_is_remembered_and_what_is_indexed(
    run: Run, mini_tree: Path, extension_tree: Path
) -> None:
    nothing = run("roots")
    assert (nothing.code, nothing.out) == (0, "")
    assert "init --source" in nothing.err
    run("init", "--source", extension_tree)
    run("index", "build", "--source", mini_tree)
    shown = json.loads(run("roots", "--json").out)
    by_root = {tree["root"]: tree for tree in shown["roots"]}
    assert shown["total"] == 2
    assert by_root[str(mini_tree)] | {"bytes": 0} == {
        "root": str(mini_tree),
        "harness": "pytorch",
        "default": False,
        "exists": True,
        "indexed": True,
        "index": str(index_folder(mini_tree, os.environ)),
        "bytes": 0,
        "bases": {},
    }
    assert by_root[str(extension_tree)]["indexed"] is False
    assert by_root[str(extension_tree)]["bases"] == {"pytorch": str(mini_tree)}
    assert f"pytorch from {mini_tree}" in run("roots").out
    assert by_root[str(extension_tree)]["default"] is True
    shutil.rmtree(mini_tree)
    assert "gone" in run("roots").out


def test_forget_deletes_our_files_alone(run: Run, mini_tree: Path) -> None:
    run("init", "--source", mini_tree)
    run("index", "build")
    foreign = cache_home(os.environ) / "bindings.json"
    foreign.write_text("{}", "utf-8")
    inside = index_folder(mini_tree, os.environ) / "notes.txt"
    inside.write_text("mine", "utf-8")
    assert run("forget", mini_tree).code == 0
    assert foreign.exists()
    assert [path.name for path in inside.parent.iterdir()] == ["notes.txt"]
    assert read_config(os.environ) == Config()
    assert mini_tree.is_dir()
    run("forget", mini_tree).told(1, "is not known", "roots")


def test_the_root_is_the_flag_the_variable_the_folder_or_the_default(
    run, mini_tree: Path, extension_tree: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def root(*arguments: object) -> str:
        return str(json.loads(run("status", "--json", *arguments).out)["root"])

    run("status").told(2, "which source tree", "--source", "TORCHTALK_SOURCE", "init")
    run("init", "--source", extension_tree)
    assert root() == str(extension_tree)
    monkeypatch.chdir(mini_tree / "torch")
    assert root() == str(mini_tree)
    monkeypatch.setenv("PYTORCH_SOURCE", str(extension_tree))
    assert root() == str(extension_tree)
    monkeypatch.setenv("TORCHTALK_SOURCE", str(mini_tree))
    assert root() == str(mini_tree)
    assert root("--pytorch-source", extension_tree) == str(extension_tree)
    monkeypatch.setenv("TORCHTALK_SOURCE", str(home / "gone"))
    run("status").told(2, "TORCHTALK_SOURCE", "does not exist")


# -- index build


def test_build_says_what_it_did(run: Run, mini_tree: Path) -> None:
    first = run("index", "build", "--source", mini_tree, "--workers", 1)
    assert first.code == 0
    assert re.search(r"\d+ files \(\d+ read, 0 removed.*\) in \d+\.\d s, revision 1", first.out)
    assert "unchanged" in run("index", "build", "--source", mini_tree, "--no-wait").out
    (mini_tree / "torch" / "functional.py").unlink()
    assert "0 read, 1 removed" in run("index", "build", "--source", mini_tree).out
    assert [path.name[2:8] for path in cache_home(os.environ).iterdir()] == ["-mini-"]
    built = json.loads(run("index", "build", "--source", mini_tree, "--json").out)
    assert built["by_name"]["waiting"] == 0
    assert built["built"]["parsed"] == 0


def test_a_yaml_error_costs_its_entry_until_it_is_repaired(run: Run, mini_tree: Path) -> None:
    run("init", "--source", mini_tree)
    path = mini_tree / "aten/src/ATen/native/native_functions.yaml"
    good = path.read_text("utf-8")
    path.write_text(good.replace("  variants: function, method\n", "  variants: [function\n", 1), "utf-8")
    assert run("index", "build").code == 0
    assert json.loads(run("status", "--json").out)["problems"] > 0
    told = run("trace", "aten::matmul", "yaml")
    assert told.code == 0
    assert "NOT READ: aten/src/ATen/native/native_functions.yaml" in told.out
    path.write_text(good, "utf-8")
    assert run("trace", "aten::add.Tensor", "yaml").code == 0
    assert "native_functions.yaml" not in str(json.loads(run("status", "--json").out)["problem_samples"])


# -- trace, search, status


@pytest.fixture
def known(run: Run, mini_tree: Path) -> Path:
    """The small tree as the default."""
    assert run("init", "--source", mini_tree).code == 0
    return mini_tree


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small tree, indexed once: `still` makes it the default of a test that changes nothing."""
    folder = tmp_path_factory.mktemp("still")
    shutil.copytree(DEMO_TREE, folder / "mini")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert cli.main(["init", "--source", str(folder / "mini")]) == 0
        assert cli.main(["index", "build"]) == 0
    return folder / "mini"


@pytest.fixture
def still(indexed: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The small tree as the default, with its index; not to be changed."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(indexed.parent / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(indexed.parent / "cache"))
    return indexed


def test_a_query_builds_the_index_first_and_follows_edits(run: Run, known: Path) -> None:
    assert "LinearAlgebra.cpp" in run("trace", "torch.matmul").out
    assert run("trace", "brand_new_function").code == 1
    path = known / "aten/src/ATen/native/LinearAlgebra.cpp"
    path.write_text(
        "namespace at::native { int brand_new_function() { return 1; } }\n" + path.read_text("utf-8")
    )
    shown = run("trace", "brand_new_function")
    assert shown.code == 0
    assert "LinearAlgebra.cpp:1" in shown.out


@pytest.mark.parametrize("focus", ["full", "yaml", "dispatch"])
@pytest.mark.parametrize(
    "name", ["torch.mul", "aten::mul.out", "Tensor.mul", "mul_", "F.gelu", "torch.linalg.det"]
)
def test_trace_in_text_and_json_agree(run: Run, still: Path, name: str, focus: str) -> None:
    text = run("trace", name, focus)
    assert (text.code, text.err) == (0, "")
    assert len(text.out.encode()) < 10_000
    answer = json.loads(run("trace", name, focus, "--json").out)
    assert answer.keys() >= {"query", "subjects", "items", "total", "shown"}
    assert answer.keys() >= {"revision", "commit", "branch", "waiting", "complete"}
    assert (answer["query"], answer["revision"], answer["waiting"], answer["complete"]) == (name, 1, 0, True)
    assert answer["shown"] == len(answer["items"]) <= answer["total"]
    assert answer["subjects"][0] in text.out.splitlines()[0]
    for item in answer["items"]:
        assert item.keys() >= {"role", "symbol", "operator", "evidence", "file", "line"}
        lines = (still / item["file"]).read_text("utf-8").splitlines()
        assert 1 <= item["line"] <= len(lines)


def test_each_backend_of_a_stub_is_placed(run: Run, still: Path) -> None:
    answer = json.loads(run("trace", "torch.mul", "dispatch", "--json").out)
    kernels = {(item["dispatch_key"], item["file"]) for item in answer["items"] if item.get("dispatch_key")}
    native = "aten/src/ATen/native"
    assert kernels >= {
        ("CPU", f"{native}/cpu/BinaryOpsKernel.cpp"),
        ("CUDA", f"{native}/cuda/BinaryMulKernel.cu"),
        ("MPS", f"{native}/mps/operations/Unary.mm"),
    }


def test_a_limit_shows_less_and_all_shows_all(run: Run, still: Path) -> None:
    whole = json.loads(run("trace", "mul", "--all", "--json").out)
    assert whole["shown"] == whole["total"] > 2
    some = json.loads(run("trace", "mul", "--limit", "2", "--json").out)
    assert (some["shown"], some["total"]) == (2, whole["total"])
    text = run("trace", "mul", "--limit", "2").out
    assert text.splitlines()[-1] == f"{whole['total'] - 2} more: --all"
    assert len(text) < len(run("trace", "mul", "--all").out)


@pytest.mark.parametrize("arguments", [("trace", "matmull"), ("trace", "no.such.name"), ("search", "zzzqqq")])
def test_what_does_not_exist_is_exit_1(run: Run, still: Path, arguments: tuple[str, ...]) -> None:
    text = run(*arguments)
    assert text.code == 1
    assert "Traceback" not in text.err
    answer = json.loads(run(*arguments, "--json").out)
    assert (answer["items"], answer["total"]) == ([], 0)


def test_nothing_found_names_the_nearest(run: Run, still: Path) -> None:
    shown = run("trace", "matmull")
    assert "Function not found" in shown.out + shown.err
    assert "matmul" in shown.out + shown.err
    assert ".cpp:" not in shown.out


def test_search_by_backend_and_mode(run: Run, still: Path) -> None:
    found = json.loads(run("search", "mul", "--backend", "CUDA", "--json").out)
    assert found["items"]
    assert {item.get("dispatch_key") for item in found["items"]} == {"CUDA"}
    kernels = json.loads(run("search", "softmax", "--mode", "kernels", "--json").out)
    assert "softmax_forward_kernel" in str(kernels["items"])
    assert json.loads(run("search", "a", "--limit", "3", "--json").out)["shown"] == 3
    assert run("search", "mul", "--backend", "TOASTER").code == 2


def test_status_counts(run: Run, still: Path) -> None:
    shown = json.loads(run("status", "--json").out)
    assert shown["by_name"] == {"files": shown["by_name"]["files"], "waiting": 0}
    assert shown["by_name"]["files"] > 30
    assert (shown["harness"], shown["complete"]) == ("pytorch", True)
    text = run("status").out
    assert str(still) in text
    assert "pytorch" in text


def test_odd_names_and_control_characters_harm_nothing(run: Run, known: Path) -> None:
    (known / "aten/src/ATen/native/odd.cpp").write_bytes(
        b"// \x1b[31m\nint odd_\xe9\x1b[2J_name() { return 1; }\n"
    )
    for name in (
        "\x1b[31m",
        "a" * 5000,
        "%s%n",
        "'; DROP TABLE file;--",
        "..",
        "::",
        "aten::",
        "é",
        "\udce9",
    ):
        shown = run("trace", name)
        assert shown.code in (0, 1)
        assert "Traceback" not in shown.err
        assert "\x1b" not in shown.out + shown.err
    assert run("trace", "odd_").code in (0, 1)


def test_another_writer_is_said_and_what_is_there_is_read(run: Run, known: Path) -> None:
    assert run("trace", "mul").code == 0
    held = lock.acquire(index_folder(known, os.environ))
    try:
        shown = run("trace", "mul")
    finally:
        held.release()
    assert shown.code == 0
    assert "BinaryOpsKernel.cpp" in shown.out
    assert f"process {os.getpid()}" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_a_damaged_index_is_set_aside_with_a_line(run: Run, known: Path) -> None:
    assert run("trace", "mul").code == 0
    database = index_folder(known, os.environ) / "index.db"
    database.write_bytes(b"garbage" * 4000)
    shown = run("trace", "mul")
    assert shown.code == 0
    assert "set aside" in shown.err
    assert run("trace", "mul").err == ""


def test_a_wrong_manifest_is_told_with_its_line(run: Run, known: Path) -> None:
    (known / ".torchtalk.toml").write_text(
        'format = 1\nname = "mine"\nextends = "pytorch"\nfrob = 1\n', "utf-8"
    )
    run("status").told(2, ".torchtalk.toml:4", "frob")


def test_a_wrong_configuration_is_named(run: Run, known: Path) -> None:
    config_path(os.environ).write_text("[torchtalkd\n", "utf-8")
    run("status").told(2, str(config_path(os.environ)))
