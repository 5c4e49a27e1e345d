"""The agents' bridge as real processes over a real daemon: every way in which either side can end."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clients import messages
from clients.worktree import worktree_instead
from tests.conftest import DEMO_TREE, REPOSITORY, _copy
from tests.rpc import INITIALIZE, INITIALIZED, call, line
from torchtalkd import wire
from torchtalkd.frontends.mcp.tools import SETS

SECONDS = 30.0
"""After which a test gives up waiting."""
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Home:
    """A user of a test's own, with a daemon of its own."""

    def __init__(self, folder: Path, code: Path = REPOSITORY) -> None:
        self.code = code
        clean = {n: v for n, v in os.environ.items() if "TORCHTALK" not in n and not n.startswith("XDG_")}
        paths = os.pathsep.join([str(code), *filter(None, [os.environ.get("PYTHONPATH")])])
        (folder / "run").mkdir(mode=0o700, parents=True)
        self.environ = clean | {
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "PYTHONPATH": paths,
            "TORCHTALK_EXACT": "off",
        }

    def command(self, *arguments: object) -> list[str]:
        return [sys.executable, "-P", "-m", "torchtalkd", *map(str, arguments)]

    def daemons(self) -> list[wire.Running]:
        return [running for running in wire.daemons(self.environ) if running.hello]

    def pid(self) -> int:
        (running,) = self.daemons()
        return int(running.hello["pid"])

    def kill(self) -> None:
        """Kills the daemon and waits until its last thread has let go of its sockets."""
        os.kill(self.pid(), signal.SIGKILL)
        until(lambda: not self.daemons())

    def close(self) -> None:
        for running in self.daemons():
            os.kill(int(running.hello["pid"]), signal.SIGKILL)


