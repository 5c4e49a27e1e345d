"""Compare the ids that we give to tests with those that pytest collects.

    python -m tests.bench.pytest_ids TREE COLLECTED…

Each COLLECTED is a file with what `pytest --collect-only -q` printed for some test files of TREE, run from
its top folder with its own framework installed. The tree is indexed in a temporary folder (--index DIR
keeps it). For each test file: ids collected, ids that we say are certain, of these wrong ones (not
collected), and collected ones that neither an id nor a pattern of ours covers. Exits 1 if there are any.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from fnmatch import translate
from pathlib import Path

from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.link.test_classes import brought_in
from torchtalkd.link.test_functions import methods_of, tests_in
from torchtalkd.link.test_ids import ids_of
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View


def main() -> int:
    """Prints one line for each test file, and some of the differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("collected", type=Path, nargs="+")
    parser.add_argument("--index", type=Path)
    arguments = parser.parse_args()
    by_file: dict[str, set[str]] = {}
    for file in arguments.collected:
        for line in file.read_text().splitlines():
            path, found, name = line.strip().partition("::")
            if found and path.endswith(".py"):
                by_file.setdefault(path, set()).add(f"{path}::{name}")
    with tempfile.TemporaryDirectory() as folder:
        index = arguments.index or Path(folder)
        build(arguments.tree, index, load("pytorch", tree=arguments.tree))
        with open_view(index) as view:
            bad = sum(compared(view, path, ids) for path, ids in sorted(by_file.items()))
    return int(bad > 0)


def compared(view: View, path: str, collected: set[str]) -> int:
    """How many ids are wrong or not covered."""
    file = view.file(path)
    if file is None:
        print(f"{path}: not in the tree")
        return len(collected)
    certain: set[str] = set()
    patterns: set[str] = set()
    foreign = [test for class_ in brought_in(view, file) for test in methods_of(view, class_)]
    for test in (*tests_in(view, file), *foreign):
        made = ids_of(view, test)
        certain.update(one for one in made.ids if one.startswith(f"{path}::"))
        patterns.update(one for one in made.patterns if one.startswith(f"{path}::"))
    wrong = certain - collected
    left = collected - certain
    covering = re.compile("|".join(translate(p.replace("[", "[[]")) for p in patterns) or "(?!)")
    missed = {one for one in left if not covering.fullmatch(one)}
    print(
        f"{path}: {len(collected)} collected, {len(certain)} certain, {len(wrong)} of them wrong,"
        f" {len(left) - len(missed)} by {len(patterns)} patterns, {len(missed)} missed"
    )
    for label, names in (("wrong", wrong), ("missed", missed)):
        for name in sorted(names)[:6]:
            print(f"    {label}: {name}")
    return len(wrong) + len(missed)


if __name__ == "__main__":
    sys.exit(main())
