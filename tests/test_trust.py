"""`trust`, `untrust`, `init --trust`: who lets a tree's own code run, and who does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.compiling import compiled_tree
from tests.conftest import REPOSITORY
from torchtalkd import cli
from torchtalkd.cache import index_folder
from torchtalkd.compilation import made_folder
from torchtalkd.config import config_path, read_config


@pytest.fixture(autouse=True)
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    made = {f"XDG_{name}_HOME": str(tmp_path / name.lower()) for name in ("CONFIG", "CACHE")}
    for name, value in made.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return compiled_tree(tmp_path / "pytorch")


class Asking:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        self._capsys.readouterr()
        code = cli.main([str(argument) for argument in arguments])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def json(self, *arguments: object) -> dict[str, Any]:
        answer = json.loads(self(*arguments, "--json")[1])
        assert isinstance(answer, dict)
        return answer


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Asking:
    return Asking(capsys)


def made(root: Path, environ: dict[str, str]) -> Path:
    return made_folder(index_folder(root, environ))


def test_trust_remembers_the_code_and_makes_its_headers(
    root: Path, ask: Asking, environ: dict[str, str]
) -> None:
    code, out, err = ask("trust", root)
    assert code == 0
    assert f"{root} is trusted: torchgen.gen, tools.setup_helpers.generate_code may run" in out
    assert "headers are generated" in out
    assert "torchgen.gen runs" in err
    assert (made(root, environ) / "aten/src/ATen/ops/add.h").exists()
    assert (made(root, environ) / "aten/src/ATen/Config.h").read_text() == "#define AT_MKL_ENABLED() 0\n"
    assert list(read_config(environ).trusted) == [str(root)]
    # A second time there is nothing to do.
    assert "runs" not in ask("trust", root)[2]


def test_trust_can_wait_and_be_taken_back(root: Path, ask: Asking, environ: dict[str, str]) -> None:
    done = ask.json("trust", root, "--no-run")
    assert (done["state"], done["runs"]) == (
        "outdated",
        ["torchgen.gen", "tools.setup_helpers.generate_code"],
    )
    assert not made(root, environ).exists()
    assert ask.json("trust", "--list")["trusted"] == [
        {"root": str(root), "code": done["code"], "state": "outdated"}
    ]
    ask("trust", root)
    assert "current" in ask("trust", "--list")[1]
    assert ask("untrust", root)[0] == 0
    assert not made(root, environ).exists()
    assert read_config(environ).trusted == {}
    assert ask("untrust", root)[0] == 1
    assert ask.json("trust", "--list") == {"trusted": [], "total": 0}


def test_another_digest_asks_again(root: Path, ask: Asking) -> None:
    ask("trust", root)
    (root / "torchgen/gen.py").write_text("raise SystemExit(1)\n")
    assert "changed" in ask("trust", "--list")[1]
    told = ask.json("status", "--compile", "--source", root)["generated"]
    assert told["state"] == "changed"
    assert f"torchtalkd trust {root}" in told["sentence"]
    # What fails is said, and what was made before is kept.
    code, out, _ = ask("trust", root)
    assert code == 1
    assert "torchgen.gen failed with exit code 1" in out


def test_code_beside_the_generators_is_part_of_what_is_trusted(root: Path, ask: Asking) -> None:
    ask("trust", root)
    (root / "tools/autograd/new.py").write_text("")
    assert ask.json("status", "--compile", "--source", root)["generated"]["state"] == "changed"


def test_init_does_both(root: Path, ask: Asking, environ: dict[str, str]) -> None:
    code, out, _ = ask("init", "--source", root)
    assert (code, read_config(environ).trusted) == (0, {})
    assert not made(root, environ).exists()
    code, out, _ = ask("init", "--source", root, "--trust")
    assert code == 0
    assert "is trusted" in out
    assert (made(root, environ) / "aten/src/ATen/ops/add.h").exists()
    assert str(root) in read_config(environ).sources


def test_forget_forgets_trust_and_what_was_made(root: Path, ask: Asking, environ: dict[str, str]) -> None:
    ask("init", "--source", root, "--trust", "--compile-commands", root)
    ask("index", "build", "--source", root, "--no-daemon")
    assert read_config(environ).compile_commands == {str(root): str(root)}
    assert ask("forget", root)[0] == 0
    assert str(root) not in config_path(environ).read_text()
    assert not made(root, environ).parent.exists()


def test_forget_of_a_tree_that_was_only_trusted(root: Path, ask: Asking, environ: dict[str, str]) -> None:
    ask("trust", root)
    assert ask("forget", root)[0] == 0
    assert read_config(environ).trusted == {}
    assert not index_folder(root, environ).exists()


def test_a_tree_without_a_generator_has_nothing_to_trust(tmp_path: Path, ask: Asking) -> None:
    (tmp_path / "ext").mkdir()
    (tmp_path / "ext/setup.py").write_text("from torch.utils.cpp_extension import CppExtension\n")
    code, out, _ = ask("trust", tmp_path / "ext")
    assert code == 1
    assert "has no code that generates headers, as a tree of torch-extension" in out
    assert ask("trust")[0] == 2
    assert ask("trust", tmp_path / "absent")[0] == 2


def test_a_database_is_named_once(root: Path, tmp_path: Path, ask: Asking) -> None:
    build = tmp_path / "elsewhere"
    build.mkdir()
    entry = {
        "directory": ".",
        "command": "c++ -DMINE -c x",
        "file": str(root / "aten/src/ATen/native/Add.cpp"),
    }
    (build / "compile_commands.json").write_text(json.dumps([entry]))
    code, out, _ = ask("init", "--source", root, "--compile-commands", "elsewhere")
    assert code == 0
    assert f"its units are compiled as {build} says" in out
    assert ask.json("status", "--compile", "--source", root)["database"] == str(
        build / "compile_commands.json"
    )
    code, _, err = ask("init", "--source", root, "--compile-commands", "absent")
    assert code == 2
    assert "does not exist" in err


@pytest.mark.parametrize("table", ["trusted", "compile_commands"])
def test_a_wrong_table_is_a_sentence(root: Path, ask: Asking, environ: dict[str, str], table: str) -> None:
    path = config_path(environ)
    path.parent.mkdir(parents=True)
    path.write_text(f'[torchtalkd.{table}]\n"/x" = 3\n')
    code, _, err = ask("trust", root)
    assert code == 2
    assert f"[torchtalkd.{table}] must be a table of strings" in err


def test_only_these_commands_grant_it() -> None:
    """Invariant: no editor and no agent lets a tree's code run. Nothing else writes that table."""
    writers = {
        path.relative_to(REPOSITORY).as_posix()
        for folder in ("torchtalkd", "clients")
        for path in (REPOSITORY / folder).rglob("*.py")
        if "TRUSTED" in path.read_text("utf-8")
    }
    assert writers == {"torchtalkd/config.py", "torchtalkd/frontends/command/trusting.py"}
    users = {
        path.relative_to(REPOSITORY).as_posix()
        for path in (REPOSITORY / "torchtalkd").rglob("*.py")
        if "command.trusting" in path.read_text("utf-8")
    }
    assert users == {"torchtalkd/frontends/command/sources.py"}
