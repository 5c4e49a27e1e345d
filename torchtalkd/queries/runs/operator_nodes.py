"""What runs what at the dispatcher, as far as Python says it: bindings, entries of test lists, rules.

What an operator runs in C++ is the call graph's to say (`queries.callers`).
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd import keys
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.queries.runs.python_classes import shown
from torchtalkd.queries.runs.python_look_up import Names, is_special
from torchtalkd.store.whole import Defined

RULES: Final = ("decomposition", "meta", "lowering", "shape", "jit", "onnx", "batching_rule", "autocast")
"""Functions that a registry holds for an operator: they run where something looks into the registry."""
_QUOTED: Final = re.compile(r"""["']([\w.]+)["']""")
_COPY: Final = "view_copy"
"""The tag of what torchgen writes for a view (native/tags.yaml)."""
_KERNELS: Final = ("registration", "schema")
_WRAPPED: Final = "THPVariable_"
"""How the C++ functions begin that Python methods are bound to: `THPVariable_add` is add's
(tools/autograd/gen_python_functions.py `get_pycname`)."""


def packets(tree: Tree) -> frozenset[str]:
    """All operators that the tree has an entry for: `aten::add`."""
    entries = ("operator", "schema")
    return frozenset(tree.packet(d.name) for d in tree.definitions.values() if d.kind in entries)


class Operators:
    """The operators of a tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.packets = packets(tree)
        self.rules: dict[str, list[tuple[str, int, int]]] = {}
        """An operator → (kind, function's id, node of the registry) of its rules in Python."""

    def run(self, node: int, last: str) -> bool:
        """What reaches the node runs the operators that torchgen makes a function of this name from."""
        found = False
        for base in dict.fromkeys((last, *(last.removesuffix(s) for s in ("_symint", "_outf", "_out")))):
            packet = f"{self.tree.view.rules.operator_namespace}::{base}"
            if packet in self.packets:
                self.tree.graph.edge(node, self.tree.name("operator", packet))
                found = True
        return found


def add_operators(tree: Tree, names: Names, operators: Operators) -> None:
    """Adds the nodes and edges of operators."""
    for definition in list(tree.definitions.values()):
        if definition.kind == "python_binding":
            _binding(tree, names, definition)
        elif not tree.is_python(definition):
            continue
        elif definition.kind == "test":
            _entry(tree, names, operators, definition)
        elif definition.kind in _KERNELS or definition.kind in RULES:
            _rule(tree, names, operators, definition)
    _add_templates(tree, operators)
    _add_functionalized(tree, names)


def _add_functionalized(tree: Tree, names: Names) -> None:
    """What functionalizes runs the copy of each view that it runs, `split_copy` for `split`, and how a change
    of that comes to what it is a view of: `FunctionalInverses::split_Tensor_inverse`
    (torchgen/api/functionalization.py `name`)."""
    functionalizing = tree.name("functionalizing", "") if tree.view.rules.tests.functionalizing else -1
    for name in tree.view.rules.tests.functionalizing:
        tree.graph.edge(names.node(name), functionalizing)
    for definition in list(tree.definitions.values()) if functionalizing >= 0 else ():
        if definition.kind != "operator" or _COPY not in (definition.detail.get("tags") or ()):
            continue
        packet = tree.packet(definition.name)
        view = tree.name("operator", packet.removesuffix("_copy"))
        overload = keys.operator_name(definition.name).overload
        reverse = "_".join(filter(None, (keys.operator_name(packet).base.removesuffix("_copy"), overload)))
        for node in (tree.name("operator", packet), tree.name("cpp", f"{reverse}_inverse")):
            tree.graph.meeting(functionalizing, view, node)


def _binding(tree: Tree, names: Names, definition: Defined) -> None:
    graph, node = tree.graph, tree.node(definition.id)
    last = keys.last(definition.key)
    parent = definition.name.rpartition(".")[0]
    owners = names.by_name.get(parent, ())
    for owner in owners:
        if owner.kind == "class":
            # Objects of a class that C++ knows are made there.
            graph.edge(tree.name("everywhere", ""), tree.node(owner.id))
    if is_special(last):
        graph.edge(tree.name("everywhere", ""), node)
    elif _is_class(tree, names, definition, parent):
        graph.edge(tree.name("attr", last), node)
    for key, name in tree.targets.get(definition.id, ()):
        if keys.space(key) == keys.space(keys.op("")):
            graph.edge(node, tree.name("operator", tree.packet(name)))
        elif name.startswith(_WRAPPED):
            graph.edge(node, tree.name("wrapped", name))


def _is_class(tree: Tree, names: Names, binding: Defined, name: str) -> bool:
    """Whether what binds a name is a class and no module, so that it is a method."""
    of_yaml = tree.files[binding.file].language == "native_functions"
    if of_yaml and not names.is_module(name) and name not in tree.view.rules.python_modules.values():
        return True
    if ".classes." in name or names.classes(name):
        return True
    return any(
        d.kind == "class" or (d.kind == "python_binding" and bool(d.detail.get("class")))
        for d in names.by_name.get(name, ())
    )


def _add_templates(tree: Tree, operators: Operators) -> None:
    """Functions of templates that bindings name, by what these call."""
    bodies: dict[str, list[int]] = {}
    for definition in tree.definitions.values():
        if definition.kind == "function" and not tree.is_python(definition):
            bodies.setdefault(keys.last(definition.key), []).append(definition.id)
    for (sort, name), node in list(tree.named.items()):
        if sort == "wrapped":
            for body in bodies.get(name, ()):
                tree.graph.edge(node, tree.node(body))
            if name not in bodies:
                operators.run(node, name.removeprefix(_WRAPPED))
    for mention in tree.template_uses():
        if keys.space(mention.key) != keys.space(keys.cpp("")):
            continue
        last = keys.last(mention.key)
        for owner in mention.owners:
            if owner not in tree.node_of:
                continue
            node = tree.node(owner)
            for body in bodies.get(last, ()):
                if body >> 20 == mention.file:
                    tree.graph.edge(node, tree.node(body))
            if last in bodies or operators.run(node, last.removeprefix(_WRAPPED)):
                continue
            if mention.kind == "call":
                tree.graph.edge(node, tree.name("cpp", last))


def _entry(tree: Tree, names: Names, operators: Operators, definition: Defined) -> None:
    """An entry of OpInfo and kin: held by a variable of its module."""
    graph, node = tree.graph, tree.node(definition.id)
    module = tree.module(definition)
    detail = definition.detail
    if module.kind == "module":
        variable = str(detail.get("list") or "")
        graph.edge(names.variable(module, variable), node)
        if variable:
            graph.edge(names.node(f"{module.name}.{variable}"), node)
    written = definition.name
    for root in names.tops:
        for name in (f"{root}.{written}", f"{root}.Tensor.{written}"):
            if names.find(name):
                graph.edge(node, names.node(name))
    said = [value for value in detail.values() if isinstance(value, str)]
    written_so = detail.get("said")
    if isinstance(written_so, dict):
        # `aliases=("arccos",)`, `aten_name="fft_fft"`: texts that name operators.
        said += [name for value in written_so.values() for name in _QUOTED.findall(str(value))]
    for name in {written.rpartition(".")[2], *(part.replace(".", "_") for part in (written, *said))}:
        for variant in (name, f"{name}_", f"_{name}"):
            operators.run(node, variant)


def _rule(tree: Tree, names: Names, operators: Operators, definition: Defined) -> None:
    graph = tree.graph
    packet = tree.packet(definition.name)
    node = tree.name("operator", packet)
    for key, name in tree.targets.get(definition.id, ()):
        if keys.space(key) != keys.space(keys.py("")):
            continue
        if definition.kind in _KERNELS:
            graph.edge(node, names.node(name))
            continue
        for function in names.find(name):
            for registry in _registries(tree, names, function):
                graph.meeting(node, registry, tree.node(function.id))
                operators.rules.setdefault(packet, []).append((definition.kind, function.id, registry))


def registers(decorator: str) -> bool:
    """Whether a decorator puts a function into a registry, by its name; what it wraps runs without it."""
    return "register" in decorator.rpartition(".")[2]


def _registries(tree: Tree, names: Names, function: Defined) -> list[int]:
    """The nodes of the modules that keep what a function is registered in: its decorators', or its own."""
    found: dict[int, None] = {}
    decorators = shown(function)
    for decorator in [name for name in decorators if registers(name)] or decorators:
        for registrar in names.find(decorator):
            if registrar.kind == "function":
                found.setdefault(tree.name("active", tree.module(registrar).name))
    if not found:
        found.setdefault(tree.name("active", tree.module(function).name))
    return list(found)
