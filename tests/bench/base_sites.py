"""From call sites in an extension to the framework's own tree, and back.

    python -m tests.bench.base_sites EXTENSION BASE [COUNT] [SEED]

The sites are drawn from the text: functions of the library, read by Python's own parser, whose body calls a
name below `torch`, imports followed within the file. What is expected is found by searching the text of
BASE: an entry `func: name` of native_functions.yaml, or a `def` or `class` of that name below torch/. For
each site: does a trace of the function, with the base at hand, show the name's place in the base, one whose
line has the name; for an operator a kernel in the base; and does a trace of the name in the base, over all
roots, list the line of the call. Both trees must be indexed.
"""

from __future__ import annotations

import ast
import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench.call_sites import modules
from torchtalkd.cache import index_folder
from torchtalkd.queries import across
from torchtalkd.queries.others import Other, Others
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

FRAMEWORK = "torch"
_EVERY = 1_000_000


class Site(NamedTuple):
    """A call in a function."""

    path: str
    function: str
    """Its full dotted name."""
    line: int
    """Of the called name."""
    name: str
    """With imports followed: torch.nn.functional.silu."""


def sites(root: Path, package: str) -> list[Site]:
    """All call sites of a package's library code, in the order of the files."""
    return [
        site
        for tree, path, module in modules(root, package)
        for site in _in(tree, path, module, _imports(tree))
    ]


def _imports(tree: ast.Module) -> dict[str, str]:
    """What the names that a module imports at its top stand for."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for one in node.names:
                found[one.asname or one.name.partition(".")[0]] = (
                    one.name if one.asname else one.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                found[one.asname or one.name] = f"{node.module}.{one.name}"
    return found


def _in(node: ast.AST, path: str, scope: str, imports: dict[str, str]) -> Iterator[Site]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            inner = f"{scope}.{child.name}"
            if isinstance(child, ast.FunctionDef):
                for called in _calls(child):
                    first, _, rest = ast.unparse(called.func).partition(".")
                    full = f"{imports.get(first, '')}.{rest}".rstrip(".")
                    if re.fullmatch(rf"{FRAMEWORK}(\.\w+)+", full) and ".ops." not in full:
                        yield Site(path, inner, called.func.lineno, full)
            yield from _in(child, path, inner, imports)
        else:
            yield from _in(child, path, scope, imports)


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls of a function's own body, without those of functions and classes in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


class Written(NamedTuple):
    """What the framework's text has of a last component."""

    operators: frozenset[str]
    functions: frozenset[str]


def written(base: Path) -> Written:
    """All names that the text of the framework defines."""
    yaml = (base / "aten/src/ATen/native/native_functions.yaml").read_text("utf-8")
    names: set[str] = set()
    for path in sorted((base / FRAMEWORK).rglob("*.py")):
        names.update(
            re.findall(r"^\s*(?:def|class)\s+(\w+)", path.read_text("utf-8", "replace"), re.MULTILINE)
        )
    return Written(frozenset(re.findall(r"- func: (\w+)[.(]", yaml)), frozenset(names))


class Result(NamedTuple):
    """What became of one site."""

    site: Site
    place: str
    """Where the trace says that the name is, with the base's root; '' for nowhere."""
    kernels: int
    """How many kernels in the base it names for the function."""
    back: bool


def check(view: View, base: View, base_root: Path, root: Path, chosen: list[Site]) -> list[Result]:
    """Traces each site there and back."""
    up = Others((Other(str(base_root), base, "pytorch"),), False, (view.rules.harness,))
    down = Others((Other(str(root), view),), True, (base.rules.harness,))
    found = []
    for site in chosen:
        there = across.trace(view, site.function, "full", up)
        joined = [i for i in there.items if i.role == "external" and i.symbol == site.name]
        item = next((i for i in joined if i.declared_root), None)
        kernels = [
            i for i in there.items if i.root and item and item.operator and i.through.endswith(item.operator)
        ]
        back = across.trace(base, site.name, "full", down, most_uses=_EVERY)
        returns = any(i.root and (i.file, i.line) == (site.path, site.line) for i in back.items)
        place = f"{base_root}/{item.declared_file}:{item.declared_line}" if item else ""
        found.append(Result(site, place, len(kernels), returns))
    return found


def _says(place: str, name: str) -> bool:
    """Whether the line of a place has the last component of a name."""
    path, _, line = place.rpartition(":")
    lines = Path(path).read_text("utf-8", "replace").splitlines()
    return name.rpartition(".")[2] in lines[int(line) - 1]


def main() -> int:
    """Prints what was found; 1 where a name that the framework's text defines leads nowhere, or not back."""
    root, base_root = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    count, seed = (int(text) for text in (*sys.argv[3:5], *("60", "7")[len(sys.argv) - 3 :]))
    every = sites(root, root.name.replace("-", "_"))
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    text = written(base_root)
    with (
        open_view(index_folder(root, os.environ)) as view,
        open_view(index_folder(base_root, os.environ)) as base,
    ):
        results = check(view, base, base_root, root, chosen)
    known = [r for r in results if r.site.name.rpartition(".")[2] in text.operators | text.functions]
    led = [r for r in known if r.place and _says(r.place, r.site.name)]
    of_operator = [r for r in known if r.site.name.rpartition(".")[2] in text.operators]
    kernels = [r for r in of_operator if r.kernels]
    back = [r for r in known if r.back]
    print(f"{len(every)} call sites, {len(chosen)} drawn with seed {seed}; the base's text has {len(known)}")
    print(f"to their place: {len(led)}; back: {len(back)}")
    print(f"of {len(of_operator)} that are called like an operator to a kernel: {len(kernels)}")
    for r in results:
        if r not in known:
            print(f"  not written in the base: {r.site.name} ({r.site.path}:{r.site.line})")
        elif r not in led or r not in back or (r in of_operator and r not in kernels):
            print(f"  {r.site.path}:{r.site.line} {r.site.function} → {r.site.name}")
            print(f"    {r.place or 'no place'}; {r.kernels} kernels; back {r.back}")
    return int(len(led) < len(known) or len(back) < len(known))


if __name__ == "__main__":
    sys.exit(main())
