"""From what changed to where tests come in: up the calls of C++, through stubs, the dispatcher and formulas.

The walk ends at names of Python and at operators: which test files run those the table of `queries.runs`
says.
It follows every way, however long, as a test that is left out is the worst answer; names that may mean many
things are followed near the start only. It stops when all test files are reached.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions
from torchtalkd.link.generated_names import called_as
from torchtalkd.link.operators import Family
from torchtalkd.queries.callers import callers
from torchtalkd.queries.edges import Edge, at_reference, family_of, packet_node
from torchtalkd.queries.owners import owner_of
from torchtalkd.queries.runs.table import Runs
from torchtalkd.queries.sites import sites
from torchtalkd.store.view import View

MOST_NODES: Final = 8_000
"""Functions and operators that are walked over; what has more ways than that counts as reached by all."""
MOST_SITES: Final = 500
"""References of a name that may mean many things, above which it is not followed."""
_MOST_BACK: Final = 3_000
"""Nodes of Python that are looked at for rules."""
_BLOCKS: Final = ("library", "macro_use")
_OBJECT: Final = "PyObject"
_REGISTERS: Final = ("registration", "schema", "macro_use")


class Step(NamedTuple):
    """How the walk came to a node."""

    node: FiledDefinition
    level: int
    """Steps from the start."""
    before: int
    """The id of the node it came from; 0 at a start."""
    edge: Edge | None


class Goal(NamedTuple):
    """Where tests come in."""

    node: int
    """In the table."""
    mask: int
    """The test files that can come in here, as bits."""
    at: int
    """The id of the definition that the walk was at."""


@dataclass(slots=True)
class Reached:
    """What a walk reached. Mutable while it goes."""

    steps: dict[int, Step] = field(default_factory=dict)
    goals: list[Goal] = field(default_factory=list)
    bits: int = 0
    """The test files of Python that are reached."""
    cpp: dict[str, int] = field(default_factory=dict)
    """Test files of C++ → the id of the first definition in them that was met."""
    all_because: str = ""
    """Why all test files count as reached, before the walk was at its end."""
    imports: dict[str, int] = field(default_factory=dict)
    """A module of which something changed that stands in no function → who imports it, as bits."""
    unresolved: list[str] = field(default_factory=list)
    """What could not be followed and counts as reached, in words."""


def walk(view: View, table: Runs, starts: Iterable[FiledDefinition], depth: int) -> Reached:
    """Everything above the starts. Names that may mean many things are followed for `depth` steps."""
    found = Reached()
    waiting: deque[tuple[FiledDefinition, int, str]] = deque()
    masks: dict[tuple[int, str], int] = {}
    for start in starts:
        if start.id not in found.steps:
            found.steps[start.id] = Step(start, 0, 0, None)
            masks[start.id, ""] = table.every
            waiting.append((start, table.every, ""))
            _note(view, table, found, start, table.every)
    while waiting:
        if found.bits == table.every:
            found.all_because = "all test files of Python are reached"
            break
        node, mask, device = waiting.popleft()
        if not mask & ~found.bits:
            # Whatever comes in this way is reached already.
            continue
        level = found.steps[node.id].level
        if len(found.steps) > MOST_NODES:
            found.all_because = f"more than {MOST_NODES} functions lead to it"
            found.unresolved.append(found.all_because)
            found.bits = table.every
            break
        for caller, further, edge in _onwards(view, table, found, node, mask, level < depth):
            other = _binding(view, node, caller, edge)
            on = (_device(view, edge) if edge is not None else "") or device
            if device and on != device:
                # A kernel of another device that calls the operator calls it with tensors of that device.
                continue
            known = masks.get((other.id, on), 0) | masks.get((other.id, ""), 0)
            if further | known != known:
                masks[other.id, on] = known | further
                found.steps.setdefault(other.id, Step(other, level + 1, node.id, edge))
                waiting.append((other, further, on))
                # At once, and not when its turn comes: what is reached already needs no walk.
                _note(view, table, found, other, further)
    return found


def _binding(
    view: View, called: FiledDefinition, caller: FiledDefinition, edge: Edge | None
) -> FiledDefinition:
    """Who calls: of code in what binds a Python name (`m.def("f", [](…) { … })`) that name, which somebody
    must call, and not the function that binds it. What binds names itself is called by it."""
    if edge is None or caller.fact.kind != "function" or edge.file != caller.file.path:
        return caller
    inside = [d for d in _bound_in(view, caller) if d.fact.line <= edge.line]
    if not inside or (called.fact.kind == "function" and _bound_in(view, called)):
        return caller
    return max(inside, key=lambda d: (d.fact.line, d.fact.column))


def _bound_in(view: View, function: FiledDefinition) -> list[FiledDefinition]:
    """The Python names that a function's body binds."""
    kept: dict[int, list[FiledDefinition]] = view.kept.setdefault("bindings of files", {})
    file = function.file
    if file.id not in kept:
        kept[file.id] = [d for d in view.definitions_in(file) if d.fact.kind == "python_binding"]
    return [d for d in kept[file.id] if function.fact.line <= d.fact.line <= function.fact.end_line]


