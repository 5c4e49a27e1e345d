"""The edges of the call graph, and what its nodes are.

A *node* is a Definition: a function of C++ or Python, a class, a macro, a binding, the first entry of an
operator, the definition of a stub. An *edge* says that one node leads to another in one step, by what (its
*hop*), how surely, and where that is written. `callers` and `callees` make them, `graph` and `affected`
walk on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, NamedTuple, TypeAlias

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import operators
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Evidence
from torchtalkd.store.view import View

Hop: TypeAlias = Literal[
    "call",  # f(x), as written
    "method",  # x.f(): of whichever class has one, where the receiver's type is not known
    "virtual",  # a call of what the other end overrides
    "construct",  # T(x), new T
    "functor",  # an object made here whose operator() runs
    "address",  # &f, or f handed to a macro
    "launch",  # f<<<…>>>, or by a launcher
    "stub",  # through a DispatchStub to a kernel registered for it
    "dispatcher",  # through the dispatcher to an operator, or from one to its kernel
    "autograd",  # a formula of derivatives.yaml; Fn::apply to Fn::forward
    "registration",  # a registration whose lambda or macro holds the code
    "macro",  # the use of a macro
    "python binding",  # a Python name bound to C++
    "python",  # a call in Python
]

MOST_CANDIDATES: Final = 8
"""A name that may mean more leads nowhere unless asked for: what it says is too little."""


class Edge(NamedTuple):
    """One step between two nodes, written at one place."""

    other: FiledDefinition
    """The node at the other end."""
    hop: Hop
    evidence: Evidence
    file: str
    """Where it is written, from the root."""
    line: int
    """1-based."""
    column: int
    """0-based, in bytes."""
    through: str = ""
    """What lies between: `mul_stub · CPU`, `aten::add.Tensor · CPU`, `MulBackward0`."""
    candidates: int = 1
    """How many definitions the name may mean; above MOST_CANDIDATES it is *crowded*."""

    @property
    def crowded(self) -> bool:
        """Whether the name may mean too many to lead on."""
        return self.candidates > MOST_CANDIDATES


def at_reference(
    other: FiledDefinition,
    hop: Hop,
    evidence: Evidence,
    reference: FiledReference,
    through: str = "",
    candidates: int = 1,
) -> Edge:
    """An edge written where a reference stands."""
    fact = reference.fact
    return Edge(other, hop, evidence, reference.file.path, fact.line, fact.column, through, candidates)


def at_definition(
    other: FiledDefinition, hop: Hop, evidence: Evidence, place: FiledDefinition, through: str = ""
) -> Edge:
    """An edge written where a binding stands."""
    return Edge(other, hop, evidence, place.file.path, place.fact.line, place.fact.column, through)


def operator_node(view: View, family: Family) -> FiledDefinition | None:
    """The node of an operator: its first entry, else what registers it first."""
    if family.entries:
        return family.entries[0]
    for definition in view.definitions(keys.op(family.base)):
        registers = definition.fact.kind in ("registration", "meta")
        if registers and family.namespace in operators.namespaces(view, definition):
            return definition
    return None


def family_of(view: View, node: FiledDefinition) -> Family | None:
    """The operator that a node stands for; None for any other node."""
    if keys.space(node.fact.key) != _OP or node.fact.kind not in OPERATOR_KINDS:
        return None
    kept: dict[int, Family | None] = view.kept.setdefault("family_of", {})
    if node.id not in kept:
        kept[node.id] = _family(view, node)
    return kept[node.id]


def _family(view: View, node: FiledDefinition) -> Family | None:
    written = keys.operator_name(node.fact.name)
    namespaces = operators.namespaces(view, node)
    for family in operators.families(view, written.base):
        if family.namespace in namespaces:
            return family
    return None


def packet_node(view: View, packet: str) -> FiledDefinition | None:
    """The node of an operator's full name; None if there is no such operator."""
    kept: dict[str, FiledDefinition | None] = view.kept.setdefault("packet_nodes", {})
    if packet not in kept:
        family = operators.family(view, packet)
        kept[packet] = operator_node(view, family) if family is not None else None
    return kept[packet]


OPERATOR_KINDS: Final = ("operator", "schema", "registration", "meta", "derivative", "decomposition")
"""Kinds of definitions that stand for an operator, whichever of its entries they are."""
FUNCTION_KINDS: Final = ("function", "kernel", "structured_impl", "structured_meta")
"""Kinds with a body that calls."""
_OP: Final = keys.space(keys.op(""))


def each_once(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    """Edges without those that an earlier one says too."""
    found: dict[tuple[int, str, str, int, int, str], Edge] = {}
    for edge in edges:
        found.setdefault((edge.other.id, edge.hop, edge.file, edge.line, edge.column, edge.through), edge)
    return tuple(found.values())
