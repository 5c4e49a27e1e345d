"""What snapshots cost, against what the same bytes cost without them in the same run.

    python -m tests.bench.snapshots TREE [--rounds 3] [--many 500]

TREE is copied, with its git folder, because files are changed and committed. Each command is a process of
its own, from its start to its end; `load` ends where the first right answer can be given, and that answer
is timed as well. Beside each figure stands a floor: the copy of the database with a sync, its gzip, its
gunzip, the bare parse of the files. Machines are noisy: the ratio is the figure to quote.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.bench.index import bare
from torchtalkd.snapshots import keeping
from torchtalkd.snapshots.about import from_text, to_text
from torchtalkd.snapshots.choosing import choose


class Bench:
    """A tree of its own, with a cache of its own."""

    def __init__(self, folder: Path, source: Path) -> None:
        self.folder = folder
        self.tree = folder / "tree"
        shutil.copytree(source, self.tree, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        self.environment = {
            **os.environ,
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "TORCHTALK_SOURCE": str(self.tree),
            "TORCHTALK_NO_DAEMON": "1",
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b",
        }
        self.home = folder / "cache" / "torchtalk" / "snapshots"

    def run(self, *words: str) -> tuple[float, str]:
        """Seconds of wall time of a command, and what it printed; its failure is ours."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "torchtalkd", *words],
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        )
        took = time.perf_counter() - began
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"  {' '.join(words[:2])}: {took:.2f} s [{spent:.2f} s]", flush=True)
        return took, done.stdout

    def git(self, *words: str) -> None:
        """Git in the tree."""
        subprocess.run(["git", *words], cwd=self.tree, env=self.environment, check=True, capture_output=True)

    def database(self) -> Path:
        """The index."""
        return next((self.folder / "cache" / "torchtalk").glob("v*/index.db"))

    def edit(self, suffix: str, count: int) -> list[str]:
        """Adds a line to some files; their paths."""
        found = sorted((self.tree / "aten").rglob(f"*{suffix}"))[:: max(1, 300 // count)][:count]
        for path in found:
            with open(path, "a", encoding="utf-8") as file:
                file.write(f"\n// {time.monotonic_ns()}\n")
        return [path.relative_to(self.tree).as_posix() for path in found]


def timed(work: Callable[[], object]) -> float:
    """Seconds of wall time."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def copied(source: Path, target: Path) -> None:
    """The floor of a save and a load: the same bytes on the disk once more, synced."""
    with open(source, "rb") as data, open(target, "wb") as file:
        shutil.copyfileobj(data, file, 1 << 20)
        file.flush()
        os.fsync(file.fileno())


def show(what: str, values: list[float], floor: list[float], of: str) -> None:
    """A line."""
    ratio = statistics.median(value / least for value, least in zip(values, floor, strict=True))
    print(f"{what}: {statistics.median(values):.2f} s, {ratio:.1f} × {of} ({statistics.median(floor):.2f} s)")


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--many", type=int, default=500)
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; of wall time, with processor time in []")
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(Path(scratch), options.tree.resolve())
        # A copy has other times than git remembers, which a checkout has not.
        bench.git("status")
        bench.run("index", "build")
        whole = bench.database().stat().st_size
        save: dict[str, list[float]] = {name: [] for name in ("first", "next", "load", "answer", "copy")}
        move: dict[str, list[float]] = {name: [] for name in ("export", "gzip", "import", "gunzip")}
        update: dict[str, list[float]] = {"update": [], "bare": []}
        for number in range(options.rounds):
            shutil.rmtree(bench.home, ignore_errors=True)
            save["copy"].append(timed(lambda: copied(bench.database(), bench.folder / "copy")))
            save["first"].append(bench.run("snapshot", "save", "main/first")[0])
            first = keeping.size(bench.home)
            bench.edit(".cpp", 20)
            bench.run("index", "build")
            save["next"].append(bench.run("snapshot", "save", "main/next")[0])
            print(
                f"index {whole / 1e6:.0f} MB, first snapshot {first / 1e6:.0f} MB, the next after 20 files"
                f" {(keeping.size(bench.home) - first) / 1e6:.1f} MB"
            )
            save["load"].append(bench.run("snapshot", "load", "main/next")[0])
            save["answer"].append(bench.run("trace", "matmul")[0])
            archive = bench.folder / "archive"
            data = bench.database().read_bytes()
            move["gzip"].append(timed(lambda data=data: gzip.compress(data, 6)))  # type: ignore[misc]
            move["export"].append(bench.run("snapshot", "export", "main/next", "-o", str(archive))[0])
            packed = archive.read_bytes()
            move["gunzip"].append(timed(lambda packed=packed: zlib.decompress(packed, 31)))  # type: ignore[misc]
            bench.run("snapshot", "delete", "main/next")
            move["import"].append(bench.run("snapshot", "import", str(archive))[0])
            edited = bench.edit(".cpp", 20)
            bench.git("add", "-A")
            bench.git("commit", "-q", "-m", f"edit {number}")
            update["bare"].append(bare(bench.tree, [(path, "cpp") for path in edited]))
            seconds, told = bench.run("index", "update", "--since", "main/next", "--json")
            update["update"].append(seconds)
            assert set(json.loads(told)["since"]["changed"]) >= set(edited)
        show("save, the first", save["first"], save["copy"], "a copy with sync")
        show("save, the next", save["next"], save["copy"], "a copy with sync")
        show("load", save["load"], save["copy"], "a copy with sync")
        print(f"first answer after it: {statistics.median(save['answer']):.2f} s")
        show("export", move["export"], move["gzip"], "gzip in memory")
        print(f"archive: {len(packed) / 1e6:.1f} MB")
        show("import", move["import"], move["gunzip"], "gunzip in memory")
        show("update after 20 .cpp", update["update"], update["bare"], "the bare parse of these")
        nearest(bench, options.rounds, options.many)


def nearest(bench: Bench, rounds: int, many: int) -> None:
    """The choice of `load --nearest` among many snapshots, by content and by ancestor."""
    about = to_text(keeping.snapshot(bench.home, "main/next").about)
    small = bench.folder / "small.db"
    with sqlite3.connect(small) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()
    for number in range(many):
        commit = f"{number:040x}"
        other = from_text(about, name=f"other/n{number}", git_commit=commit, content_fingerprint=commit[-32:])
        keeping.keep(bench.home, other, small, replace=True)

    def choice() -> float:
        return statistics.median(
            timed(lambda: choose(bench.home, None, bench.tree, "pytorch", force=False)) for _ in range(rounds)
        )

    # The snapshot is of the commit before.
    print(f"--nearest among {many + 2}, by ancestor: {1000 * choice():.0f} ms")
    bench.run("snapshot", "save", "main/now")
    print(f"--nearest among {many + 3}, by content: {1000 * choice():.0f} ms")


if __name__ == "__main__":
    main()
