"""More cursor positions of PyTorch, found as in `find_positions.py`: all kernels, references, operator signs.

python -m tests.bench.find_kernel_positions TREES >> tests/bench/positions.tsv
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.bench.find_positions import ROW, SEED, Tree, composites, entries, functions, one_of_each

YAML = "aten/src/ATen/native/native_functions.yaml"
BEHIND = r"_stub\b|<<<|[Kk]ernel|_impl\b|template|launch|at::native"
"""Words of a body that leads on to other kernels, or may."""
SIGNS = {"*": "mul_out", "-": "sub_out", "/": "div_out", "*=": "mul_out", "-=": "sub_out", "/=": "div_out"}
"""Operator signs between two tensors, and the structured kernel of each (native_functions.yaml)."""


def body(tree: Tree, place: str) -> str:
    """The text of a function that begins at a line, up to the first `}` at a line's begin."""
    path, line = place.rsplit(":", 1)
    lines = tree.files[path].split("\n")[int(line) - 1 :]
    end = next((n for n, text in enumerate(lines) if text.startswith("}")), len(lines))
    return "\n".join(lines[:end])


def all_kernels(tree: Tree, pick: random.Random) -> Iterator[ROW]:
    """Operators of one overload, each of whose kernels is defined once and ends in itself."""
    known, listed = functions(tree), entries(tree)
    bases = [entry["name"].partition(".")[0] for entry in listed]
    rows, single = [], []
    for entry in listed:
        name, text = entry["name"], entry["body"]
        kernels = re.findall(r"^    [\w, ]+: (\w+)$", text, re.MULTILINE)
        plain = (
            "." not in name and bases.count(name) == 1 and "structured" not in text and "autogen" not in text
        )
        places = [known.get(kernel, []) for kernel in kernels]
        if not plain or not kernels or any(len(found) != 1 for found in places):
            continue
        if any(
            re.search(BEHIND, body(tree, found[0])[len(kernel) :])
            for kernel, found in zip(kernels, places, strict=True)
        ):
            continue
        at = tree.files[YAML].index(f"- func: {name}(") + 8
        rows.append((at, sorted({found[0] for found in places})))
        kernel = re.search(rf"^    [\w, ]+: ({kernels[0]})$", tree.files[YAML][at:], re.MULTILINE)
        if kernel:
            single.append((at + kernel.start(1), places[0]))
    for at, targets in pick.sample(rows, min(14, len(rows))):
        yield tree.row("all kernels", "implementation", YAML, at, targets)
    for at, targets in pick.sample(single, min(6, len(single))):
        yield tree.row("yaml kernel, implementation", "implementation", YAML, at, targets)


def signs(tree: Tree, pick: random.Random) -> Iterator[ROW]:
    """Operator signs between names that are annotated as tensors and not set again."""
    impls = {
        match[1]: f"{path}:{tree.place(path, match.start(1))[0]}"
        for path, match in tree.found(r"^TORCH_IMPL_FUNC\((\w+)\)", "aten/src/ATen/native/BinaryOps.cpp")
    }
    matmul = functions(tree, "aten/src/ATen/native/LinearAlgebra.cpp")["matmul"]
    wanted = {sign: [impls[kernel]] for sign, kernel in SIGNS.items()} | {"@": matmul}
    rows = []
    for path, match in tree.found(r"^( *)def \w+\(([^)]*)\)[^:\n]*:.*\n((?:\1 .*\n|\n)*)", "torch/"):
        tensors = set(re.findall(r"(\w+): (?:torch\.)?Tensor(?=[,\s)]|$)", match[2]))
        if not re.search(r"^import torch$|^from torch import .*\bTensor\b", tree.files[path], re.MULTILINE):
            continue
        for use in re.finditer(
            r"(?<![\w.)\]*/@-] )(?<![\w.(])\b(\w+) (@|\*=?|-=?|/=?) (\w+)(?![\w.(\[*]| [*/@])", match[3]
        ):
            before = match[3][: use.start()]
            line = before.rpartition("\n")[2]
            names = {use[1], use[3]}
            again = any(
                re.search(rf"\b{n}\b[^\n(=]*(?<![=!<>])=(?!=)|for [^\n]*\b{n}\b", before) for n in names
            )
            inner = re.search(r"^ +(?:def|class) |\"\"\"", before, re.MULTILINE)
            if names <= tensors and not again and not inner and not re.search(r"[#'\"]|lambda", line):
                rows.append((use[2], path, match.start(3) + use.start(2), wanted[use[2]]))
    shuffled = rows[:]
    pick.shuffle(shuffled)
    for _, path, at, targets in shuffled[:14]:
        yield tree.row("operator sign", "definition", path, at, targets)


