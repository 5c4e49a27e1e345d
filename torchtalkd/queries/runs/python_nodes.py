"""What runs what in Python.

A function runs what it calls and what it is handed. A method of an unknown receiver is run in a test that
has its class, and so are special methods, properties, and methods that nobody calls by name. What stands at
the top of a module in a list or table is run by whoever mentions a variable of the module. What a library
only names (a class that it compares with, an operator that it looks up) it does not run.
"""

from __future__ import annotations

import sys
import unittest
from collections.abc import Iterable
from typing import Final

from torchtalkd import keys
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.queries.runs.operator_nodes import RULES, registers
from torchtalkd.queries.runs.python_classes import Classes, shown
from torchtalkd.queries.runs.python_look_up import Names, is_special
from torchtalkd.store.whole import Defined, Mentioned

_LIFE: Final = frozenset(
    name for name in dir(unittest.TestCase) if not name.startswith(("assert", "fail", "_"))
)
"""Methods that unittest itself calls, among others."""
_COPIED: Final = frozenset(
    (
        *("__copy__", "__deepcopy__", "__getnewargs__", "__getnewargs_ex__", "__getstate__", "__reduce__"),
        *("__reduce_ex__", "__setstate__"),
    )
)
"""Methods that only the modules below call (docs.python.org, "copy" and "pickle")."""
_COPYING: Final = frozenset(
    ("copy", "copyreg", "pickle", "_pickle", "shelve", "multiprocessing", "concurrent", "cloudpickle", "dill")
)
_HOLDS: Final = ("function", "class", "kernel")
_AT_IMPORT: Final = ("call", "launch", "method", "import", "star")
_PY: Final = keys.space(keys.py(""))
_ATTR: Final = keys.space(keys.attr(""))
_OP: Final = keys.space(keys.op(""))


class _Holders:
    """Which body a mention belongs to."""

    def __init__(self, tree: Tree, names: Names) -> None:
        self.tree = tree
        self.names = names
        self._of: dict[int, Defined | None] = {}

    def of(self, owner: int) -> Defined | None:
        """The function, class or module around a definition, or itself."""
        if owner not in self._of:
            at = self.tree.definitions.get(owner)
            while at is not None and at.kind not in (*_HOLDS, "module"):
                at = self.tree.definitions.get(at.scope)
            self._of[owner] = at
        return self._of[owner]

    def nodes(self, mention: Mentioned, owner: int) -> Iterable[int]:
        """The nodes that a mention belongs to where a definition is around it."""
        holder = self.of(owner)
        if holder is None:
            return ()
        if holder.kind == "module" and (mention.kind not in _AT_IMPORT or holder.id != owner):
            return self.names.at(holder, mention.lines(owner))
        return (self.tree.node(holder.id),)


def add_python(tree: Tree, names: Names, classes: Classes) -> None:
    """Adds the nodes and edges of all Python files."""
    holders = _Holders(tree, names)
    called: set[str] = set()
    for mention in tree.imports:
        if mention.kind in ("import", "star") and keys.space(mention.key) == _PY:
            _import(tree, names, holders, mention)
    for mention in tree.uses():
        space = keys.space(mention.key)
        if space == _ATTR and mention.name.startswith("*"):
            _looked_up(tree, names, holders, mention)
        elif space == _ATTR:
            called.add(keys.last(mention.key))
            _method(tree, classes, holders, mention)
        elif space == _PY:
            _name(tree, names, holders, mention)
        elif space == _OP:
            _operator(tree, holders, mention)
    registered = {
        function.id
        for owner, found in tree.targets.items()
        if tree.definitions[owner].kind in (*RULES, "ref") and tree.is_python(tree.definitions[owner])
        for _, name in found
        for function in names.find(name)
    }
    for definition in list(tree.definitions.values()):
        if keys.space(definition.key) == _PY and tree.is_python(definition):
            _definition(tree, names, classes, called, registered, definition)
    _add_lists(tree, names)
    for cls, bases in classes.above.items():
        for base in bases:
            tree.graph.edge(tree.node(cls), tree.node(base))