class Bridge:
    """A running `torchtalkd mcp-serve`, and its client."""

    def __init__(self, home: Home, source: Path, *more: object, cwd: Path = Path("/")) -> None:
        self.process = subprocess.Popen(
            home.command("mcp-serve", "--source", source, *more),
            env=home.environ,
            cwd=cwd,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._rest = b""

    def send(self, *lines: bytes) -> None:
        self.stdin.write(b"".join(lines))
        self.stdin.flush()

    def answer(self) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while b"\n" not in self._rest:
            assert select.select([self.stdout], [], [], max(0, deadline - time.monotonic()))[0], "no answer"
            data = os.read(self.stdout.fileno(), 1 << 16)
            assert data, f"the bridge ended: {self.process.stderr and self.process.stderr.read()!r}"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        found = json.loads(line)
        assert isinstance(found, dict)
        return found

    def begin(self) -> None:
        """The handshake of the older protocol."""
        self.send(INITIALIZE, INITIALIZED)
        answer = self.answer()
        assert answer["id"] == 0 and answer["result"]["serverInfo"]["name"] == "torchtalk"

    def ask(self, number: int, tool: str = "trace", **arguments: Any) -> str:
        """The text of a tool's answer, which must be the next thing that is said."""
        self.send(call(number, tool, **(arguments or {"func": "mul"} if tool == "trace" else arguments)))
        answer = self.answer()
        assert answer["id"] == number and "result" in answer, answer
        text = answer["result"]["content"][0]["text"]
        assert isinstance(text, str)
        return text

    def ended(self) -> int:
        return self.process.wait(SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.stdin, self.stdout, self.process.stderr):
            if stream and not stream.closed:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue
        self.process.wait()


def call_of_2026(number: object, tool: str, **arguments: Any) -> bytes:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return line(id=number, method="tools/call", params={"name": tool, "arguments": arguments, "_meta": meta})


def until(state: Callable[[], object]) -> None:
    """Waits for a state of another process that nothing announces."""
    deadline = time.monotonic() + SECONDS
    while not state():
        assert time.monotonic() < deadline, "it never came to be"
        select.select([], [], [], 0.01)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small tree with one name that is defined 3,000 times."""
    folder = _copy(DEMO_TREE, tmp_path_factory.mktemp("t") / "mini")
    (folder / "torch" / "many.py").write_text("def often(a): ...\n" * 3000, "utf-8")
    return folder


@pytest.fixture
def start(home: Home, tree: Path) -> Iterator[Callable[..., Bridge]]:
    """Starts bridges, and ends those that the test did not."""
    started: list[Bridge] = []

    def starting(*more: object, at: Home = home, source: Path = tree, cwd: Path = Path("/")) -> Bridge:
        started.append(Bridge(at, source, *more, cwd=cwd))
        return started[-1]

    yield starting
    for bridge in started:
        bridge.close()


Start = Callable[..., Bridge]


# -- a client's ends


def test_it_ends_when_stdin_ends(start: Start) -> None:
    bridge = start()
    bridge.begin()
    assert "aten::mul" in bridge.ask(1)
    bridge.stdin.close()
    assert bridge.ended() == 0


@pytest.mark.parametrize("redirection", ["</dev/null", "<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_without_stdin_it_starts_the_daemon(tmp_path: Path, tree: Path, redirection: str) -> None:
    home = Home(tmp_path)
    command = " ".join(home.command("mcp-serve", "--source", tree))
    try:
        done = subprocess.run(
            ["sh", "-c", f"exec {command} {redirection}"],
            env=home.environ,
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        assert home.pid()
    finally:
        home.close()


def test_what_was_asked_before_the_end_is_answered(home: Home, tree: Path) -> None:
    asked = INITIALIZE + INITIALIZED + call(1, "trace", func="mul") + call(2, "get_status").rstrip()
    done = subprocess.run(
        home.command("mcp-serve", "--source", tree),
        env=home.environ,
        input=asked,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert {json.loads(said)["id"] for said in done.stdout.splitlines()} == {0, 1, 2}


def test_it_ends_when_nobody_reads(start: Start) -> None:
    bridge = start()
    bridge.begin()
    bridge.stdout.close()
    assert bridge.ended() == 0


def test_it_ends_when_nobody_reads_what_was_asked(start: Start) -> None:
    bridge = start()
    bridge.stdout.close()
    bridge.send(INITIALIZE)
    assert bridge.ended() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_it_ends_on_a_signal(start: Start, number: signal.Signals) -> None:
    bridge = start()
    bridge.begin()
    bridge.process.send_signal(number)
    assert bridge.ended() == 0
    assert bridge.process.stderr is not None
    assert bridge.process.stderr.read() == b""


def test_a_client_that_is_killed(start: Start, home: Home, tree: Path) -> None:
    client = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys\n"
            f"b = subprocess.Popen({home.command('mcp-serve', '--source', tree)!r},"
            " stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
            f"b.stdin.write({INITIALIZE!r}); b.stdin.flush(); b.stdout.readline(); print(b.pid, flush=True)\n"
            "b.wait()",
        ],
        env=home.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert client.stdout is not None
    bridge = int(client.stdout.readline())
    client.kill()
    client.wait()
    client.stdout.close()
    until(lambda: not alive(bridge))


@linux
def test_an_orphan_whose_pipes_stay_open(home: Home, tree: Path) -> None:
    wrapper = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys\n"
            f"b = subprocess.Popen({home.command('mcp-serve', '--source', tree)!r})\n"
            "print(b.pid, file=sys.stderr, flush=True)\n"
            "b.wait()",
        ],
        env=home.environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert wrapper.stdin and wrapper.stdout and wrapper.stderr
    bridge = int(wrapper.stderr.readline())
    wrapper.stdin.write(INITIALIZE)
    wrapper.stdin.flush()
    assert b"torchtalk" in wrapper.stdout.readline()
    before = ticks(bridge)
    wrapper.kill()
    wrapper.wait()
    began = time.monotonic()
    after = before
    while not select.select([wrapper.stdout], [], [], 0.2)[0]:
        after = ticks(bridge) or after
    assert wrapper.stdout.read() == b""
    assert time.monotonic() - began < 10
    assert after - before <= 10, "it was busy while nothing happened"
    for stream in (wrapper.stdin, wrapper.stdout, wrapper.stderr):
        stream.close()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A child that nobody waits for stays in the table of processes.
    return state_of(pid)[:1] not in (["Z"], [])


def state_of(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat behind the name; [] where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return [] if sys.platform == "linux" else ["R"]


def ticks(pid: int) -> int:
    """Hundredths of a second of the processor's time that a process took."""
    fields = state_of(pid)
    return int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0


# -- what a client may say


def test_junk_is_answered_and_the_session_goes_on(start: Start) -> None:
    bridge = start()
    bridge.send(b"Content-Length: 10\r\n\r\n", b"[1]\n", b"\xff\n", b'{"id": 3}\n')
    codes = [bridge.answer()["error"]["code"] for _ in range(4)]
    assert codes == [-32700, -32600, -32700, -32600]
    bridge.send(b'{"x": "' + b"y" * (messages.MOST_LINE + 5) + b'"}\n')
    assert bridge.answer()["error"]["code"] == -32600
    bridge.begin()
    assert "aten::mul" in bridge.ask(1)


def test_a_probe_of_the_newer_protocol_first(start: Start) -> None:
    bridge = start()
    bridge.send(line(id="p", method="server/discover"))
    assert bridge.answer()["error"]["code"] == -32601
    bridge.begin()
    assert "aten::mul" in bridge.ask(1)


def test_lines_in_pieces_and_many_at_once(start: Start) -> None:
    bridge = start()
    for byte in INITIALIZE:
        bridge.send(bytes([byte]))
    assert bridge.answer()["id"] == 0
    bridge.send(INITIALIZED, *(call(n, "search", query="m") for n in range(1, 301)))
    assert {bridge.answer()["id"] for _ in range(300)} == set(range(1, 301))


def test_three_thousand_lines_are_made_to_fit(start: Start) -> None:
    bridge = start()
    bridge.begin()
    text = bridge.ask(1, func="often")
    assert "3000 places" in text.splitlines()[0]
    assert len(text.encode()) < 10_240 and len(text.splitlines()) < 256


def test_its_further_pages_hold_the_rest(start: Start) -> None:
    bridge = start()
    bridge.begin()
    found: set[str] = set()
    for page in range(1, 100):
        text = bridge.ask(page, "trace", func="often", page=page)
        assert len(text.encode()) < 10_240 and text.count("\n") < 256
        found |= {line.split()[0] for line in text.split("\n") if line.startswith("  torch/many.py:")}
        if f"page={page + 1})" not in text:
            break
    assert found == {f"torch/many.py:{n}" for n in range(1, 3001)}


@pytest.mark.parametrize("tools", ["core", "classic", "all"])
def test_which_tools_are_served(start: Start, tools: str) -> None:
    bridge = start("--tools", tools)
    bridge.begin()
    bridge.send(line(id=1, method="tools/list"))
    assert [tool["name"] for tool in bridge.answer()["result"]["tools"]] == list(SETS[tools])


def test_prompts_and_resources_pass(start: Start, home: Home) -> None:
    bridge = start()
    bridge.begin()
    for number in (1, 11):
        bridge.send(
            line(id=number, method="prompts/get", params={"name": "trace", "arguments": {"function": "mul"}})
        )
        assert "mul" in bridge.answer()["result"]["messages"][0]["content"]["text"]
        bridge.send(line(id=number + 1, method="resources/read", params={"uri": "torchtalk://operator/mul"}))
        assert "aten::mul" in bridge.answer()["result"]["contents"][0]["text"]
        if number == 1:
            # Also of a daemon that was started anew.
            home.kill()


def test_a_bridge_imports_little(home: Home, tree: Path) -> None:
    command = home.command("mcp-serve", "--source", tree)
    command.insert(1, "-Ximporttime")
    done = subprocess.run(
        command, env=home.environ, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=True
    )
    modules = {row.rpartition("|")[2].strip() for row in done.stderr.decode().splitlines()}
    ours = {name for name in modules if name.partition(".")[0] in ("torchtalkd", "torchtalkd_clients")}
    few = {"__main__", "cli", "bridge_arguments", "wire", "run_folder", "bridge", "messages", "worktree"}
    assert {name.partition(".")[2] for name in ours} - {""} <= few
    third_party = {name.partition(".")[0] for name in modules} & {"mcp", "pydantic", "anyio", "pygls", "yaml"}
    assert not third_party and not modules & {"asyncio", "sqlite3", "tree_sitter", "dataclasses", "argparse"}


@linux
def test_a_bridge_is_small(start: Start) -> None:
    bridge = start()
    bridge.begin()
    for number in range(1, 20):
        bridge.ask(number, func="often")
    status = Path(f"/proc/{bridge.process.pid}/status").read_text("ascii")
    (resident,) = (int(row.split()[1]) for row in status.splitlines() if row.startswith("VmRSS:"))
    assert resident < 20 << 10, f"{resident} KiB"


def test_twenty_clients_at_once(start: Start, home: Home) -> None:
    bridges = [start() for _ in range(20)]
    for bridge in bridges:
        bridge.send(INITIALIZE, INITIALIZED, *(call(n, "trace", func="mul") for n in range(1, 6)))
    for bridge in bridges:
        answers = [bridge.answer() for _ in range(6)]
        assert {answer["id"] for answer in answers} == set(range(6))
        assert all("result" in answer for answer in answers)
    assert len(home.daemons()) == 1
    bridges[0].process.kill()
    assert "aten::mul" in bridges[1].ask(9)


# -- the daemon's ends


def test_the_daemon_is_killed_between_two_questions(start: Start, home: Home) -> None:
    bridge = start()
    bridge.begin()
    assert "aten::mul" in bridge.ask(1)
    for number in (2, 3):
        home.kill()
        assert "aten::mul" in bridge.ask(number)
    bridge.send(line(id=0, method="ping"))
    assert bridge.answer() == {"jsonrpc": "2.0", "id": 0, "result": {}}


def test_the_daemon_is_killed_in_the_midst_of_a_question(start: Start, home: Home) -> None:
    bridge = start()
    bridge.begin()
    pid = home.pid()
    os.kill(pid, signal.SIGSTOP)
    bridge.send(call(1, "trace", func="mul"), call("1", "trace", func="mul"))
    bridge.send(line(method="notifications/cancelled", params={"requestId": "1"}))
    os.kill(pid, signal.SIGKILL)
    answer = bridge.answer()
    assert answer["id"] == 1
    assert answer["error"]["code"] == messages.LOST and answer["error"]["data"] == {"retryable": True}
    assert "ask again" in answer["error"]["message"]
    assert "aten::mul" in bridge.ask(2)


def test_the_daemon_is_killed_in_the_midst_of_the_handshake(start: Start, home: Home) -> None:
    bridge, other = start(), start()
    other.begin()
    bridge.send(line(id=9, method="ping"))
    bridge.answer()
    pid = home.pid()
    os.kill(pid, signal.SIGSTOP)
    bridge.send(INITIALIZE)
    os.kill(pid, signal.SIGKILL)
    assert bridge.answer()["result"]["serverInfo"]["name"] == "torchtalk"
    bridge.send(INITIALIZED)
    assert "aten::mul" in bridge.ask(1)
    assert "aten::mul" in other.ask(1)


def test_a_session_of_the_newer_protocol_survives_too(start: Start, home: Home) -> None:
    bridge = start()
    for number in (1, 2):
        bridge.send(call_of_2026(number, "trace", func="mul"))
        answer = bridge.answer()
        assert answer["id"] == number and answer["result"]["resultType"] == "complete"
        home.kill()


def test_a_daemon_that_was_stopped_comes_back_for_a_question_only(start: Start, home: Home) -> None:
    bridge = start()
    bridge.begin()
    (running,) = home.daemons()
    wire.control(running.socket, "stop")
    bridge.send(line(method="notifications/cancelled", params={"requestId": 77}), b"junk\n")
    assert bridge.answer()["error"]["code"] == -32700
    assert home.daemons() == []
    assert "aten::mul" in bridge.ask(1)


def test_a_daemon_that_cannot_come_back_is_told_and_tried_again(tmp_path: Path, tree: Path) -> None:
    home = Home(tmp_path)
    bridge = Bridge(home, tree)
    folder = Path(home.environ["XDG_RUNTIME_DIR"]) / "torchtalkd"
    try:
        bridge.begin()
        home.kill()
        folder.chmod(0o755)
        errors = []
        for number in (1, 2, 3):
            bridge.send(call(number, "trace", func="mul"))
            errors.append(bridge.answer()["error"])
        assert "chmod 700" in errors[0]["message"]
        assert all(error["code"] == messages.LOST for error in errors)
        folder.chmod(0o700)

        def answered() -> bool:
            bridge.send(call(4, "trace", func="mul"))
            return "result" in bridge.answer()

        until(answered)
    finally:
        bridge.close()
        folder.chmod(0o700)
        home.close()


def test_an_upgrade_while_sessions_are_open(tmp_path: Path, tree: Path) -> None:
    code = tmp_path / "code"
    for part in ("torchtalkd", "clients", "manifests"):
        shutil.copytree(REPOSITORY / part, code / part, ignore=shutil.ignore_patterns("__pycache__"))
    home = Home(tmp_path / "h", code)
    old, idle = Bridge(home, tree), Bridge(home, tree)
    bridges = [old, idle]
    try:
        for bridge in bridges:
            bridge.begin()
        (before,) = home.daemons()
        with (code / "torchtalkd" / "keys.py").open("a", encoding="utf-8") as file:
            file.write("\n")
        new = Bridge(home, tree)
        bridges.append(new)
        new.begin()
        builds = {running.hello["build"] for running in home.daemons()}
        assert builds - {before.hello["build"]}, "the new client got the old daemon"
        assert "aten::mul" in old.ask(1)
        # The older daemon goes when its sessions have moved over, which they do by themselves.
        until(lambda: [r.hello["build"] for r in home.daemons()] == sorted(builds - {before.hello["build"]}))
        for number, bridge in enumerate(bridges, 10):
            assert "aten::mul" in bridge.ask(number)
        assert len(home.daemons()) == 1
    finally:
        for bridge in bridges:
            bridge.close()
        home.close()


# -- which tree


def test_a_tree_that_does_not_exist(start: Start, tmp_path: Path) -> None:
    bridge = start(source=tmp_path / "nowhere")
    assert bridge.ended() == 2
    assert bridge.process.stderr is not None
    assert b"nowhere does not exist" in bridge.process.stderr.read()
    assert bridge.stdout.read() == b""


def git(folder: Path, *arguments: str) -> None:
    names = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *names, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def worktree(tmp_path: Path) -> tuple[Path, Path]:
    """A repository with a tree in it, and a second work tree of it."""
    if not shutil.which("git"):
        pytest.skip("needs git")
    repository = tmp_path / "repository"
    _copy(DEMO_TREE, repository / "sub")
    git(repository, "init", "-q")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "all")
    git(repository, "worktree", "add", "-q", str(tmp_path / "second"), "-b", "second")
    return repository, tmp_path / "second"