def small_references(tree: Tree, pick: random.Random) -> Iterator[ROW]:
    """Static functions of one file, named nowhere else and in no comment: their uses."""
    rows = []
    for path, match in tree.found(
        r"^static (?:inline )?[\w:&<>]+ (\w{8,})\((?=[^;{]*\{)", "aten/src/ATen/native/"
    ):
        text, name = tree.files[path], match[1]
        if not path.endswith((".cpp", ".cu", ".mm")):
            continue  # A header's functions are used elsewhere.
        if len(re.findall(rf"^static [^;(]*\b{name}\(", text, re.MULTILINE)) > 1:
            continue  # An overload is no use of the others.
        uses = [use.start() for use in re.finditer(rf"\b{name}\b", text) if use.start() != match.start(1)]
        lines = [text.split("\n")[tree.place(path, at)[0] - 1] for at in uses]
        quiet = all(
            re.search(rf"(?<![\w:.>]){name}\(", line) and not re.search(r"//|#|\"|\*/", line)
            for line in lines
        )
        if 1 < len(uses) < 9 and quiet and not re.search(r"#if", text):
            rows.append((path, match.start(1), [f"{path}:{tree.place(path, at)[0]}" for at in uses]))
    for path, at, targets in pick.sample(rows, min(10, len(rows))):
        yield tree.row("references of a small name", "references", path, at, list(dict.fromkeys(targets)))


def schemas(tree: Tree, pick: random.Random) -> Iterator[ROW]:
    """From a C++ function, and from a tensor's method in Python, to the entry in yaml."""
    known = functions(tree)
    whole = composites(tree, known)
    methods = {e["name"] for e in entries(tree) if re.search(r"variants:.*method", e["body"])}
    # What is registered in C++ under the same function is a declaration of it, too.
    registers = re.compile(r"functorch/|Registrations")
    others = "".join(text for path, text in tree.files.items() if registers.search(path))
    rows = []
    for name, (entry, function) in whole.items():
        if re.search(rf"\b{name}\b", others):
            continue
        path, line = function.rsplit(":", 1)
        at = sum(len(text) + 1 for text in tree.files[path].split("\n")[: int(line) - 1])
        column = re.search(rf"\b{name}\(", tree.files[path][at:])
        if column and "\n" not in tree.files[path][at : at + column.start()]:
            rows.append((name, path, at + column.start(), entry))
    for _, path, at, entry in pick.sample(rows, 10):
        yield tree.row("C++ function to yaml", "declaration", path, at, [entry])
    found = []
    for path, match in tree.found(
        r"^( *)def \w+\(([^)]*: (?:torch\.)?Tensor[^)]*)\)[^:\n]*:.*\n((?:\1 .*\n|\n)*)", "torch/"
    ):
        for tensor in re.findall(r"(\w+): (?:torch\.)?Tensor\b", match[2]):
            for call in re.finditer(rf"(?<![\w.]){tensor}\.(\w+)\(", match[3]):
                before = match[3][: call.start()]
                noisy = re.search(
                    rf"\b{tensor}\b[^\n(]*(?<![=!<>])=(?!=)|for [^\n]*\b{tensor}\b"
                    rf"|^ +(?:def|class) |\"\"\"|'''",
                    before,
                    re.MULTILINE,
                )
                quiet = not noisy and not re.search(r"[#'\"]|lambda", before.rpartition("\n")[2])
                if quiet and call[1] in whole and call[1] in methods:
                    found.append((call[1], path, match.start(3) + call.start(1)))
    for name, path, at in one_of_each(found, pick, 10):
        yield tree.row("tensor method to yaml", "declaration", path, at, [whole[name][0]])


def main() -> None:
    """Prints the rows."""
    native = [f"aten/src/ATen/**/*.{ending}" for ending in ("cpp", "cu", "mm", "h", "cuh")]
    tree = Tree(Path(sys.argv[1]) / "pytorch", *native, "torch/**/*.py", "aten/src/ATen/native/*.yaml")
    pick = random.Random(SEED)
    for find in (all_kernels, signs, small_references, schemas):
        for row in find(tree, pick):
            print("\t".join(row))


if __name__ == "__main__":
    main()