def add_copying(tree: Tree) -> None:
    """What names something of a module that copies objects runs their methods for that."""
    copying = tree.name("copying", "")
    for (sort, name), node in list(tree.named.items()):
        if sort == "py" and not _COPYING.isdisjoint(name.split(".")):
            tree.graph.edge(node, copying)


def _definition(
    tree: Tree, names: Names, classes: Classes, called: set[str], registered: set[int], definition: Defined
) -> None:
    graph = tree.graph
    if definition.kind == "alias":
        for _, target in tree.targets.get(definition.id, ()):
            if target != definition.name:
                graph.edge(tree.node(definition.id), names.node(target))
        return
    if definition.kind not in _HOLDS:
        return
    node = tree.node(definition.id)
    if definition.id not in registered:
        graph.edge(node, tree.name("active", tree.module(definition).name))
    for decorator in shown(definition):
        _held_by(tree, names, definition, decorator, node)
        if "." in decorator and not registers(decorator) and not tree.passed(definition.name, decorator):
            graph.edge(node, names.node(decorator))
    around = tree.definitions.get(definition.scope)
    if around is None or around.kind not in ("function", "class"):
        return
    if around.kind == "function" or definition.kind == "class":
        graph.edge(tree.node(around.id), node)
    elif definition.kind == "function":
        _of_class(tree, classes, called, definition, around)


def _held_by(tree: Tree, names: Names, definition: Defined, decorator: str, node: int) -> None:
    """What a method of a variable decorates (`@registry.register(x)`) the variable may hold."""
    before, dot, _ = decorator.rpartition(".")
    if not dot or names.find(decorator):
        return
    found = names.find(before) or names.find(f"{tree.module(definition).name}.{before}")
    if any(d.kind in ("module", "function") for d in found):
        return
    for full in (before, f"{tree.module(definition).name}.{before}"):
        holder, _, variable = full.rpartition(".")
        for owner in names.find(holder):
            known = names.is_variable(owner, variable)
            if owner.kind == "module" and (known or variable not in sys.stdlib_module_names):
                tree.graph.edge(names.variable(owner, variable), node)


def _of_class(tree: Tree, classes: Classes, called: set[str], method: Defined, cls: Defined) -> None:
    name, node, has = keys.last(method.key), tree.node(method.id), tree.node(cls.id)
    if name in _COPIED:
        tree.graph.meeting(has, tree.name("copying", ""), node)
        return
    unasked = is_special(name) or name not in called or any("property" in d for d in shown(method))
    if unasked or (cls.id in classes.foreign and name in _LIFE):
        tree.graph.edge(has, node)
    else:
        tree.graph.meeting(has, tree.name("attr", name), node)


def _import(tree: Tree, names: Names, holders: _Holders, mention: Mentioned) -> None:
    """What a test imports it may use anywhere; what a library's modules do when they are imported is done
    for every test, and does not count."""
    test = tree.files[mention.file].role == "test"
    if not test and mention.file not in tree.supporting:
        return
    found = names.find(mention.name)
    modules = [d for d in found if d.kind == "module"]
    for owner in mention.owners:
        for node in holders.nodes(mention, owner):
            if test and not modules and mention.kind == "import":
                tree.graph.edge(node, names.node(mention.name))
            for module in modules:
                if module.file in tree.supporting:
                    tree.graph.edge(node, tree.node(module.id))


def _operator(tree: Tree, holders: _Holders, mention: Mentioned) -> None:
    parts = mention.name.split(".")
    at = parts.index("ops") if "ops" in parts else 0
    if len(parts) < at + 3 or (mention.kind == "address" and mention.file not in tree.supporting):
        return
    node = tree.name("operator", f"{parts[at + 1]}::{parts[at + 2]}")
    for owner in mention.owners:
        for before in holders.nodes(mention, owner):
            tree.graph.edge(before, node)


