"""What the daemon costs and how quickly it answers, on a real tree.

    python -m tests.bench.daemon TREE [--quiet 60] [--clients 16] [--seconds 20]

In a home of its own: the index is built, then the command as a process, the bridge from its start to
its first answer (with and without a daemon), warm tool calls, many clients while files are saved
(in the tree: one new file below it, deleted at the end), and the memory when nobody has asked for
`--quiet` seconds. Machines are noisy: see the load that is printed first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tests.daemons import Home, alive, children, new_home, until

NAMES = ("matmul", "add", "softmax", "conv2d", "F.gelu", "aten::mm", "index_select", "Tensor.view")


class Agent:
    """A client that speaks the agents' protocol over two pipes: a bridge's."""

    def __init__(self, home: Home, tree: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "torchtalkd", "mcp-serve", "--source", str(tree)],
            env=home.environ,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._number = 0
        self.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "bench", "version": "1"},
        )
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of a tool's answer."""
        found = self.ask("tools/call", name=tool, arguments=arguments)
        return "".join(part["text"] for part in found["content"])

    def ask(self, method: str, **params: Any) -> Any:
        """A request's result; its error is ours."""
        self._number += 1
        self._write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._number:
                return message["result"]
        raise AssertionError("the bridge ended")

    def end(self) -> None:
        """Ends the bridge as a client does."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


def took(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - began)


def row(what: str, times: list[float], most: str) -> None:
    """One line of the table."""
    ordered = sorted(times)
    tail = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    print(
        f"{what:<58} p50 {statistics.median(times):7.1f} ms   p99 {tail:7.1f} ms"
        f"   max {ordered[-1]:7.1f} ms   (n={len(times)}; wanted {most})",
        flush=True,
    )


def pss(pid: int) -> float:
    """MB of a process and its children, shared pages divided among those that share them."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8")
    own = next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")) / 1024
    return own + sum(pss(child) for child in children(pid))


def commands(home: Home, tree: Path) -> None:
    """`trace matmul` as a process."""
    run = lambda: subprocess.run(  # noqa: E731
        [sys.executable, "-m", "torchtalkd", "trace", "matmul", "--source", str(tree)],
        env=home.environ,
        cwd="/",
        check=True,
        capture_output=True,
    )
    row("torchtalkd trace matmul, the daemon not running", [took(run)], "-")
    row("torchtalkd trace matmul, the daemon running", [took(run) for _ in range(40)], "100 ms")
    empty = lambda: subprocess.run([sys.executable, "-c", ""], check=True)  # noqa: E731
    row("python -c '', for comparison", [took(empty) for _ in range(10)], "-")


def starts(home: Home, tree: Path) -> None:
    """The bridge from its start to its first answer."""

    def first() -> None:
        agent = Agent(home, tree)
        agent.call("trace", func="matmul")
        agents.append(agent)

    agents: list[Agent] = []
    first()
    row("mcp-serve to the first answer, the daemon running", [took(first) for _ in range(15)], "150 ms")
    for agent in agents:
        agent.end()
    cold = []
    for _ in range(5):
        home.run("stop")
        cold.append(took(first))
        agents[-1].end()
    row("mcp-serve to the first answer, no daemon, tree indexed", cold, "1.2 s")


def warm(agent: Agent) -> None:
    """Tool calls, one after the other."""
    for name in NAMES:
        agent.call("trace", func=name)
        agent.call("search", query=name.rpartition(".")[2].rpartition(":")[2])
    calls: dict[str, tuple[str, Callable[[int], object]]] = {
        "a warm call: trace": ("8 ms", lambda n: agent.call("trace", func=NAMES[n % len(NAMES)])),
        "a warm call: search": ("5 ms", lambda n: agent.call("search", query=("relu", "conv", "mm")[n % 3])),
        "a warm call: unknown name": ("20 ms", lambda n: agent.call("trace", func=f"no_such_thing_{n}")),
    }
    for what, (most, call) in calls.items():
        row(what, [took(partial(call, n)) for n in range(200)], most)


def crowd(home: Home, tree: Path, count: int, seconds: float) -> None:
    """Many clients, a question a second each, a save a second."""
    agents = [Agent(home, tree) for _ in range(count)]
    times: list[float] = []
    failed: list[str] = []
    over = threading.Event()

    def use(agent: Agent, shift: float) -> None:
        over.wait(shift)
        n = int(shift * 16)
        while not over.is_set():
            n += 1
            name = NAMES[n % len(NAMES)]
            try:
                one = partial(agent.call, "trace", func=name)
                times.append(took(one if n % 2 else partial(agent.call, "search", query="relu")))
            except (AssertionError, KeyError, OSError) as error:
                failed.append(repr(error))
            over.wait(1.0)

    saved = tree / "torch" / "saved_by_bench.py"
    threads = [
        threading.Thread(target=use, args=(agent, number / count)) for number, agent in enumerate(agents)
    ]
    try:
        for thread in threads:
            thread.start()
        for n in range(int(seconds)):
            saved.write_text(f"def saved_{n}(): ...\n", "utf-8")
            over.wait(1.0)
        over.set()
        for thread in threads:
            thread.join()
    finally:
        over.set()
        saved.unlink(missing_ok=True)
    row(f"{count} clients, a question a second each, a save a second", times, "p99 150 ms")
    print(f"  failed: {len(failed)} {failed[:3]}")
    print(f"  memory of a bridge: {max(pss(agent.process.pid) for agent in agents):.1f} MB (wanted 20 MB)")
    for agent in agents:
        agent.end()


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=lambda text: Path(text).resolve())
    parser.add_argument("--quiet", type=float, default=60.0)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with new_home() as home:
        print(home.run("index", "build", "--source", given.tree).stdout, end="")
        commands(home, given.tree)
        starts(home, given.tree)
        agent = Agent(home, given.tree)
        warm(agent)
        crowd(home, given.tree, given.clients, given.seconds)
        pid = home.pid()
        print(f"memory of daemon and children, at once: {pss(pid):.0f} MB")
        threading.Event().wait(given.quiet + 3.0)
        print(f"memory, {given.quiet:.0f} s later: {pss(pid):.0f} MB (wanted 300 MB)")
        agent.end()
        home.run("stop")
        until(lambda: not alive(pid), "it ends")


if __name__ == "__main__":
    main()
