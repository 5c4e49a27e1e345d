"""How quickly each tool answers an agent, over the real bridge, on a real tree.

    python -m tests.bench.agents TREE [--rounds 40]

First the time from the start of a bridge to its first answer, with the daemon running, beside that of Python
alone, and what it takes where no daemon runs; then each tool with changing names, after one round that nobody
counts. Machines are noisy: see the load that is printed first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.daemon import Agent, took
from tests.daemons import new_home

OPERATORS = (
    *("add", "mul.Tensor", "softmax", "conv2d", "matmul", "gelu", "index_select", "topk", "layer_norm"),
    *("cumsum", "embedding", "batch_norm", "linear", "cat", "where", "sort", "scatter_add", "bmm"),
    *("upsample_bilinear2d", "native_dropout", "expm1", "logsumexp", "addmm", "relu", "fft_fft", "norm"),
)
FUNCTIONS = (
    *("at::native::resize_output", "add_kernel", "mul_stub", "at::native::softmax", "gemm", "index_put_"),
    *("TensorIterator::build", "torch.nn.functional.linear", "c10::irange", "at::native::sum_out"),
)
CLASSES = ("Linear", "Conv2d", "LSTM", "Adam", "BatchNorm2d", "Transformer", "MultiheadAttention", "SGD")


def base(number: int) -> str:
    """An operator without its overload."""
    return OPERATORS[number % len(OPERATORS)].partition(".")[0]


FILES = ("test_torch", "test_nn", "test_ops", "test_autograd", "test_jit")
CALLS: Mapping[str, tuple[float, Callable[[int], dict[str, Any]]]] = {
    # what: (most milliseconds at p95, the arguments of call n)
    "get_status": (50, lambda n: {}),
    "trace": (50, lambda n: {"func": OPERATORS[n % len(OPERATORS)]}),
    "trace dispatch": (50, lambda n: {"func": OPERATORS[n % len(OPERATORS)], "focus": "dispatch"}),
    "search": (50, lambda n: {"query": base(n)}),
    "search kernels": (50, lambda n: {"query": base(n)[:5], "mode": "kernels"}),
    "graph callers": (50, lambda n: {"func": FUNCTIONS[n % len(FUNCTIONS)], "mode": "callers"}),
    "graph calls": (50, lambda n: {"func": FUNCTIONS[n % len(FUNCTIONS)], "mode": "calls"}),
    "graph impact": (150, lambda n: {"func": FUNCTIONS[n % len(FUNCTIONS)], "mode": "impact", "depth": 3}),
    "modules": (50, lambda n: {"name": CLASSES[n % len(CLASSES)]}),
    "modules list": (50, lambda n: {"name": ("nn", "optim", "all", "Pool")[n % 4], "mode": "list"}),
    "tests": (50, lambda n: {"query": base(n)}),
    "tests utils": (50, lambda n: {"mode": "utils"}),
    "tests file_info": (50, lambda n: {"query": FILES[n % len(FILES)], "mode": "file_info"}),
    "affected": (300, lambda n: {"funcs": FUNCTIONS[n % len(FUNCTIONS)]}),
    "cuda_kernels": (50, lambda n: {"function_name": base(n)}),
}


def row(what: str, times: list[float], most: float) -> None:
    """One line of the table; `*` where it is over its bound."""
    ordered = sorted(times)
    p95 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    over = "*" if p95 > most else ""
    print(
        f"| {what} | {statistics.median(times):.1f} | {p95:.1f}{over} | {ordered[-1]:.1f} | {most:.0f} |",
        flush=True,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=lambda text: Path(text).resolve())
    parser.add_argument("--rounds", type=int, default=40)
    given = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores, milliseconds\n")
    print("| what | p50 | p95 | max | at most (p95) |\n| --- | --: | --: | --: | --: |")
    with new_home() as home:
        home.start("index", "build", "--source", given.tree).communicate()
        agents: list[Agent] = []

        def first() -> None:
            agents.append(Agent(home, given.tree))
            agents[-1].call("trace", func="matmul")

        def python() -> None:
            subprocess.run([sys.executable, "-c", "pass"], env=home.environ, check=True)

        first()
        firsts, pythons = [], []
        for _ in range(15):
            firsts.append(took(first))
            pythons.append(took(python))
        row("start of the bridge to its first answer", firsts, 150)
        row("start of Python alone", pythons, float("inf"))
        print(
            f"| the ratio of these two | {statistics.median(firsts) / statistics.median(pythons):.1f} | | | |"
        )
        for one in agents:
            one.end()
        agents.clear()
        home.run("stop")
        row("the same, where no daemon runs", [took(first)], float("inf"))
        agent = agents[0]
        served = {tool["name"] for tool in agent.ask("tools/list")["tools"]}
        for what, (most, arguments) in CALLS.items():
            tool = what.partition(" ")[0]
            if tool not in served:
                continue
            for n in range(len(OPERATORS)):
                agent.call(tool, **arguments(n))
            calls = [partial(agent.call, tool, **arguments(n)) for n in range(given.rounds)]
            row(what, [took(call) for call in calls], most)
        for one in agents:
            one.end()


if __name__ == "__main__":
    main()
