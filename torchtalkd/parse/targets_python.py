"""What Python files say about how C++ is built: `setup.py`, and sources that are compiled when imported.

`CUDAExtension(name="pkg._C", sources=[…])` (setuptools, torch/utils/cpp_extension.py) says which
files become which module, and so what TORCH_EXTENSION_NAME is in them. `load(name=…, sources=…)` of
torch.utils.cpp_extension does it at run time, a class with a name and a method `sources` for
builders that make the call later. The text is read with `ast` and no line of it runs; what
cannot be known becomes `*` in a pattern. The manifest's `[targets]` names the calls.
"""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from torchtalkd import keys
from torchtalkd.conventions.values import Conventions, Targets
from torchtalkd.facts import FileFacts, Reference
from torchtalkd.parse.loaded_libraries import LOAD_LIBRARY, read_loaded
from torchtalkd.parse.occurrences import occurrences
from torchtalkd.parse.python_emptied import emptied
from torchtalkd.parse.python_names import module_name, package_of
from torchtalkd.parse.static_values import Scope, Values, scope_of_class, scope_of_module
from torchtalkd.parse.target_facts import TargetFacts, add_target

_DEFINE = re.compile(r"[-/]D([A-Za-z_]\w*)(?:=(.*))?$", re.DOTALL)


