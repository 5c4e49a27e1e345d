"""What runs what in Python.

A function runs what it mentions. A method of an unknown receiver is run in a test that has its class, and
so are special methods, properties, and methods that nobody calls by name. What stands at the top of a
module in a list or table is run by whoever mentions a variable of the module.
"""

from __future__ import annotations

import unittest

from torchtalkd import keys
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.queries.runs.python_classes import Classes, is_special, shown
from torchtalkd.queries.runs.python_look_up import Names
from torchtalkd.store.whole import ID_BITS, Defined, Mentioned

_LIFE = frozenset(name for name in dir(unittest.TestCase) if not name.startswith(("assert", "fail", "_")))
"""Methods that unittest itself calls, among others."""
_HOLDS = ("function", "class", "kernel")


def add_python(tree: Tree, names: Names, classes: Classes) -> None:
    """Adds the nodes and edges of all Python files."""
    graph, definitions = tree.graph, tree.definitions
    holders = _holders(tree)
    called: set[str] = set()
    registered = {
        function.id
        for owner, found in tree.targets.items()
        if definitions[owner].kind in ("decomposition", "meta", "lowering", "shape", "jit", "onnx", "ref")
        for key, name in found
        if key.startswith("py:")
        for function in names.find(name)
    }
    for mention in tree.mentions:
        space = keys.space(mention.key)
        if space == "attr":
            called.add(mention.key[5:])
            _method(tree, classes, holders, mention)
        elif space == "py":
            _name(tree, names, holders, mention)
        elif space == "op" and mention.name.startswith(("torch.", "ops.")):
            parts = mention.name.split(".")
            at = parts.index("ops") if "ops" in parts else 0
            if len(parts) < at + 3:
                continue
            if mention.kind == "address" and mention.file not in tree.supporting:
                continue
            node = tree.name("operator", f"{parts[at + 1]}::{parts[at + 2]}")
            for owner in mention.owners:
                graph.edge(_from(tree, names, holders, owner, mention.kind), node)
    for definition in definitions.values():
        if definition.kind == "alias" and definition.key.startswith("py:"):
            node = tree.node(definition.id)
            for _, target in tree.targets.get(definition.id, ()):
                if target != definition.name:
                    graph.edge(node, names.node(target))
            continue
        if definition.kind not in _HOLDS or not definition.key.startswith("py:"):
            continue
        node = tree.node(definition.id)
        if definition.id not in registered:
            graph.edge(node, tree.name("active", _module(tree, definition).name))
        for decorator in shown(definition):
            if "." in decorator and decorator not in PASSED:
                graph.edge(node, names.node(decorator))
        around = definitions.get(definition.scope)
        if around is None:
            continue
        if around.kind == "function":
            graph.edge(tree.node(around.id), node)
        elif around.kind == "class" and definition.kind == "function":
            _of_class(tree, classes, called, definition.id, around.id)
        elif around.kind == "class":
            graph.edge(tree.node(around.id), node)
    for cls, bases in classes.above.items():
        for base in bases:
            graph.edge(tree.node(cls), tree.node(base))


def _module(tree: Tree, definition: Defined) -> Defined:
    while definition.kind != "module" and definition.scope >= 0:
        definition = tree.definitions[definition.scope]
    return definition


def _of_class(tree: Tree, classes: Classes, called: set[str], method: int, cls: int) -> None:
    definition = tree.definitions[method]
    name, node = definition.key[3:], tree.node(method)
    foreign = cls in classes.foreign
    has = tree.node(cls)
    decorated = any(d.rpartition(".")[2] not in ("staticmethod", "classmethod") for d in shown(definition))
    if is_special(name) or name not in called or (foreign and name in _LIFE) or (decorated and "property" in str(shown(definition))):
        tree.graph.edge(has, node)
    else:
        tree.graph.meeting(has, tree.name("attr", name), node)


def _holders(tree: Tree) -> dict[int, int]:
    """A definition's id → the id of the function, class or module whose body it stands in."""
    found: dict[int, int] = {}
    for definition in tree.definitions.values():
        at = definition
        while at.kind not in ("function", "class", "kernel", "module") and at.scope >= 0:
            at = tree.definitions[at.scope]
        found[definition.id] = at.id
    return found


