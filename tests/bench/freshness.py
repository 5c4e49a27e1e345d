"""How soon an answer shows what was written, on a real tree.

    python -m tests.bench.freshness TREE [--writes 20] [--files 2000] [--rounds 4] [--edits 10000]

Works on a copy of TREE in a temporary folder, with a home and a daemon of its own. The answers are an
agent's, through the bridge. Each row has a figure of the same run beside it to compare with, because
machines are noisy: see also the load that is printed first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.bench.daemon import Agent, pss, took
from tests.bench.index import bare
from tests.daemons import Home, children, new_home, until
from tests.histories import git, git_said, save_text
from tests.storm import make_commits
from torchtalkd.conventions import load
from torchtalkd.engine.sweep import sweep

FILES = {
    ".cpp": "aten/src/ATen/native/Cross.cpp",
    ".py": "torch/nn/init.py",
    ".cu": "aten/src/ATen/native/cuda/CrossKernel.cu",
}
TEXTS = {
    ".cpp": "\nnamespace at::native {{\nvoid {name}(int x) {{ (void)x; }}\n}}\n",
    ".py": "\n\ndef {name}(x):\n    return x\n",
    ".cu": "\nnamespace at::native {{\n__global__ void {name}(float* x) {{ x[0] = 1; }}\n}}\n",
}
YAML = "aten/src/ATen/native/native_functions.yaml"
ENTRY = "\n- func: {name}(Tensor self) -> Tensor\n  dispatch:\n    CPU: {name}_cpu\n"
STYLES = ("in place", "temporary and rename", "delete and create", "backup, as vim", "after a move out")
IN_PLACE, AFTER_MOVE = 0, 4


def percentile(times: list[float], share: float) -> float:
    """The time that this share of them does not exceed."""
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def row(what: str, times: list[float], most: float, other: float, than: str) -> None:
    """One line: milliseconds, against a figure of the same run."""
    p50, p95 = statistics.median(times), percentile(times, 0.95)
    mark = "" if p95 <= most else "  OVER"
    print(
        f"{what:<48} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   (n={len(times)}; at most {most:g} ms{mark};"
        f" {p95 / other:5.1f} x {than})",
        flush=True,
    )


def until_answered(agent: Agent, name: str, there: bool) -> float:
    """Milliseconds until an answer shows a name, or no longer does."""
    began = time.perf_counter()
    deadline = began + 20
    while ("Function not found" not in agent.call("trace", func=name)) != there:
        if time.perf_counter() > deadline:
            raise AssertionError(f"{name}: never {'there' if there else 'gone'}")
    return 1e3 * (time.perf_counter() - began)


def writes(agent: Agent, tree: Path, aside: Path, count: int) -> None:
    """One file in each language and style of saving: until it shows, and until it no longer does."""
    warm = statistics.median(took(lambda: agent.call("trace", func="cross")) for _ in range(30))
    row("a warm answer, for comparison", [warm], 1e9, warm, "itself")
    everything: list[float] = []
    for suffix, file in FILES.items():
        whole = tree / file
        before = whole.read_bytes()
        for style, how in enumerate(STYLES):
            shown, gone = [], []
            for n in range(count):
                name = f"fresh_{suffix[1:]}_{style}_{n}"
                if style == AFTER_MOVE:
                    other = whole.with_name(f"aside{whole.suffix}")
                    other.write_bytes(b"\n")
                    until_settled(agent)
                    os.replace(other, aside / other.name)
                save_text(whole, before + TEXTS[suffix].format(name=name).encode(), style % len(STYLES[:4]))
                shown.append(until_answered(agent, name, True))
                save_text(whole, before, style % len(STYLES[:4]))
                gone.append(until_answered(agent, name, False))
            row(f"{suffix}, {how}: shown", shown, 150, warm, "a warm answer")
            row(f"{suffix}, {how}: gone", gone, 150, warm, "a warm answer")
            everything += shown + gone
    row("all of these", everything, 150, warm, "a warm answer")
    whole = tree / YAML
    before = whole.read_bytes()
    times = []
    for n in range(count):
        name = f"fresh_entry_{n}"
        whole.write_bytes(before + ENTRY.format(name=name).encode())
        times.append(until_answered(agent, f"aten::{name}", True))
        whole.write_bytes(before)
        times.append(until_answered(agent, f"aten::{name}", False))
    row("an entry of native_functions.yaml", times, 500, warm, "a warm answer")


def waits(answer: str) -> bool:
    """Whether an answer says that files wait."""
    return "\nNOTE: " in answer or "INCOMPLETE" in answer


def until_settled(agent: Agent) -> None:
    """Asks until nothing waits."""
    until(lambda: not waits(agent.call("trace", func="cross", wait=True)), "nothing waits")


def starts(home: Home, tree: Path, rounds: int) -> None:
    """From no daemon at all to an answer that is certain, on an unchanged tree."""
    conventions = load("pytorch", tree=tree)
    swept = statistics.median(took(lambda: sweep(tree, conventions)) for _ in range(5))
    times = []
    for _ in range(rounds):
        home.run("stop")
        began = time.perf_counter()
        agent = Agent(home, tree)
        until_settled(agent)
        times.append(1e3 * (time.perf_counter() - began))
        agent.end()
    row("start on an unchanged tree until certain", times, 1000, swept, "a sweep")


def checkouts(agent: Agent, tree: Path, count: int, rounds: int) -> None:
    """From git's exit until nothing waits, against the parse of the files that differ by two processes."""
    commits = make_commits(tree, count, always=FILES.values())
    until_settled(agent)
    times, ratios = [], []
    for turn in range(rounds):
        commit = (commits.before, commits.after)[turn % 2]
        git(tree, "checkout", "-q", "-f", commit)
        began = time.perf_counter()
        until_settled(agent)
        times.append(1e3 * (time.perf_counter() - began))
        differing = git_said(tree, "diff", "--name-only", "--no-renames", commits.before, commits.after)
        entries = {entry.path: entry for entry in sweep(tree, load("pytorch", tree=tree)).entries}
        files = [(path, entries[path].language) for path in differing.split("\n") if path in entries]
        parse = 1e3 * bare(tree, files)
        ratios.append(times[-1] / parse)
        print(f"  {len(files)} files: settled in {times[-1]:.0f} ms; their parse {parse:.0f} ms", flush=True)
    row(f"checkout of {commits.files} files until settled", times, 6000, 1e3, "a second")
    print(f"  against their parse: {', '.join(f'{ratio:.2f}' for ratio in ratios)} (at most 2.5)")


