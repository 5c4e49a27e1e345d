"""The recipes of clients/ci: their shell lines, word for word, in a real repository with a few commits.

What belongs to the service that runs them is played: checkouts are clones, the artifact is a folder, and
`gh` and `pip` are scripts of a few lines.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import DEMO_TREE, REPOSITORY
from tests.daemons import Home

RECIPES = REPOSITORY / "clients" / "ci"

pytestmark = pytest.mark.skipif(
    not (shutil.which("git") and shutil.which("jq") and shutil.which("bash")), reason="needs git, jq, bash"
)


class Runner:
    """A machine of the service: a clone, a home, a folder of artifacts that all machines share."""

    def __init__(self, folder: Path, origin: Path, branch: str, artifacts: Path) -> None:
        folder.mkdir()
        self.tree = folder / "checkout"
        self.home = Home(folder)
        programs = folder / "bin"
        programs.mkdir()
        self.environment = {
            **self.home.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "ARTIFACTS": str(artifacts),
            "GITHUB_BASE_REF": "main",
        }
        self._script(programs / "torchtalkd", f'exec "{sys.executable}" -m torchtalkd "$@"')
        self._script(programs / "pip", '[ "$*" = "install torchtalkd" ]')
        self._script(
            programs / "gh",
            '[ "$2" = list ] && echo 1 || cp "$ARTIFACTS/$5"/* .',
        )
        git(folder, "clone", "-q", "-b", branch, str(origin), str(self.tree))

    def job(self, recipe: str, name: str) -> list[str]:
        """Runs the steps of a job in order; what each shell step printed. Stops at the first that fails."""
        steps = yaml.safe_load((RECIPES / recipe).read_text("utf-8"))["jobs"][name]["steps"]
        return [self._shell(step["run"]) for step in steps if self._is_ours(step)]

    def _is_ours(self, step: dict[str, Any]) -> bool:
        if "upload-artifact" in step.get("uses", ""):
            target = Path(self.environment["ARTIFACTS"]) / step["with"]["name"]
            target.mkdir(parents=True)
            shutil.copy(self.tree / step["with"]["path"], target)
        return "run" in step

    def _shell(self, text: str) -> str:
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
            cwd=self.tree,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, (text, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return done.stdout

    @staticmethod
    def _script(path: Path, text: str) -> None:
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


def git(folder: Path, *arguments: str) -> None:
    """Git, as somebody."""
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **who}, check=True, capture_output=True
    )


def origin_of(tree: Path, folder: Path) -> Path:
    """A repository of a tree: two commits on main, and a branch with one more."""
    shutil.copytree(tree, folder, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "one")
    (folder / "aten/src/ATen/native/Added.cpp").write_text("namespace at::native { void added() {} }\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "two")
    git(folder, "checkout", "-q", "-b", "change")
    for path in ("aten/src/ATen/native/TensorShape.cpp", "aten/src/ATen/native/DispatchStub.h"):
        with open(folder / path, "a", encoding="utf-8") as file:
            file.write("\n// changed\n")
    git(folder, "rm", "-q", "aten/src/ATen/native/Added.cpp")
    git(folder, "commit", "-q", "-a", "-m", "three")
    git(folder, "checkout", "-q", "main")
    return folder


def played(tree: Path, folder: Path) -> None:
    """Both recipes, on three machines."""
    origin = origin_of(tree, folder / "origin")
    artifacts = folder / "artifacts"
    runners = []
    try:
        nightly = Runner(folder / "n", origin, "main", artifacts)
        runners.append(nightly)
        nightly.job("nightly.yml", "snapshot")
        agent = Runner(folder / "p", origin, "change", artifacts)
        runners.append(agent)
        told = agent.job("pull-request.yml", "agent")
        assert any("(the nearest ancestor)" in out for out in told)
        assert any("1 file removed, 2 files modified" in out for out in told)
        assert told[-1] == "2\n"
        affected = Runner(folder / "q", origin, "change", artifacts)
        runners.append(affected)
        told = affected.job("pull-request.yml", "affected")
        (updated,) = (out for out in told if "since baseline: 3 files differ, 1 of them headers" in out)
        assert ", 0 units" not in updated
        assert set(told[-1].split()) <= {
            path.relative_to(affected.tree).as_posix() for path in affected.tree.rglob("*.py")
        }
        played_action(affected)
    finally:
        for runner in runners:
            runner.home.end()


def played_action(runner: Runner) -> None:
    """The action's shell lines, with the inputs that a workflow gives it."""
    action = yaml.safe_load((RECIPES / "action.yml").read_text("utf-8"))
    summary, outputs = runner.tree.parent / "summary.md", runner.tree.parent / "outputs"
    given = {"SOURCE": str(runner.tree), "SINCE": "origin/main", "DEPTH": "3", "INSTALL": "torchtalkd"}
    runner.environment |= {
        **given,
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(outputs),
        "RUNNER_TEMP": str(runner.tree.parent),
    }
    for step in action["runs"]["steps"]:
        assert set(step.get("env", {})) <= set(given)
        runner._shell(step["run"])
    said = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    assert set(said) == set(action["outputs"])
    assert "### Affected tests" in summary.read_text()
    assert json.loads(Path(said["json"]).read_text())["total"] >= 1
    assert said["everything"] in ("true", "false")


def test_the_recipes_do_what_they_say(tmp_path_factory: pytest.TempPathFactory) -> None:
    played(DEMO_TREE, tmp_path_factory.mktemp("ci"))


@pytest.mark.full
@pytest.mark.real_tree
def test_the_recipes_on_pytorch(pytorch_tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    played(pytorch_tree, tmp_path_factory.mktemp("ci"))
