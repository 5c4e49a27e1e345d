"""Classes of a tree against an independent reading with Python's own parser, and the time of `modules`.

    python -m tests.bench.modules TREE [--list]

The tree must be indexed. Two comparisons. First, the classes that torch.nn.modules and torch.optim list in
`__all__`: does `modules` find each, at the file and line where Python's parser has it? Second, all classes of
the tree that inherit from torch.nn.Module, however far: a resolver over Python's syntax trees, which shares
nothing with the index, follows imports, re-exports, star imports and assignments; each miss and each extra
is printed. Then the milliseconds of CPU that `modules` takes for each of the classes, shuffled, in one view.
"""

from __future__ import annotations

import ast
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from torchtalkd.cache import index_folder
from torchtalkd.link import python_classes, python_names
from torchtalkd.queries.modules import modules
from torchtalkd.queries.warm import warm
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

MODULE = "torch.nn.modules.module.Module"
LISTED = (("torch/nn/modules/__init__.py", "torch.nn"), ("torch/optim/__init__.py", "torch.optim"))

_LONGEST = 14
"""Components of a name; one that grows on and on leads nowhere."""


class Class(NamedTuple):
    """A class as Python's parser has it."""

    name: str
    """Its full name: functions around it are among the components."""
    path: str
    line: int
    bases: tuple[str, ...]
    """As written, dotted names only."""
    scopes: tuple[str, ...]
    """The modules and functions around it, innermost first, in which its bases are looked up."""


class Scope(NamedTuple):
    """The names of a module or a function."""

    names: dict[str, str]
    """What a name stands for: a full dotted name."""
    stars: list[str]


class Reading:
    """All classes of some files, and what names mean in them."""

    def __init__(self, root: Path, paths: Iterable[str]) -> None:
        self.classes: dict[str, list[Class]] = {}
        self.scopes: dict[str, Scope] = {}
        self.unread: list[str] = []
        self.known: dict[str, str] = {}
        for path in paths:
            try:
                tree = ast.parse((root / path).read_bytes())
            except (SyntaxError, ValueError, RecursionError):
                self.unread.append(path)
                continue
            name = _module(path)
            package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
            self.scopes[name] = Scope({}, [])
            self._read(tree.body, name, (name,), path, package)

    def _read(
        self, body: list[ast.stmt], prefix: str, scopes: tuple[str, ...], path: str, package: str
    ) -> None:
        scope = self.scopes[scopes[0]]
        own = prefix == scopes[0]
        for node in _statements(body):
            if isinstance(node, ast.ImportFrom):
                module = _absolute(node, package)
                for alias in node.names:
                    if alias.name == "*":
                        scope.stars.append(module)
                    elif own:
                        scope.names[alias.asname or alias.name] = f"{module}.{alias.name}"
            elif isinstance(node, ast.Import):
                for alias in node.names if own else ():
                    local = alias.asname or alias.name.partition(".")[0]
                    scope.names[local] = alias.name if alias.asname else local
            elif isinstance(node, ast.Assign) and own and len(scopes) == 1:
                value = _dotted(node.value)
                for target in node.targets:
                    if value and isinstance(target, ast.Name) and value != target.id:
                        scope.names.setdefault(target.id, f"{prefix}.{value}")
            elif isinstance(node, ast.ClassDef):
                full = f"{prefix}.{node.name}"
                bases = tuple(b for base in node.bases if (b := _dotted(base)))
                found = Class(full, path, _name_line(node), bases, scopes)
                self.classes.setdefault(full, []).append(found)
                if own:
                    scope.names[node.name] = full
                self._read(node.body, full, scopes, path, package)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                full = f"{prefix}.{node.name}"
                self.scopes.setdefault(full, Scope({}, []))
                self._read(node.body, full, (full, *scopes), path, package)

    def resolve(self, name: str) -> str:
        """The full name of the class that a full name leads to, '' where these files do not say."""
        if name not in self.known:
            self.known[name] = ""  # A circle of names leads nowhere.
            self.known[name] = self._resolved(name)
        return self.known[name]

    def _resolved(self, name: str) -> str:
        if name in self.classes:
            return name
        parts = name.split(".")
        if len(parts) > _LONGEST:
            return ""
        for length in range(len(parts) - 1, 0, -1):
            module, first, rest = ".".join(parts[:length]), parts[length], parts[length + 1 :]
            ways: list[str] = []
            if module in self.classes:
                ways += [base for cls in self.classes[module] for base in self.bases(cls)]
                ways = [f"{base}.{first}" for base in ways]
            scope = self.scopes.get(module)
            if scope is not None:
                target = scope.names.get(first, "")
                ways += [target] if target and target != name else []
                ways += [f"{star}.{first}" for star in reversed(scope.stars)]
            for way in ways:
                found = self.resolve(".".join((way, *rest)))
                if found:
                    return found
            if scope is not None:
                return ""
        return ""

    def bases(self, cls: Class) -> list[str]:
        """The full names of the classes that a class inherits from directly."""
        found = []
        for written in cls.bases:
            # A class's body first: classes within one see each other there.
            for scope in (cls.name.rpartition(".")[0], *cls.scopes):
                full = self.resolve(f"{scope}.{written}")
                if full and full != cls.name:
                    found.append(full)
                    break
            else:
                # The package's own files write `torch.nn.Module` where something else has imported torch.
                full = self.resolve(written)
                if full and full != cls.name:
                    found.append(full)
        return found

    def below(self, name: str) -> list[Class]:
        """All classes that inherit from one, however far."""
        direct: dict[str, list[Class]] = {}
        for found in self.classes.values():
            for cls in found:
                for base in self.bases(cls):
                    direct.setdefault(base, []).append(cls)
        seen: dict[tuple[str, int], Class] = {}
        waiting = [name]
        while waiting:
            for cls in direct.get(waiting.pop(), ()):
                if (cls.path, cls.line) not in seen:
                    seen[cls.path, cls.line] = cls
                    waiting.append(cls.name)
        return list(seen.values())


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a scope, also those in `if`, `try`, `with` and loops."""
    for node in body:
        yield node
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, field, None) or [])
        for field in ("handlers", "cases"):
            for inner in getattr(node, field, None) or ():
                yield from _statements(inner.body)


def _name_line(node: ast.ClassDef) -> int:
    return node.lineno


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript):
        return _dotted(node.value)
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return node.id if isinstance(node, ast.Name) else ""


def _module(path: str) -> str:
    name = path.removesuffix(".py").replace("/", ".")
    for root in ("src.", "python."):
        name = name.removeprefix(root)
    return name.removesuffix(".__init__")


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def listed(root: Path, path: str) -> list[str]:
    """The names of a module's `__all__`, a list that is written out."""
    for node in ast.parse((root / path).read_bytes()).body:
        if isinstance(node, ast.Assign) and _dotted(node.targets[0]) == "__all__":
            return [str(name) for name in ast.literal_eval(node.value)]
    return []


