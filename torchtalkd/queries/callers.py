"""What leads to a node of the call graph in one step?

The counterpart of `callees`: what is asked is the references that could mean the node, by their key, and
each that does mean it, by the same rules as downwards, is an edge. From a kernel the ways up are its
stub's callers and its operators; from an operator all who call it by any of its names, and the formulas
that do; from what Python binds, the bindings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import meaning, members_of
from torchtalkd.link.generated_names import called_as
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Evidence
from torchtalkd.queries.callees import CALLS, MOST_USES, ends, uses_of
from torchtalkd.queries.edges import (
    MOST_CANDIDATES,
    Edge,
    at_definition,
    at_reference,
    each_once,
    family_of,
    packet_node,
)
from torchtalkd.queries.exact_edges import exact_at, exact_behind, exact_callers
from torchtalkd.queries.kernel_edges import kernel_edges, registered_as
from torchtalkd.queries.operator_edges import formula_users, stub_edges
from torchtalkd.queries.owners import is_target, owner_of
from torchtalkd.queries.python_edges import bound_functions, operator_users, python_callers
from torchtalkd.queries.sites import sites
from torchtalkd.store.view import View


def callers(
    view: View, node: FiledDefinition, *, python: bool = False, crowded: bool = False
) -> tuple[Edge, ...]:
    """The edges into a node: `other` is who leads to it. Each once. Read-only, kept with the view.

    With `python` also those from Python to what is no Python itself. Names that may mean more than
    `edges.MOST_CANDIDATES` things are left out unless `crowded`.
    """
    # Some of the edges are exact: the name says so, and they go when more is read (`store.carry`).
    kept: dict[tuple[int, bool, bool], tuple[Edge, ...]] = view.kept.setdefault("exact_callers", {})
    asked = (node.id, python, crowded)
    found = kept.get(asked)
    if found is None:
        # A macro may lead to itself through others: what is asked meanwhile is without it.
        kept[asked] = ()
        found = kept[asked] = each_once(_callers(view, node, python, crowded))
    return found


def _callers(view: View, node: FiledDefinition, python: bool, crowded: bool) -> Iterator[Edge]:
    family = family_of(view, node)
    if family is not None:
        yield from _of_operator(view, family, node, crowded)
        if python:
            yield from operator_users(view, family)
        return
    kind = node.fact.kind
    if node.file.language == "python" or kind == "python_binding":
        yield from python_callers(view, node)
        yield from kernel_edges(view, node)
        return
    if kind in ("stub", "stub_kernel"):
        yield from _of_stub(view, node.fact.name)
        return
    if kind == "macro":
        yield from _uses(view, node)
        return
    exact = list(exact_callers(view, node))
    yield from exact
    # Where a compiler says so already, no name needs a look.
    known = {(edge.other.id, edge.line) for edge in exact if edge.evidence == "exact"}
    for named in _references(view, node, crowded):
        if not _is_known(named.reference, known):
            yield from _from(view, named.owner, named.edge, node)
    yield from _through_stubs(view, node)
    yield from kernel_edges(view, node)
    if python:
        yield from _bindings(view, node)


# -- functions


def _is_known(reference: FiledReference, known: set[tuple[int, int]]) -> bool:
    """Whether a call is one of those that were read exactly; of a launch the name says that it is one."""
    return reference.fact.kind != "launch" and (reference.owner, reference.fact.line) in known


def _references(view: View, node: FiledDefinition, crowded: bool) -> Iterator[_Named]:
    """The references that mean a function or class, by their keys."""
    last = keys.last(node.fact.key)
    yield from _of_key(view, node.fact.key, crowded).get(node.id, ())
    if last.isupper():
        yield from _of_key(view, keys.macro(last), crowded).get(node.id, ())
    cls = members_of.class_of(view, node)
    if last == members_of.CALL and cls:
        yield from _of_key(view, keys.cpp(cls), crowded).get(node.id, ())
    if last in ("forward", "backward") and cls:
        applied = (
            reference
            for reference in sites(view, keys.cpp("apply"))
            if reference.fact.name.rpartition("::")[0].endswith(keys.cpp_last(cls))
        )
        yield from (named for named in _meant(view, applied, crowded) if named.edge.other.id == node.id)


class _Named(NamedTuple):
    """A reference that means a node."""

    reference: FiledReference
    owner: FiledDefinition
    edge: Edge


_MOST_KEPT: Final = 300
"""Keys, above which what they mean is looked up anew: hundreds of ends each."""


def _of_key(view: View, key: str, crowded: bool) -> Mapping[int, Sequence[_Named]]:
    """What each reference with a key means, by the id of what is meant. Kept with the view: overloads, the
    functions of several namespaces and an operator's kernels are all asked for by one key."""
    kept: dict[tuple[str, bool], dict[int, list[_Named]]] = view.kept.setdefault("exact_named_by_key", {})
    found = kept.get((key, crowded))
    if found is None:
        if len(kept) >= _MOST_KEPT:
            kept.clear()
        found = kept[key, crowded] = {}
        for named in _meant(view, sites(view, key), crowded):
            found.setdefault(named.edge.other.id, []).append(named)
    return found


