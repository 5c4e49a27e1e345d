"""The command line as a process of its own: pipes, signals, rights, disks, and company."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

COMMAND = [sys.executable, "-m", "torchtalkd"]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The environment of a user with an empty home."""
    clean = {name: value for name, value in os.environ.items() if "TORCHTALK" not in name}
    paths = os.pathsep.join([str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])])
    return clean | {
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PYTHONPATH": paths,
        # A daemon would outlive the test; tests/test_daemon_cli.py is about those.
        "TORCHTALK_NO_DAEMON": "1",
        "TORCHTALK_EXACT": "off",
    }


def command(
    environ: dict[str, str], *arguments: object, prefix: list[str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*(prefix or []), *COMMAND, *map(str, arguments)],
        env=environ,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def told(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    assert (done.returncode, done.stdout) == (code, ""), done
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def test_the_program_runs_as_a_module(environ: dict[str, str], mini_tree: Path) -> None:
    done = command(environ, "trace", "matmul", "--json", "--source", mini_tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["items"]


def test_a_reader_that_leaves_early_is_no_error(environ: dict[str, str], mini_tree: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [*COMMAND, "trace", "mul", "--json", "--source", str(mini_tree)],
            env=environ,
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_lead_nowhere(environ: dict[str, str], mini_tree: Path, closed: str) -> None:
    words = [*COMMAND, "trace", "matmul", "--source", str(mini_tree)]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *words],
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done
    assert "mistake" not in done.stderr
    assert ("matmul" in done.stdout) == (" >&-" not in f" {closed}")
    # What was written by others is as they left it.
    again = command(environ, "trace", "matmul", "--source", mini_tree)
    assert (again.returncode, again.stderr) == (0, "")


def test_two_first_commands_at_the_same_moment(environ: dict[str, str], mini_tree: Path) -> None:
    running = [
        subprocess.Popen(
            [*COMMAND, "trace", name, "--json", "--source", str(mini_tree)],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("mul", "matmul", "sigmoid")
    ]
    for process in running:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert "Traceback" not in err
        answer = json.loads(out)
        assert answer["items"]
        assert answer["complete"]
    assert command(environ, "status", "--source", mini_tree).returncode == 0


@pytest.mark.parametrize("everyone", [False, True], ids=["one process", "the terminal's group"])
def test_an_interrupted_build_leaves_nothing_behind(
    environ: dict[str, str], mini_tree: Path, everyone: bool
) -> None:
    body = "".join(f"def f{n}(a, b=[1, 2]):\n    return g{n}(a)[b] + h{n}(a).x\n\n" for n in range(400))
    for n in range(250):
        (mini_tree / "torch" / f"many_{n}.py").write_text(body, "utf-8")
    process = subprocess.Popen(
        [*COMMAND, "index", "build", "--source", str(mini_tree)],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    first = process.stderr.readline()
    assert "files to read" in first
    (os.killpg if everyone else os.kill)(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, ""), err
    assert "interrupted" in err
    assert "Traceback" not in err
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    folder = next((Path(environ["XDG_CACHE_HOME"]) / "torchtalk").iterdir())
    assert not (folder / "index.db").exists()
    done = command(environ, "index", "build", "--source", mini_tree)
    assert done.returncode == 0, done.stderr
    assert "revision 1" in done.stdout


def test_progress_is_two_lines_where_no_terminal_is(environ: dict[str, str], mini_tree: Path) -> None:
    for n in range(250):
        (mini_tree / "torch" / f"many_{n}.py").write_text(f"def f{n}(): ...\n", "utf-8")
    done = command(environ, "index", "build", "--source", mini_tree)
    assert done.returncode == 0
    assert "\r" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert str(mini_tree) in done.stderr


# -- what only some systems can try


def ordinary() -> list[str]:
    """What makes even root obey the rights of files."""
    if os.geteuid():
        return []
    prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    try:
        subprocess.run([*prefix, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("root obeys no rights here, and setpriv cannot change that")
    return prefix


def mounted(script: str) -> list[str]:
    """What runs a command after mounts that nobody else sees."""
    prefix = ["unshare", "--mount", "sh", "-ec", f'{script}; exec "$@"', "sh"]
    try:
        subprocess.run([*prefix, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("mounting needs root and namespaces")
    return prefix


def test_a_tree_that_may_not_be_read(environ: dict[str, str], mini_tree: Path) -> None:
    prefix = ordinary()
    mini_tree.chmod(0)
    try:
        told(
            command(environ, "status", "--source", mini_tree, prefix=prefix),
            2,
            "cannot read",
            "Permission denied",
        )
    finally:
        mini_tree.chmod(0o755)
    assert command(environ, "status", "--source", mini_tree, prefix=prefix).returncode == 0


def test_a_file_that_may_not_be_read_is_said(environ: dict[str, str], mini_tree: Path) -> None:
    prefix = ordinary()
    path = mini_tree / "torch" / "functional.py"
    path.chmod(0)
    done = command(environ, "index", "build", "--source", mini_tree, prefix=prefix)
    assert done.returncode == 1
    assert "torch/functional.py" in done.stderr
    assert "incomplete" in done.stdout
    path.chmod(0o644)
    assert command(environ, "index", "build", "--source", mini_tree, prefix=prefix).returncode == 0


def test_a_cache_that_may_not_be_written(environ: dict[str, str], mini_tree: Path) -> None:
    prefix = ordinary()
    cache = Path(environ["XDG_CACHE_HOME"])
    cache.mkdir()
    cache.chmod(0o500)
    told(
        command(environ, "trace", "mul", "--source", mini_tree, prefix=prefix),
        1,
        "Permission denied",
        "XDG_CACHE_HOME",
    )
    cache.chmod(0o700)
    assert command(environ, "trace", "mul", "--source", mini_tree, prefix=prefix).returncode == 0
    for path in [*cache.rglob("*")]:
        path.chmod(0o500 if path.is_dir() else 0o400)
    done = command(environ, "trace", "mul", "--source", mini_tree, prefix=prefix)
    assert done.returncode == 0
    assert "BinaryOpsKernel.cpp" in done.stdout
    assert "not brought up to date" in done.stderr
    for path in [*cache.rglob("*")]:
        path.chmod(0o700)


def test_a_source_that_is_read_only(environ: dict[str, str], mini_tree: Path) -> None:
    prefix = mounted(f"mount --bind '{mini_tree}' '{mini_tree}'; mount -o remount,ro,bind '{mini_tree}'")
    before = sorted(mini_tree.rglob("*"))
    done = command(environ, "trace", "mul", "--source", mini_tree, prefix=prefix)
    assert (done.returncode, done.stderr) == (0, "")
    assert sorted(mini_tree.rglob("*")) == before


def test_a_full_disk(environ: dict[str, str], mini_tree: Path) -> None:
    cache = Path(environ["XDG_CACHE_HOME"])
    cache.mkdir()
    prefix = mounted(f"mount -t tmpfs -o size=64k tmpfs '{cache}'")
    told(command(environ, "trace", "mul", "--source", mini_tree, prefix=prefix), 1, "full")
    assert command(environ, "trace", "mul", "--source", mini_tree).returncode == 0


def test_a_read_only_file_system_for_the_cache(environ: dict[str, str], mini_tree: Path) -> None:
    cache = Path(environ["XDG_CACHE_HOME"])
    cache.mkdir()
    prefix = mounted(f"mount --bind '{cache}' '{cache}'; mount -o remount,ro,bind '{cache}'")
    told(command(environ, "trace", "mul", "--source", mini_tree, prefix=prefix), 1, "XDG_CACHE_HOME")
    assert command(environ, "trace", "mul", "--source", mini_tree).returncode == 0
    done = command(environ, "trace", "mul", "--source", mini_tree, prefix=prefix)
    assert done.returncode == 0
    assert "BinaryOpsKernel.cpp" in done.stdout
