"""What does a node of the call graph lead to in one step?

A body of C++ leads to what its references mean (`link.meaning`), lambdas in it included; an operator to
its kernels and its derivative's formulas; a stub to the kernels registered for it; a binding to what it
binds. Where a body was read exactly, a name that is called there is what the compiler says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference, Reference
from torchtalkd.link import autograd, meaning, members_of, structured, stubs
from torchtalkd.link.meaning import Meaning
from torchtalkd.link.source import Evidence
from torchtalkd.queries.edges import (
    MOST_CANDIDATES,
    Edge,
    Hop,
    at_reference,
    each_once,
    family_of,
    packet_node,
)
from torchtalkd.queries.exact_edges import exact_behind, exact_callees, exact_ends, exact_whole
from torchtalkd.queries.operator_edges import operator_edges, stub_edges
from torchtalkd.queries.owners import inside_of
from torchtalkd.queries.python_edges import bound_functions, python_callees
from torchtalkd.queries.sites import sites
from torchtalkd.store.view import View

CALLS: Final = ("call", "address", "launch", "method", "macro")
"""Kinds of references that lead on."""


def callees(view: View, node: FiledDefinition, *, crowded: bool = False) -> tuple[Edge, ...]:
    """The edges out of a node, in the order of the text; each once. Read-only, kept with the view.

    Names that may mean more than `edges.MOST_CANDIDATES` things are left out unless `crowded`.
    """
    # Some of the edges are exact: the name says so, and they go when more is read (`store.carry`).
    kept: dict[tuple[int, bool], tuple[Edge, ...]] = view.kept.setdefault("exact_callees", {})
    found = kept.get((node.id, crowded))
    if found is None:
        # A macro may lead to itself through others: what is asked meanwhile is without it.
        kept[node.id, crowded] = ()
        found = kept[node.id, crowded] = each_once(_callees(view, node, crowded))
    return found


def _callees(view: View, node: FiledDefinition, crowded: bool) -> Iterator[Edge]:
    family = family_of(view, node)
    if family is not None:
        for edge in operator_edges(view, family):
            yield from _in_lambda(view, edge, crowded) if edge.hop == "registration" else (edge,)
    elif node.fact.kind in ("stub", "stub_kernel"):
        yield from stub_edges(view, node.fact.name)
    elif node.fact.kind == "python_binding":
        yield from bound_functions(view, node)
        for reference in inside_of(view, node):
            if reference.fact.kind in CALLS:
                yield from ends(view, reference, node, crowded=crowded)
    elif node.file.language == "python":
        yield from python_callees(view, node)
    elif not node.fact.declares:
        yield from _of_body(view, node, crowded)


def _in_lambda(view: View, registration: Edge, crowded: bool) -> Iterator[Edge]:
    """What the lambda of a registration calls is called by its operator."""
    for reference in inside_of(view, registration.other):
        if reference.fact.kind in CALLS:
            for edge in ends(view, reference, registration.other, crowded=crowded):
                yield edge._replace(hop="registration", through=registration.through)


def _of_body(view: View, node: FiledDefinition, crowded: bool) -> Iterator[Edge]:
    """By each reference, seen from what is around it: a local class is within the function that it is
    written in. What a compiler alone sees, conversions and operators, comes behind."""
    around = {node.id: node}
    exact_whole(view, node)
    for reference in view.inside(node):
        if reference.fact.kind in CALLS:
            owner = around.get(reference.owner) or view.definition(reference.owner) or node
            if owner.id not in around:
                around[owner.id] = owner
                exact_whole(view, owner)
            yield from ends(view, reference, owner, crowded=crowded)
    for body in around.values():
        yield from exact_callees(view, body)


def ends(
    view: View, reference: FiledReference, body: FiledDefinition, *, crowded: bool = False
) -> Iterator[Edge]:
    """What a reference in a body of C++ leads to: exactly, where that was read at its name."""
    # Of most names one look tells that they are none of those: then what is exact needs no look-up by name.
    meant = meaning.meaning(view, reference, body) if _may_be_by_name(view, reference.fact) else None
    exact = exact_ends(view, reference, body) if meant is None or meant.sort not in _BY_NAME_ALONE else None
    if exact is not None:
        launches = reference.fact.kind == "launch"
        yield from (e._replace(hop="launch") if launches and e.hop == "call" else e for e in exact)
    else:
        yield from _by_name(view, meant or meaning.meaning(view, reference, body), reference, body, crowded)


def _may_be_by_name(view: View, fact: Reference) -> bool:
    """Whether a name may mean one of `_BY_NAME_ALONE`."""
    if fact.kind == "method":
        return False
    last = keys.last(fact.key)
    return (
        keys.space(fact.key) == _MACRO
        or last == _APPLY
        or stubs.is_stub(view, fact.key)
        or ("::" not in fact.name and view.count(keys.macro(last), 1) > 0)
    )


def ends_by_name(
    view: View, reference: FiledReference, body: FiledDefinition, *, crowded: bool = False
) -> Iterator[Edge]:
    """What a reference in a body of C++ leads to by name alone. A macro leads to what its own body calls."""
    yield from _by_name(view, meaning.meaning(view, reference, body), reference, body, crowded)


def _by_name(
    view: View, meant: Meaning, reference: FiledReference, body: FiledDefinition, crowded: bool
) -> Iterator[Edge]:
    if meant.sort == "stub":
        for edge in stub_edges(view, meant.name):
            yield at_reference(edge.other, "stub", edge.evidence, reference, edge.through)
        return
    if meant.candidates > MOST_CANDIDATES and not crowded:
        return
    if meant.sort == "macro":
        yield from _behind_macro(view, meant, reference, body)
        return
    kind = reference.fact.kind
    hop: Hop = "address" if kind == "address" else "launch" if kind == "launch" else _HOPS[meant.sort]
    if meant.sort == "construct" and kind == "address":
        # A class that is only named, as a template's argument: its objects may be made and called there.
        yield from _objects(view, meant._replace(evidence="candidate"), reference, body)
        return
    for end in meant.ends:
        yield at_reference(end, hop, meant.evidence, reference, candidates=meant.candidates)
    if meant.sort == "construct":
        yield from _objects(view, meant, reference, body)
    elif meant.sort == "apply":
        yield from _backward(view, meant, reference)
    elif meant.sort == "function" and body.fact.kind not in structured.KINDS:
        yield from _overriding(view, meant, reference)
    if meant.operator is not None:
        other = packet_node(view, meant.operator.packet)
        if other is not None:
            by: Hop = "method" if meant.sort == "method" else "dispatcher"
            yield at_reference(other, by, meant.evidence, reference, _through(meant), meant.candidates)


_BY_NAME_ALONE: Final = ("macro", "apply", "stub")
"""What a compiler's reading does not replace: it sees what is behind a macro, Function<F>::apply, and the
call operator of a stub's class."""
_MACRO: Final = keys.space(keys.macro(""))
_APPLY: Final = "apply"
_HOPS: Final[dict[str, Hop]] = {
    "function": "call",
    "construct": "construct",
    "apply": "autograd",
    "method": "method",
    "operator": "dispatcher",
}