def _meant(view: View, references: Iterable[FiledReference], crowded: bool) -> Iterator[_Named]:
    """What references lead to, with who is around them."""
    read = view.exact_share().read
    meaningful = [
        reference
        for reference in references
        if reference.fact.kind in CALLS
        and reference.file.role != "template"
        and (read or not _leads_nowhere(view, reference, crowded))
    ]
    view.prepare(reference.owner for reference in meaningful)
    owned = [
        (reference, owner)
        for reference in meaningful
        if (owner := owner_of(view, reference)) is not None and not is_target(owner, reference)
    ]
    exact_at(view, owned)
    for reference, owner in owned:
        for edge in ends(view, reference, owner, crowded=crowded):
            yield _Named(reference, owner, edge)


def _leads_nowhere(view: View, reference: FiledReference, crowded: bool) -> bool:
    """Whether a name alone is enough to see that it is no edge, whoever is around it: most are of methods
    that many classes have."""
    if reference.fact.kind == "method":
        return not crowded and meaning.meaning(view, reference, None).candidates > MOST_CANDIDATES
    return meaning.means_nothing(view, reference)


def _from(
    view: View, owner: FiledDefinition, edge: Edge, node: FiledDefinition | None = None
) -> Iterator[Edge]:
    """The edge from who is around a reference; what stands in a macro is called by who uses that, what
    stands in the lambda of a registration by its operator. `node` is the function that is called: whether
    a macro's use means it a compiler may know."""
    family = family_of(view, owner)
    operator = packet_node(view, family.name) if family is not None else None
    if operator is not None:
        yield edge._replace(other=operator, hop="registration", through=registered_as(view, owner))
        return
    if owner.fact.kind != "macro":
        yield edge._replace(other=owner)
        return
    if uses_of(view, owner.fact.key) > MOST_USES:
        return
    for use in callers(view, owner):
        exact = exact_behind(view, use.line, use.column, use.other) if node is not None else None
        if exact is None or node is None:
            doubtful = "candidate" in (use.evidence, edge.evidence)
            evidence: Evidence = "candidate" if doubtful else edge.evidence
        elif any(end.other.id == node.id for end in exact):
            evidence = "exact"
        else:
            continue
        yield use._replace(
            hop="macro", evidence=evidence, through=owner.fact.name, candidates=edge.candidates
        )


def _uses(view: View, macro: FiledDefinition) -> Iterator[Edge]:
    """The uses of a macro."""
    for reference in (*sites(view, macro.fact.key), *sites(view, keys.cpp(macro.fact.name))):
        owner = owner_of(view, reference) if reference.fact.kind in CALLS else None
        if owner is None or owner.id == macro.id:
            continue
        meant = meaning.meaning(view, reference, owner)
        if meant.sort == "macro" and any(end.id == macro.id for end in meant.ends):
            edge = at_reference(macro, "macro", meant.evidence, reference, macro.fact.name)
            yield from _from(view, owner, edge)


