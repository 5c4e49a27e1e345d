"""External imports of a tree, counted twice: by the index, and by Python's own parser.

    python -m tests.bench.external TREE

One edge is a (file, imported dotted name) pair whose name begins with a root module of a framework that
the tree's manifest depends on. Prints both counts and every edge that only one of them has.
"""

from __future__ import annotations

import ast
import os
import sys
import warnings
from pathlib import Path

from torchtalkd.cache import index_folder
from torchtalkd.queries.external import edges
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View


def counted_by_ast(root: Path, paths: list[str], modules: tuple[str, ...]) -> set[tuple[str, str]]:
    """The import edges of files as Python's own parser reads them; a file that it cannot read is left out."""
    found: set[tuple[str, str]] = set()
    for path in paths:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse((root / path).read_bytes())
        except (SyntaxError, ValueError) as error:
            print(f"not read by ast: {path}: {error}")
            continue
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names = [
                    node.module if alias.name == "*" else f"{node.module}.{alias.name}"
                    for alias in node.names
                ]
            found.update((path, name) for name in names if name.partition(".")[0] in modules)
    return found


def counted_by_index(view: View) -> set[tuple[str, str]]:
    """The import edges in an index."""
    return {(edge.file.path, edge.name) for edge in edges(view) if edge.sort == "import"}


def compare(root: Path, view: View) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Both counts of one tree: by the index, by ast."""
    modules = tuple(name for base in view.rules.bases.values() for name in base.get("python", ()))
    paths = [file.path for file in view.files() if file.language == "python" and file.role != "template"]
    return counted_by_index(view), counted_by_ast(root, paths, modules)


def main() -> int:
    """Prints the comparison; 1 where the two differ."""
    root = Path(sys.argv[1])
    with open_view(index_folder(root, os.environ)) as view:
        mine, theirs = compare(root, view)
        library = {path for path, _ in mine if (file := view.file(path)) and file.role != "test"}
    print(f"index: {len(mine)} import edges from {len({path for path, _ in mine})} modules")
    print(f"  without tests: {sum(path in library for path, _ in mine)} from {len(library)} modules")
    print(f"ast:   {len(theirs)} import edges from {len({path for path, _ in theirs})} modules")
    for name, extra in (("index", mine - theirs), ("ast", theirs - mine)):
        print(f"only {name}: {len(extra)}")
        for path, imported in sorted(extra)[:20]:
            print(f"  {path}: {imported}")
    return int(mine != theirs)


if __name__ == "__main__":
    sys.exit(main())
