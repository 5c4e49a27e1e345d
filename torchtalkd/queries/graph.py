"""graph: who calls this, what does it call, and what breaks if it changes.

`callers` and `calls` are one step, `impact` is who calls, through as many levels as asked. A step may be a
call, or lead through a stub, the dispatcher, a derivative's formula, a launch, a macro: each says which,
how sure it is, and where it is written. The tests are in `tests/test_graph.py`, questions about PyTorch
with answers found by reading its source in `tests/graph_questions.toml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from torchtalkd import keys
from torchtalkd.facts import ExactShare, FiledDefinition
from torchtalkd.link import wrappers
from torchtalkd.queries.answers import Standalone, Standing, standing
from torchtalkd.queries.callers import callers
from torchtalkd.queries.edges import Edge, family_of
from torchtalkd.queries.graph_starts import graph_starts
from torchtalkd.queries.graph_walk import (
    MOST_NODES,
    MOST_PASSED,
    Bounds,
    Walk,
    Walked,
    down,
    is_python,
    up,
    walk,
)
from torchtalkd.store.view import View

MODES: Final = ("callers", "calls", "impact")
FOCUSES: Final = ("callers", "full")
DEEPEST: Final = 5
_SURE: Final = {"exact": 0, "declared": 1, "unique": 2, "candidate": 3}


@dataclass(frozen=True, slots=True)
class GraphWay:
    """A step to a node, from one that is a level nearer to the start."""

    after: int
    """The number of the nearer node."""
    hop: str
    """call, method, virtual, construct, functor, address, launch, stub, dispatcher, autograd, macro, python,
    python binding (`torchtalkd.queries.edges.Hop`)."""
    evidence: str
    """exact, declared, unique, candidate (see `torchtalkd.link.source`)."""
    file: str
    """Where the step is written."""
    line: int
    through: str = ""
    """What lies between: `mul_stub · CPU`, `aten::add.Tensor · CPU`, `MulBackward0`, a macro."""
    candidates: int = 1
    """How many definitions the name may mean."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A function, operator, class, macro or binding."""

    number: int
    """From 1, nearer levels first; the starts are the first."""
    level: int
    """Steps from the start, which is 0."""
    name: str
    """Qualified; an operator's packet."""
    kind: str
    """function, kernel, structured_impl, operator, python (a function of Python), class, stub, macro, …"""
    file: str
    line: int
    role: str
    """library, test, … of its file."""
    ways: tuple[GraphWay, ...] = ()


@dataclass(frozen=True, slots=True)
class PythonEntry:
    """A name of Python that leads to a node."""

    name: str
    kind: str
    """binding, alias, or wrapper: a function with a body."""
    file: str
    line: int
    of: int
    """The node's number."""


@dataclass(frozen=True, slots=True)
class GraphAnswer(Standalone):
    """The answer to `graph`."""

    query: str
    mode: str
    depth: int
    """Levels that were asked for."""
    nodes: tuple[GraphNode, ...]
    """The starts, then level by level: library code before tests, what is surer first."""
    total: int
    """How many nodes there are besides the starts."""
    standing: Standing
    exact: ExactShare
    """How much of the tree a compiler has read."""
    exact_ways: int = 0
    """How many of the steps are exact."""
    ways: int = 0
    crowded: int = 0
    """Names through which the walk did not go on, as they may mean too many things."""
    stopped: bool = False
    """Whether there are more nodes than a walk passes."""
    walked: int = 0
    """The levels that were walked: fewer than `depth` where it was stopped before the next."""
    python: tuple[PythonEntry, ...] = ()
    """With the focus `full`: how Python gets to the nodes."""
    nearest: tuple[str, ...] = ()
    error: str = ""

    @property
    def found(self) -> bool:
        """Whether the query is the name of something."""
        return any(node.level == 0 for node in self.nodes)

    @property
    def cited(self) -> tuple[str, ...]:
        """The files that it names."""
        files = {node.file for node in self.nodes} | {entry.file for entry in self.python}
        return tuple(files | {way.file for node in self.nodes for way in node.ways})

    def without(self, moved: frozenset[str]) -> GraphAnswer:
        """Without the nodes and steps in files that moved on."""
        kept = tuple(
            replace(node, ways=tuple(way for way in node.ways if way.file not in moved))
            for node in self.nodes
            if node.file not in moved
        )
        kept = tuple(node for node in kept if node.ways or not node.level)
        python = tuple(entry for entry in self.python if entry.file not in moved)
        return replace(self, nodes=kept, python=python, total=self.total - (len(self.nodes) - len(kept)))


