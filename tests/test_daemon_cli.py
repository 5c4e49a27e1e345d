"""The command line with a daemon: what starts one, what never does, and that the answers are the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.daemons import PATIENCE, Home, alive, children, new_home, until
from torchtalkd import wire
from torchtalkd.cache import index_folder
from torchtalkd.store import lock


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as home:
        yield home


def grown(tree: Path, files: int, functions: int) -> None:
    """Makes a tree take a while to read."""
    body = "".join(f"def f{n}(a, b=[1, 2]):\n    return g{n}(a)[b] + h{n}(a).x\n\n" for n in range(functions))
    for n in range(files):
        (tree / "torch" / f"many_{n}.py").write_text(body, "utf-8")


# -- what starts one


@pytest.mark.parametrize(
    "arguments",
    [
        *[("status",), ("status", "--socket"), ("status", "--json"), ("stop",), ("stop", "--all"), ("logs",)],
        *[("roots",), ("--version",), ("--help",), ("trace", "mul", "--no-daemon"), ("index", "build")],
    ],
    ids=" ".join,
)
def test_it_starts_none_and_leaves_none(home: Home, mini_tree: Path, arguments: tuple[str, ...]) -> None:
    home.environ["TORCHTALK_SOURCE"] = str(mini_tree)
    done = home.run(*arguments)
    assert done.returncode == (1 if arguments == ("logs",) else 0), done
    assert not home.run_folder.exists()


@pytest.mark.parametrize("arguments", [("trace", "mul"), ("search", "mul"), ("restart",)], ids=" ".join)
def test_it_starts_one(home: Home, mini_tree: Path, arguments: tuple[str, ...]) -> None:
    home.environ["TORCHTALK_SOURCE"] = str(mini_tree)
    done = home.run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(home.daemons()) == 1


def test_a_variable_keeps_it_away(home: Home, mini_tree: Path) -> None:
    home.environ["TORCHTALK_NO_DAEMON"] = "1"
    assert home.run("trace", "mul", "--source", mini_tree).returncode == 0
    assert not home.run_folder.exists()


# -- the same answers


@pytest.mark.parametrize(
    "arguments",
    [
        ("trace", "mul"),
        ("trace", "mul", "dispatch"),
        ("trace", "mul", "--json"),
        ("trace", "mul", "--limit", "2"),
        ("trace", "mul", "--all"),
        ("trace", "mul", "--path", "cpu"),
        ("dispatch", "mul"),
        ("dispatch", "--all", "--json"),
        ("dispatch", "mull"),
        ("ops", "--composite"),
        ("problems",),
        ("trace", "matmull"),
        ("trace", "matmull", "--json"),
        ("trace", "\udce9"),
        ("search", "mul", "--backend", "CUDA"),
        ("search", "mul", "--backend", "TOASTER"),
        ("search", "softmax", "--mode", "kernels", "--json"),
        ("search", "zzzqqq"),
    ],
    ids=lambda arguments: ascii(" ".join(arguments)),
)
def test_with_and_without_it_the_same_is_said(
    home: Home, mini_tree: Path, arguments: tuple[str, ...]
) -> None:
    with_it = home.run(*arguments, "--source", mini_tree)
    without = home.run(*arguments, "--source", mini_tree, "--no-daemon")
    assert (with_it.returncode, with_it.stdout, with_it.stderr) == (
        without.returncode,
        without.stdout,
        without.stderr,
    )
    assert len(home.daemons()) == 1


@pytest.mark.parametrize("arguments", [("trace", "mul"), ("index", "build")], ids=" ".join)
def test_failures_are_told_as_without_it(home: Home, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    home.run("restart")
    for source, words in ((tmp_path / "gone", "does not exist"), (tmp_path, "does not look like")):
        done = home.run(*arguments, "--source", source)
        assert (done.returncode, done.stdout) == (2, "")
        assert words in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_wrong_manifest_is_told(home: Home, mini_tree: Path) -> None:
    (mini_tree / ".torchtalk.toml").write_text(
        'format = 1\nname = "mine"\nextends = "pytorch"\nfrob = 1\n', "utf-8"
    )
    done = home.run("trace", "mul", "--source", mini_tree)
    assert (done.returncode, done.stdout) == (2, "")
    assert ".torchtalk.toml:4" in done.stderr


def test_the_clients_folder_and_variables_count_not_the_daemons(
    home: Home, mini_tree: Path, extension_tree: Path
) -> None:
    home.environ["TORCHTALK_SOURCE"] = str(mini_tree)
    assert home.json("trace", "mul")["root"] == str(mini_tree)
    home.environ["TORCHTALK_SOURCE"] = str(extension_tree)
    assert home.json("trace", "mul")["root"] == str(extension_tree)
    # Another cache: the same daemon, another index.
    home.environ["XDG_CACHE_HOME"] = str(home.folder / "other")
    home.environ["TORCHTALK_SOURCE"] = str(mini_tree)
    assert home.json("trace", "mul")["total"]
    assert len(home.daemons()) == 1
    assert (home.folder / "other" / "torchtalk").is_dir()


def test_an_edit_shows_in_the_next_answer(home: Home, mini_tree: Path) -> None:
    path = mini_tree / "torch" / "functional.py"
    before = path.read_text("utf-8")
    for n in range(3):
        path.write_text(before + f"\ndef edited_{n}(): ...\n", "utf-8")
        answer = home.json("trace", f"edited_{n}", "--source", mini_tree)
        assert answer["total"] == 1, answer
    path.write_text(before, "utf-8")
    assert home.json("trace", "edited_2", "--source", mini_tree)["total"] == 0


def test_a_rebuild_by_another_process_is_served(home: Home, mini_tree: Path) -> None:
    assert home.json("trace", "mul", "--source", mini_tree)["revision"] == 1
    (mini_tree / "torch" / "more.py").write_text("def more(): ...\n", "utf-8")
    assert home.run("index", "build", "--no-daemon", "--source", mini_tree).returncode == 0
    assert home.json("trace", "more", "--source", mini_tree)["revision"] == 2
    assert home.run("forget", mini_tree).returncode == 0
    assert home.json("trace", "more", "--source", mini_tree)["revision"] == 1


def test_build_goes_through_the_daemon_that_runs(home: Home, mini_tree: Path) -> None:
    home.run("restart")
    done = home.run("index", "build", "--source", mini_tree, "--workers", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert "revision 1" in done.stdout
    assert "index build, about" in home.log()
    built = home.json("index", "build", "--source", mini_tree)
    assert (built["built"]["parsed"], built["by_name"]["waiting"]) == (0, 0)


# -- beside it


def test_status_shows_the_daemon_and_its_roots(home: Home, mini_tree: Path) -> None:
    home.run("trace", "mul", "--source", mini_tree)
    shown = home.json("status", "--source", mini_tree)
    assert shown["daemon"]["pid"] == home.pid()
    assert shown["daemon"]["build"] == wire.build_id()
    assert [root["root"] for root in shown["daemon"]["roots"]] == [str(mini_tree)]
    assert shown["other_daemons"] == []
    text = home.run("status", "--source", mini_tree).stdout
    assert f"process {home.pid()}" in text
    assert home.run("status", "--socket").stdout.strip() == str(home.socket())
    # Without any tree it is still shown.
    assert f"process {home.pid()}" in home.run("status").stdout


def test_status_counts_what_is_waiting(home: Home, mini_tree: Path) -> None:
    home.environ["TORCHTALK_NO_DAEMON"] = "1"
    assert "not indexed yet" in home.run("status", "--source", mini_tree).stdout
    home.run("index", "build", "--source", mini_tree)
    assert home.json("status", "--source", mini_tree)["waiting"] == 0
    (mini_tree / "torch" / "new.py").write_text("", "utf-8")
    (mini_tree / "torch" / "functional.py").unlink()
    assert home.json("status", "--source", mini_tree)["waiting"] == 2


def test_it_answers_while_it_indexes(home: Home, mini_tree: Path) -> None:
    grown(mini_tree, files=400, functions=300)
    building = home.start("trace", "mul", "--source", mini_tree)
    assert building.stderr is not None
    assert "files to read" in building.stderr.readline()
    shown = home.json("status", "--source", mini_tree)
    state = shown["daemon"]["roots"][0]
    assert state["indexing"]
    assert 0 <= state["done"] <= state["total"]
    assert home.run("logs").returncode == 0
    assert home.run("roots").returncode == 0
    # The tree is ours, the daemon is not busy: stop means stop, and leaves no process.
    started = children(home.pid())
    assert home.json("stop")["stopped"]
    out, err = building.communicate(timeout=PATIENCE)
    # What was asked is answered without it.
    assert building.returncode == 0, err
    assert "BinaryOpsKernel.cpp" in out
    until(lambda: not any(alive(child) for child in started), "what it had started ends")


def test_an_interrupt_ends_the_command_not_the_daemon(home: Home, mini_tree: Path) -> None:
    grown(mini_tree, files=400, functions=100)
    asking = home.start("trace", "mul", "--source", mini_tree)
    assert asking.stderr is not None
    assert "files to read" in asking.stderr.readline()
    asking.send_signal(signal.SIGINT)
    out, err = asking.communicate(timeout=PATIENCE)
    assert (asking.returncode, out) == (130, "")
    assert "interrupted" in err
    assert len(home.daemons()) == 1
    assert home.run("trace", "mul", "--source", mini_tree).returncode == 0


def test_one_that_hangs_is_said_and_can_be_stopped(home: Home, mini_tree: Path) -> None:
    home.run("restart")
    pid = home.pid()
    os.kill(pid, signal.SIGSTOP)
    assert "does not answer" in home.run("status").stdout
    assert home.json("stop")["stopped"] == [pid]
    until(lambda: not alive(pid), "it is gone")


def test_a_folder_that_is_open_to_others_is_not_used(home: Home, mini_tree: Path) -> None:
    home.run_folder.mkdir()
    home.run_folder.chmod(0o755)
    done = home.run("trace", "mul", "--source", mini_tree)
    assert done.returncode == 0
    assert "chmod 700" in done.stderr
    assert list(home.run_folder.iterdir()) == []


def test_a_reader_that_leaves_early_is_no_error(home: Home, mini_tree: Path) -> None:
    home.run("trace", "mul", "--source", mini_tree)
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "torchtalkd", "trace", "mul", "--source", str(mini_tree)],
            env=home.environ,
            cwd="/",
            stdout=write,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        os.close(write)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_that_asks_the_daemon_imports_next_to_nothing(home: Home, mini_tree: Path) -> None:
    home.run("trace", "mul", "--source", mini_tree)
    done = home.start("trace", "mul", "--source", mini_tree, "--json")
    done.communicate(timeout=PATIENCE)
    program = (
        "import json, sys; from torchtalkd.cli import main;"
        f" code = main(['trace', 'mul', '--source', {str(mini_tree)!r}]);"
        " print('\\n' + json.dumps(sorted(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-S", "-c", program],
        env=home.environ,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    loaded = set(json.loads(shown.splitlines()[-1]))
    heavy = {"mcp", "pygls", "tree_sitter", "yaml", "clang", "sqlite3", "asyncio", "tomllib", "subprocess"}
    assert not heavy & loaded
    ours = {name for name in loaded if name.startswith("torchtalkd.") and not name.endswith("_arguments")}
    assert ours == {
        "torchtalkd.cli",
        "torchtalkd.frontends",
        "torchtalkd.frontends.command",
        "torchtalkd.frontends.command.remote",
        "torchtalkd.run_folder",
        "torchtalkd.wire",
    }


def test_build_beside_another_writer_reads_what_is_there(home: Home, mini_tree: Path) -> None:
    home.run("trace", "mul", "--source", mini_tree)
    held = lock.acquire(index_folder(mini_tree, home.environ))
    try:
        done = home.run("index", "build", "--source", mini_tree)
        asked = home.run("trace", "mul", "--source", mini_tree)
    finally:
        held.release()
    assert done.returncode == 0
    for shown in (done, asked):
        assert f"process {os.getpid()}" in shown.stderr
        assert len(shown.stderr.splitlines()) == 1
    assert "BinaryOpsKernel.cpp" in asked.stdout
    assert home.run("trace", "mul", "--source", mini_tree).stderr == ""
