"""From Python call sites of operators to their kernels, and back.

    python -m tests.bench.call_sites TREE [COUNT] [SEED]

The sites are drawn from the text: functions of the library, read by Python's own parser, whose body calls
`torch.ops.<namespace>.<name>`. What is expected is found by searching the text of the C++ and Python files
for what defines, implements or registers that operator. For each site: does `trace` of the Python
function name the operator and a kernel of it, in one of the expected files; and does `trace` of the
operator name the function. Sites whose operator no text of the tree registers are told apart.
"""

from __future__ import annotations

import ast
import os
import random
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from torchtalkd.cache import index_folder
from torchtalkd.queries.trace import trace
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

_KERNEL_ROLES = ("native", "gpu_kernel", "registration")
_NAME = re.compile(r"torch\.ops\.(\w+)\.(\w+)(?:\.\w+)?$")


class Site(NamedTuple):
    """A function that calls an operator."""

    path: str
    function: str
    """Its full dotted name."""
    line: int
    namespace: str
    name: str


class Result(NamedTuple):
    """What became of one site."""

    site: Site
    expected: tuple[str, ...]
    """Files that register or implement the operator, by their text."""
    kernels: tuple[str, ...]
    """The files of the kernels that trace names."""
    back: bool
    """Whether the operator's trace names the function."""


def sites(root: Path, package: str) -> list[Site]:
    """All call sites of a package's library code, in the order of the files."""
    return [site for tree, path, module in modules(root, package) for site in _in(tree, path, module)]


def modules(root: Path, package: str) -> Iterator[tuple[ast.Module, str, str]]:
    """A package's files as Python reads them, each with its path and its module's name."""
    for path in sorted((root / package).rglob("*.py")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
        relative = path.relative_to(root)
        module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
        yield tree, relative.as_posix(), module


def _in(node: ast.AST, path: str, scope: str) -> Iterator[Site]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef):
            inner = f"{scope}.{child.name}"
            if isinstance(child, ast.FunctionDef):
                for called in _calls(child):
                    match = _NAME.fullmatch(ast.unparse(called.func))
                    if match is not None and match[1] not in ("aten", "prim"):
                        yield Site(path, inner, child.lineno, match[1], match[2])
            yield from _in(child, path, inner)
        else:
            yield from _in(child, path, scope)


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls of a function's own body, without those of functions and classes in it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


def registering(root: Path, names: set[str]) -> dict[str, tuple[str, ...]]:
    """Operator name → the files whose text registers a kernel of it: the name as a string, alone, with
    a namespace, or at the beginning of a schema, right behind a call that defines or implements."""
    found: dict[str, list[str]] = {}
    begin = r"(?:\bdirect_register\w*|custom_op|triton_op|\.impl|\.def|\.define|_op)\(\s*"
    string = re.compile(begin + r"(?:op_name\s*=\s*|name\s*=\s*)?[\"'](?:\w+::)?(\w+)")
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".cpp", ".cu", ".h", ".hpp", ".cuh") and "tests" not in path.parts:
            for name in names & set(string.findall(path.read_text("utf-8", "replace"))):
                found.setdefault(name, []).append(path.relative_to(root).as_posix())
    return {name: tuple(files) for name, files in found.items()}


def check(view: View, chosen: list[Site], expected: dict[str, tuple[str, ...]]) -> list[Result]:
    """Traces each site there and back."""
    found = []
    for site in chosen:
        operator = f"{site.namespace}::{site.name}"
        there = trace(view, site.function)
        kernels = {
            item.file
            for item in there.items
            if item.role in _KERNEL_ROLES and (operator in item.operator or operator in item.through)
        }
        back = any(
            item.role == "python" and item.file == site.path and item.line == site.line
            for item in trace(view, operator).items
        )
        found.append(Result(site, expected.get(site.name, ()), tuple(sorted(kernels)), back))
    return found


def main() -> int:
    """Prints what was found; 1 where a site with a registered operator leads to no kernel or not back."""
    root = Path(sys.argv[1])
    count, seed = (int(text) for text in (*sys.argv[2:4], *("60", "7")[len(sys.argv) - 2 :]))
    every = sites(root, root.name.replace("-", "_"))
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    expected = registering(root, {site.name for site in chosen})
    with open_view(index_folder(root, os.environ)) as view:
        results = check(view, chosen, expected)
    here = [r for r in results if r.expected]
    led = [r for r in here if set(r.kernels) & set(r.expected)]
    back = [r for r in here if r.back]
    print(
        f"{len(every)} call sites, {len(chosen)} drawn with seed {seed}; of a registered operator {len(here)}"
    )
    print(f"to a kernel or registration in an expected file: {len(led)}; back: {len(back)}")
    for r in results:
        if not r.expected:
            print(f"  not registered in the tree: {r.site.namespace}::{r.site.name} ({r.site.path})")
        elif r not in led or r not in back:
            print(f"  {r.site.path}:{r.site.line} {r.site.function} → {r.site.namespace}::{r.site.name}")
            print(
                f"    expected {', '.join(r.expected[:4])}; found {', '.join(r.kernels[:4])}; back {r.back}"
            )
    return int(len(led) < len(here) or len(back) < len(here))


if __name__ == "__main__":
    sys.exit(main())
