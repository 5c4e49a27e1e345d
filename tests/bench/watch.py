"""How soon the watcher tells of a save, and what it costs, on a real tree.

    python -m tests.bench.watch TREE [--saves 50] [--idle 20]

The tree is only looked at: how soon it is watched, and what the watch costs while nothing
happens. Saves are made in a tree of a few files in a folder of their own, in each style, also right
after a move out of the tree. Machines are noisy: see the load that is printed first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tests.watching import STYLES, Heard, renamed_over, settle
from torchtalkd.conventions import detect, load
from torchtalkd.conventions.files import ignored
from torchtalkd.watch import watch


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--saves", type=int, default=50)
    parser.add_argument("--idle", type=float, default=20.0)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    real_tree(options.tree, options.idle)
    with tempfile.TemporaryDirectory() as folder:
        saves(Path(folder), options.saves)
        storm(Path(folder))


def real_tree(tree: Path, idle: float) -> None:
    """From the start to the first batch, then what it costs while nothing happens."""
    files = load(detect(tree)[0], tree=tree).files
    began = time.perf_counter()
    heard = Heard()
    # Without its git folder, so that nothing is written there.
    found = watch(tree, ignored=lambda path: ignored(files, path), git_folders=[], heard=heard)
    returned = time.perf_counter()
    heard.until(lambda whole: "start" in whole.sweep)
    ready = time.perf_counter()
    state = found.state()
    print(
        f"{state.folders} folders: returns in {ms(returned - began)}, first batch after {ms(ready - began)}"
    )
    before = time.process_time()
    threading.Event().wait(idle)
    print(f"idle: {(time.process_time() - before) / idle:.3%} of a core")
    found.close()


def saves(folder: Path, count: int) -> None:
    """The time from a save to its batch, and that of a question that waits for it."""
    tree = folder / "tree"
    (tree / "lib").mkdir(parents=True)
    path = tree / "lib/a.cpp"
    path.write_text("")
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    heard = Heard()
    found = watch(tree, ignored=lambda path: False, git_folders=[tree / ".git"], heard=heard)
    settle(found)
    for name, style in STYLES.items():
        plain, after_move, asked = [], [], []
        for number in range(count):
            heard.clear()
            plain.append(until_told(heard, lambda style=style, number=number: style(path, f"1 {number}")))  # type: ignore[misc]
            leaving = tree / "lib/leaving.cpp"
            leaving.write_text("")
            settle(found)
            heard.clear()
            leaving.rename(folder / "left.cpp")
            after_move.append(
                until_told(heard, lambda style=style, number=number: style(path, f"2 {number}"))
            )  # type: ignore[misc]
            style(path, f"3 {number}")
            began = time.monotonic()
            settle(found)
            asked.append(time.monotonic() - began)
        print(
            f"{name}: told after {spread(plain)}, after a move out {spread(after_move)}, "
            f"settled {spread(asked)}"
        )
    found.close()


def until_told(heard: Heard, save: Callable[[], None]) -> float:
    """Seconds from the end of a save to its batch."""
    save()
    began = time.monotonic()
    return heard.until_path("lib/a.cpp") - began


def storm(folder: Path) -> None:
    """18,000 files renamed over in 600 folders."""
    tree = folder / "storm"
    folders = [tree / f"d{number}" for number in range(600)]
    for each in folders:
        each.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    heard = Heard()
    found = watch(tree, ignored=lambda path: False, git_folders=[tree / ".git"], heard=heard)
    settle(found)
    heard.clear()
    began = time.monotonic()
    for name in range(30):
        for each in folders:
            renamed_over(each / f"{name}.py", "1")
    made = time.monotonic()
    settle(found)
    whole = heard.whole()
    kept = sum(f"d{number}/{name}.py" in whole.paths for number in range(600) for name in range(30))
    print(
        f"storm: made in {made - began:.1f} s, settled {ms(time.monotonic() - made)} later: {kept} of 18000 "
        f"files told, sweep {sorted(whole.sweep)}, {len(heard.batches)} batches"
    )
    found.close()


def spread(times: list[float]) -> str:
    """Median and the 95th of a hundred."""
    ordered = sorted(times)
    return f"{ms(ordered[len(ordered) // 2])} (p95 {ms(ordered[int(len(ordered) * 0.95)])})"


def ms(seconds: float) -> str:
    """Milliseconds for reading."""
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    main()
