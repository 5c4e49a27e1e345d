"""Which function definitions libclang sees and the parser does not.

    python -m tests.bench.definitions TREE [--files 60] [--seed 1] [--generated DIR]

Each sampled `.cpp` is read by libclang without a build, errors tolerated; `--generated` names a
folder with torchgen's headers, which mirrors the tree (configured headers are written there, too);
without it some units lose what they include. Every miss is listed.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from clang import cindex

from torchtalkd.compilation import commands
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.link.macros import makes
from torchtalkd.parse import parse
from torchtalkd.store.database import open_view

_FUNCTIONS = {
    cindex.CursorKind.FUNCTION_DECL,
    cindex.CursorKind.CXX_METHOD,
    cindex.CursorKind.CONSTRUCTOR,
    cindex.CursorKind.DESTRUCTOR,
    cindex.CursorKind.CONVERSION_FUNCTION,
    cindex.CursorKind.FUNCTION_TEMPLATE,
}
_KEEP_GOING = 0x200


def seen_by_clang(file: Path, flags: tuple[str, ...]) -> list[tuple[str, int]]:
    """(name, line) of each function that the file itself defines."""
    unit = cindex.Index.create().parse(str(file), args=list(flags), options=_KEEP_GOING)
    found = []
    pending = [c for c in unit.cursor.get_children() if c.location.file and c.location.file.name == str(file)]
    while pending:
        cursor = pending.pop()
        if cursor.kind in _FUNCTIONS:
            if cursor.is_definition() and not cursor.is_default_method():
                found.append((cursor.spelling, cursor.location.line))
            continue
        pending.extend(
            child
            for child in cursor.get_children()
            if child.location.file and child.location.file.name == str(file)
        )
    return found


def main() -> None:
    """Print the share and every miss."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--files", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generated", type=Path)
    parser.add_argument("--index", type=Path, help="a folder with an index of the tree; made if it has none")
    options = parser.parse_args()
    conventions = load("pytorch", tree=options.tree)
    folder = options.index or Path(tempfile.mkdtemp())
    build(options.tree.resolve(), folder, conventions)
    view = open_view(folder)
    candidates = sorted(
        str(path.relative_to(options.tree))
        for folder in ("aten/src/ATen", "c10", "torch/csrc")
        for path in (options.tree / folder).rglob("*.cpp")
        if "/templates/" not in str(path) and "/test" not in str(path)
    )
    sample = random.Random(options.seed).sample(candidates, min(options.files, len(candidates)))
    made = options.generated or Path(tempfile.mkdtemp()) / "made"
    told = commands(options.tree.resolve(), conventions, made, paths=sample)
    # Of the ways to compile a file, the first.
    flags = {unit.path: unit.arguments for unit in reversed(told.units)}
    total, missed = 0, []
    for path in sample:
        file = options.tree / path
        facts = parse(path, file.read_bytes(), conventions)
        lines: dict[int, list[str]] = {}
        view_file = view.file(path)
        assert view_file is not None, path
        for definition in facts.definitions:
            if not definition.declares:
                lines.setdefault(definition.line, []).append(definition.name.rpartition("::")[2])
        for use in view.definitions_in(view_file):
            if use.fact.kind == "macro_use":  # What a macro of another file makes is linked, not parsed.
                made = [one.name for one in makes(view, use)]
                lines.setdefault(use.fact.line, []).extend(name.rpartition("::")[2] for name in made)
        for name, line in seen_by_clang(file, flags[path]):
            total += 1
            # `operator size_t` is `operator unsigned long` to libclang.
            plain = "operator" if name.startswith("operator") else name.partition("<")[0]
            names = ["operator" if n.startswith("operator") else n for n in lines.get(line, [])]
            # A structured kernel is a method `impl` or `meta` of a class that the macro names, a
            # library block a function with a made-up name.
            made_up = plain in ("impl", "meta", "TestBody") or plain.startswith("TORCH_LIBRARY")
            if plain not in names and not (names and made_up):
                missed.append((path, line, name))
    for path, line, name in missed:
        print(f"  {path}:{line} {name}")
    share = 100 * len(missed) / max(total, 1)
    print(f"{len(sample)} files, {total} definitions seen by libclang, {len(missed)} missed ({share:.2f} %)")


if __name__ == "__main__":
    main()
