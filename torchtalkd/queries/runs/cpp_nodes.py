"""What runs what in C++: calls by name, as far as a header that says the name is seen."""

from __future__ import annotations

from torchtalkd import keys
from torchtalkd.link.operators import generated_operator
from torchtalkd.queries.runs.cpp_includes import seen
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.store.whole import ID_BITS, Defined, Mentioned

_BODIES = ("function", "kernel", "structured_impl", "structured_meta", "stub", "autograd_function", "macro")
_LANGUAGES = ("cpp", "cuda", "objcpp", "metal")
_USES = ("call", "address", "launch", "method", "macro", "argument")


class Cpp:
    """The C++ names of a tree."""

    def __init__(self, tree: Tree, operators: dict[str, list[str]]) -> None:
        self.tree = tree
        self.operators = operators
        """Base name of an operator → the packets of that name."""
        self.seen = seen(tree)
        self.bodies: dict[str, list[Defined]] = {}
        self.declared: dict[str, list[int]] = {}
        """A full name → the files that say it."""
        for definition in tree.definitions.values():
            if definition.kind in _BODIES and definition.key.startswith("cpp:"):
                self.declared.setdefault(definition.name, []).append(definition.id >> ID_BITS)
                if not definition.flags & 1:
                    self.bodies.setdefault(definition.key, []).append(definition)
        bit = {file: number for file, number in self.seen.items()}
        self.own = _own_bits(bit)

    def node(self, file: int, key: str, name: str, kind: str) -> int:
        """The node of a name as a file writes it."""
        sort = "method" if kind == "method" else "call"
        plain = keys.without_template_arguments(name) if "<" in name else name
        return self.tree.name(f"{sort} {file}", plain, lambda node: self._lead(node, file, key, plain, sort))

    def _lead(self, node: int, file: int, key: str, name: str, sort: str) -> None:
        graph, tree = self.tree.graph, self.tree
        found = self.meant(file, key, name, sort)
        for definition in found:
            graph.edge(node, tree.node(definition.id))
        last = keys.last(key)
        if sort == "method":
            self.run(node, last)
            return
        if last.startswith("THPVariable_"):
            last = "" if found else last.removeprefix("THPVariable_")
        operator = generated_operator(name) if "::" in name else ("" if found else last)
        if operator:
            self.run(node, operator)

    def run(self, node: int, last: str) -> None:
        """What reaches the node runs the operators that torchgen makes a function of this name from."""
        for base in _bases(last):
            packet = f"{self.tree.view.rules.operator_namespace}::{base}"
            if packet in self.operators.get(base, ()):
                self.tree.graph.edge(node, self.tree.name("operator", packet))

    def meant(self, file: int, key: str, name: str, sort: str) -> list[Defined]:
        """The bodies that a name may mean in a file."""
        candidates = self.bodies.get(key)
        if not candidates:
            return []
        if sort == "call":
            own = [d for d in candidates if d.id >> ID_BITS == file and _fits(name, d.name)]
            if own and "::" not in name:
                return own
        visible = self.seen.get(file, 0)
        return [d for d in candidates if self._visible(d, file, visible) and (sort == "method" or _fits(name, d.name))]

    def _visible(self, definition: Defined, file: int, visible: int) -> bool:
        owner = definition.id >> ID_BITS
        if owner == file:
            return True
        if self.tree.files[owner].role == "test" and self.tree.files[file].role != "test":
            return False
        if definition.flags & 2:
            return bool(visible & self.own[owner])
        if not visible:
            return True
        said = self.declared.get(definition.name, ())
        return any(visible & self.own[other] for other in said)


def _own_bits(seen: dict[int, int]) -> dict[int, int]:
    return {file: 1 << at for at, file in enumerate(seen)}


def _fits(written: str, name: str) -> bool:
    return name == written or "::" not in written or name.endswith("::" + written) or written.endswith("::" + name)


def _bases(last: str) -> list[str]:
    found = [last]
    for suffix in ("_symint", "_outf", "_out"):
        if last.endswith(suffix):
            found.append(last.removesuffix(suffix))
    return found


def add_cpp(tree: Tree, cpp: Cpp) -> None:
    """Adds the nodes and edges of all C++ files."""
    graph, definitions = tree.graph, tree.definitions
    for mention in tree.mentions:
        file = tree.files[mention.file]
        if file.language not in _LANGUAGES or mention.kind not in _USES:
            continue
        node = _named(tree, cpp, mention)
        for owner in mention.owners:
            graph.edge(_holder(tree, owner), node)
    for definition in definitions.values():
        if definition.kind in ("stub_kernel", "python_binding") and not definition.flags & 1:
            file = definition.id >> ID_BITS
            for key, name in tree.targets.get(definition.id, ()):
                if key.startswith("cpp:"):
                    node = cpp.node(file, key, name, "call")
                    graph.edge(tree.node(definition.id), node)
    for key, bodies in cpp.bodies.items():
        stubs = [d for d in bodies if d.kind == "stub"]
        if stubs:
            for other in tree.by_key.get(key, ()):
                if other.kind == "stub_kernel":
                    for stub in stubs:
                        if stub.name == other.name:
                            graph.edge(tree.node(stub.id), tree.node(other.id))


def _named(tree: Tree, cpp: Cpp, mention: Mentioned) -> int:
    if mention.kind == "macro":
        return tree.name("macro", mention.name)
    return cpp.node(mention.file, mention.key, mention.name, mention.kind)


def _holder(tree: Tree, owner: int) -> int:
    """The node that a mention belongs to: a function, or the table or class around it."""
    at = tree.definitions.get(owner)
    while at is not None and at.kind in ("class", "macro_use", "registration", "schema", "library") and at.scope >= 0:
        at = tree.definitions[at.scope]
    if at is None:
        return tree.name("nowhere", "cpp")
    return tree.node(at.id)