def _name(tree: Tree, names: Names, holders: _Holders, mention: Mentioned) -> None:
    supports, test = mention.file in tree.supporting, tree.files[mention.file].role == "test"
    for owner in mention.owners:
        holder = holders.of(owner)
        if holder is None or tree.passed(holder.name, mention.name):
            continue
        weak = mention.kind == "address" and not test and (not supports or holder.kind == "function")
        node = names.named(mention.name, mention.file) if weak else names.node(mention.name)
        for before in holders.nodes(mention, owner):
            tree.graph.edge(before, node)


def _looked_up(tree: Tree, names: Names, holders: _Holders, mention: Mentioned) -> None:
    """`getattr(torch, name)` may be any name of torch; `getattr(x, name)` in a test any bound method."""
    last, module = keys.last(mention.key), mention.name[1:]
    test = tree.files[mention.file].role == "test"
    if not module:
        # Of an object that is not known: a method that a text names is called by its name elsewhere, mostly.
        return
    node = names.any_of(module, last) if "*" in last else names.node(f"{module}.{last}")
    for owner in mention.owners:
        holder = holders.of(owner)
        if holder is None:
            continue
        top = holder.kind == "module" and not test
        beside = "." in module and module.rpartition(".")[0] == holder.name.rpartition(".")[0]
        if last == "*" and not test and not (top and beside):
            # What a library looks up so it mostly asks about, and does not run; but for a module that
            # makes its names of those of another one.
            continue
        for before in names.at(holder, mention.lines(owner)) if top else (tree.node(holder.id),):
            tree.graph.edge(before, node)


def _method(tree: Tree, classes: Classes, holders: _Holders, mention: Mentioned) -> None:
    graph = tree.graph
    last = keys.last(mention.key)
    own, above = mention.name.startswith("self."), mention.name.startswith("super().")
    library = mention.file not in tree.supporting
    for owner in mention.owners:
        holder = holders.of(owner)
        if holder is None or (library and holder.kind == "module"):
            continue
        start = tree.node(holder.id)
        if own or above:
            cls = classes.around(holder.id)
            found = classes.own(cls, last, only_above=above) if cls >= 0 else -1
            if found >= 0:
                graph.edge(start, found)
            if found >= 0 or above:
                continue
        graph.edge(start, tree.name("attr", last))


def _add_lists(tree: Tree, names: Names) -> None:
    """What holds the entries of test lists holds those of the modules that it takes lists from, too."""
    holding = {
        tree.module(d).name for d in tree.definitions.values() if d.kind == "test" and tree.is_python(d)
    }
    taken: dict[str, set[str]] = {}
    for definition in tree.definitions.values():
        if definition.kind != "alias" or not tree.is_python(definition):
            continue
        for _, target in tree.targets.get(definition.id, ()):
            for found in names.find(target) or names.find(target.rpartition(".")[0]):
                if found.kind == "module":
                    taken.setdefault(tree.module(definition).name, set()).add(found.name)
    for mention in tree.imports:
        if mention.kind == "import" and mention.file in tree.files:
            for owner in mention.owners:
                module = tree.definitions.get(owner)
                if module is not None and module.kind == "module" and names.is_module(mention.name):
                    taken.setdefault(module.name, set()).add(mention.name)
    near = {name.rpartition(".")[0] for name in holding} | {
        name.rpartition(".")[0].rpartition(".")[0] for name in holding
    }
    grown = True
    while grown:
        more = {name for name, others in taken.items() if name not in holding and others & holding}
        more = {name for name in more if name in near or name.rpartition(".")[0] in near}
        grown = bool(more)
        holding |= more
    for name in holding:
        for other in taken.get(name, set()) & holding:
            tree.graph.edge(tree.name("variables", name), tree.name("variables", other))
