"""The rows that the walk goes over, each definition with its node."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torchtalkd.facts import File
from torchtalkd.queries.runs.graph import Graph
from torchtalkd.store import whole
from torchtalkd.store.view import View
from torchtalkd.store.whole import Defined, Mentioned

FRAMEWORKS = ("unittest", "pytest")


@dataclass(slots=True)
class Tree:
    """All facts of a revision, and the nodes made of them so far."""

    view: View
    graph: Graph
    files: dict[int, File]
    definitions: dict[int, Defined]
    of_file: dict[int, list[Defined]]
    targets: dict[int, list[tuple[str, str]]]
    """A binding's id → (key, name) of what it refers to."""
    mentions: list[Mentioned]
    by_key: dict[str, list[Defined]] = field(default_factory=dict)
    node_of: dict[int, int] = field(default_factory=dict)
    """A definition's id → its node."""
    supporting: set[int] = field(default_factory=set)
    """Files that are made for tests: tests themselves, and what imports a test framework."""
    named: dict[tuple[str, str], int] = field(default_factory=dict)
    """(sort of name, name) → the node of what only has a name."""

    def node(self, definition: int) -> int:
        """The node of a definition."""
        found = self.node_of.get(definition)
        if found is None:
            found = self.node_of[definition] = self.graph.node()
        return found

    def name(self, sort: str, name: str, made: Callable[[int], None] | None = None) -> int:
        """The node of a name of some sort; `made` is called with a new one."""
        found = self.named.get((sort, name))
        if found is None:
            found = self.named[sort, name] = self.graph.node()
            if made is not None:
                made(found)
        return found


def read(view: View) -> Tree:
    """All facts of a revision. Reads every row: about two seconds for PyTorch."""
    files = {file.id: file for file in view.files()}
    definitions: dict[int, Defined] = {}
    of_file: dict[int, list[Defined]] = {}
    by_key: dict[str, list[Defined]] = {}
    for definition in whole.defined(view):
        definitions[definition.id] = definition
        of_file.setdefault(definition.id >> whole.ID_BITS, []).append(definition)
        if definition.kind == "stub_kernel":
            by_key.setdefault(definition.key, []).append(definition)
    targets: dict[int, list[tuple[str, str]]] = {}
    for target in whole.targeted(view):
        targets.setdefault(target.owner, []).append((target.key, target.name))
    tree = Tree(view, Graph(), files, definitions, of_file, targets, list(whole.mentioned(view)), by_key)
    tree.supporting = {file.id for file in files.values() if file.role == "test"}
    for mention in tree.mentions:
        if mention.kind == "import" and mention.name.partition(".")[0] in FRAMEWORKS:
            tree.supporting.add(mention.file)
    for owner, found in targets.items():
        if definitions[owner].kind == "alias" and any(n.partition(".")[0] in FRAMEWORKS for _, n in found):
            tree.supporting.add(owner >> whole.ID_BITS)
    return tree
