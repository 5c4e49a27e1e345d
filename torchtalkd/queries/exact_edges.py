"""The edges that a compiler's reading of a body says, in the place of those by name.

Both readings meet at the callee's name: what is read exactly there is meant, and what the name alone might
mean besides is not. A name at which no exact reference stands (a dependent call, an inactive branch of an
`#if`, a stub, a macro) stays by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from torchtalkd import keys
from torchtalkd.facts import ExactKind, ExactReference, FiledDefinition, FiledReference
from torchtalkd.link import functions, members_of, overload, stubs
from torchtalkd.link.generated_names import generated
from torchtalkd.link.source import Evidence
from torchtalkd.queries.edges import Edge, Hop, packet_node
from torchtalkd.queries.sites import sites
from torchtalkd.store.view import View

_Tokens: TypeAlias = dict[tuple[int, str], list[ExactReference]]
"""What was read exactly, by line and last component of the name."""
_HOPS: Final[dict[ExactKind, Hop]] = {
    "call": "call",
    "construct": "construct",
    "operator": "call",
    "virtual": "call",
    "address": "address",
    "launch": "launch",
    "overrides": "virtual",
}


def exact_callees(view: View, body: FiledDefinition) -> Iterator[Edge]:
    """What a body refers to exactly; nothing where it was not read. What stands in a macro's text, which a
    compiler places at the macro's use, is left to that (`exact_behind`)."""
    if not view.exact_share().read:
        return
    left = set()
    for reference in view.inside(body):
        fact = reference.fact
        if fact.kind == "macro":
            left.add((fact.line, fact.column))
        elif fact.kind == "call" and stubs.is_stub(view, fact.key):
            # The call operator of the stub's class, at the parenthesis: the stub has edges of its own.
            left.add((fact.line, fact.column + len(fact.name.encode())))
    for read in sorted(read for several in _tokens(view, body).values() for read in several):
        if (read.line, read.column) not in left:
            yield from _ends(view, read, body)


def exact_whole(view: View, body: FiledDefinition) -> None:
    """Reads all that a body refers to exactly, before each of its names is asked for."""
    _tokens(view, body)


def exact_behind(view: View, line: int, column: int, body: FiledDefinition) -> list[Edge] | None:
    """What the text of a macro that is used in a body refers to there; None where that was not read, or
    nothing in it was resolved."""
    there = [r for several in _tokens(view, body).values() for r in several]
    found = [r for r in there if (r.line, r.column) == (line, column)]
    return [edge for r in found for edge in _ends(view, r, body)] if found else None


def exact_callers(view: View, node: FiledDefinition) -> Iterator[Edge]:
    """Who refers to a function exactly; `other` is who does."""
    if not view.exact_share().read:
        return
    in_macros = _macro_sites(view, node)
    for around, reference in _to(view, node):
        if (around.file.id, reference.line, reference.column) not in in_macros:
            yield Edge(around, _HOPS[reference.kind], "exact", *_place(around, reference))
    if not members_of.is_method(view, node):
        return
    exactly = view.exact_overridden(node)
    for above in members_of.overridden(view, node) if exactly is None else exactly:
        for around, reference in _to(view, above):
            if reference.kind == "virtual":
                yield Edge(around, "virtual", "candidate", *_place(around, reference))
    cls = members_of.class_of(view, node)
    if keys.last(node.fact.key) == members_of.CALL:
        for made in members_of.constructors(view, cls):
            for around, reference in _to(view, made):
                if reference.kind == "construct":
                    yield Edge(around, "functor", "unique", *_place(around, reference))


def exact_ends(view: View, reference: FiledReference, body: FiledDefinition) -> list[Edge] | None:
    """What a reference that was read by name means exactly; None where no exact one stands at its name."""
    fact = reference.fact
    tokens = _tokens_of(view, body, fact.key)
    if not tokens:
        return None
    there = tokens.get((fact.line, keys.last(fact.key)), ())
    # A name as written begins with its qualifier, the compiler's token is behind that.
    column = min((one.column for one in there if one.column >= fact.column), default=-1)
    if column < 0:
        # An object that is called: its operator stands at the parenthesis.
        there = tokens.get((fact.line, members_of.CALL), ())
        column = fact.column + len(fact.name.encode())
    found = [one for one in there if one.column == column]
    return [edge for one in found for edge in _ends(view, one, body)] if found else None


def _tokens_of(view: View, body: FiledDefinition, key: str) -> _Tokens:
    """As `_tokens`, at least those of one key's last component, and calls of objects."""
    if not view.exact_share().read:
        return {}
    whole: dict[int, _Tokens] = view.kept.setdefault("exact_tokens", {})
    if body.id in whole:
        return whole[body.id]
    last = keys.last(key)
    kept: dict[tuple[int, str], _Tokens] = view.kept.setdefault("exact_tokens_of", {})
    found = kept.get((body.id, last))
    if found is None:
        _read_tokens(view, kept, (body,), last)
        found = kept[body.id, last]
    return found


def exact_at(view: View, references: Iterable[tuple[FiledReference, FiledDefinition]]) -> None:
    """Reads what references, each with the body around it, mean exactly, before each is asked for: hundreds
    of bodies in one statement."""
    if not view.exact_share().read:
        return
    whole: dict[int, _Tokens] = view.kept.setdefault("exact_tokens", {})
    kept: dict[tuple[int, str], _Tokens] = view.kept.setdefault("exact_tokens_of", {})
    wanted: dict[str, dict[int, FiledDefinition]] = {}
    for reference, body in references:
        last = keys.last(reference.fact.key)
        if body.id not in whole and (body.id, last) not in kept:
            wanted.setdefault(last, {})[body.id] = body
    for last, bodies in wanted.items():
        _read_tokens(view, kept, tuple(bodies.values()), last)


