"""For which dispatch entries of native_functions.yaml `trace` gives the kernel's definition.

    python -m tests.bench.dispatch_entries TREE [--misses 40]

The entries come from PyYAML, and where a kernel is defined from a plain text search over the
tree: neither uses the product's parsers. An entry counts when its kernel is defined somewhere;
it is a hit when a `native`, `structured_impl` or `stub_kernel` item of the operator's trace
stands at one of those places. Every miss is listed.

It also prints which implementation places belong to another operator than the asked one, as far as
the yaml's own names can tell; a stub that another operator is called like counts as its, although
the asked operator may well call it.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import defaultdict
from pathlib import Path

import yaml

from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

_SUFFIXES = {".cpp", ".cc", ".h", ".cu", ".cuh", ".mm", ".c"}
_WORD_BEFORE_PARENTHESIS = re.compile(r"\b(\w+)[ \t]*\(")
_ROLES = {"native", "structured_impl", "stub_kernel"}


def entries(tree: Path) -> list[tuple[str, str, str]]:
    """(operator with overload, dispatch key, kernel) of each dispatch entry."""
    text = (tree / "aten/src/ATen/native/native_functions.yaml").read_text()
    found = []
    for entry in yaml.load(text, Loader=yaml.CSafeLoader):
        operator = entry["func"].partition("(")[0].strip()
        for names, kernel in (entry.get("dispatch") or {}).items():
            found += [(operator, key.strip(), kernel) for key in names.split(",")]
        if "dispatch" not in entry and "structured_delegate" not in entry:
            base, _, overload = operator.partition(".")
            is_out = "(a!) out" in entry["func"] or re.search(r"\*,.*\(a!\)", entry["func"]) is not None
            kernel = f"{base}_out" if is_out and overload else base
            found.append((operator, "CompositeImplicitAutograd", kernel))
    return found


def places(tree: Path, names: set[str]) -> dict[str, set[tuple[str, int]]]:
    """Where a name stands in front of parentheses that are followed by a body: its definitions.

    `TORCH_IMPL_FUNC(name)(…) {` counts, and so does a use of any other macro at the left margin
    that has the name among its arguments.
    """
    found: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for path in sorted((tree / "aten/src/ATen").rglob("*")) + sorted((tree / "torch/csrc").rglob("*")):
        if path.suffix not in _SUFFIXES or "/templates/" in str(path) or path.name.startswith("python_"):
            continue  # python_*.cpp: wrappers for Python that bear the kernels' names.
        text = path.read_text(errors="replace")
        relative = str(path.relative_to(tree))
        for match in _WORD_BEFORE_PARENTHESIS.finditer(text):
            word = match.group(1)
            start = text.rfind("\n", 0, match.start()) + 1
            if word in names and _has_body(text, match.end() - 1):
                before = text[start : match.start()].strip()
                if not re.search(r"(?:return|=|,|\(|\.|->|//)\s*$|^\s*//", before):
                    found[word].add((relative, text.count("\n", 0, match.start(1)) + 1))
            elif match.start() == start and word.isupper():
                arguments = text[match.end() : _closing(text, match.end() - 1)]
                for argument in re.findall(r"\w+", arguments.partition("{")[0]):
                    if argument in names and not word.startswith(("REGISTER", "DEFINE_DISPATCH", "DECLARE")):
                        offset = match.end() + re.search(rf"\b{argument}\b", arguments).start()  # type: ignore[union-attr]
                        found[argument].add((relative, text.count("\n", 0, offset) + 1))
    return found


def _closing(text: str, start: int) -> int:
    depth = 0
    for position in range(start, min(len(text), start + 6000)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return position
    return start


def _has_body(text: str, start: int) -> bool:
    end = _closing(text, start)
    return end > start and re.match(r"\)\s*(?:const\s*)?(?:noexcept\s*)?\{", text[end : end + 40]) is not None


def found_by_trace(
    view: View, asked: list[tuple[str, str, str]], defined: dict[str, set[tuple[str, int]]]
) -> tuple[int, list[str]]:
    """How many entries whose kernel is defined have it in the operator's trace, at its place and under
    the entry's dispatch key; and the others."""
    hits, misses = 0, []
    traced: dict[str, set[tuple[str, int, str]]] = {}
    for operator, key, kernel in asked:
        wanted = defined.get(kernel.rpartition("::")[2], set())
        if not wanted:
            continue
        if operator not in traced:
            items = trace(view, f"aten::{operator}").items
            traced[operator] = {(i.file, i.line, i.dispatch_key) for i in items if i.role in _ROLES}
        if any((file, line) in wanted and under == key for file, line, under in traced[operator]):
            hits += 1
        else:
            given = sorted(traced[operator])[:3]
            misses.append(f"{operator} {key}: {kernel} is at {sorted(wanted)[:3]}, trace gives {given}")
    return hits, misses


def foreign(view: View, asked: list[tuple[str, str, str]]) -> tuple[int, list[str]]:
    """How many implementation places the traces of all operators print, and which of them an entry
    of another operator names and none of the asked one's family (its in-place and out= variants), or
    stand behind a stub called like another operator, while the asked one has a stub of its own name."""
    named_by: dict[str, set[str]] = defaultdict(set)
    for operator, _, kernel in asked:
        named_by[kernel.rpartition("::")[2]].add(_base(operator))
    operators = {_base(operator) for operator, _, _ in asked}
    printed, wrong = 0, []
    for base in sorted({operator.partition(".")[0] for operator, _, _ in asked}):
        for item in trace(view, f"aten::{base}").items:
            if item.role not in (*_ROLES, "gpu_kernel"):
                continue
            printed += 1
            kernel = item.symbol.rpartition("::")[2]
            stub = next((part for part in item.via.split(" > ") if part.endswith("_stub")), "")
            other = stub.removesuffix("_stub")
            of_another = item.role in ("native", "structured_impl") and named_by.get(kernel)
            if of_another and _base(base) not in named_by[kernel]:
                wrong.append(
                    f"{base}: {kernel} at {item.file}:{item.line} is that of {sorted(named_by[kernel])}"
                )
            elif other in operators and other != _base(base):
                wrong.append(f"{base}: {kernel} at {item.file}:{item.line} is behind {stub}")
    return printed, wrong


def _base(operator: str) -> str:
    return operator.partition(".")[0].rstrip("_")


def main() -> None:
    """Print the shares and the misses."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--misses", type=int, default=1000)
    parser.add_argument("--index", type=Path, help="a folder with an index of the tree; made if it has none")
    options = parser.parse_args()
    asked = entries(options.tree)
    defined = places(options.tree, {kernel.rpartition("::")[2] for _, _, kernel in asked})
    folder = options.index or Path(tempfile.mkdtemp())
    build(options.tree, folder, load("pytorch", tree=options.tree))
    with open_view(folder) as view:
        hits, misses = found_by_trace(view, asked, defined)
        printed, wrong = foreign(view, asked)
    total = hits + len(misses)
    for line in [*misses[: options.misses], *wrong[: options.misses]]:
        print(f"  {line}")
    part = 100 * len(wrong) / printed
    print(f"{printed} implementation places printed, {len(wrong)} of another operator: {part:.2f} %")
    share = 100 * hits / total
    print(f"{len(asked)} entries, {total} with a definition in the tree, {hits} found: {share:.2f} %")


if __name__ == "__main__":
    main()
