"""The strings that a Python expression may come out as, read from its text: no line of it runs.

Names stand for all that is assigned to them in their function, else in the module; branches and
loops are taken together. `*` stands for what the text does not say, so that a path becomes a
pattern. Made for build files, in which a list of sources is put together from pieces.
"""

from __future__ import annotations

import ast
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

UNKNOWN: Final = "*"
_MOST: Final = 4000
"""Strings that an expression is followed to."""
_BUDGET: Final = 20_000
"""Expressions that are looked at for one value: names may be made of names that double each time."""
_DEEPEST: Final = 60
"""Expressions within expressions, names followed included."""
_SAME: Final = frozenset({"list", "tuple", "set", "sorted", "str", "Path", "PurePath", "fspath", "chain"})
"""Calls that hand on what they are given."""
_PLACES: Final = frozenset(
    {"dirname", "abspath", "realpath", "resolve", "absolute", "getcwd", "cwd", "parent"}
)
"""Calls that say where the file is: the folder that sources are named from, for all that is known."""


class Values(NamedTuple):
    """A string's possible values, or a list's items."""

    texts: tuple[str, ...]
    many: bool


_NOTHING: Final = Values((UNKNOWN,), False)


class Scope:
    """The assignments of a module, class or function. Mutable only while it is made."""

    def __init__(self, body: Iterable[ast.stmt], outer: Scope | None = None) -> None:
        self.outer = outer
        self.names: dict[str, list[tuple[str, ast.expr]]] = {}
        self.functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = {}
        self.cls: Scope | None = outer.cls if outer is not None else None
        self._busy: set[int] = set()
        self._spent: list[int] = outer._spent if outer is not None else [0]
        self._bound: dict[str, Values] = {}
        self._collect(body)

    def _collect(self, body: Iterable[ast.stmt]) -> None:
        waiting: deque[ast.AST] = deque(body)
        while waiting:
            node = waiting.popleft()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self.functions[node.name] = node
                continue
            if isinstance(node, ast.ClassDef | ast.Lambda):
                continue
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    self._assign(target, node.value, "set")
            elif isinstance(node, ast.AnnAssign) and node.value is not None:
                self._assign(node.target, node.value, "set")
            elif isinstance(node, ast.AugAssign):
                self._assign(node.target, node.value, "add")
            elif isinstance(node, ast.For):
                self._loop(node.target, node.iter)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                owner = node.func.value
                if node.func.attr in ("append", "extend", "add", "update") and isinstance(owner, ast.Name):
                    for argument in node.args:
                        self._assign(owner, argument, "add")
            waiting.extend(ast.iter_child_nodes(node))

    def _assign(self, target: ast.expr, value: ast.expr, how: str) -> None:
        if isinstance(target, ast.Name):
            self.names.setdefault(target.id, []).append((how, value))
        elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for inner, part in zip(target.elts, value.elts, strict=False):
                self._assign(inner, part, how)

    def _loop(self, target: ast.expr, over: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.names.setdefault(target.id, []).append(("each", over))
        elif isinstance(target, ast.Tuple):
            if isinstance(over, ast.Call) and _last(over.func) in ("product", "zip"):
                for inner, part in zip(target.elts, over.args, strict=False):
                    self._loop(inner, part)
            elif isinstance(over, ast.List | ast.Tuple):
                for row in over.elts:
                    if isinstance(row, ast.Tuple):
                        for inner, part in zip(target.elts, row.elts, strict=False):
                            self._assign(inner, part, "set")

    def inner(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Scope:
        """The scope of a function's body."""
        return Scope(function.body, self)

    # -- what a name is

    def assigned(self, name: str) -> Iterator[ast.expr]:
        """All that is assigned to a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                yield from (value for _, value in scope.names[name])
                return
            scope = scope.outer

    def attribute(self, name: str) -> Values:
        """A class attribute's values."""
        found = [self.value(value) for _, value in self.names.get(name, ())]
        return Values(_distinct(text for value in found for text in value.texts if text != UNKNOWN), True)

    def method(self, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """A method of this class, or a function of this module."""
        return self.functions.get(name)

    def returned(self, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int = 0) -> Values:
        """What a function may return."""
        if id(function) in self._busy or depth > _DEEPEST:
            return _NOTHING
        self._busy.add(id(function))
        inner = self.inner(function)
        inner._busy = self._busy
        found = [
            inner.value(node.value, depth + 1)
            for node in ast.walk(function)
            if isinstance(node, ast.Return) and node.value is not None
        ]
        self._busy.discard(id(function))
        return _together(found)

    # -- what an expression is

    def value(self, node: ast.expr, depth: int = 0) -> Values:
        """The strings that an expression may be, or be a list of. Never raises."""
        self._spent[0] = self._spent[0] + 1 if depth else 0
        if depth > _DEEPEST or self._spent[0] > _BUDGET:
            return _NOTHING
        depth += 1
        if isinstance(node, ast.Constant):
            return Values((node.value,), False) if isinstance(node.value, str) else _NOTHING
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            parts = [self.value(element, depth) for element in node.elts]
            return Values(_distinct(text for part in parts for text in part.texts), True)
        if isinstance(node, ast.Dict):
            parts = [self.value(element, depth) for element in node.values]
            return Values(_distinct(text for part in parts for text in part.texts), True)
        if isinstance(node, ast.JoinedStr):
            return self._joined([self.value(part, depth) for part in node.values], "")
        if isinstance(node, ast.FormattedValue | ast.Starred):
            return self.value(node.value, depth)
        if isinstance(node, ast.Name):
            return self._name(node.id, depth)
        if isinstance(node, ast.BinOp):
            return self._operation(node, depth)
        if isinstance(node, ast.IfExp):
            return _together([self.value(node.body, depth), self.value(node.orelse, depth)])
        if isinstance(node, ast.BoolOp):
            return _together([self.value(part, depth) for part in node.values])
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp):
            return self._comprehension(node, depth)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls") and self.cls is not None:
                return self.cls._name(node.attr, depth)
            return self.value(node.value, depth) if node.attr in _PLACES else _NOTHING
        return _NOTHING

    def pairs(self, node: ast.expr, depth: int = 0) -> Iterator[dict[str, str]]:
        """`[("A", None), ("B", "1")]`, put together from any pieces, as {"A": ""}, {"B": "1"}."""
        if depth > _DEEPEST:
            return
        if isinstance(node, ast.Name):
            for value in self.assigned(node.id):
                yield from self.pairs(value, depth + 1)
            return
        for inner in ast.walk(node):
            if isinstance(inner, ast.Tuple) and len(inner.elts) == 2:
                for name in self.value(inner.elts[0]).texts:
                    texts = self.value(inner.elts[1]).texts
                    yield {name: texts[0] if texts and texts[0] != UNKNOWN else ""}

    def _name(self, name: str, depth: int) -> Values:
        if name in self._bound:
            return self._bound[name]
        if name == "__file__":
            return Values(("",), False)
        scope: Scope | None = self
        while scope is not None and name not in scope.names:
            scope = scope.outer
        if scope is None:
            return _NOTHING
        found = []
        for how, value in scope.names[name]:
            if id(value) in scope._busy:
                continue
            scope._busy.add(id(value))
            made = self.value(value, depth) if scope is self else scope.value(value, depth)
            scope._busy.discard(id(value))
            found.append(Values(made.texts, how == "add") if how != "set" else made)
        return _together(found) if found else _NOTHING

    def _operation(self, node: ast.BinOp, depth: int) -> Values:
        left, right = self.value(node.left, depth), self.value(node.right, depth)
        if isinstance(node.op, ast.Div):
            return self._joined([left, right], "/")
        if isinstance(node.op, ast.Add):
            if left.many or right.many:
                return Values(_distinct((*left.texts, *right.texts)), True)
            return self._joined([left, right], "")
        return _NOTHING

    def _joined(self, parts: list[Values], between: str) -> Values:
        made = [""]
        for part in parts:
            pairs = itertools.islice(itertools.product(made, part.texts), _MOST)
            made = [
                f"{before}{between}{text}" if before and text else before + text for before, text in pairs
            ]
        return Values(tuple(made), any(part.many for part in parts))

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, depth: int) -> Values:
        inner = Scope([], self)
        for generator in node.generators:
            if isinstance(generator.target, ast.Name):
                inner._bound[generator.target.id] = inner.value(generator.iter, depth)._replace(many=False)
        made: list[str] = []
        bound = dict(inner._bound)
        first = next(iter(bound), None)
        for text in bound[first].texts[:_MOST] if first is not None else (UNKNOWN,):
            if first is not None:
                inner._bound[first] = Values((text,), False)
            made.extend(inner.value(node.elt, depth).texts)
        return Values(_distinct(made), True)

    def _call(self, node: ast.Call, depth: int) -> Values:
        last = _last(node.func)
        if last in ("join", "joinpath"):
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Constant):
                return _NOTHING  # ", ".join(names)
            parts = [self.value(argument, depth) for argument in node.args]
            if last == "joinpath" and isinstance(node.func, ast.Attribute):
                parts.insert(0, self.value(node.func.value, depth))
            return self._joined(parts, "/")
        if last in ("glob", "iglob", "rglob") and node.args:
            given = self.value(node.args[0], depth)
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if owner is None or (isinstance(owner, ast.Name) and owner.id == "glob"):
                return given._replace(many=True)
            parts = [self.value(owner, depth), given]
            if last == "rglob":
                parts.insert(1, Values(("**",), False))
            return self._joined(parts, "/")._replace(many=True)
        if last in _PLACES:
            return Values(("",), False)
        if last in _SAME and node.args:
            found = self.value(node.args[0], depth)
            return found if last in ("str", "Path", "PurePath", "fspath") else found._replace(many=True)
        return self._own_function(node.func, depth)

    def _own_function(self, function: ast.expr, depth: int) -> Values:
        if isinstance(function, ast.Name):
            scope: Scope | None = self
            while scope is not None:
                if function.id in scope.functions:
                    return scope.returned(scope.functions[function.id], depth)
                scope = scope.outer
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            method = self.cls.method(function.attr) if self.cls is not None else None
            if method is not None and self.cls is not None and function.value.id in ("self", "cls"):
                return self.cls.returned(method, depth)
        return _NOTHING


def scope_of_module(tree: ast.Module) -> Scope:
    """The scope of a file."""
    return Scope(tree.body)


def scope_of_class(module: Scope, node: ast.ClassDef) -> Scope:
    """The scope of a class: `self.x` in its methods is looked up here."""
    scope = Scope(node.body, module)
    scope.cls = scope
    return scope


def _last(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _together(found: list[Values]) -> Values:
    texts = _distinct(text for value in found for text in value.texts)
    known = tuple(text for text in texts if text != UNKNOWN)
    return Values(known or (UNKNOWN,), any(value.many for value in found))


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(itertools.islice(texts, _MOST)))