# -- stubs, operators, bindings


def _through_stubs(view: View, node: FiledDefinition) -> Iterator[Edge]:
    """Who calls the stubs that a kernel is registered for."""
    names: dict[str, None] = {}
    for target in view.targeting(node.fact.key):
        owner = view.definition(target.owner)
        if owner is not None and owner.fact.kind == "stub_kernel":
            names.setdefault(owner.fact.name)
    for written in names:
        for stub in _full_names(view, written):
            own = [edge for edge in stub_edges(view, stub) if edge.other.id == node.id]
            for call in _of_stub(view, stub) if own else ():
                for edge in own:
                    yield call._replace(evidence=edge.evidence, through=edge.through)


def _full_names(view: View, written: str) -> list[str]:
    """A registration may say only the end of a stub's name."""
    found = [
        d.fact.name
        for d in view.definitions(keys.cpp(written))
        if d.fact.kind == "stub" and (d.fact.name == written or d.fact.name.endswith(f"::{written}"))
    ]
    return list(dict.fromkeys(found)) or [written]


def _of_stub(view: View, stub: str) -> Iterator[Edge]:
    """Who calls a stub: functions, and operators whose entry of yaml names it."""
    for reference in sites(view, keys.cpp(stub)):
        owner = owner_of(view, reference) if reference.fact.kind in CALLS else None
        if owner is None or reference.file.role == "template":
            continue
        meant = meaning.meaning(view, reference, owner)
        if meant.sort == "stub" and meant.name == stub:
            edge = at_reference(owner, "stub", "unique", reference, keys.cpp_last(stub))
            yield from _from(view, owner, edge)
    for target in view.targeting(keys.cpp(stub)):
        entry = view.definition(target.owner)
        if entry is not None and entry.fact.kind == "registration":
            packet = str(keys.operator_name(entry.fact.name)._replace(overload=""))
            node = packet_node(view, packet)
            if node is not None:
                yield at_definition(node, "stub", "declared", entry, keys.cpp_last(stub))


def _of_operator(view: View, family: Family, node: FiledDefinition, crowded: bool) -> Iterator[Edge]:
    """Who calls an operator in C++, and the operators whose derivatives do."""
    if family.namespace != view.rules.operator_namespace:
        return
    first = packet_node(view, family.name) or node
    for last in called_as(family):
        for named in _of_key(view, keys.cpp(last), crowded).get(first.id, ()):
            yield from _from(view, named.owner, named.edge, first)
    for named in _meant(view, _by_structure(view).get(family.name, ()), crowded):
        if named.edge.other.id == first.id:
            yield from _from(view, named.owner, named.edge, first)
    yield from formula_users(view, family)


def _by_structure(view: View) -> dict[str, list[FiledReference]]:
    """Operator → its calls as `at::_ops::name::call` and `redispatch`."""
    kept: dict[str, list[FiledReference]] | None = view.kept.get("structure_calls")
    if kept is None:
        kept = view.kept["structure_calls"] = {}
        for last in ("call", "redispatch"):
            for reference in sites(view, keys.cpp(last)):
                if "_ops::" not in reference.fact.name or reference.fact.kind not in CALLS:
                    continue
                meant = meaning.meaning(view, reference, owner_of(view, reference))
                if meant.operator is not None:
                    kept.setdefault(meant.operator.packet, []).append(reference)
    return kept


def _bindings(view: View, node: FiledDefinition) -> Iterator[Edge]:
    """The Python names that are bound to a function or class of C++."""
    for target in view.targeting(node.fact.key):
        owner = view.definition(target.owner)
        if owner is None or owner.fact.kind != "python_binding" or owner.file.role == "template":
            continue
        for edge in bound_functions(view, owner):
            if edge.other.id == node.id:
                yield edge._replace(other=owner)