def _through(meant: Meaning) -> str:
    """The overload, where a name tells which one it is."""
    found = meant.operator.overloads if meant.operator is not None else ()
    return found[0] if len(found) == 1 else ""


def _behind_macro(
    view: View, meant: Meaning, reference: FiledReference, body: FiledDefinition
) -> Iterator[Edge]:
    """What the text of a macro leads to, where it is used: as a compiler read it there, else by name."""
    macros = [macro for macro in meant.ends if uses_of(view, macro.fact.key) <= MOST_USES]
    exact = exact_behind(view, reference.fact.line, reference.fact.column, body) if macros else None
    if exact is not None:
        yield from (edge._replace(hop="macro", through=macros[0].fact.name) for edge in exact)
        return
    for macro in macros:
        for edge in callees(view, macro):
            evidence: Evidence = "candidate" if meant.evidence == "candidate" else edge.evidence
            yield at_reference(edge.other, "macro", evidence, reference, macro.fact.name, edge.candidates)


MOST_USES: Final = 400
"""Uses of a macro that is followed: with more it is everybody's, a check or a dispatch over types."""


def uses_of(view: View, key: str) -> int:
    """How often a macro is used, by other macros that use it included."""
    kept: dict[str, int] = view.kept.setdefault("macro_uses", {})
    found = kept.get(key)
    if found is None:
        kept[key] = 0  # A macro may use itself through others.
        found = 0
        for reference in sites(view, key):
            owner = view.definition(reference.owner) if reference.owner >= 0 else None
            within = owner is not None and owner.fact.kind == "macro"
            found += uses_of(view, owner.fact.key) if owner is not None and within else 1
        kept[key] = found
    return found


def _objects(view: View, meant: Meaning, reference: FiledReference, body: FiledDefinition) -> Iterator[Edge]:
    """What runs when an object that is made here is called; not within its own class."""
    for cls in dict.fromkeys(members_of.class_of(view, end) for end in meant.ends):
        for operator in (
            members_of.call_operators(view, cls) if cls != members_of.class_of(view, body) else ()
        ):
            yield at_reference(operator, "functor", meant.evidence, reference)


def _backward(view: View, meant: Meaning, reference: FiledReference) -> Iterator[Edge]:
    for cls in dict.fromkeys(members_of.class_of(view, end) for end in meant.ends):
        for function in members_of.class_named(view, cls):
            if function.fact.kind == "autograd_function":
                for method in autograd.methods(view, function, ("backward",)):
                    yield at_reference(method, "autograd", "unique", reference)


def _overriding(view: View, meant: Meaning, reference: FiledReference) -> Iterator[Edge]:
    """A method that is called without naming its class may be one that overrides it."""
    if "::" in reference.fact.name:
        return
    methods = [end for end in meant.ends if members_of.is_method(view, end)]
    for method in methods[:1]:
        own = {end.id for end in meant.ends}
        for other in members_of.overriders(view, method):
            if other.id not in own:
                yield at_reference(other, "virtual", "candidate", reference)
