"""What runs what at the dispatcher: from Python names to operators, to kernels, formulas and rules in Python."""

from __future__ import annotations

import re

from torchtalkd import keys
from torchtalkd.codegen.names import unambiguous
from torchtalkd.queries.runs.cpp_nodes import Cpp
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.queries.runs.python_classes import is_special, shown
from torchtalkd.queries.runs.python_look_up import Names
from torchtalkd.store.whole import ID_BITS, Defined

_CALL = re.compile(r"(?:(at::|\.)\s*)?\b([A-Za-z_]\w*)\s*\(")
_IN_PYTHON = ("decomposition", "meta", "lowering", "shape", "jit", "onnx", "registration", "schema", "batching_rule", "autocast")


def packets(tree: Tree) -> dict[str, list[str]]:
    """Base name of an operator → its packets, `aten::add`."""
    found: dict[str, dict[str, None]] = {}
    for definition in tree.definitions.values():
        if definition.kind in ("operator", "schema", "registration") and definition.key.startswith("op:"):
            packet = _packet(tree, definition.name)
            found.setdefault(keys.last(definition.key), {}).setdefault(packet)
    return {base: list(names) for base, names in found.items()}


def _packet(tree: Tree, name: str) -> str:
    written = keys.operator_name(name)
    return f"{written.namespace or tree.view.rules.operator_namespace}::{written.base}"


def add_operators(tree: Tree, names: Names, cpp: Cpp) -> None:
    """Adds the nodes and edges of operators."""
    graph = tree.graph
    meta: dict[str, str] = {}
    for definition in list(tree.definitions.values()):
        if not definition.key.startswith(("op:", "test:", "py:")):
            continue
        file = definition.id >> ID_BITS
        role = tree.files[file].role
        if role == "template" and definition.kind != "python_binding":
            continue
        if role == "test" and tree.files[file].language != "python":
            continue
        if definition.kind == "python_binding":
            _binding(tree, names, cpp, definition)
            continue
        if definition.kind == "test":
            _test(tree, names, cpp, definition)
            continue
        if not definition.key.startswith("op:"):
            continue
        node = tree.name("operator", _packet(tree, definition.name))
        own = tree.node(definition.id)
        graph.edge(node, own)
        if definition.kind == "operator":
            meta[unambiguous(definition.name)] = _packet(tree, definition.name)
            made = (definition.detail or {}).get("autogen_of")
            if isinstance(made, str):
                graph.edge(node, tree.name("operator", _packet(tree, made)))
        for key, name in tree.targets.get(definition.id, ()):
            if key.startswith("cpp:"):
                for target in _kernels(cpp, file, key, name):
                    graph.edge(own, tree.node(target.id))
                if definition.kind == "derivative":
                    graph.edge(own, cpp.node(file, key, name, "call"))
            elif key.startswith("py:") and definition.kind in ("registration", "schema"):
                graph.edge(own, names.node(name))
            elif key.startswith("py:") and definition.kind in _IN_PYTHON:
                for function in names.find(name):
                    for registry in _registries(tree, names, function):
                        graph.meeting(own, registry, tree.node(function.id))
        if definition.kind == "derivative":
            for formula in ((definition.detail or {}).get("formulas") or {}).values():
                for before, called in _CALL.findall(str(formula)):
                    cpp.run(own, called)
    for bodies in cpp.bodies.values():
        for body in bodies:
            if body.kind == "structured_meta":
                packet = meta.get(keys.last(body.key))
                if packet:
                    graph.edge(tree.name("operator", packet), tree.node(body.id))


def _registries(tree: Tree, names: Names, function: Defined) -> list[int]:
    """The nodes of the modules that keep what a function is registered in: those of its decorators, or its own."""
    found: dict[int, None] = {}
    for decorator in shown(function):
        for registrar in names.find(decorator):
            if registrar.kind == "function":
                found.setdefault(active(tree, registrar))
    if not found:
        found.setdefault(active(tree, function))
    return list(found)


def active(tree: Tree, definition: Defined) -> int:
    """The node of a module of which something else than what it does when it is imported is run."""
    while definition.kind != "module" and definition.scope >= 0:
        definition = tree.definitions[definition.scope]
    return tree.name("active", definition.name)


def _kernels(cpp: Cpp, file: int, key: str, name: str) -> list[Defined]:
    """The functions that a registration names."""
    candidates = [d for d in cpp.bodies.get(key, ()) if d.kind != "structured_meta"]
    own = [d for d in candidates if d.id >> ID_BITS == file]
    return own or candidates


def _binding(tree: Tree, names: Names, cpp: Cpp, definition: Defined) -> None:
    graph, node = tree.graph, tree.node(definition.id)
    last = definition.key[3:]
    parent = definition.name.rpartition(".")[0]
    modules = any(d.kind == "module" for d in names.by_name.get(parent, ()))
    for owner in names.by_name.get(parent, ()):
        if owner.kind == "class":
            graph.edge(tree.name("nowhere", "syntax"), tree.node(owner.id))
    if is_special(last):
        graph.edge(tree.name("nowhere", "syntax"), node)
    elif not modules:
        graph.edge(tree.name("attr", last), node)
    for key, name in tree.targets.get(definition.id, ()):
        if key.startswith("op:"):
            graph.edge(node, tree.name("operator", _packet(tree, name)))
        elif name.startswith("THPVariable_") and key not in cpp.bodies:
            cpp.run(node, name.removeprefix("THPVariable_"))


def _test(tree: Tree, names: Names, cpp: Cpp, definition: Defined) -> None:
    """An entry of OpInfo and kin: held by a variable of its module."""
    graph, node = tree.graph, tree.node(definition.id)
    around = definition
    while around.kind != "module" and around.scope >= 0:
        around = tree.definitions[around.scope]
    if around.kind == "module":
        graph.edge(names.variables(around), node)
    else:
        graph.edge(tree.node(around.id), node)
    detail = definition.detail or {}
    written = definition.name
    for name in (f"torch.{written}", f"torch.Tensor.{written}"):
        if names.find(name):
            graph.edge(node, names.node(name))
    for name in {written.rpartition(".")[2], written.replace(".", "_"), str(detail.get("aten_name") or "")} - {""}:
        for variant in (name, name + "_", f"_{name}"):
            cpp.run(node, variant)
