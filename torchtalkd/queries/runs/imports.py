"""Which test files import a file of Python, through any number of others?"""

from __future__ import annotations

from collections.abc import Sequence

from torchtalkd.facts import File
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.queries.runs.graph import Graph
from torchtalkd.queries.runs.python_look_up import Names


def imports(tree: Tree, names: Names, tests: Sequence[File]) -> dict[int, int]:
    """Id of a file → the test files that import it, as bits. An import in a function counts, too, and so do
    the packages that a module is in."""
    graph = Graph()
    node: dict[int, int] = {}
    modules: dict[str, list[int]] = {}

    def of(file: int) -> int:
        if file not in node:
            node[file] = graph.node()
        return node[file]

    def taken(name: str) -> list[int]:
        """The files that importing a name runs."""
        if name not in modules:
            found = [d for d in names.find(name) if d.kind == "module"] or [
                d for d in names.find(name.rpartition(".")[0]) if d.kind == "module"
            ]
            above = found[0].name if found else ""
            files = [d.file for d in found]
            while "." in above:
                above = above.rpartition(".")[0]
                files += [d.file for d in names.by_name.get(above, ()) if d.kind == "module"]
            modules[name] = files
        return modules[name]

    for mention in tree.imports:
        if mention.kind in ("import", "star"):
            for file in taken(mention.name):
                graph.edge(of(mention.file), of(file))
    for owner, targets in tree.targets.items():
        definition = tree.definitions[owner]
        if definition.kind == "alias" and definition.detail.get("import"):
            for _, name in targets:
                for file in taken(name):
                    graph.edge(of(definition.file), of(file))
    graph.spread({of(file.id): 1 << number for number, file in enumerate(tests)})
    return {file: graph.bits[number] for file, number in node.items()}
