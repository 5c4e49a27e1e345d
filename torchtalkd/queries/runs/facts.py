"""The rows that the walk goes over, each definition with its node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File
from torchtalkd.queries.runs.graph import Graph
from torchtalkd.store import whole
from torchtalkd.store.rows import ID_BITS
from torchtalkd.store.view import View
from torchtalkd.store.whole import Defined, Mentioned

FRAMEWORKS: Final = ("unittest", "pytest")
"""What imports one of these is made for tests."""
MOCKS: Final = "unittest.mock"
"""A library patches with it, too."""
_IMPORTING: Final = ("import", "star", "base")
_KINDS: Final = ("python_binding", "operator", "schema")


@dataclass(slots=True)
class Tree:
    """The facts of Python, and what binds and makes its names; with the nodes made of them so far."""

    view: View
    graph: Graph
    files: dict[int, File]
    definitions: dict[int, Defined]
    targets: dict[int, list[tuple[str, str]]]
    """A binding's id → (key, name) of what it refers to."""
    imports: list[Mentioned]
    """What Python files import and what their classes derive from."""
    supporting: set[int]
    """Files that are made for tests: tests themselves, and what imports a test framework."""
    node_of: dict[int, int] = field(default_factory=dict)
    """A definition's id → its node."""
    named: dict[tuple[str, str], int] = field(default_factory=dict)
    """(sort of name, name) → the node of what only has a name."""

    def uses(self) -> Iterator[Mentioned]:
        """What Python files call and name. Read from the store each time: there are a million."""
        yield from whole.mentioned(self.view, self._files("python"), without=(*_IMPORTING, "holds"))

    def template_uses(self) -> Iterator[Mentioned]:
        """What templates call and name."""
        yield from whole.mentioned(self.view, self._files(), without=_IMPORTING)

    def _files(self, language: str = "") -> list[int]:
        """The files of a language, or the templates of others."""
        files = self.files.values()
        if language:
            return [file.id for file in files if file.language == language]
        return [file.id for file in files if file.role == "template" and file.language != "python"]

    _passing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """A name → the beginnings of the names of those whose calls of it do not count."""

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

    def is_python(self, definition: Defined) -> bool:
        """Whether a definition stands in a Python file."""
        return self.files[definition.file].language == "python"

    def module(self, definition: Defined) -> Defined:
        """The module that a definition of Python stands in."""
        while definition.kind != "module" and definition.scope >= 0:
            definition = self.definitions[definition.scope]
        return definition

    def packet(self, name: str) -> str:
        """`aten::add` for an operator's name in any spelling."""
        written = keys.operator_name(name)
        return f"{written.namespace or self.view.rules.operator_namespace}::{written.base}"

    def passed(self, holder: str, name: str) -> bool:
        """Whether a call does not count: it switches something off, or is made only in a mode of its own."""
        known = self._passing.get(name)
        if known is None:
            patterns = (pattern.rpartition(": ") for pattern in self.view.rules.tests.passed)
            known = tuple(around for around, _, called in patterns if fnmatchcase(name, called))
            self._passing[name] = known
        return any(holder.startswith(around) for around in known)


def _is_framework(name: str) -> bool:
    return name.partition(".")[0] in FRAMEWORKS and not name.startswith(MOCKS)


def read(view: View) -> Tree:
    """The facts of a revision. Reads every row of Python: about two seconds for PyTorch."""
    files = {file.id: file for file in view.files()}
    wanted = [f.id for f in files.values() if f.language == "python" or f.role == "template"]
    definitions = {d.id: d for d in whole.defined(view, wanted, _KINDS)}
    targets: dict[int, list[tuple[str, str]]] = {}
    for owner, key, name in whole.targeted(view):
        if owner in definitions:
            targets.setdefault(owner, []).append((key, name))
    imports = list(whole.mentioned(view, wanted, _IMPORTING))
    supporting = {file.id for file in files.values() if file.role == "test"}
    for mention in imports:
        if mention.kind == "import" and _is_framework(mention.name):
            supporting.add(mention.file)
    for owner, found in targets.items():
        if definitions[owner].kind == "alias" and any(_is_framework(name) for _, name in found):
            supporting.add(owner >> ID_BITS)
    return Tree(view, Graph(), files, definitions, targets, imports, supporting)
