"""From the save of a `.cpp` until what a compiler says of it can be asked for, through the daemon.

    python -m tests.bench.exact_saves TREE [--cache DIR] [--saves 40] [--seed 1]

TREE is written to, so it is a copy; its generator of headers is trusted. All of it is read exactly first,
unless the cache has that already. Then random units are saved, one after the other, each with two functions
more at its end; the time is from the write until an index has the call of the one by the other. Each text
is put back. The first two are not counted: a daemon that has just started looks at the whole tree, and at its
precompiled headers, before it reads on.
"""

from __future__ import annotations

import argparse
import random
import statistics
import threading
import time
from pathlib import Path

from tests.bench.daemon import Agent
from tests.daemons import Home, new_home
from torchtalkd import keys
from torchtalkd.cache import index_folder
from torchtalkd.store.database import open_view

TEXT = "\nstatic int said_{n}() {{ return {n}; }}\nint saved_{n}() {{ return said_{n}(); }}\n"
MOST_SECONDS = 60.0
FIRST = 2
"""Saves that are not counted."""
_PAUSE = threading.Event()


def main() -> None:
    """Prints the times."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=lambda text: Path(text).resolve())
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--saves", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with new_home() as home:
        home.environ["TORCHTALK_EXACT"] = "on"
        if options.cache:
            home.environ["XDG_CACHE_HOME"] = str(options.cache)
        for words in (("trust", options.tree), ("index", "build", "--exact", "--source", options.tree)):
            process = home.start(*words)
            out, err = process.communicate()
            assert process.returncode == 0, (out, err)
        # Somebody is there, as for one who edits: a daemon that nobody asks does not read on.
        agent = Agent(home, options.tree)
        agent.call("trace", func="matmul")
        try:
            _saves(home, options.tree, options.saves, options.seed)
        finally:
            agent.end()


def _saves(home: Home, tree: Path, count: int, seed: int) -> None:
    folder = index_folder(tree, home.environ)
    with open_view(folder) as view:
        units = [path for path, one in view.exact_counts() if not one["header"] and path.endswith(".cpp")]
    times = []
    for n, path in enumerate(random.Random(seed).sample(units, min(count + FIRST, len(units)))):
        file = tree / path
        before = file.read_bytes()
        try:
            begun = time.monotonic()
            file.write_bytes(before + TEXT.format(n=n).encode())
            took = _seen(folder, f"saved_{n}", f"said_{n}", begun)
        finally:
            file.write_bytes(before)
        print(f"  {path}: {took:.2f} s", flush=True)
        if n >= FIRST:
            times.append(took)
        _settled(folder)
    times.sort()
    print(
        f"{len(times)} saves to exact facts: p50 {statistics.median(times):.2f} s,"
        f" p95 {times[min(len(times) - 1, int(0.95 * len(times)))]:.2f} s, most {times[-1]:.2f} s"
    )


def _seen(folder: Path, caller: str, called: str, begun: float) -> float:
    while time.monotonic() - begun < MOST_SECONDS:
        with open_view(folder) as view:
            for definition in view.definitions(keys.cpp(caller)):
                if any(one.name.rpartition("::")[2] == called for one in view.exact_in(definition) or ()):
                    return time.monotonic() - begun
        _PAUSE.wait(0.02)
    raise AssertionError(f"never read exactly: {caller}")


def _settled(folder: Path) -> None:
    """Waits until nothing is to be read any more."""
    begun = time.monotonic()
    while time.monotonic() - begun < MOST_SECONDS:
        with open_view(folder) as view:
            share = view.exact_share()
        if share.read == share.total:
            return
        _PAUSE.wait(0.05)


if __name__ == "__main__":
    main()