def _read_tokens(
    view: View, kept: dict[tuple[int, str], _Tokens], bodies: Sequence[FiledDefinition], last: str
) -> None:
    read = view.exact_named(bodies, (keys.cpp(last), keys.cpp(members_of.CALL)))
    kept.update(((body.id, last), _by_token(read.get(body.id, ()))) for body in bodies)


def _by_token(references: Iterable[ExactReference]) -> _Tokens:
    found: _Tokens = {}
    for reference in references:
        found.setdefault((reference.line, keys.cpp_last(reference.name)), []).append(reference)
    return found


def _tokens(view: View, body: FiledDefinition) -> _Tokens:
    """The names that were read exactly in a body, by line and last component."""
    if not view.exact_share().read:
        return {}
    kept: dict[int, _Tokens] = view.kept.setdefault("exact_tokens", {})
    found = kept.get(body.id)
    if found is None:
        found = kept[body.id] = _by_token(view.exact_in(body) or ())
    return found


def _to(view: View, node: FiledDefinition) -> Iterator[tuple[FiledDefinition, ExactReference]]:
    """The exact references to a function: to its body, and to what declares it, where the reading of the
    body is still to come."""
    yield from view.exact_to(node)
    for other in view.named(node.fact.key, node.fact.name) if not node.fact.declares else ():
        if other.fact.declares and any(body.id == node.id for body in bodies_of(view, other)):
            yield from view.exact_to(other)


def bodies_of(view: View, declared: FiledDefinition) -> list[FiledDefinition]:
    """The bodies that a declaration may have: of equal parameters, else all of its name."""
    if not declared.fact.declares:
        return [declared]
    kept: dict[int, list[FiledDefinition]] = view.kept.setdefault("bodies_of", {})
    found = kept.get(declared.id)
    if found is None:
        bodies = [
            d
            for d in view.named(declared.fact.key, declared.fact.name)
            if d.fact.kind == declared.fact.kind and not d.fact.declares
        ]
        types = overload.parameter_types(declared.fact.signature)
        equal = [d for d in bodies if overload.parameter_types(d.fact.signature) == types]
        found = kept[declared.id] = equal or bodies or [declared]
    return found


def _macro_sites(view: View, node: FiledDefinition) -> set[tuple[int, int, int]]:
    """The uses of the macros whose text names a function, and of those that use these. Kept: functions of one
    last component share them."""
    kept: dict[str, set[tuple[int, int, int]]] = view.kept.setdefault("macro_sites", {})
    known = kept.get(node.fact.key)
    if known is not None:
        return known
    found = kept[node.fact.key] = set()
    waiting, seen = [node.fact.key], {node.fact.key}
    while waiting:
        for reference in sites(view, waiting.pop()):
            owner = view.definition(reference.owner) if reference.owner >= 0 else None
            # Outside of functions a use is nobody's: what the macro makes there is read exactly itself.
            if owner is not None and keys.space(reference.fact.key) == _MACRO:
                found.add((reference.file.id, reference.fact.line, reference.fact.column))
            if owner is not None and owner.fact.kind == "macro" and owner.fact.key not in seen:
                seen.add(owner.fact.key)
                waiting.append(owner.fact.key)
    return found


_MACRO: Final = keys.space(keys.macro(""))


def _place(around: FiledDefinition, reference: ExactReference) -> tuple[str, int, int]:
    return around.file.path, reference.line, reference.column


def _ends(view: View, reference: ExactReference, body: FiledDefinition) -> Iterator[Edge]:
    place = _place(body, reference)
    target = view.definition(reference.target) if reference.target >= 0 else None
    if target is not None:
        bodies = bodies_of(view, target)
        for end in bodies:
            evidence: Evidence = "exact" if len(bodies) == 1 else "candidate"
            yield Edge(end, _HOPS[reference.kind], evidence, *place, candidates=len(bodies))
        if reference.kind == "virtual":
            for other in _overriders(view, target):
                yield Edge(other, "virtual", "candidate", *place)
        if reference.kind == "construct":
            for operator in members_of.call_operators(view, members_of.class_of(view, target)):
                yield Edge(operator, "functor", "unique", *place)
        return
    operator_called = generated(view, functions.plain(reference.name))
    node = packet_node(view, operator_called.packet) if operator_called is not None else None
    if operator_called is not None and node is not None:
        through = operator_called.overloads[0] if len(operator_called.overloads) == 1 else ""
        yield Edge(node, "dispatcher", "exact", *place, through)


def _overriders(view: View, method: FiledDefinition) -> list[FiledDefinition]:
    """What overrides a method: where a body was read as a compiler says, else by its name and class. Kept."""
    kept: dict[int, list[FiledDefinition]] = view.kept.setdefault("exact_overriders", {})
    known = kept.get(method.id)
    if known is not None:
        return known
    found = {other.id: other for other in view.exact_overriders(method)}
    for other in members_of.overriders(view, method):
        if other.id not in found and view.exact_overridden(other) is None:
            found[other.id] = other
    kept[method.id] = list(found.values())
    return kept[method.id]
