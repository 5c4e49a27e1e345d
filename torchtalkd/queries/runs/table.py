"""What each test file runs, worked out once a revision and kept small.

A node is a definition of Python, an operator, or a name that stands between. Each has the test files that
reach it as the bits of a number. Most nodes share few numbers, so that the whole of PyTorch takes some
thirty megabytes. Carried to the next revision
unless that changes Python, a binding or an entry.
"""

from __future__ import annotations

import gc
import pickle
import threading
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File
from torchtalkd.link.test_entries import entries
from torchtalkd.link.test_functions import is_test_name
from torchtalkd.queries.runs import facts
from torchtalkd.queries.runs.facts import Tree
from torchtalkd.queries.runs.graph import Graph
from torchtalkd.queries.runs.imports import imports
from torchtalkd.queries.runs.operator_nodes import Operators, add_operators
from torchtalkd.queries.runs.packed import Labels, Numbers, Pairs
from torchtalkd.queries.runs.python_classes import Classes
from torchtalkd.queries.runs.python_look_up import Names
from torchtalkd.queries.runs.python_nodes import add_copying, add_python
from torchtalkd.store.view import View

_KEPT: Final = (keys.space(keys.py("")), "runs")
"""Every file of Python and every binding defines a key of this space: a change of one forgets the table."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The table of one revision."""

    tests: tuple[File, ...]
    """The test files of Python, by path; the place of each is its bit."""
    operators: dict[str, int]
    """Packet → node."""
    definitions: Numbers
    """Id of a definition of Python, or of a binding → node."""
    rules: dict[str, tuple[tuple[str, int, int], ...]]
    """Packet → (kind, function's id, node of the registry) of what a registry of Python has for it."""
    wrapped: dict[str, int]
    """Last component of a C++ function that a template calls → node."""
    holding: dict[int, int]
    """Node of what a test file's variables hold → the file's id."""
    imported: dict[int, int]
    """Id of a file of Python → the test files that import it, through others too, as bits."""
    labels: Labels
    """A node that is no definition → what it is: `.add of any object`."""
    owners: array[int]
    """Node → id of its definition, 0 for none."""
    before: array[int]
    """What leads to each node, one after another: see `ways`."""
    begins: array[int]
    """Where those of each node begin."""
    which: array[int]
    """Node → place in `sets`."""
    sets: tuple[int, ...]
    """The different sets of test files, as bits."""
    meets: Pairs
    """Node → (one, other): what reaches both reaches it."""
    by_function: dict[int, list[tuple[str, int]]] = field(default_factory=dict)
    """Node of a function → (packet, node of the registry) of the rules that it is; filled in when asked."""

    @property
    def every(self) -> int:
        """The bits of all test files."""
        return (1 << len(self.tests)) - 1

    def bits(self, node: int) -> int:
        """The test files that reach a node."""
        return self.sets[self.which[node]] if 0 <= node < len(self.which) else 0

    def ways(self, node: int) -> Iterable[int]:
        """The nodes that lead to a node in one step."""
        yield from self.before[self.begins[node] : self.begins[node + 1]]

    def files(self, bits: int) -> list[File]:
        """The test files of some bits, by path."""
        found = []
        while bits:
            low = bits & -bits
            found.append(self.tests[low.bit_length() - 1])
            bits ^= low
        return found


_LOCK: Final = threading.Lock()
_LATEST: Final[dict[tuple[str, int], Runs]] = {}
"""The tables that were asked for last, for all views of a revision: (birth of the index, revision)."""
_MOST_LATEST: Final = 2


def runs(view: View) -> Runs:
    """The table of a view's revision. Takes seconds the first time."""
    known: Runs | None = view.kept_of_definitions.get(_KEPT)
    if known is None:
        with _LOCK:
            known = view.kept_of_definitions[_KEPT] = _shared(view)
    return known


def _shared(view: View) -> Runs:
    """The table that another view of the same revision has, or a new one."""
    if type(view) is not View:
        # With unsaved texts the facts are others.
        return _without_collecting(view)
    asked = view.meta("birth"), view.revision
    if not asked[0] or asked not in _LATEST:
        made = _without_collecting(view)
        while len(_LATEST) >= _MOST_LATEST:
            del _LATEST[next(iter(_LATEST))]
        _LATEST[asked] = made
    return _LATEST[asked]