def test_inside_a_work_tree_that_one_is_served(start: Start, worktree: tuple[Path, Path]) -> None:
    repository, second = worktree
    bridge = start(source=repository / "sub", cwd=second / "sub" / "torch")
    bridge.begin()
    text = bridge.ask(1)
    assert f"NOTE: {repository}/sub was named" in text and f"{second}/sub" in text
    status = bridge.ask(2, "get_status")
    assert f"Source: {second}/sub" in status and "Branch: second" in status
    bridge.stdin.close()
    assert bridge.ended() == 0
    assert bridge.process.stderr is not None
    assert str(second) in bridge.process.stderr.read().decode()


def test_a_work_tree_in_place_of_one_that_a_variable_names(home: Home, worktree: tuple[Path, Path]) -> None:
    repository, second = worktree
    done = subprocess.run(
        home.command("mcp-serve"),
        env=home.environ | {"TORCHTALK_SOURCE": str(repository / "sub")},
        cwd=second,
        input=INITIALIZE + INITIALIZED + call(1, "get_status"),
        capture_output=True,
        timeout=SECONDS,
        check=True,
    )
    said = json.loads(done.stdout.splitlines()[1])["result"]["content"][0]["text"]
    assert f"Source: {second}/sub" in said
    assert str(second) in json.loads(done.stdout.splitlines()[0])["result"]["instructions"]


