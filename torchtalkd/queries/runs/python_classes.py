"""The classes of Python: their methods, what they inherit, and which method a call may mean."""

from __future__ import annotations

from torchtalkd import keys
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.queries.runs.python_look_up import Names
from torchtalkd.store.whole import Defined

_PY = keys.space(keys.py(""))


class Classes:
    """All Python classes of a tree."""

    def __init__(self, tree: Tree, names: Names) -> None:
        self.tree = tree
        self.methods: dict[int, dict[str, list[int]]] = {}
        """A class → its methods by name, as ids of definitions."""
        self.above: dict[int, list[int]] = {}
        self.below: dict[int, list[int]] = {}
        self.foreign: set[int] = set()
        """Classes with a base that the tree does not have."""
        self._own: dict[tuple[int, str, bool], int] = {}
        definitions = tree.definitions
        for definition in definitions.values():
            if definition.kind == "class" and keys.space(definition.key) == _PY:
                self.methods.setdefault(definition.id, {})
            elif definition.kind in ("function", "alias") and keys.space(definition.key) == _PY:
                around = definitions.get(definition.scope)
                if around is not None and around.kind == "class":
                    own = self.methods.setdefault(around.id, {})
                    own.setdefault(keys.last(definition.key), []).append(definition.id)
        for mention in tree.imports:
            if mention.kind != "base" or keys.space(mention.key) != _PY:
                continue
            bases = [d.id for d in names.classes(mention.name)]
            for owner in mention.owners:
                if owner in self.methods:
                    if not bases:
                        self.foreign.add(owner)
                    for base in bases:
                        if base != owner:
                            self.above.setdefault(owner, []).append(base)
                            self.below.setdefault(base, []).append(owner)

    def own(self, cls: int, name: str, *, only_above: bool = False) -> int:
        """The node of `self.name` (or `super().name`) in a class: what it has or inherits, and in a test
        that has the class below it what overrides that. -1 if it is nothing of the tree."""
        known = self._own.get((cls, name, only_above))
        if known is None:
            known = self._own[cls, name, only_above] = self._look_up(cls, name, only_above)
        return known

    def _look_up(self, cls: int, name: str, only_above: bool) -> int:
        graph, node = self.tree.graph, -1
        seen: set[int] = set()
        waiting = list(self.above.get(cls, ())) if only_above else [cls]
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            here = self.methods.get(at, {}).get(name)
            if here:
                node = graph.node() if node < 0 else node
                for method in here:
                    graph.edge(node, self.tree.node(method))
            else:
                waiting += self.above.get(at, ())
        if only_above:
            return node
        waiting, seen = list(self.below.get(cls, ())), set()
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                waiting += self.below.get(at, ())
                for method in self.methods.get(at, {}).get(name, ()):
                    node = graph.node() if node < 0 else node
                    graph.meeting(node, self.tree.node(at), self.tree.node(method))
        return node

    def around(self, definition: int) -> int:
        """The class that a definition stands in, through functions; -1 for none."""
        found = self.tree.definitions.get(definition)
        while found is not None and found.kind != "class":
            found = self.tree.definitions.get(found.scope)
        return -1 if found is None else found.id


def shown(definition: Defined) -> list[str]:
    """The decorators of a function or class, by their full names."""
    found = definition.detail.get("decorators")
    return found if isinstance(found, list) else []
