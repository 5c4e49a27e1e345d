"""How many of the positions of `positions.tsv` an editor is answered rightly, by kind.

    python -m tests.bench.positions TREES [--table FILE]

The table was found in the trees by search (`find_positions.py`), not from answers. A position is right
when every target is among the places answered and no other place is. Each miss is listed. Speaks to
the real daemon over the real bridge; the trees must be indexed (`torchtalkd index build`).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from tests.conftest import REPOSITORY
from tests.daemons import until
from tests.editors import NEOVIM, Editor, uri_of

RIGHT = 0.99
"""The share that is promised."""
LANGUAGES = {".py": "python", ".yaml": "yaml"}


def answered(editor: Editor, root: Path, request: str, place: str) -> list[str]:
    """The places that a request at a place is answered with, from the root."""
    path, line, column = place.rsplit(":", 2)
    uri = uri_of(str(root / path))
    editor.open(root / path, language=LANGUAGES.get(Path(path).suffix, "cpp"))
    found = editor.at(request, uri, int(line) - 1, int(column) - 1) or []
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    begin = uri_of(str(root)) + "/"
    uris = [one.get("targetUri") or one["uri"] for one in found]
    lines = [(one.get("targetSelectionRange") or one["range"])["start"]["line"] + 1 for one in found]
    return [f"{uri.removeprefix(begin)}:{line}" for uri, line in zip(uris, lines, strict=True)]


def ready(editor: Editor) -> None:
    """Waits until all of the index is there."""

    def complete() -> bool:
        roots = editor.ask("torchtalk/status", {})["roots"]
        return bool(roots) and all(root["complete"] for root in roots)

    until(complete, "an index")


def main() -> int:
    """Asks, counts and lists."""
    parser = argparse.ArgumentParser()
    parser.add_argument("trees", type=Path)
    parser.add_argument("--table", type=Path, default=Path(__file__).with_suffix(".tsv"))
    arguments = parser.parse_args()
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    editors: dict[str, Editor] = {}
    right: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in arguments.table.read_text("utf-8").splitlines():
        kind, tree, request, place, text, wanted = row.split("\t")
        root = (arguments.trees / tree).resolve()
        if tree not in editors:
            editor = editors[tree] = Editor(environment, capabilities=NEOVIM)
            editor.initialize(root)
            ready(editor)
        targets = set(wanted.split()) - {"-"}
        found = answered(editors[tree], root, request, place)
        total[kind] += 1
        if set(found) == targets:
            right[kind] += 1
        else:
            print(f"MISS {kind} {tree} {request} {place}", f"     {text}", sep="\n")
            print(f"     wanted {wanted}", f"     found  {' '.join(found) or '-'}", sep="\n")
    for editor in editors.values():
        editor.close()
    for kind in total:
        print(f"{right[kind]:4} of {total[kind]:4}  {kind}")
    share = right.total() / total.total()
    print(f"{right.total()} of {total.total()} positions right: {share:.1%}")
    return 0 if share >= RIGHT else 1


if __name__ == "__main__":
    sys.exit(main())