def _without_collecting(view: View) -> Runs:
    collects = gc.isenabled()
    # Millions of small objects, none of them garbage: looking for some takes as long as all the rest.
    gc.disable()
    try:
        # What stays is made once more when all else is gone: spread among what is gone it would keep
        # ten times the memory that it takes.
        entries(view)
        told = pickle.dumps(_work_out(view))
        made: Runs = pickle.loads(told)
        return made
    finally:
        if collects:
            gc.enable()


def _work_out(view: View) -> Runs:
    tree = facts.read(view)
    names = Names(tree)
    classes = Classes(tree, names)
    add_python(tree, names, classes)
    operators = Operators(tree)
    add_operators(tree, names, operators)
    add_copying(tree)
    tests = test_files(tree)
    starts = _starts(tree, names, {file.id: number for number, file in enumerate(tests)})
    starts[tree.name("everywhere", "")] = (1 << len(tests)) - 1
    tree.graph.spread(starts)
    return _packed(tree, operators, tests, imports(tree, names, tests))


def test_files(tree: Tree) -> list[File]:
    """The files of Python with tests, by path: those whose names say so, and that hold what is called
    like a test."""
    rules = tree.view.rules.tests
    holding = {
        d.file
        for d in tree.definitions.values()
        if d.kind == "function" and is_test_name(rules, d.key.partition(":")[2])
    }
    found = []
    for file in tree.files.values():
        name = file.path.rpartition("/")[2].removesuffix(".py")
        if file.language != "python" or file.role != "test":
            continue
        if name.startswith("test_") or (name.endswith("_test") and file.id in holding):
            found.append(file)
    return sorted(found, key=lambda file: file.path)


def _starts(tree: Tree, names: Names, tests: dict[int, int]) -> dict[int, int]:
    """What a test file runs by itself: everything in it."""
    found: dict[int, int] = {}
    for definition in tree.definitions.values():
        number = tests.get(definition.file)
        if number is None or definition.kind not in ("function", "class", "module", "kernel"):
            continue
        nodes = [tree.node(definition.id)]
        if definition.kind == "module":
            nodes.append(names.variables(definition))
        for node in nodes:
            found[node] = found.get(node, 0) | 1 << number
    return found


def _packed(tree: Tree, operators: Operators, tests: list[File], imported: dict[int, int]) -> Runs:
    graph = tree.graph
    sets: dict[int, int] = {}
    which = array("I", (sets.setdefault(bits, len(sets)) for bits in graph.bits))
    before, begins = _turned(graph)
    owners = array("Q", bytes(8 * len(graph.after)))
    for definition, node in tree.node_of.items():
        owners[node] = definition
    by_sort: dict[str, dict[str, int]] = {"operator": {}, "cpp": {}}
    for (sort, name), node in tree.named.items():
        if sort in by_sort:
            by_sort[sort][name] = node
    meets = ((after, one, other) for one, found in graph.meets.items() for other, after in found)
    return Runs(
        tests=tuple(tests),
        operators=by_sort["operator"],
        definitions=Numbers(tree.node_of),
        rules={packet: tuple(found) for packet, found in operators.rules.items()},
        wrapped=by_sort["cpp"],
        holding=_holding(tree, {file.id for file in tests}),
        imported=imported,
        labels=Labels(len(graph.after), tree.named),
        owners=owners,
        before=before,
        begins=begins,
        which=which,
        sets=tuple(sets),
        meets=Pairs(meets),
    )


def _holding(tree: Tree, tests: set[int]) -> dict[int, int]:
    """The nodes of what variables of test files hold → the file's id."""
    modules = {d.name: d.file for d in tree.definitions.values() if d.kind == "module" and d.file in tests}
    found = {}
    for (sort, name), node in tree.named.items():
        module = (
            name
            if sort in ("variables", "rest", "loose")
            else name.rpartition(".")[0]
            if sort == "variable"
            else ""
        )
        if module in modules:
            found[node] = modules[module]
    return found


def _turned(graph: Graph) -> tuple[array[int], array[int]]:
    """The edges by where they lead, as one array with its beginnings."""
    counts = [0] * (len(graph.after) + 1)
    for others in graph.after:
        for other in others:
            counts[other + 1] += 1
    begins = array("I", accumulate(counts))
    at = begins[:-1]
    before = array("I", bytes(4 * begins[-1]))
    for node, others in enumerate(graph.after):
        for other in others:
            before[at[other]] = node
            at[other] += 1
    return before, begins