def wanted(root: Path, reading: Reading) -> list[tuple[str, Class]]:
    """The classes that are listed, as users write them, with where they are."""
    found = []
    for path, public in LISTED:
        for name in listed(root, path):
            full = reading.resolve(f"{_module(path)}.{name}")
            found += [(f"{public}.{name}", cls) for cls in reading.classes.get(full, ())]
    return found


def misplaced(view: View, classes: list[tuple[str, Class]]) -> list[str]:
    """Those that `modules` does not show at their place, by their full name and by the last component."""
    wrong = []
    for name, cls in classes:
        for asked in (name, name.rpartition(".")[2]):
            cards = modules(view, asked).cards
            place = (cards[0].file, cards[0].line) if cards else ("nothing", 0)
            if place != (cls.path, cls.line):
                wrong.append(f"{asked}: {place[0]}:{place[1]}, is at {cls.path}:{cls.line}")
    return wrong


def compared(view: View, reading: Reading) -> tuple[list[str], list[str], int]:
    """Misses and extras of the classes that inherit from torch.nn.Module, and how many both have."""
    base = next(end for end in python_names.resolve(view, MODULE).ends if end.fact.kind == "class")
    unread = set(reading.unread)
    ours = {(d.file.path, d.fact.line) for d in python_classes.descendants(view, base)}
    ours = {place for place in ours if place[0] not in unread}
    theirs = {(cls.path, cls.line) for cls in reading.below(MODULE)}
    text = "{0[0]}:{0[1]}".format
    return sorted(map(text, theirs - ours)), sorted(map(text, ours - theirs)), len(ours & theirs)


def python_files(view: View) -> list[str]:
    """The Python files of the index, but stubs and templates."""
    return [f.path for f in view.files() if f.path.endswith(".py") and f.role != "template"]


def timed(view: View, names: list[str]) -> list[float]:
    """Milliseconds of CPU of `modules` for each name, in a shuffled order, with what a daemon does before."""
    warm(view)
    random.Random(0).shuffle(names)
    spent = []
    for name in names:
        began = time.process_time()
        modules(view, name)
        spent.append((time.process_time() - began) * 1000)
    return sorted(spent)


def main(root: Path, everything: bool) -> int:
    """Print the comparisons of an indexed tree; 1 if something is wrong."""
    folder = index_folder(root, os.environ)
    with open_view(folder) as view:
        reading = Reading(root, python_files(view))
        classes = wanted(root, reading)
        wrong = misplaced(view, classes)
        print(f"{len(classes)} listed classes, {len(wrong)} not at their place")
        misses, extras, both = compared(view, reading)
        print(f"subclasses of {MODULE}: {both} in both, {len(misses)} misses, {len(extras)} extras")
        print(f"not read by Python's parser: {len(reading.unread)} files")
        most = None if everything else 20
        for title, lines in (("wrong", wrong), ("miss", misses), ("extra", extras)):
            for line in lines[:most]:
                print(f"  {title} {line}")
    with open_view(folder) as view:
        spent = timed(view, [name for name, _ in classes])
        at = {share: spent[int(share * (len(spent) - 1))] for share in (0.5, 0.95, 1.0)}
        print(", ".join(f"p{share * 100:g} {ms:.1f} ms" for share, ms in at.items()))
    return int(bool(wrong or misses or extras))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--list" in sys.argv[2:]))
