"""Which nodes a dotted Python name leads to, quickly: for all names of a tree.

`link.python_names` answers the same for one name, exactly; here a name that the tree does not say leads to
whatever it may be.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.link.test_lists import LIST, selected
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.store.rows import ID_BITS
from torchtalkd.store.whole import Defined

_PY = keys.space(keys.py(""))
_BODIES = ("function", "class", "kernel", "module", "python_binding", "alias")
_MOST_HOPS = 8


def is_special(name: str) -> bool:
    """Whether Python's syntax calls a method of this name, or Python itself gives a module the name."""
    return name.startswith("__") and name.endswith("__")


class Names:
    """The Python names of a tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.by_name: dict[str, list[Defined]] = {}
        self.by_last: dict[str, list[str]] = {}
        """Modules of test files, which are imported from their own folder, by their last component."""
        self.inside: dict[str, list[Defined]] = {}
        """What stands in a module or class, by its name; filled in when asked."""
        self.stars: dict[str, list[str]] = {}
        self._found: dict[str, list[Defined]] = {}
        self._lists: dict[str, int] = {}
        """The full name of a test list → the id of its definition."""
        self._variables: dict[int, _Made] = {}
        self.rest: dict[str, int] = {}
        """A module's name → the node of what its variables hold."""
        self.bound: dict[str, list[Defined]] = {}
        """What C++ binds, by its last component."""
        for definition in tree.definitions.values():
            if definition.kind == "python_binding":
                self.bound.setdefault(keys.last(definition.key), []).append(definition)
            if definition.kind in _BODIES and keys.space(definition.key) == _PY:
                self.by_name.setdefault(definition.name, []).append(definition)
                if definition.kind == "module" and self._is_test(definition):
                    self.by_last.setdefault(keys.last(definition.key), []).append(definition.name)
        self.offered: dict[str, frozenset[str]] = {}
        """A module → the names that its `__all__` says."""
        for definition in tree.definitions.values():
            if definition.kind == "variable" and keys.last(definition.key) == "__all__":
                told = definition.detail.get("names")
                if isinstance(told, list):
                    self.offered[definition.name.rpartition(".")[0]] = frozenset(map(str, told))
        self.tops = {name.partition(".")[0] for name in self.by_name}
        for mention in tree.imports:
            if mention.kind == "star":
                for owner in mention.owners:
                    module = tree.definitions.get(owner)
                    if module is not None:
                        self.stars.setdefault(module.name, []).append(mention.name)

    def _is_test(self, definition: Defined) -> bool:
        return self.tree.files[definition.file].role == "test"

    def node(self, name: str) -> int:
        """The node of a full dotted name."""
        return self.tree.name("py", name, lambda node: self._lead(node, name))

    def named(self, name: str, file: int) -> int:
        """The node of a name that a library only names: a function is called by who gets it, mostly; a
        class is compared with, and an operator looked up in a table."""
        return self.tree.name(f"named {file}", name, lambda node: self._lead_weakly(node, name, file))

    def _lead(self, node: int, name: str) -> None:
        graph, tree = self.tree.graph, self.tree
        found = self.find(name)
        for definition in found:
            graph.edge(node, tree.node(definition.id))
        if not found:
            self._lead_on(node, name)

    def _lead_weakly(self, node: int, name: str, file: int) -> None:
        found = self.find(name)
        for definition in found:
            near = definition.file == file or self._package(definition) == self._package_of(file)
            if definition.kind in ("function", "kernel", "class") and near:
                self.tree.graph.edge(node, self.tree.node(definition.id))
        if not found:
            before, _, last = name.rpartition(".")
            for definition in self.find(before):
                if definition.kind == "module":
                    self.tree.graph.edge(node, self.variable(definition, last))

    def is_module(self, name: str) -> bool:
        """Whether a full name is that of a module of the tree."""
        return any(d.kind == "module" for d in self.by_name.get(name, ()))

    def find(self, name: str, hops: int = 0) -> list[Defined]:
        """The definitions of a full name: as written, then through what its beginning stands for."""
        found = self.by_name.get(name)
        if found or hops > _MOST_HOPS:
            return found or []
        known = self._found.get(name)
        if known is None:
            # Modules that import all of each other ask for it again: then they have it from nowhere.
            self._found[name] = []
            known = self._found[name] = self._find_on(name, hops)
        return known

    def _find_on(self, name: str, hops: int) -> list[Defined]:
        before, dot, _ = name.rpartition(".")
        while dot:
            known = self.by_name.get(before)
            if known:
                rest = name[len(before) + 1 :]
                return self._below(known, before, rest, hops)
            before, dot, _ = before.rpartition(".")
        return self._from_own_folder(name, hops)

    def _from_own_folder(self, name: str, hops: int) -> list[Defined]:
        """Tests are run from their folder or the one above: `import common` means a module of the tests."""
        first = name.partition(".")[0]
        found: list[Defined] = []
        if first in self.tops:
            return found
        parts = name.split(".")
        for at, part in enumerate(parts[:3]):
            for module in self.by_last.get(part, ()):
                if module.endswith("." + ".".join(parts[: at + 1])):
                    found += self.find(".".join((module, *parts[at + 1 :])), hops + 1)
        return found

    def classes(self, name: str, hops: int = 0) -> list[Defined]:
        """The classes that a full name means, through what other modules import it as."""
        found: list[Defined] = []
        for definition in self.find(name):
            if definition.kind == "class":
                found.append(definition)
            elif definition.kind == "alias" and hops < _MOST_HOPS:
                for _, target in self.tree.targets.get(definition.id, ()):
                    if target != name:
                        found += self.classes(target, hops + 1)
        return found

    def _below(self, known: list[Defined], before: str, rest: str, hops: int) -> list[Defined]:
        for definition in known:
            if definition.kind == "alias":
                for _, target in self.tree.targets.get(definition.id, ()):
                    if target != before:
                        found = self.find(f"{target}.{rest}", hops + 1)
                        if found:
                            return found
            elif definition.kind == "module":
                for star in self.stars.get(before, ()):
                    found = self.find(f"{star}.{rest}", hops + 1) if star != before else []
                    if found:
                        return found
        return []

    def _lead_on(self, node: int, name: str) -> None:
        """For a name that nothing defines: a variable of a module, or a method of what it holds."""
        graph = self.tree.graph
        before, dot, _ = name.rpartition(".")
        while dot:
            known = self.find(before)
            if known:
                rest = name[len(before) + 1 :]
                for definition in known:
                    if definition.kind == "module":
                        first = rest.partition(".")[0]
                        for module in self._offering(definition, first):
                            graph.edge(node, self.variable(module, first))
                    elif definition.kind != "function":
                        graph.edge(node, self.tree.node(definition.id))
                if "." in rest or known[0].kind in ("class", "alias"):
                    graph.edge(node, self.tree.name("attr", name.rpartition(".")[2]))
                break
            before, dot, _ = before.rpartition(".")
        if name.partition(".")[0] in self.tops:
            for definition in self.bound.get(name.rpartition(".")[2], ()):
                graph.edge(node, self.tree.node(definition.id))

    def any_of(self, name: str, alike: str = "*") -> int:
        """The node of any name of a module or class that is like a pattern."""
        return self.tree.name(f"any {alike} of", name, lambda node: self._lead_to_any(node, name, alike))

    def _lead_to_any(self, node: int, name: str, alike: str) -> None:
        if not self.inside:
            for full, definitions in self.by_name.items():
                self.inside.setdefault(full.rpartition(".")[0], []).extend(definitions)
        owners = [d.name for d in self.find(name) if d.kind in ("module", "class")]
        for owner in owners or [name]:
            for definition in self.inside.get(owner, ()):
                if fnmatchcase(keys.last(definition.key), alike):
                    self.tree.graph.edge(node, self.tree.node(definition.id))

    def _offering(self, module: Defined, name: str) -> list[Defined]:
        """The modules that a variable of a module may come from: itself, or one that it imports all from."""
        offering = [module]
        for star in self.stars.get(module.name, ()):
            for other in self.find(star):
                told = self.offered.get(other.name)
                if other.kind == "module" and other.id != module.id and (told is None or name in told):
                    offering.append(other)
        return offering

    def _package(self, definition: Defined) -> str:
        return self._package_of(definition.file)

    def _package_of(self, file: int) -> str:
        """The two folders that a file is in: `torch/ao`."""
        return "/".join(self.tree.files[file].path.split("/")[:-1][:2])

    def variables(self, module: Defined) -> int:
        """The node of what any of a module's variables holds."""
        return self.tree.name("variables", module.name, lambda node: self._lead_to_variables(node, module))

    def _lead_to_variables(self, node: int, module: Defined) -> None:
        self.tree.graph.edge(node, self._rest(module))
        self.tree.graph.edge(node, self._loose(module))
        for name in self._made(module).by_name:
            self.tree.graph.edge(node, self.variable(module, name))

    def variable(self, module: Defined, name: str) -> int:
        """The node of what a variable of a module holds: what its statements name, and what the module fills
        in otherwise. The same as that for a name that no statement gives a value."""
        made = self._made(module)
        if is_special(name) and name != "__dict__" and name not in made.by_name:
            # `torch.__file__`: Python's own, and nothing that runs.
            return self.tree.name("special", "")
        if not name or name not in made.by_name:
            return self._rest(module)
        return self.tree.name(
            "variable",
            f"{module.name}.{name}",
            lambda node: self._lead_to_made(node, module, name, made.by_name[name]),
        )

    def _lead_to_made(self, node: int, module: Defined, name: str, named: list[str]) -> None:
        for entry in self._entries(module, name):
            self.tree.graph.edge(node, self.tree.node(entry))
        if self._entries(module, name):
            return
        self.tree.graph.edge(node, self._rest(module))
        if name in self._made(module).changed:
            self.tree.graph.edge(node, self._loose(module))
        self._lead_to_named(node, module, named)

    def _lead_to_named(self, node: int, module: Defined, named: Iterable[str]) -> None:
        weak = module.file not in self.tree.supporting
        for name in named:
            self.tree.graph.edge(node, self.named(name, module.file) if weak else self.node(name))

    def _entries(self, module: Defined, name: str) -> Sequence[int]:
        """The entries of a test list, as ids; none where the list cannot be worked out, and of other
        variables."""
        if not self._lists:
            lists = [d for d in self.tree.definitions.values() if d.kind == "variable"]
            self._lists = {d.name: d.id for d in lists if d.convention == LIST} or {"": -1}
        known = self._lists.get(f"{module.name}.{name}")
        if known is None or known >> ID_BITS != module.file:
            return ()
        view = self.tree.view
        found = selected(view, self.tree.files[module.file], name)
        return () if found.everything else [entry.definition.id for entry in found.entries]

    def _rest(self, module: Defined) -> int:
        """The node of what a module's names may stand for that no text shows."""
        return self.tree.name("rest", module.name, lambda node: self._lead_to_rest(node, module))

    def _lead_to_rest(self, node: int, module: Defined) -> None:
        self.tree.graph.edge(node, self.tree.name("active", module.name))
        self._lead_to_named(node, module, self._made(module).making)

    def _loose(self, module: Defined) -> int:
        """The node of what a module's statements name that are of no variable: it may be put into those that
        they name, too, or that a function changes."""
        return self.tree.name("loose", module.name, lambda node: self._lead_to_loose(node, module))

    def _lead_to_loose(self, node: int, module: Defined) -> None:
        self.tree.graph.edge(node, self.tree.name("active", module.name))
        self._lead_to_named(node, module, self._made(module).loose)

    def is_variable(self, module: Defined, name: str) -> bool:
        """Whether a statement of a module gives a name a value."""
        return name in self._made(module).by_name

    def at(self, module: Defined, lines: Iterable[int]) -> set[int]:
        """The nodes of the variables whose statements are on some lines of a module."""
        made = self._made(module)
        found: set[int] = set()
        for line in lines:
            place = bisect_right(made.starts, line) - 1
            names = set()
            while place >= 0 and made.ends[place] >= line:
                names.add(made.names[place])
                place -= 1
            found |= {self.variable(module, name) for name in names} or {self._loose(module)}
        return found

    def _made(self, module: Defined) -> _Made:
        known = self._variables.get(module.id)
        if known is None:
            known = self._variables[module.id] = _Made([], [], [], {}, [], [], set())
            for name, first, last, named in sorted(module.detail.get("variables") or (), key=lambda v: v[1]):
                if name == "*":
                    known.loose.extend(named)
                elif name == "?":
                    known.changed.update(named)
                else:
                    known.starts.append(first)
                    known.ends.append(last)
                    known.names.append(name)
                    (known.by_name.setdefault(name, []) if name else known.making).extend(named)
        return known


class _Made(NamedTuple):
    """The statements that give variables of a module their values, by line."""

    starts: list[int]
    ends: list[int]
    names: list[str]
    by_name: dict[str, list[str]]
    """A variable → the full names in its statements."""
    making: list[str]
    """The full names in statements that may make names."""
    loose: list[str]
    """Those in statements of no variable."""
    changed: set[str]
    """The variables that such statements name, and those that functions change."""
