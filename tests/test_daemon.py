"""The daemon: one of its kind, found and left in every way, and not to be harmed by a client."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE, REPOSITORY
from tests.daemons import PATIENCE, Home, alive, children, new_home, until
from torchtalkd import wire
from torchtalkd.cache import index_folder
from torchtalkd.daemon import host as hosts
from torchtalkd.daemon.claim import acquire, clear_old
from torchtalkd.daemon.host import Handle, Host
from torchtalkd.daemon.watching import Watching
from torchtalkd.frontends.host import NotReady
from torchtalkd.queries.search import search
from torchtalkd.queries.trace import trace
from torchtalkd.store import lock
from torchtalkd.store.view import View


@pytest.fixture
def home() -> Iterator[Home]:
    with new_home() as home:
        yield home


def begin(home: Home) -> int:
    """Starts a daemon; its process id."""
    assert home.run("restart").returncode == 0
    return home.pid()


# -- one of its kind


def test_it_is_private_and_alone(home: Home) -> None:
    begin(home)
    path = home.socket()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.with_suffix(".log").stat().st_mode) == 0o600
    assert acquire(path.with_suffix(".lock")) is None
    hello = home.daemons()[0].hello
    assert hello["build"] == path.stem == wire.build_id()
    assert Path(hello["package"]).parent == REPOSITORY


def test_many_first_clients_start_one(home: Home, mini_tree: Path) -> None:
    running = [home.start("trace", "mul", "--source", mini_tree) for _ in range(8)]
    for process in running:
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
        assert "BinaryOpsKernel.cpp" in out
    assert len(home.daemons()) == 1
    assert home.log().count("started:") == 1


def test_after_a_kill_the_socket_that_is_left_is_replaced(home: Home, mini_tree: Path) -> None:
    first = begin(home)
    path = home.socket()
    os.kill(first, signal.SIGKILL)
    until(lambda: not alive(first), "it is dead")
    assert path.exists()
    assert home.run("trace", "mul", "--source", mini_tree).returncode == 0
    assert home.pid() != first
    assert home.socket() == path


def test_stop_and_start_do_not_race(home: Home) -> None:
    seen = set()
    for _ in range(4):
        seen.add(begin(home))
        assert home.run("stop").returncode == 0
    seen.add(begin(home))
    assert len(seen) == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_cleanly(home: Home, number: signal.Signals) -> None:
    pid = begin(home)
    path = home.socket()
    os.kill(pid, number)
    until(lambda: not alive(pid), "it ends")
    assert not path.exists()
    assert home.log().rstrip().endswith(f"ended: process {pid}")
    assert number.name in home.log()


def test_without_use_it_ends(home: Home) -> None:
    home.environ["TORCHTALK_IDLE_SECONDS"] = "0.2"
    pid = begin(home)
    until(lambda: not alive(pid), "it ends")
    assert home.daemons() == []
    assert "ending: idle" in home.log()


def test_the_idle_time_can_be_configured(home: Home) -> None:
    folder = home.folder / "config" / "torchtalk"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[torchtalkd]\nidle_seconds = 0.2\n", "utf-8")
    pid = begin(home)
    until(lambda: not alive(pid), "it ends")


def test_without_its_socket_it_ends(home: Home) -> None:
    pid = begin(home)
    home.socket().unlink()
    until(lambda: not alive(pid), "it ends")


def test_a_file_system_without_sockets_gets_another_folder(home: Home) -> None:
    # A path that bind refuses stands for it: the folder is one where the name is a folder already.
    program = (
        "import errno, os, socket; from pathlib import Path; from torchtalkd.daemon import claim\n"
        "real = claim.Claim._bound\n"
        "def bound(self):\n"
        f"    if self.path.parent == Path({str(home.run_folder)!r}):\n"
        "        raise OSError(errno.EPERM, 'no sockets here')\n"
        "    return real(self)\n"
        "claim.Claim._bound = bound\n"
        f"made = claim.claim(Path({str(home.run_folder)!r}), 'abcd1234')\n"
        "print(made.path)\n"
    )
    home.run_folder.mkdir(mode=0o700)
    done = subprocess.run(
        [sys.executable, "-c", program], env=home.environ, cwd="/", capture_output=True, text=True, check=True
    )
    path = Path(done.stdout.strip())
    assert wire.run_folder(home.environ) == path.parent != home.run_folder
    shutil.rmtree(path.parent)


def test_what_dead_daemons_leave_is_cleared(home: Home) -> None:
    folder = wire.run_folder(home.environ)
    for build, age in (("00000001", 0), ("00000002", 90 * 86400)):
        for suffix in (".lock", ".sock", ".log"):
            (folder / (build + suffix)).touch()
        os.utime(folder / f"{build}.lock", (1e9 - age, 1e9 - age))
    os.utime(folder / "00000001.lock")
    clear_old(folder, "00000003")
    assert {path.name for path in folder.iterdir()} == {"00000001.lock", "00000001.log"}


# -- clients that do not behave


def said(home: Home, data: bytes) -> bytes:
    """What it answers to some bytes after its own hello, up to the end."""
    with home.raw() as opened:
        opened.sendall(data)
        opened.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := opened.recv(1 << 16):
            answer += piece
        return answer


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GET / HTTP/1.1\r\n\r\n",
        b"{}\n",
        b"[]\n",
        b"null\n",
        b'{"want": "everything"}\n',
        b'{"want": "control"}\n{"do": "harm"}\n',
        b'{"want": "command", "source": 7}\n',
        b'{"want": "command", "source": "a\\u0000b"}\n',
        b'{"want": "command"}\n{"argv": "trace"}\n',
        b'{"want": "command"}\n{"argv": ["trace"]}\n',
        b'{"want": "command"}\n{"argv": ["forget", "/"]}\n',
        b'{"want": "command", "environment": 3}\n',
        b"[" * 100_000 + b"\n",
        b"x" * (5 << 20),
        b"\xff\xfe\x00\n",
    ],
    ids=range(16),
)
def test_what_is_malformed_harms_nobody(home: Home, mini_tree: Path, data: bytes) -> None:
    pid = begin(home)
    with home.connected("control") as other:
        try:
            answer = said(home, data)
        except ConnectionError:
            answer = b""
        lines = [json.loads(line) for line in answer.splitlines()]
        assert all("error" in line or "exit" in line or "err" in line or "ok" in line for line in lines[1:])
        other.send({"do": "status"})
        assert other.read()["pid"] == pid
    assert "Traceback" not in home.log()


def test_a_client_that_reads_nothing_holds_up_nobody(home: Home, mini_tree: Path) -> None:
    pid = begin(home)
    with home.raw() as mute, home.raw():
        mute.sendall(
            json.dumps({"want": "command", "source": str(mini_tree), "environment": home.environ}).encode()
            + b"\n"
            + json.dumps({"argv": ["search", "a", "--limit", "100000", "--json"]}).encode()
            + b"\n"
        )
        assert home.run("trace", "mul", "--source", mini_tree).returncode == 0
    assert home.pid() == pid


def test_too_many_clients_are_told(home: Home) -> None:
    begin(home)
    many = [home.raw() for _ in range(200)]
    try:
        for opened in many:
            assert opened.recv(1 << 12)
        with home.raw() as opened:
            assert b"takes no more" in opened.recv(1 << 12)
    finally:
        for opened in many:
            opened.close()
    until(lambda: home.daemons()[0].hello, "there is room again")


# -- its log


def test_the_log_has_no_words_of_questions_or_trees(home: Home, mini_tree: Path) -> None:
    home.run("trace", "very_secret_name", "--source", mini_tree)
    home.run("search", "another_secret", "--source", mini_tree)
    assert "trace, about" in home.log()
    assert "secret" not in home.log()


def test_a_full_log_is_turned_over(home: Home) -> None:
    path = home.folder / "a.log"
    program = (
        "import os, sys; from pathlib import Path; from torchtalkd.daemon import log\n"
        f"path = Path({str(path)!r}); log.MOST_BYTES = 100; log.start_log(path)\n"
        "[log.log.info('line %d', n) for n in range(9)]\n"
    )
    with path.open("ab") as stream:
        subprocess.run(
            [sys.executable, "-c", program], env=home.environ, stdout=stream, stderr=stream, check=True
        )
    assert path.stat().st_size < 200
    assert "line" in path.with_suffix(".log.1").read_text("utf-8")


# -- builds


@pytest.fixture
def package() -> Iterator[Path]:
    """A copy of the program, to be changed."""
    with new_home() as other:
        for name in ("torchtalkd", "manifests", "clients"):
            shutil.copytree(
                REPOSITORY / name, other.folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        yield other.folder


def test_an_upgrade_is_served_by_its_own_daemon_and_the_older_one_retires(
    package: Path, mini_tree: Path
) -> None:
    with new_home(package) as home:
        assert home.run("trace", "mul", "--source", mini_tree).returncode == 0
        old = home.daemons()[0]
        with home.connected("command", source=str(mini_tree)) as session:
            (package / "torchtalkd" / "novelty.py").write_text('"""New."""\n', "utf-8")
            assert home.run("trace", "mul", "--source", mini_tree).returncode == 0
            builds = {running.hello["build"] for running in home.daemons()}
            assert len(builds) == 2
            assert old.hello["build"] in builds
            until(lambda: wire.control(old.socket, "status")["retiring"], "it is asked to retire")
            assert str(old.hello["pid"]) in home.run("status", "--source", mini_tree).stdout
            # Who is with the old one is still served there.
            session.send({"argv": ["trace", "mul", "--json"]})
            assert "out" in session.read()
        until(lambda: not alive(old.hello["pid"]), "it ends with its last client")
        assert len(home.daemons()) == 1


def test_a_quiet_session_is_sent_to_the_newer_one(package: Path, mini_tree: Path) -> None:
    with new_home(package) as home:
        assert home.run("trace", "mul", "--source", mini_tree).returncode == 0
        old = home.daemons()[0]
        with home.connected("mcp", source=str(mini_tree)) as session:
            assert session.answer["root"] == str(mini_tree)
            (package / "torchtalkd" / "novelty.py").write_text('"""New."""\n', "utf-8")
            assert home.run("restart").returncode == 0
            # The end of the connection, on which a bridge connects again.
            assert session.readline() == b""
        until(lambda: not alive(old.hello["pid"]), "it ends")


def test_another_installation_leaves_it_alone(package: Path, home: Home, mini_tree: Path) -> None:
    pid = begin(home)
    other = Home(home.folder, package)
    assert other.run("trace", "mul", "--source", mini_tree).returncode == 0
    assert len(home.daemons()) == 2
    until(lambda: "asked" not in home.log(), "nobody is asked to retire")
    assert not wire.control(
        next(running.socket for running in home.daemons() if running.hello["pid"] == pid), "status"
    )["retiring"]


def test_a_program_that_does_not_start_shows_the_end_of_its_log(package: Path, mini_tree: Path) -> None:
    server = package / "torchtalkd" / "daemon" / "server.py"
    server.write_text('"""Broken."""\nraise RuntimeError("this is broken")\n', "utf-8")
    with new_home(package) as home:
        process = home.start("restart")
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (1, "")
        assert "this is broken" in err
        # A question is answered all the same.
        process = home.start("trace", "mul", "--source", mini_tree)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert "BinaryOpsKernel.cpp" in out
        assert "done without it" in err


# -- trees


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "XDG_CONFIG_HOME": str(tmp_path / "config")}


def hosted(work: Callable[[Host], Awaitable[None]]) -> None:
    """Runs some work with a host of its own."""

    async def run() -> None:
        host = Host()
        try:
            async with asyncio.timeout(PATIENCE):
                await work(host)
        finally:
            await host.close()

    asyncio.run(run())


async def opened(host: Host, path: Path, environ: dict[str, str]) -> Handle:
    """A handle whose index is there."""
    handle = host.root(str(path), None, environment=environ)
    await (await handle.tree()).first()
    return handle


def test_a_root_is_indexed_in_the_background(environ: dict[str, str], mini_tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = host.root(str(mini_tree), None, environment=environ)
        assert handle.state().indexing
        tree = await handle.tree()
        await tree.first()
        state = handle.state()
        assert (state.root, state.harness, state.revision) == (str(mini_tree), "pytorch", 1)
        assert (state.error, state.waiting) == ("", 0)
        assert (await handle.ask(lambda view: trace(view, "mul"))).found

    hosted(work)


def test_a_wrong_root_is_said_not_raised(environ: dict[str, str], tmp_path: Path) -> None:
    async def work(host: Host) -> None:
        handle = host.root(str(tmp_path / "gone"), None, environment=environ)
        with pytest.raises(NotReady, match="does not exist"):
            await handle.ask(lambda view: view.revision)
        assert "does not exist" in handle.state().error

    hosted(work)


def test_edits_are_followed(environ: dict[str, str], mini_tree: Path) -> None:
    path = mini_tree / "aten/src/ATen/native/LinearAlgebra.cpp"

    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        before = path.read_text("utf-8")
        assert not (await handle.ask(lambda view: trace(view, "quite_new"), 10.0)).found
        for text in ("namespace at::native { int quite_new() { return 1; } }\n" + before, before):
            path.write_text(text, "utf-8")
            answer = await handle.ask(lambda view: trace(view, "quite_new"), 10.0)
            assert answer.found == ("quite_new" in text)
            assert answer.standing.waiting == 0

    hosted(work)


def test_an_open_tree_follows_its_own_manifest(environ: dict[str, str], extension_tree: Path) -> None:
    own = extension_tree / ".torchtalk.toml"
    head = 'format = 1\nname = "{0}"\nextends = "torch-extension"\n'
    shape = (
        '[cpp]\nshapes = [{ name = "WAVES_LIBRARY", shape = "torch_library", options = { form = "def" } }]\n'
    )
    source = extension_tree / "csrc" / "own.cpp"
    source.write_text('WAVES_LIBRARY(waves, m) { m.def("surge(Tensor x) -> Tensor"); }\n')

    async def work(host: Host) -> None:
        handle = await opened(host, extension_tree, environ)

        async def found() -> bool:
            return (await handle.ask(lambda view: trace(view, "waves::surge"), 10.0)).found

        assert not await found()
        own.write_text(head.format("first") + shape)
        assert await found()
        own.write_text(head.format("other"))
        assert not await found()
        own.write_text("format = 2\n")
        assert not await found()
        assert "format 2 is newer" in handle.state().error
        own.write_text(head.format("first") + shape)
        assert await found()
        assert handle.state().error == ""
        own.unlink()
        assert not await found()
        assert handle.state().error == ""

    hosted(work)


def test_a_wrong_manifest_is_a_wrong_call_through_the_daemon_too(home: Home, extension_tree: Path) -> None:
    assert home.run("trace", "ripple", "--source", extension_tree).returncode == 0
    own = extension_tree / ".torchtalk.toml"
    own.write_text("format = 1\n[fils]\n")
    for command in (["trace", "ripple"], ["index", "build"]):
        refused = home.run(*command, "--source", extension_tree)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith(f"torchtalkd: {own}:2: unknown field 'fils'")
    own.unlink()
    assert home.run("trace", "ripple", "--source", extension_tree).returncode == 0


def test_no_answer_cites_an_older_text(
    environ: dict[str, str], mini_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is heard of the tree, though it was promised.
    async def promised(_: Watching) -> bool:
        return True

    monkeypatch.setattr(Watching, "settled", promised)
    monkeypatch.setattr(Watching, "_pass_on", lambda self, age, batch: batch.sweep and self._heard(batch))
    path = mini_tree / "aten/src/ATen/native/LinearAlgebra.cpp"

    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)

        def lines(answer: Any) -> list[int]:
            return [item.line for item in answer.items if item.file.endswith("/LinearAlgebra.cpp")]

        first = lines(await handle.ask(lambda view: trace(view, "matmul"), 10.0))
        path.write_text("\n\n\n" + path.read_text("utf-8"), "utf-8")
        answer = await handle.ask(lambda view: trace(view, "matmul"), 10.0)
        assert lines(answer) == [line + 3 for line in first]
        # Touched only: one look, and then it is known again.
        os.utime(path, (1, 1))
        assert (await handle.ask(lambda view: trace(view, "matmul"), 10.0)).standing.waiting == 0

    hosted(work)


def test_a_question_is_not_held_up_by_a_long_build(environ: dict[str, str], mini_tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        held = lock.acquire(index_folder(mini_tree, environ))
        try:
            answer = await handle.ask(lambda view: trace(view, "mul"))
            assert answer.found
            assert answer.standing.waiting >= 1
            while "is being written by process" not in handle.state().error:
                await handle.ask(lambda view: trace(view, "mul"))
        finally:
            held.release()
        assert (await handle.ask(lambda view: trace(view, "mul"), 10.0)).standing.waiting == 0
        assert handle.state().error == ""

    hosted(work)


def test_a_damaged_index_is_built_anew(environ: dict[str, str], mini_tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        database = index_folder(mini_tree, environ) / "index.db"
        (await handle.tree()).rest()
        with database.open("r+b") as file:
            file.seek(4096)
            file.write(b"garbage!" * (database.stat().st_size // 8 - 600))
        assert (await handle.ask(lambda view: trace(view, "mul"), 10.0)).found
        database.unlink()
        assert (await handle.ask(lambda view: search(view, "mul"), 10.0)).found

    hosted(work)


@pytest.mark.parametrize("where", ["definition SET name", "meta SET value"])
def test_an_index_with_text_that_is_none_is_built_anew(
    environ: dict[str, str], mini_tree: Path, where: str
) -> None:
    """No check of SQLite's finds that, and no sweep reads the files again."""

    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        (await handle.tree()).rest()
        with closing(sqlite3.connect(index_folder(mini_tree, environ) / "index.db")) as db, db:
            db.execute(f"UPDATE {where} = CAST(x'6dff' AS TEXT)")
        assert (await handle.ask(lambda view: trace(view, "mul"), 10.0)).found
        (mini_tree / "new.py").write_text("def quite_new(): ...")
        assert (await handle.ask(lambda view: trace(view, "quite_new"), 10.0)).found

    hosted(work)


