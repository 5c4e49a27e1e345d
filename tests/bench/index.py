"""What an index costs, against the bare parse of the same files in the same run.

    python -m tests.bench.index TREE [--rounds 3] [--queries 500]

Bare: two processes that read and parse every file that the index holds, with the same grammars,
and keep nothing. Ours: `torchtalkd index build --no-wait` as a process, from an empty cache. Then
the start on the unchanged tree (`torchtalkd trace matmul` as a process), traces in process, and
the size on disk. Machines are noisy: the ratio of the two is the figure to quote.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tree_sitter_python
from tree_sitter import Language, Parser

from torchtalkd.parse.cpp_walk import CPP, CUDA
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

WORKERS = 2
_LANGUAGES = {"python": Language(tree_sitter_python.language()), "cuda": CUDA}


def bare(root: Path, files: list[tuple[str, str]]) -> float:
    """Seconds of wall time in which two processes read and parse (path, language) of each file."""
    files = sorted(files, key=lambda file: -(root / file[0]).stat().st_size)
    began = time.perf_counter()
    with multiprocessing.Pool(WORKERS) as pool:
        pool.map(_parse, [(str(root), files[start::200]) for start in range(200)], chunksize=1)
    return time.perf_counter() - began


def _parse(work: tuple[str, list[tuple[str, str]]]) -> None:
    root, files = work
    parsers: dict[str, Parser] = {}
    for path, language in files:
        parser = parsers.get(language)
        if parser is None:
            parser = parsers[language] = Parser(_LANGUAGES.get(language, CPP))
        parser.parse(Path(root, path).read_bytes())


def command(environment: dict[str, str], *words: str) -> float:
    """Seconds of wall time of a torchtalkd process; its failure is ours. That a tree has no such name (1)
    is an answer."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "torchtalkd", *words], env=environment, check=False, capture_output=True
    )
    assert done.returncode in (0, 1), done.stderr
    return time.perf_counter() - began


def queries(view: View, count: int) -> tuple[list[float], list[float]]:
    """Milliseconds of `count` traces of operators, and of as many unknown names."""
    operators = view.definitions_of_kind("operator") or view.definitions_of_kind("schema")
    names = sorted({d.fact.name for d in operators})
    sample = random.Random(1).sample(names, min(count, len(names)))
    known, unknown = [], []
    for name in sample:
        known.append(_timed(view, name))
        unknown.append(_timed(view, name.rpartition("::")[2][::-1] + "_x"))
    return known, unknown


def _timed(view: View, name: str) -> float:
    began = time.perf_counter()
    trace(view, name)
    return 1000 * (time.perf_counter() - began)


def _percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", type=int, default=500)
    options = parser.parse_args()
    root = options.tree.resolve()
    ratios = []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as scratch:
            environment = {**os.environ, "XDG_CACHE_HOME": scratch, "XDG_CONFIG_HOME": scratch}
            environment["TORCHTALK_NO_DAEMON"] = "1"
            built = command(
                environment, "index", "build", "--no-wait", "--workers", str(WORKERS), "--source", str(root)
            )
            folder = next(Path(scratch).glob("torchtalk/**/index.db")).parent
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            with open_view(folder) as view:
                files = [
                    (file.path, file.language)
                    for file in view.files()
                    if file.language in ("cpp", "cuda", "objcpp", "metal", "python")
                ]
            floor = bare(root, files)
            ratios.append(built / floor)
            print(
                f"build {built:.1f} s, bare parse of {len(files)} files {floor:.1f} s: {built / floor:.2f} ×"
            )
            warm = [command(environment, "trace", "matmul", "--source", str(root)) for _ in range(5)]
            with open_view(folder) as view:
                known, unknown = queries(view, options.queries)
    print(f"build: {statistics.median(ratios):.2f} × the bare parse (median of {len(ratios)})")
    print(f"start on the unchanged tree to the first answer: {statistics.median(warm):.2f} s")
    print(f"index on disk: {size:.0f} MB")
    for what, values in (("trace of an operator", known), ("unknown name", unknown)):
        print(f"{what}: p50 {_percentile(values, 0.5):.1f} ms, p95 {_percentile(values, 0.95):.1f} ms")


if __name__ == "__main__":
    main()