def growth(home: Home, agent: Agent, tree: Path, edits: int) -> None:
    """Memory of the daemon and its children before and after many edits."""
    file = tree / FILES[".py"]
    before = file.read_bytes()
    answer: Callable[[], None] = lambda: until_settled(agent)  # noqa: E731

    def some(count: int) -> None:
        for n in range(count):
            file.write_bytes(before + TEXTS[".py"].format(name=f"grown_{n}").encode())
            if n % 10 == 9:
                answer()
        file.write_bytes(before)
        answer()

    some(max(200, edits // 10))
    first = pss(home.pid())
    some(edits)
    last = pss(home.pid())
    print(
        f"memory: {first:.0f} MB; after {edits} more edits {last:.0f} MB ({last - first:+.1f} MB)", flush=True
    )


def idle(home: Home, seconds: float) -> None:
    """Processor time of the daemon and its children while nothing happens."""
    began, before = time.monotonic(), processor(home.pid())
    threading.Event().wait(seconds)
    used = (processor(home.pid()) - before) / (time.monotonic() - began)
    print(
        f"idle: {100 * used:.2f} % of a core over {time.monotonic() - began:.0f} s (at most 0.5 %)",
        flush=True,
    )


def processor(pid: int) -> float:
    """Seconds of processor time of a process and its children so far."""
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor(child) for child in children(pid))


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=lambda text: Path(text).resolve())
    parser.add_argument("--writes", type=int, default=20)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--edits", type=int, default=10_000)
    parser.add_argument("--quiet", type=float, default=60.0)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as name, new_home() as home:
        tree, aside = Path(name).resolve() / "tree", Path(name).resolve() / "aside"
        aside.mkdir()
        shutil.copytree(given.tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        make_commits(tree, 0)
        print(home.start("index", "build", "--source", tree).communicate()[0], end="", flush=True)
        starts(home, tree, given.rounds)
        agent = Agent(home, tree)
        until_settled(agent)
        writes(agent, tree, aside, given.writes)
        idle(home, given.quiet)
        checkouts(agent, tree, given.files, given.rounds)
        growth(home, agent, tree, given.edits)
        agent.end()
        home.run("stop")
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