def test_a_cancelled_question_stops(
    environ: dict[str, str], mini_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "THREADS", 1)

    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        begun = threading.Event()

        def endless(view: View) -> int:
            while True:
                view.counts()
                begun.set()

        asking = asyncio.ensure_future(handle.ask(endless))
        await asyncio.get_running_loop().run_in_executor(None, begun.wait)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        # The only thread is free again.
        assert (await handle.ask(lambda view: trace(view, "mul"))).found

    hosted(work)


def test_a_failing_question_is_the_askers_alone(environ: dict[str, str], mini_tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        with pytest.raises(ZeroDivisionError):
            await handle.ask(lambda view: view.revision / 0)
        assert (await handle.ask(lambda view: trace(view, "mul"))).found

    hosted(work)


def test_trees_that_nobody_asks_about_are_closed(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "MOST_TREES", 2)
    roots = [shutil.copytree(DEMO_TREE, tmp_path / name) for name in ("one", "two", "three")]

    async def work(host: Host) -> None:
        handles = [await opened(host, root, environ) for root in roots]
        assert {tree.root.path for tree in host.trees()} == {roots[1], roots[2]}
        # The one that was closed still answers who has it.
        assert (await handles[0].ask(lambda view: trace(view, "mul"))).found

    hosted(work)


def test_a_keeper_that_dies_is_replaced(environ: dict[str, str], mini_tree: Path) -> None:
    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        (keeper,) = host.keepers._idle
        keeper.process.kill()
        await keeper.process.wait()
        answer = await handle.ask(lambda view: trace(view, "mul"), 10.0)
        assert answer.found
        assert (await handle.ask(lambda view: trace(view, "mul"), 10.0)).standing.waiting == 0

    hosted(work)


def test_what_is_only_for_speed_is_given_back(
    environ: dict[str, str], mini_tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "REST_SECONDS", 0.0)

    async def work(host: Host) -> None:
        handle = await opened(host, mini_tree, environ)
        await handle.ask(lambda view: trace(view, "mul"))
        tree = await handle.tree()
        await tree.refresh()
        await host.rest(sessions=False)
        assert tree._views._idle == []
        assert host.keepers._idle == []
        assert (await handle.ask(lambda view: trace(view, "mul"), 10.0)).found

    hosted(work)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_its_children_inherit_no_socket_and_end_with_it(home: Home, mini_tree: Path) -> None:
    assert home.run("trace", "mul", "--source", mini_tree).returncode == 0
    pid = home.pid()
    listening = next(
        line.split()[6]
        for line in Path("/proc/net/unix").read_text("utf-8").splitlines()
        if line.endswith(f".{pid % 1000}") and str(home.run_folder) in line
    )
    held = acquire(home.socket().with_suffix(".lock"))
    assert held is None
    started = children(pid)
    assert started
    for child in started:
        links = [os.readlink(link) for link in Path(f"/proc/{child}/fd").iterdir()]
        assert f"socket:[{listening}]" not in links
        assert not any(link.endswith(".lock") for link in links)
    os.kill(pid, signal.SIGKILL)
    until(lambda: not any(alive(child) for child in started), "they end")
