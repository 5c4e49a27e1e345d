"""How long `graph` takes on a real tree: questions asked for the first time, and asked again.

    python -m tests.bench.graph TREE [--kernels 60] [--rounds 10]

In a home of its own: the index is built, then `impact` of depth 3 is asked in process, on a view that has
done what a daemon does before somebody asks (`queries.warm`): of functions with many callers, and of
kernels, drawn by a fixed rule. First: nothing of it was ever asked on this view. Again: what a question
finds that an earlier one, of any kernel, has met. Machines are noisy: see the load that is printed first.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from pathlib import Path

from tests.daemons import new_home
from torchtalkd.cache import index_folder
from torchtalkd.daemon.server import COLLECT
from torchtalkd.frontends.graph_text import graph_text
from torchtalkd.queries.callers import callers
from torchtalkd.queries.graph import GraphAnswer, graph
from torchtalkd.queries.warm import warm
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

MANY = ("at::native::resize_output", "TensorIterator::build")
"""Functions with many callers."""
DEPTH = 3


def warmed(folder: Path) -> View:
    """A view as a daemon has it."""
    view = open_view(folder)
    warm(view)
    return view


def took(view: View, name: str) -> tuple[float, GraphAnswer]:
    """Milliseconds of the processor for a question and its text, and the answer."""
    began = time.process_time()
    answer = graph(view, name, "impact", DEPTH)
    graph_text(answer)
    return 1e3 * (time.process_time() - began), answer


def kernels(view: View, most: int) -> list[str]:
    """Kernels of stubs, every n-th by name."""
    named = sorted(
        {
            view.targets(d)[0].fact.name.lstrip("&")
            for d in view.definitions_of_kind("stub_kernel")
            if d.file.role == "library" and view.targets(d)
        }
    )
    return named[:: max(1, len(named) // most)][:most]


def row(what: str, times: list[float], most: str) -> None:
    """One line of the table."""
    ordered = sorted(times)
    tail = ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]
    print(
        f"{what:<44} p50 {statistics.median(times):7.1f} ms   p95 {tail:7.1f} ms   max {ordered[-1]:7.1f} ms"
        f"   (n={len(times)}; wanted {most})"
    )


def main() -> None:
    """Builds, asks, prints."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    parser.add_argument("--kernels", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--index", type=Path, help="the folder of an index that is there")
    arguments = parser.parse_args()
    gc.set_threshold(*COLLECT)
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    if arguments.index:
        measure(arguments.index, arguments)
        return
    with new_home() as home:
        home.run("index", "build", "--no-wait", "--source", str(arguments.tree))
        measure(index_folder(arguments.tree, home.environ), arguments)


def measure(folder: Path, arguments: argparse.Namespace) -> None:
    """Asks an index, and prints."""
    for name in MANY:
        first, answer = took(warmed(folder), name)
        print(f"{name}: {answer.total} nodes, first asked {first:.0f} ms")
    view = warmed(folder)
    for name in MANY:
        took(view, name)
    again = [took(view, name)[0] for _ in range(arguments.rounds) for name in MANY]
    row("functions with many callers, again", again, "150 ms")
    chosen = kernels(view, arguments.kernels)
    fresh = warmed(folder)
    row("kernels, each for the first time", [took(fresh, name)[0] for name in chosen], "300 ms")
    row("kernels, again", [took(fresh, name)[0] for name in chosen], "150 ms")
    began = time.perf_counter()
    bodies = [d for d in fresh.definitions_of_kind("kernel") if not d.fact.declares]
    edges = sum(len(callers(fresh, d)) for d in bodies)
    spent = time.perf_counter() - began
    print(
        f"callers of all {len(bodies)} device kernels: {edges} edges, {1e3 * spent / len(bodies):.2f} ms each"
    )


if __name__ == "__main__":
    main()