def _device(view: View, edge: Edge) -> str:
    """The device of a kernel that an edge leads through, '' where it says none: of `add_stub · CPU` CPU, of
    `aten::mm · SparseCUDA` CUDA."""
    _, dot, key = edge.through.rpartition(" · ")
    if not dot:
        return ""
    return max((b for b in view.rules.dispatch.backends if key.endswith(b)), key=len, default="")


def _note(view: View, table: Runs, found: Reached, node: FiledDefinition, mask: int) -> None:
    """Adds the tests that come in at a node."""
    family = family_of(view, node)
    at = table.operators.get(family.name, -1) if family is not None else table.definitions.get(node.id)
    if at < 0 and family is None:
        at = table.wrapped.get(keys.last(node.fact.key), -1)
    if at >= 0:
        found.goals.append(Goal(at, mask, node.id))
        found.bits |= table.bits(at) & mask
    if node.file.role == "test" and node.file.language != "python":
        found.cpp.setdefault(node.file.path, node.id)


def _onwards(
    view: View, table: Runs, found: Reached, node: FiledDefinition, mask: int, near: bool
) -> Iterator[tuple[FiledDefinition, int, Edge | None]]:
    """The nodes above one, each with the test files that can come that way."""
    family = family_of(view, node)
    python = node.file.language == "python" or node.fact.kind == "python_binding"
    if python or family is not None:
        at = table.operators.get(family.name, -1) if family is not None else table.definitions.get(node.id)
        for packet, registry in _ruled(table, at):
            operator = packet_node(view, packet)
            if operator is not None and mask & table.bits(registry):
                yield operator, mask & table.bits(registry), None
    if python or (node.file.role == "test" and family is None and node.fact.kind not in _REGISTERS):
        # What calls a function of a test is of the same test.
        return
    if node.fact.kind in _REGISTERS and family is None:
        yield from ((other, mask, None) for other in _registered(view, node))
    rare = near and family is None and _sites(view, node.fact.key) <= MOST_SITES
    edges = callers(view, node, python=family is None, crowded=rare)
    beside: list[FiledDefinition] = []
    if not edges and family is None:
        edges = callers(view, node, python=True, crowded=True)
        beside = _beside(view, node)
        yield from ((other, mask, None) for other in beside)
        unseen = any(fnmatchcase(node.fact.name, name) for name in view.rules.tests.unseen)
        if unseen or (not edges and not beside and _is_called_by_python(view, node)):
            found.bits |= mask
            found.goals.append(Goal(-1, mask, node.id))
            found.unresolved.append(f"{node.fact.name} is called in a way that the text does not show")
    for edge in edges:
        if edge.other.file.role != "template":
            yield edge.other, mask, edge
        if edge.other.fact.kind in _BLOCKS:
            yield from ((other, mask, edge) for other in _registered_on(view, edge))
    if family is not None:
        yield from ((other, mask, edge) for other, edge in _named(view, family, {e.other.id for e in edges}))


def _sites(view: View, key: str) -> int:
    """How many references a key has."""
    kept: dict[str, int] = view.kept.setdefault("sites of keys", {})
    if key not in kept:
        kept[key] = len(sites(view, key))
    return kept[key]