def graph(
    view: View,
    func: str,
    mode: str = "callers",
    depth: int = 2,
    *,
    fuzzy_all_levels: bool = False,
    walk_python: bool = False,
    focus: str = "callers",
    each_level: bool = False,
    whole: bool = False,
) -> GraphAnswer:
    """The nodes around what `func` means. Read-only. `error` says what of the question is not allowed.

    `depth` (1 to 5) is of `impact`; with `each_level` also of the other modes, which are one step else.
    `fuzzy_all_levels` goes on through names that may mean many things, at every level. `walk_python`
    follows Python's callers at each level, which is done anyway where all starts are of Python, or operators
    that only Python calls.
    A level behind more than `graph_walk.MOST_PASSED` nodes is left out unless `whole` or fuzzy.
    """
    said = GraphAnswer(func, mode, 0, (), 0, standing(view), view.exact_share())
    error = _wrong(mode, depth, focus)
    if error:
        return replace(said, error=error)
    meant, nearest = graph_starts(view, func)
    starts = [node for _, nodes in meant for node in nodes]
    if not starts:
        return replace(said, nearest=nearest)
    python = walk_python or all(is_python(node) or _is_called_in_python(view, node) for node in starts)
    levels = depth if mode == "impact" or each_level else 1
    step = down(view) if mode == "calls" else up(view, python=python)
    passed = MOST_NODES if whole or fuzzy_all_levels else MOST_PASSED
    walked = walk(view, starts, step, Bounds(levels, fuzzy_all_levels, python, passed))
    nodes, numbers = _nodes(view, walked)
    entries = tuple(_entries(view, walked, numbers)) if focus == "full" else ()
    ways = [way for node in nodes for way in node.ways]
    return replace(
        said,
        depth=levels,
        nodes=nodes,
        total=sum(node.level > 0 for node in nodes),
        exact_ways=sum(way.evidence == "exact" for way in ways),
        ways=len(ways),
        crowded=walked.crowded,
        stopped=walked.stopped,
        walked=walked.walked,
        python=entries,
    )


def _is_called_in_python(view: View, node: FiledDefinition) -> bool:
    """Whether a node is an operator that no function of C++ is made of: only Python calls it by name."""
    family = family_of(view, node)
    return family is not None and not any(entry.fact.kind == "operator" for entry in family.entries)


def _wrong(mode: str, depth: int, focus: str) -> str:
    if mode not in MODES:
        return f"no mode {mode!r}: {', '.join(MODES)}"
    if focus not in FOCUSES:
        return f"no focus {focus!r}: {', '.join(FOCUSES)}"
    if not 1 <= depth <= DEEPEST:
        return f"depth {depth}: from 1 to {DEEPEST}"
    return ""


def _nodes(view: View, walked: Walk) -> tuple[tuple[GraphNode, ...], dict[int, int]]:
    """The nodes met, numbered in the order of the answer; definition's id → number."""

    def rank(met: Walked) -> tuple[int, bool, int]:
        surest = min((_SURE[edge.evidence] for _, edge in met.ways), default=0)
        return met.level, met.node.file.role == "test", surest

    ordered = sorted(walked.met.values(), key=rank)
    numbers = {met.node.id: number for number, met in enumerate(ordered, 1)}
    found = tuple(
        GraphNode(
            number,
            met.level,
            name_of(view, met.node),
            kind_of(view, met.node),
            met.node.file.path,
            met.node.fact.line,
            met.node.file.role,
            tuple(_way(edge, numbers[after]) for after, edge in met.ways),
        )
        for number, met in enumerate(ordered, 1)
    )
    return found, numbers


def _way(edge: Edge, after: int) -> GraphWay:
    return GraphWay(after, edge.hop, edge.evidence, edge.file, edge.line, edge.through, edge.candidates)


def name_of(view: View, node: FiledDefinition) -> str:
    """What a node is called: an operator by its packet, the use of a macro with its arguments."""
    family = family_of(view, node)
    if family is not None:
        return family.name
    if node.fact.kind == "macro_use":
        arguments = [str(a).strip() for a in (node.fact.detail or {}).get("arguments") or ()]
        return f"{node.fact.name}({', '.join(arguments[:2])})"
    return node.fact.name


def kind_of(view: View, node: FiledDefinition) -> str:
    """What a node is, in a word."""
    if family_of(view, node) is not None:
        return "operator"
    if node.file.language == "python" and node.fact.kind == "function":
        return "python"
    return "stub" if node.fact.kind == "stub_kernel" else node.fact.kind


def _entries(view: View, walked: Walk, numbers: dict[int, int]) -> Iterator[PythonEntry]:
    """How Python gets to what was met: the operators' names, and what is bound."""
    seen: set[str] = set()
    for met in sorted(walked.met.values(), key=lambda met: numbers[met.node.id]):
        for entry in _entries_of(view, met.node, numbers[met.node.id]):
            if entry.name not in seen:
                seen.add(entry.name)
                yield entry


def _entries_of(view: View, node: FiledDefinition, number: int) -> Iterable[PythonEntry]:
    family = family_of(view, node)
    if family is not None:
        for point in wrappers.entry_points(view, family):
            place = point.definition
            yield PythonEntry(point.name, point.kind, place.file.path, place.fact.line, number)
    elif keys.space(node.fact.key) == keys.space(keys.cpp("")):
        for edge in callers(view, node, python=True):
            if edge.hop == "python binding":
                other = edge.other
                yield PythonEntry(other.fact.name, "binding", other.file.path, other.fact.line, number)


def as_json(answer: GraphAnswer, limit: int = 0) -> dict[str, Any]:
    """The object that `--json` prints; `limit` nodes besides the starts, 0 for all."""
    first = sum(node.level == 0 for node in answer.nodes)
    shown = answer.nodes[: first + limit] if limit else answer.nodes
    return {
        "query": answer.query,
        "mode": answer.mode,
        "depth": answer.depth,
        "nodes": [asdict(node) for node in shown],
        "total": answer.total,
        "shown": len(shown) - first,
        "crowded": answer.crowded,
        "stopped": answer.stopped,
        "walked": answer.walked,
        "python": [asdict(entry) for entry in answer.python],
        "exact": {**answer.exact._asdict(), "ways": answer.exact_ways, "of": answer.ways},
        "revision": answer.standing.revision,
        "commit": answer.standing.commit,
        "waiting": answer.standing.waiting,
        "complete": answer.standing.complete and not answer.standing.waiting,
        "nearest": list(answer.nearest),
        "error": answer.error,
    }
