"""Who calls this, and what does it call, one step: what an editor's call hierarchy shows.

The edges are those of `callers` and `callees`, without those that are only candidates. A *node* is a
function, or an operator, which stands at its schema. Between a function and an operator that has it as a
kernel lies a hop through the dispatcher; between a function that calls a stub and the stub's kernel one
through the stub. A hop says what it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchtalkd.facts import FiledDefinition
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.callees import callees
from torchtalkd.queries.callers import callers
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.definition import asked, defined, schemas
from torchtalkd.queries.edges import Edge, family_of
from torchtalkd.queries.graph_starts import starts_of
from torchtalkd.queries.locate import operator_subject
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.subjects import of_definitions, subject_kind
from torchtalkd.queries.trace_names import role_of
from torchtalkd.store.view import View


class Node(NamedTuple):
    """A function or an operator."""

    item: Item
    """Its place; the symbol is its name."""
    subject: Subject
    end_line: int = 0
    """Of a function's body; 0 where it has none."""


class Call(NamedTuple):
    """A node at the other end, and how it is reached."""

    node: Node
    hop: str
    """'' for a call as it is written; else the dispatcher or the stub between, with the key."""
    sites: tuple[Item, ...]
    """Where the call, the registration or the binding stands."""


_MOST_MEANT = 4
"""Nodes that one place means, at most."""


def nodes(view: View, meant: Meant) -> list[Node]:
    """The nodes that a place means."""
    found = []
    for subject in asked(meant):
        if subject.kind == "operator":
            found.extend(_operator(view, subject))
        elif subject.kind not in ("macro", "tag", "Python module"):
            found.extend(_nodes(view, subject))
    return found[:_MOST_MEANT]


def _operator(view: View, subject: Subject) -> list[Node]:
    places = schemas(view, subject)
    return [Node(places[0], subject)] if places else []


def _nodes(view: View, subject: Subject) -> Iterator[Node]:
    for item in defined(view, subject):
        definition = next((d for n in subject.ids if (d := view.definition(n)) and _is_at(d, item)), None)
        yield Node(item, subject, definition.fact.end_line if definition else 0)


def _is_at(definition: FiledDefinition, item: Item) -> bool:
    return definition.file.path == item.file and definition.fact.line == item.line


def incoming(view: View, subject: Subject) -> list[Call]:
    """Who calls it."""
    own = set(subject.ids)
    edges = [edge for node in starts_of(view, subject) for edge in callers(view, node, python=True)]
    return _grouped(view, [edge for edge in edges if edge.other.id not in own], came=True)


def outgoing(view: View, subject: Subject) -> list[Call]:
    """What it calls; for an operator, the kernels that the dispatcher may choose."""
    edges = [edge for node in starts_of(view, subject) for edge in callees(view, node)]
    if subject.kind == "operator":
        wanted = set(subject.overloads)
        edges = [e for e in edges if e.hop == "autograd" or e.through.partition(" · ")[0] in wanted]
    return _grouped(view, edges, came=False)


def _grouped(view: View, edges: list[Edge], *, came: bool) -> list[Call]:
    """The calls of one node by one hop together, with all their places."""
    found: dict[tuple[int, str], tuple[Node, str, dict[tuple[str, int, int], Item]]] = {}
    for edge in edges:
        if edge.evidence == "candidate" and edge.hop not in ("stub", "dispatcher"):
            continue
        hop = _hop(edge, came=came)
        key = (edge.other.id, hop)
        if key not in found:
            node = _node(view, edge.other)
            if node is None:
                continue
            found[key] = (node, hop, {})
        site = Item("use", edge.other.fact.name, edge.file, edge.line, kind=edge.hop, column=edge.column)
        found[key][2].setdefault((edge.file, edge.line, edge.column), site)
    return [Call(node, hop, tuple(sites.values())) for node, hop, sites in found.values()]


def _node(view: View, definition: FiledDefinition) -> Node | None:
    family = family_of(view, definition)
    if family is not None:
        subject = operator_subject(view, family.name)
        return next(iter(_operator(view, subject)), None) if subject is not None else None
    subject = of_definitions(subject_kind(definition), definition.fact.name, [definition])
    return Node(place_of(role_of(definition), definition, "exact"), subject, definition.fact.end_line)


def _hop(edge: Edge, *, came: bool) -> str:
    """What lies between, in words; '' for a call as it is written."""
    if edge.hop == "stub":
        return f"stub {edge.through}"
    if edge.hop == "dispatcher":
        key = edge.through.partition(" · ")[2]
        return f"dispatcher · {key}" if key else "" if came else "dispatcher"
    if edge.hop == "python binding":
        return "Python binding" if edge.other.fact.kind == "python_binding" else "" if came else "dispatcher"
    if edge.hop in ("autograd", "macro", "functor"):
        return f"{edge.hop} {edge.through}".rstrip()
    return ""