def test_a_folder_that_was_deleted_under_the_client(home: Home, tree: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = subprocess.run(
        ["sh", "-c", f'rmdir {gone}; exec "$@"', "sh", *home.command("mcp-serve", "--source", tree)],
        env=home.environ,
        cwd=gone,
        input=INITIALIZE,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0 and b"torchtalk" in done.stdout, done


def test_an_edit_shows_in_the_next_answer(start: Start, tmp_path: Path) -> None:
    tree = _copy(DEMO_TREE, tmp_path / "mini")
    file = tree / "torch" / "fresh.py"
    bridge = start(source=tree)
    bridge.begin()
    assert bridge.ask(1, func="brand_new").startswith("Function not found")
    for number in (2, 3):
        file.write_text("\n" * number + "def brand_new(a): ...\n", "utf-8")
        assert f"torch/fresh.py:{number + 1} " in bridge.ask(number, func="brand_new")
    file.unlink()
    assert bridge.ask(4, func="brand_new").startswith("Function not found")


def test_which_work_tree_is_meant(worktree: tuple[Path, Path], tmp_path: Path) -> None:
    repository, second = worktree
    assert worktree_instead(str(repository), str(second)) == str(second)
    assert worktree_instead(str(second), str(repository / "sub")) == str(repository)
    assert worktree_instead("../repository/sub", str(second)) == str(second / "sub")
    assert worktree_instead(str(repository), str(repository / "sub")) is None
    assert worktree_instead(str(repository), str(tmp_path)) is None
    assert worktree_instead(str(tmp_path), str(second)) is None
    assert worktree_instead(str(repository / "gone"), str(second)) is None
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    assert worktree_instead(str(repository), str(other)) is None
    (other / "inner").mkdir()
    (other / "inner" / ".git").write_text("gitdir: nowhere\n", "utf-8")
    assert worktree_instead(str(repository), str(other / "inner")) is None


# -- the parts


def test_lines_are_cut_however_they_come() -> None:
    for size in (1, 2, 3, 100):
        lines = messages.Lines()
        text = b"ab\n\ncd\r\nrest"
        found: list[bytes | None] = []
        for at in range(0, len(text), size):
            found += lines.fed(text[at : at + size])
        assert found == [b"ab", b"", b"cd\r"] and lines.last() == b"rest"
    lines = messages.Lines()
    assert lines.fed(b"x" * messages.MOST_LINE) == []
    assert lines.fed(b"x") == []
    assert lines.fed(b"x\nnext\n") == [None, b"next"]


def test_a_session_remembers_what_is_owed() -> None:
    session = messages.Session()
    assert session.again() == b"" and not session.waits
    first = {"id": 0, "method": "initialize", "params": {}}
    session.asked(first, b"LINE")
    assert session.begins and session.again() == b"LINE\n" and session.lost() == []
    session.answered({"id": 0, "result": {}})
    session.asked({"method": "notifications/initialized"}, b"DONE")
    replay, done, _ = session.again().split(b"\n")
    assert json.loads(replay)["method"] == "initialize" and done == b"DONE"
    assert session.hides({"id": json.loads(replay)["id"], "result": {}})
    session.asked({"id": 1, "method": "ping"}, b"")
    session.asked({"id": "1", "method": "ping"}, b"")
    session.answered({"id": "1", "result": {}})
    (lost,) = session.lost()
    assert json.loads(lost)["id"] == 1 and not session.waits