def _from(tree: Tree, names: Names, holders: dict[int, int], owner: int, kind: str) -> int:
    """The node that a mention belongs to."""
    holder = tree.definitions.get(holders.get(owner, -1))
    if holder is None:
        return tree.name("nowhere", "")
    if holder.kind == "module" and kind not in ("call", "launch", "method", "import", "star"):
        return names.variables(holder)
    if holder.kind == "module" and tree.definitions[owner].kind != "module":
        return names.variables(holder)
    return tree.node(holder.id)


PASSED = {"torch._disable_dynamo", "torch._dynamo.disable", "torch._compile._disable_dynamo", "torch._dynamo.decorators.disable", "torch._dynamo.eval_frame.disable"}


def _name(tree: Tree, names: Names, holders: dict[int, int], mention: Mentioned) -> None:
    if mention.kind == "base":
        return
    if mention.kind in ("import", "star"):
        found = names.find(mention.name)
        test = tree.files[mention.file].role == "test"
        if test and mention.kind == "import" and not any(d.kind == "module" for d in found):
            node = names.node(mention.name)
            for owner in mention.owners:
                tree.graph.edge(_from(tree, names, holders, owner, mention.kind), node)
            return
        for owner in mention.owners:
            for definition in found:
                if definition.kind == "module" and definition.id >> ID_BITS not in tree.supporting:
                    continue
                if definition.kind == "module" or (test and definition.kind == "class"):
                    tree.graph.edge(_from(tree, names, holders, owner, mention.kind), tree.node(definition.id))
        return
    if mention.name in PASSED or (mention.name.startswith(("torch._dynamo.", "torch._inductor.")) and tree.files[mention.file].path == "torch/testing/_internal/common_utils.py"):
        return
    supports, test = mention.file in tree.supporting, tree.files[mention.file].role == "test"
    for owner in mention.owners:
        if mention.kind == "address" and not test:
            holder = tree.definitions.get(holders.get(owner, -1))
            weak = not supports or (holder is not None and holder.kind == "function")
        else:
            weak = False
        node = names.named(mention.name, mention.file) if weak else names.node(mention.name)
        tree.graph.edge(_from(tree, names, holders, owner, mention.kind), node)


def _method(tree: Tree, classes: Classes, holders: dict[int, int], mention: Mentioned) -> None:
    graph = tree.graph
    last = mention.key[5:]
    library = mention.file not in tree.supporting
    own = mention.name.startswith("self.")
    above = mention.name.startswith("super().")
    unknown = -1
    for owner in mention.owners:
        holder = holders.get(owner, -1)
        if holder < 0:
            continue
        if library and tree.definitions[holder].kind == "module":
            continue
        start = tree.node(holder)
        if own or above:
            cls = classes.around(holder)
            found = classes.own(cls, last, only_above=above) if cls >= 0 else -1
            if found >= 0:
                graph.edge(start, found)
            if found >= 0 or above:
                continue
        if unknown < 0:
            unknown = tree.name("attr", last)
        graph.edge(start, unknown)


def tests(tree: Tree) -> dict[int, int]:
    """The test files of Python, each with its number: file → bit."""
    found = [
        file
        for file in sorted(tree.files.values(), key=lambda f: f.path)
        if file.language == "python"
        and file.role == "test"
        and file.path.rpartition("/")[2].startswith("test_")
    ]
    return {file.id: 1 << number for number, file in enumerate(found)}


def starts(tree: Tree, bits: dict[int, int], names: Names) -> dict[int, int]:
    """The nodes that a test file runs by itself: everything in it."""
    found: dict[int, int] = {}
    for file, bit in bits.items():
        for definition in tree.of_file.get(file, ()):
            if definition.kind in ("function", "class", "module", "kernel"):
                node = tree.node(definition.id)
                found[node] = found.get(node, 0) | bit
            if definition.kind == "module":
                node = names.variables(definition)
                found[node] = found.get(node, 0) | bit
    return found


assert ID_BITS == 20
