"""The walk over the call graph, level by level, with bounds.

A node is met once, at the level where it is met first; each further way to it from the level before is
kept with it, and so is that a start leads to itself. A walk does not go on through a name that may mean too
many things (`Edge.crowded`) unless asked, and counts what it leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from torchtalkd.facts import FiledDefinition
from torchtalkd.queries.callees import callees
from torchtalkd.queries.callers import callers
from torchtalkd.queries.edges import Edge
from torchtalkd.queries.sites import sites
from torchtalkd.store.view import View

Step: TypeAlias = Callable[[FiledDefinition, bool], tuple[Edge, ...]]
"""The edges of a node, towards where the walk goes; with crowded ones, if asked."""
MOST_NODES: Final = 20_000
"""Nodes of one walk."""
MOST_PASSED: Final = 700
"""Nodes that a walk goes on from, behind its first level, unless the whole is wanted: what everybody calls
affects everything, and says no more by naming it."""
MOST_SITES: Final = 2_000
"""References of one name that are listed though it may mean many things."""


class Walked(NamedTuple):
    """A node that was met."""

    node: FiledDefinition
    level: int
    ways: tuple[tuple[int, Edge], ...]
    """Each the id of a node of the level before, and the edge between."""


@dataclass(slots=True)
class Walk:
    """What a walk met and left. Mutable while it goes."""

    met: dict[int, Walked] = field(default_factory=dict)
    crowded: int = 0
    """Edges that were left because their name may mean too many things."""
    stopped: bool = False
    """Whether there were too many nodes."""
    walked: int = 0
    """The levels that were walked. Each that was is whole, unless there were more than MOST_NODES."""


class Bounds(NamedTuple):
    """How far a walk goes."""

    depth: int
    fuzzy: bool = False
    """Through crowded names, too, at every level."""
    python: bool = True
    """To nodes of Python, too."""
    passed: int = MOST_PASSED
    """Nodes that it goes on from, behind the first level."""


def walk(view: View, starts: Iterable[FiledDefinition], step: Step, bounds: Bounds) -> Walk:
    """The nodes within some levels of the starts, these at level 0. Read-only."""
    found = Walk({d.id: Walked(d, 0, ()) for d in starts})
    level = [walked.node for walked in found.met.values()]
    passed = 0
    for depth in range(1, bounds.depth + 1):
        passed += len(level) if depth > 1 else 0
        if passed > bounds.passed:
            found.stopped = True
            return found
        found.walked = depth
        further: dict[int, tuple[FiledDefinition, list[tuple[int, Edge]]]] = {}
        for node in level:
            for edge in step(node, bounds.fuzzy or depth == 1):
                other = edge.other
                known = found.met.get(other.id)
                if known is not None and known.level == 0 and depth == 1:
                    # A start leads to itself, or to another one: recursion.
                    found.met[other.id] = known._replace(ways=(*known.ways, (node.id, edge)))
                elif known is None and (bounds.python or not is_python(other)):
                    further.setdefault(other.id, (other, []))[1].append((node.id, edge))
        level = []
        for number, (other, ways) in further.items():
            if len(found.met) >= MOST_NODES:
                found.stopped = True
                return found
            found.met[number] = Walked(other, depth, tuple(ways))
            if bounds.fuzzy or any(not edge.crowded for _, edge in ways):
                level.append(other)
            else:
                found.crowded += 1
    return found


def is_python(node: FiledDefinition) -> bool:
    """Whether a node is of Python, or a name of Python that is bound."""
    return node.file.language == "python" or node.fact.kind == "python_binding"


def up(view: View, *, python: bool) -> Step:
    """The step to who calls."""

    def step(node: FiledDefinition, crowded: bool) -> tuple[Edge, ...]:
        return callers(view, node, python=python, crowded=crowded and _is_rare(view, node))

    return step


def down(view: View) -> Step:
    """The step to what is called."""

    def step(node: FiledDefinition, crowded: bool) -> tuple[Edge, ...]:
        return callees(view, node, crowded=crowded)

    return step


def _is_rare(view: View, node: FiledDefinition) -> bool:
    kept: dict[str, bool] = view.kept.setdefault("rare", {})
    key = node.fact.key
    if key not in kept:
        kept[key] = len(sites(view, key)) <= MOST_SITES
    return kept[key]
