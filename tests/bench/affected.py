"""How much `affected` finds and how much it selects, against what tests really run; and how long it takes.

    python -m tests.bench.affected TREE [RECORDS] [--functions 60] [--misses]

TREE must be indexed (`torchtalkd index build --source TREE`). RECORDS is a folder with what
`tests.bench.operators_run` recorded: `test@nn@test_init.py.json`. Printed are
- recall: of the pairs (function, test file) where the file ran the function's operator, those selected;
- false: of the recorded files that never ran the operator, those selected all the same;
- size: the mean share of all test files, over recorded operators' kernels and over functions of `.cpp` files
  drawn at random;
- the times of one kernel at depth 3 (wanted 300 ms) and of a difference of 50 files (wanted 2 s), warm, in
  processor time: others may use the machine.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.bench.freshness import percentile
from torchtalkd import keys
from torchtalkd.cache import index_folder
from torchtalkd.daemon.server import COLLECT
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators, stubs
from torchtalkd.queries.affected import affected
from torchtalkd.queries.changed import ChangedFile
from torchtalkd.queries.runs.table import runs
from torchtalkd.queries.warm import warm
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View


def kernels(view: View, packet: str) -> list[FiledDefinition]:
    """The functions of `.cpp` files that run for an operator on a CPU."""
    family = operators.family(view, packet)
    overloads = family.entries if family is not None else ()
    names = {entry.fact.name for entry in overloads}
    names |= {out.fact.name for entry in overloads if (out := operators.delegate(view, entry)) is not None}
    found: dict[int, FiledDefinition] = {}
    for definition in view.definitions(keys.op(packet)):
        key = definition.fact.dispatch_key
        serves = definition.fact.kind == "registration" and definition.fact.convention == "native_functions"
        if (
            not serves
            or definition.fact.name not in names
            or not (key == "CPU" or key.startswith("Composite"))
        ):
            continue
        for target in view.targets(definition):
            if stubs.is_stub(view, target.fact.key):
                # torchgen writes that kernel; a function of this name is another one.
                continue
            full = f"at::native::{target.fact.name.rpartition('::')[2]}"
            bodies = [
                d
                for d in view.named(target.fact.key, full)
                if not d.fact.declares and d.file.path.endswith(".cpp") and d.file.role == "library"
            ]
            if len(bodies) == 1:
                found[bodies[0].id] = bodies[0]
    return list(found.values())


def drawn(view: View, count: int) -> list[FiledDefinition]:
    """Functions of `.cpp` files of the library, at random."""
    files = [f for f in view.files() if f.path.endswith(".cpp") and f.role == "library"]
    chosen = random.Random(3)
    found: list[FiledDefinition] = []
    while len(found) < count and files:
        bodies = [d for d in view.definitions_in(chosen.choice(files)) if d.fact.kind == "function"]
        bodies = [d for d in bodies if not d.fact.declares]
        if bodies:
            found.append(chosen.choice(bodies))
    return found


def selection(view: View, function: FiledDefinition) -> set[str]:
    """The test files selected for a change in a function's body."""
    line = function.fact.end_line
    change = ChangedFile(function.file.path, function.file.path, added=(line,), text=("x",))
    return {test.file for test in affected(view, (), [change]).tests if not test.cpp}


def recorded(folder: Path) -> Iterator[tuple[str, set[str]]]:
    """(test file, operators that it ran) of each record with a test in it."""
    for path in sorted(folder.glob("*.json")):
        said = json.loads(path.read_text("utf-8"))
        if said["tests"]:
            yield f"test/{path.name.removesuffix('.json').replace('@', '/')}", set(said["ops"])


def compared(view: View, records: dict[str, set[str]], misses: bool) -> None:
    """Prints recall, false selections and sizes over the recorded operators of ATen."""
    total = len(runs(view).tests)
    hit = pairs = wrong = others = 0
    sizes: list[float] = []
    missed: Counter[tuple[str, str]] = Counter()
    for packet in sorted({op for ops in records.values() for op in ops if op.startswith("aten::")}):
        for function in kernels(view, packet)[:1]:
            chosen = selection(view, function)
            sizes.append(len(chosen) / total)
            for file, ops in records.items():
                if packet in ops:
                    pairs, hit = pairs + 1, hit + (file in chosen)
                    if file not in chosen:
                        missed[file, packet] += 1
                else:
                    others, wrong = others + 1, wrong + (file in chosen)
    print(
        f"recall {hit / pairs:.4f} of {pairs} pairs (wanted 0.99),"
        f" {len(records)} files, {len(sizes)} functions"
    )
    print(
        f"false {wrong / others:.3f} of {others} (at most 0.40);"
        f" mean size {statistics.mean(sizes):.3f} (at most 0.60)"
    )
    if misses:
        for (file, packet), _ in sorted(missed.items()):
            print(f"  missed {file} {packet}")


def main() -> None:
    """Measures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("records", type=Path, nargs="?")
    parser.add_argument("--functions", type=int, default=60)
    parser.add_argument("--misses", action="store_true")
    given = parser.parse_args()
    # As in the daemon: what a view keeps is looked through for garbage as seldom.
    gc.set_threshold(*COLLECT)
    with open_view(index_folder(given.tree.resolve(), os.environ)) as view:
        warm(view)
        began = time.process_time()
        table = runs(view)
        print(f"table: {time.process_time() - began:.1f} CPU s, {len(table.tests)} test files")
        if given.records:
            compared(view, dict(recorded(given.records)), given.misses)
        times, sizes = [], []
        functions = drawn(view, given.functions)
        for function in functions:
            began = time.process_time()
            sizes.append(len(selection(view, function)) / len(table.tests))
            times.append((time.process_time() - began) * 1000)
        print(f"{len(functions)} functions of .cpp files: mean size {statistics.mean(sizes):.3f}")
        p50, p95 = statistics.median(times), percentile(times, 0.95)
        print(f"one function, depth 3: p50 {p50:.0f} ms, p95 {p95:.0f} ms (wanted 300 ms)")
        files = [
            ChangedFile(f.file.path, f.file.path, added=(f.fact.end_line,), text=("x",))
            for f in functions[:50]
        ]
        began = time.process_time()
        affected(view, (), files)
        print(f"{len(files)} files: {(time.process_time() - began) * 1000:.0f} ms (wanted 2 s)")


if __name__ == "__main__":
    main()