def with_targets(facts: FileFacts, data: bytes, conventions: Conventions) -> FileFacts:
    """The facts of a Python file with the targets that it names.

    A text that is no Python of this interpreter's version has none. Never raises.
    """
    targets = conventions.targets
    lines = _promising_lines(targets, data)
    if not lines:
        return facts
    try:
        with warnings.catch_warnings():
            # What Python thinks of a tree's escapes is not our user's business.
            warnings.simplefilter("ignore")
            tree = ast.parse(data if lines is _ANYTHING else emptied(data, facts, lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return facts
    found = TargetFacts(len(facts.definitions))
    outermost, module = scope_of_module(tree), module_name(facts.path, conventions.python.roots)
    for scope, node, assigned in _nodes(tree, outermost, lines):
        if not isinstance(node, ast.Call):
            _builder(found, targets, outermost, node)
        elif getattr(node.func, "attr", "") == LOAD_LIBRARY:
            found.references.extend(read_loaded(node, scope, package_of(facts.path, module)))
        else:
            _call(found, targets, scope, node, assigned, module)
    if not found.definitions and not found.references:
        return facts
    return replace(
        facts,
        definitions=(*facts.definitions, *found.definitions),
        references=(*_of_loaded(facts.references, data, _loaded_as(found, tree)), *found.references),
    )


def _loaded_as(found: TargetFacts, tree: ast.Module) -> dict[bytes, str]:
    """What stands for a loaded module in the text, and the module: `native`, or `build()` of a function
    that returns one."""
    lines = {
        (d.line, d.column): d.name
        for d in found.definitions
        if d.scope < 0 and d.kind == "module" and d.key == keys.target(d.name)
    }
    known: dict[bytes, str] = {}
    for node in _around(tree, sorted({line for line, _ in lines})):
        inner, written = None, ""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            inner, written = node.value, node.targets[0].id
        elif isinstance(node, ast.FunctionDef) and node.body and isinstance(node.body[-1], ast.Return):
            inner, written = node.body[-1].value, f"{node.name}()"
        if isinstance(inner, ast.Call) and (inner.lineno, inner.col_offset) in lines:
            known[written.encode()] = lines[inner.lineno, inner.col_offset]
    return known


def _of_loaded(references: Iterable[Reference], data: bytes, known: dict[bytes, str]) -> Iterator[Reference]:
    """The references, those of a loaded module's functions under their full names."""
    lines = data.split(b"\n") if known else []
    for reference in references:
        if known and keys.space(reference.key) == "attr" and reference.line <= len(lines):
            before = lines[reference.line - 1][: reference.column]
            owner = _OWNER.search(before)
            module = known.get(owner[1]) if owner else None
            if module is not None:
                name = f"{module}.{reference.name}"
                reference = reference._replace(key=keys.py(name), name=name, kind="call")
        yield reference


_OWNER = re.compile(rb"(?<![\w.])(\w+(?:\(\))?)\.$")
_ANYTHING: Final = range(1 << 30)
"""Lines, where any may have a target."""


@lru_cache(maxsize=4)
def _quick_words(targets: Targets) -> tuple[bytes, ...]:
    """Words of which a text with a target has one."""
    words = [*targets.extensions, *(["cpp_extension", LOAD_LIBRARY] if targets.loaders else [])]
    words = [word for word in words if not any(other != word and other in word for other in words)]
    if targets.builder_sources:
        words.append(f"def {targets.builder_sources}(")
    return tuple(word.encode() for word in words)


_OPENED: Final = re.compile(rb"\s*\(")
_PROSE: Final = re.compile(rb"[ \t]+(?!(?:if|else|for|in|is|and|or|not|as)\b)[A-Za-z]")
"""Behind a name: two names do not stand side by side in Python."""


def _promising_lines(targets: Targets, data: bytes) -> Sequence[int]:
    """The lines (from 1) on which a target may be, in order: nine files in ten have none and are not looked
    at again, and of a long one only what is around these lines."""
    if not any(word in data for word in _quick_words(targets)):
        return ()
    found: list[int] = []
    for start, end in occurrences(data, {name.encode() for name in targets.extensions}):
        line = _line_at(data, start)
        if _PROSE.match(data, end) or line.lstrip().startswith(b"#"):
            continue
        if b"import" not in line and not _OPENED.match(data, end):
            # An extension class by another name: where that is called, its own name need not stand.
            return _ANYTHING
        found.append(start)
    if targets.builder_sources:
        head = f"def {targets.builder_sources}".encode()
        found += [start for start, end in occurrences(data, (head,)) if data[end : end + 1] == b"("]
    if targets.loaders:
        called = [LOAD_LIBRARY, *(targets.loaders if b"cpp_extension" in data else ())]
        names = {name.encode() for name in called}
        found += [start for start, end in occurrences(data, names) if _OPENED.match(data, end)]
    lines, line_number, last = [], 1, 0
    for start in sorted(found):
        line_number += data.count(b"\n", last, start)
        last = start
        lines.append(line_number)
    return lines


def _line_at(data: bytes, offset: int) -> bytes:
    return data[data.rfind(b"\n", 0, offset) + 1 : offset]


def _nodes(
    tree: ast.Module, module: Scope, lines: Sequence[int]
) -> Iterator[tuple[Scope, ast.Call | ast.ClassDef, str]]:
    """Each call with the scope it stands in and the module-level variable it is assigned to; each class:
    in the statements around the lines."""
    assigned = {
        id(statement.value): statement.targets[0].id
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    waiting: list[tuple[ast.AST, Scope]] = [(tree, module)]
    while waiting:
        node, scope = waiting.pop()
        if not _is_around(node, lines):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            scope = scope.inner(node)
        elif isinstance(node, ast.ClassDef):
            yield scope, node, ""
        elif isinstance(node, ast.Call):
            yield scope, node, assigned.get(id(node), "")
        waiting.extend((child, scope) for child in reversed(list(ast.iter_child_nodes(node))))


def _around(tree: ast.AST, lines: Sequence[int]) -> Iterator[ast.AST]:
    """The nodes of the statements around some lines."""
    waiting = [tree] if lines else []
    while waiting:
        node = waiting.pop()
        if _is_around(node, lines):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _is_around(node: ast.AST, lines: Sequence[int]) -> bool:
    """Whether a statement has one of the lines; what is no statement is taken to."""
    if not isinstance(node, ast.stmt):
        return True
    following = bisect_left(lines, node.lineno)
    return following < len(lines) and lines[following] <= (node.end_lineno or node.lineno)


def _call(
    found: TargetFacts, targets: Targets, scope: Scope, node: ast.Call, assigned: str, module: str
) -> None:
    called = _called(scope, node.func, targets)
    loads = called in targets.loaders
    if not called or (loads and not any(keyword.arg == "name" for keyword in node.keywords)):
        return
    arguments = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    for position, name in enumerate(("name", "sources")):
        if len(node.args) > position:
            arguments.setdefault(name, node.args[position])
    if "name" not in arguments or (loads and not _LOADED.intersection(arguments)):
        return
    sources = scope.value(arguments["sources"]) if "sources" in arguments else Values((), True)
    for name in scope.value(arguments["name"]).texts:
        ordinal = add_target(
            found, name, node.lineno, node.col_offset, node.end_lineno or node.lineno, called,
            sources.texts, _defines(scope, arguments),
        )  # fmt: skip
        if ordinal >= 0 and loads:
            _loaded(found, scope, arguments, name, assigned, module, node)


_LOADED = {"sources", "cpp_sources", "cuda_sources"}


def _loaded(
    found: TargetFacts,
    scope: Scope,
    arguments: dict[str, ast.expr],
    name: str,
    assigned: str,
    module: str,
    node: ast.Call,
) -> None:
    """What a load at run time binds: the variable that holds the module, the functions of inline sources."""
    functions = arguments.get("functions")
    if functions is not None:
        for text in scope.value(functions).texts:
            ordinal = found.define(
                "python_binding", keys.py(text), f"{name}.{text}", functions.lineno, functions.col_offset,
                convention="load_inline",
            )  # fmt: skip
            found.refer("target", keys.cpp(text), text, functions.lineno, functions.col_offset, ordinal)
    if assigned:
        full = f"{module}.{assigned}" if module else assigned
        ordinal = found.define("alias", keys.py(full), full, node.lineno, node.col_offset)
        found.refer("target", keys.py(name), name, node.lineno, node.col_offset, ordinal)


def _called(scope: Scope, function: ast.expr, targets: Targets) -> str:
    """The last component of what is called; of a variable that stands for an extension class, that."""
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if last in targets.extensions or last in targets.loaders:
        return str(last)
    if isinstance(function, ast.Name):
        for value in scope.assigned(last):
            name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
            if name in targets.extensions:
                return str(name)
    return ""


def _defines(scope: Scope, arguments: dict[str, ast.expr]) -> dict[str, str]:
    """`define_macros=[("A", None), ("B", "1")]` and `-DA=1` among the compiler's arguments."""
    found: dict[str, str] = {}
    macros = arguments.get("define_macros")
    for pair in scope.pairs(macros) if macros is not None else ():
        found.update(pair)
    for name in ("extra_compile_args", "extra_cflags", "extra_cuda_cflags"):
        if name in arguments:
            for text in scope.value(arguments[name]).texts:
                match = _DEFINE.match(text)
                if match:
                    found[match[1]] = match[2] or ""
    return found


def _builder(found: TargetFacts, targets: Targets, module: Scope, node: ast.ClassDef) -> None:
    """A class that names a module and its sources, and builds them when asked."""
    if not targets.builder_sources:
        return
    scope = scope_of_class(module, node)
    names = scope.attribute(targets.builder_name).texts if targets.builder_name else ()
    method = scope.method(targets.builder_sources)
    if method is None or not names:
        return
    full = scope.method(targets.builder_full_name) if targets.builder_full_name else None
    sources = scope.returned(method)
    for name in dict.fromkeys((*names, *(scope.returned(full).texts if full is not None else ()))):
        add_target(
            found, name, node.lineno, node.col_offset, node.end_lineno or node.lineno, node.name,
            sources.texts, {},
        )  # fmt: skip