def _registered_on(view: View, edge: Edge) -> Iterator[FiledDefinition]:
    """The operators that a line of a library block registers."""
    for definition in view.definitions_on(edge.other.file, edge.line):
        if keys.space(definition.fact.key) == keys.space(keys.op("")):
            operator = packet_node(view, str(keys.operator_name(definition.fact.name)._replace(overload="")))
            if operator is not None:
                yield operator


def _named(view: View, family: Family, known: set[int]) -> Iterator[tuple[FiledDefinition, Edge | None]]:
    """Functions that may call an operator by its name, where nothing says that another function is meant: a
    method of a receiver whose type is not known, a name that a `using` may bring in."""
    for last in called_as(family):
        key = keys.cpp(last)
        if family.namespace != view.rules.operator_namespace:
            continue
        references = sites(view, key)
        if len(references) > MOST_SITES:
            continue
        bodies = {d.file.id for d in view.definitions(key) if not d.fact.declares}
        for reference in references:
            fact = reference.fact
            unsaid = fact.kind == "method" or (fact.kind == "call" and "::" not in fact.name)
            if not unsaid or reference.owner < 0 or reference.file.role == "template":
                continue
            if fact.kind == "call" and reference.file.id in bodies:
                continue
            owner = owner_of(view, reference)
            if owner is not None and owner.id not in known:
                known.add(owner.id)
                yield owner, at_reference(owner, "method", "candidate", reference)


def _ruled(table: Runs, at: int) -> list[tuple[str, int]]:
    """The operators whose rules in Python (decompositions, meta functions) lead to a node: (packet, node of
    the registry that has the rule)."""
    if at < 0:
        return []
    by_function = _by_function(table)
    found: dict[tuple[str, int], None] = {}
    seen = {at}
    waiting = deque([at])
    while waiting and len(seen) < _MOST_BACK:
        for before in table.ways(waiting.popleft()):
            if before in seen:
                continue
            seen.add(before)
            rules = by_function.get(before)
            if rules:
                found.update(dict.fromkeys(rules))
            elif before not in table.labels:
                waiting.append(before)
    return list(found)


def _by_function(table: Runs) -> dict[int, list[tuple[str, int]]]:
    known = table.by_function
    if not known:
        for packet, rules in table.rules.items():
            for _, function, registry in rules:
                node = table.definitions.get(function)
                if node >= 0:
                    known.setdefault(node, []).append((packet, registry))
    return known


def _registered(view: View, node: FiledDefinition) -> list[FiledDefinition]:
    """The operators that what holds some code registers it for."""
    found = []
    scope = view.scope(node)
    for definition in (node, scope):
        if definition is not None and keys.space(definition.fact.key) == keys.space(keys.op("")):
            packet = str(keys.operator_name(definition.fact.name)._replace(overload=""))
            operator = packet_node(view, packet)
            if operator is not None:
                found.append(operator)
    return found


def _beside(view: View, node: FiledDefinition) -> list[FiledDefinition]:
    """Of a function that nobody is seen to call: bindings that say its name, and the class that it makes."""
    found = []
    for target in view.targeting(node.fact.key):
        owner = view.definition(target.owner)
        written = functions.plain(target.fact.name)
        means = node.fact.name == written or node.fact.name.endswith(f"::{written}")
        near = "::" in written or target.file.id == node.file.id
        if means and near and owner is not None and owner.fact.kind == "python_binding":
            found.append(owner)
    before, _, last = node.fact.name.rpartition("::")
    if before and last.removeprefix("~") == before.rpartition("::")[2]:
        found += [d for d in view.named(keys.cpp(before), before) if d.fact.kind == "class"]
    return found


def _is_called_by_python(view: View, node: FiledDefinition) -> bool:
    """Whether a function that nobody is seen to call stands where Python's own tables are filled: getters of
    attributes, subscripts, methods of types."""
    if node.fact.kind != "function" or node.fact.declares or node.file.role != "library":
        return False
    kept: dict[int, bool] = view.kept.setdefault("files of Python objects", {})
    if node.file.id not in kept:
        kept[node.file.id] = any(
            _OBJECT in d.fact.signature for d in view.definitions_in(node.file) if d.fact.kind == "function"
        )
    return kept[node.file.id]
