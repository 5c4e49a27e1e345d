"""The whole exact reading of a tree, from nothing: what it costs and what it finds.

    python -m tests.bench.exact TREE [--index DIR] [--trust] [--workers 2] [--again]

`--trust` lets the tree's own generator of headers run, and its time is in the figure; without it only what
needs no generated header is read. Units with an error that is not a missing header are named. CPU times
are those of the processes that read; the machine may be busy.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

from torchtalkd.compilation.generated import code_digest
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.engine.exact import read_exactly
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View


def main() -> None:
    """Reads, and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--harness", default="pytorch")
    parser.add_argument("--index", type=Path, help="a folder with an index of the tree; made if it has none")
    parser.add_argument("--trust", action="store_true", help="run the tree's generators of headers")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="keep what was read exactly before")
    options = parser.parse_args()
    tree = options.tree.resolve()
    folder = options.index or Path(tempfile.mkdtemp())
    conventions = load(options.harness, tree=tree)
    build(tree, folder, conventions)
    if not options.again:
        _forget(folder, tree)
    begun, said = time.monotonic(), [0.0]

    def progress(done: int, total: int) -> None:
        if time.monotonic() - said[0] > 20:
            said[0] = time.monotonic()
            print(f"  {time.monotonic() - begun:.0f} s: {done} of {total}", flush=True)

    trusted = code_digest(tree, conventions) if options.trust else ""
    result = read_exactly(
        tree, folder, conventions, workers=options.workers, trusted=trusted, progress=progress
    )
    if result.off:
        print(result.off)
        return
    own = resource.getrusage(resource.RUSAGE_SELF)
    print(
        f"{result.read} of {result.total} files read in {result.seconds:.0f} s wall, {result.cpu:.0f} CPU s"
    )
    print(
        f"  of these precompiled headers {result.precompiling:.0f} s, bodies of headers"
        f" {result.headers:.0f} s; {result.plain} units read again plainly"
    )
    print(f"  our own process: {own.ru_utime + own.ru_stime:.0f} CPU s, {own.ru_maxrss // 1024} MB")
    print(f"  units of CUDA: {result.cuda:.0f} CPU s; all but these {result.cpu - result.cuda:.0f} CPU s")
    peaks = sorted(result.peaks.items())
    print("  a process that reads, at most: " + ", ".join(f"{kind} {kb // 1024} MB" for kind, kb in peaks))
    with open_view(folder) as view:
        _found(view, result.cpu - result.precompiling - result.headers, result.cuda)
    for path, why in result.failed:
        print(f"  failed: {path}: {why}")


def _forget(folder: Path, tree: Path) -> None:
    from torchtalkd.store.database import open_writer

    with open_view(folder) as view:
        numbers = list(view.exact_rows())
    with open_writer(folder, tree) as writer:
        writer.put_exact((), {}, numbers, {})
    shutil.rmtree(folder / "compilation", ignore_errors=True)


def _found(view: View, cpu: float, cuda: float) -> None:
    counts = view.exact_counts()
    units = [(path, one) for path, one in counts if not one["header"]]
    headers = [(path, one) for path, one in counts if one["header"]]
    share = view.exact_share()
    print(f"true now: {share.read} of {share.total}; units {len(units)}, headers {len(headers)}")
    of_cuda = sum(path.endswith(".cu") for path, _ in units)
    others = len(units) - of_cuda
    print(
        f"mean CPU time of a unit: {(cpu - cuda) / max(1, others):.3f} s; of {of_cuda} of CUDA"
        f" {cuda / max(1, of_cuda):.3f} s"
    )
    print(
        f"bodies joined: {sum(one['bodies'] for _, one in units)} in units,"
        f" {sum(one['bodies'] for _, one in headers)} in headers"
    )
    for name, some in (
        ("units", units),
        ("units without a missing header", [u for u in units if not u[1]["missing"]]),
    ):
        sums = Counter[str]()
        for _, one in some:
            sums.update({what: one[what] for what in ("resolved", "dependent", "unresolved")})
        known = sums["resolved"] + sums["unresolved"]
        print(
            f"calls in {name} ({len(some)}): {sums['resolved']} resolved, {sums['unresolved']} not"
            f" ({100 * sums['resolved'] / max(1, known):.2f} %), {sums['dependent']} dependent"
        )
    edges = view.exact_edges()
    print(f"edges between functions of the tree: {edges}")
    missing = Counter(name for _, one in units for name in one["missing"])
    print("missing headers: " + ", ".join(f"{name} {count}" for name, count in missing.most_common(40)))
    bad = [(path, one) for path, one in units if one["errors"] and not one["missing"]]
    print(f"units with an error that is not a missing header: {len(bad)}")
    for path, one in bad:
        print(f"  {path}: {one['errors'][0][0]}:{one['errors'][0][1]} {one['errors'][0][2]}")
    worst = [(path, one) for path, one in headers if one["errors"]]
    print(f"headers with an error in their own text: {len(worst)}")
    for path, one in worst[:40]:
        print(f"  {path}:{one['errors'][0][1]} {one['errors'][0][2]}")


if __name__ == "__main__":
    main()
