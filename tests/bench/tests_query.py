"""How long the question `tests` takes on a whole tree.

    python -m tests.bench.tests_query TREE [--index DIR]

First the very first question of a view (which works out what all others use), then many others, each asked
once: every eighth OpInfo name, classes and functions of test files, parts of paths, what tests are written
with. Prints the slowest, and p50 and p95 in milliseconds.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from pathlib import Path

from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.link.test_entries import entries
from torchtalkd.queries.tests import tests
from torchtalkd.queries.tests_items import test_files
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--index", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        index = arguments.index or Path(folder)
        build(arguments.tree, index, load("pytorch", tree=arguments.tree))
        with open_view(index) as view:
            for mode, query in (("find", "add"), ("utils", ""), ("file_info", "test_torch")):
                print(f"first {mode}: {seconds(view, query, mode):.0f} ms")
            gc.collect()
            gc.freeze()  # as the daemon does
            measured(view)
    return 0


def seconds(view: View, query: str, mode: str = "find", focus: str = "all") -> float:
    """How long a question takes, in milliseconds."""
    begun = time.process_time()
    tests(view, query, mode, focus=focus)
    return (time.process_time() - begun) * 1000


def measured(view: View) -> None:
    """Asks the sample."""
    names = [entry.full_name for entry in entries(view).all][::8]
    files = [file.path for file in test_files(view) if file.language == "python"][::12]
    asked = [(name, "find", "all") for name in names]
    asked += [(f"torch.{name}", "find", "files") for name in names[::4]]
    asked += [(key.partition(":")[2], "find", "all") for key in view.keys("py", "test_")[::400]]
    asked += [(key.partition(":")[2], "find", "classes") for key in view.keys("py", "Test")[::60]]
    all_times: list[float] = []
    for title, sample in (("find", asked), ("file_info", [(path, "file_info", "all") for path in files])):
        taken = sorted((seconds(view, *one), one) for one in sample)
        times = [time_ for time_, _ in taken]
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"{title}: {len(times)} questions, p50 {statistics.median(times):.1f} ms, p95 {p95:.1f} ms")
        for time_, one in taken[-4:]:
            print(f"    {time_:.1f} ms {one[0]} {one[2]}")
        all_times += times
    print(f"together: p95 {statistics.quantiles(all_times, n=20)[-1]:.1f} ms")


if __name__ == "__main__":
    sys.exit(main())
