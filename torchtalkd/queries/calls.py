"""Who calls this, and what does it call: across the languages, through stubs and the dispatcher.

A *node* is a function, or an operator, which stands at its schema. Between a function and an operator
that has it as a kernel lies a hop through the dispatcher; between a function that calls a stub and
the stub's kernel one through the stub. A hop says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import operators, python_names, stubs, wrappers
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.called import called, scopes_of
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.declaration import named_by
from torchtalkd.queries.definition import asked, defined, schemas
from torchtalkd.queries.implementation import kernels
from torchtalkd.queries.locate import operator_subject
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.overloads import overloads
from torchtalkd.queries.references import callers
from torchtalkd.queries.references import references as references_of
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


_BODIES: Final = ("function", "kernel", "structured_impl")


Add: TypeAlias = Callable[[Node, str, Item], None]


def nodes(view: View, meant: Meant) -> list[Node]:
    """The nodes that a place means."""
    found = []
    for subject in asked(meant):
        if subject.kind == "operator":
            found.extend(_operator(view, subject))
        elif subject.kind not in ("macro", "tag", "Python module"):
            found.extend(_nodes(view, subject))
    return found[:4]


def _operator(view: View, subject: Subject) -> list[Node]:
    places = schemas(view, subject)
    return [Node(places[0], subject)] if places else []


def _nodes(view: View, subject: Subject) -> Iterator[Node]:
    for item in defined(view, subject):
        definition = next((d for n in subject.ids if (d := view.definition(n)) and _is_at(d, item)), None)
        yield Node(item, subject, definition.fact.end_line if definition else 0)


def _is_at(definition: FiledDefinition, item: Item) -> bool:
    return definition.file.path == item.file and definition.fact.line == item.line


def node_of(view: View, definition: FiledDefinition) -> Node:
    """The node of a function."""
    subject = of_definitions(subject_kind(definition), definition.fact.name, [definition])
    return Node(place_of(role_of(definition), definition, "exact"), subject, definition.fact.end_line)


def incoming(view: View, subject: Subject) -> list[Call]:
    """Who calls it."""
    found: dict[tuple[str, int, str], tuple[Node, str, list[Item]]] = {}

    def add(node: Node, hop: str, site: Item) -> None:
        key = (node.item.file, node.item.line, hop)
        found.setdefault(key, (node, hop, []))[2].append(site)

    if subject.kind == "operator":
        _into_operator(view, subject, add)
    else:
        definitions = [d for n in subject.ids if (d := view.definition(n)) is not None]
        meant = Meant(0, 0, 0, (subject,))
        for item in references_of(view, meant, declared=False).items:
            if item.role == "use" and item.kind in ("call", "method", "address", "launch"):
                caller = _around(view, item)
                if caller is not None and caller.id not in subject.ids:
                    add(node_of(view, caller), "", item)
        if subject.kind != "stub":
            _through_bindings(view, definitions, add)
    return [Call(node, hop, tuple(sites)) for node, hop, sites in found.values()]


def _around(view: View, item: Item) -> FiledDefinition | None:
    file = view.file(item.file)
    inside = [
        d
        for d in (view.definitions_in(file) if file else ())
        if d.fact.kind in ("function", "kernel", "structured_impl", "structured_meta")
        and d.fact.line <= item.line <= d.fact.end_line
        and not d.fact.declares
    ]
    return min(inside, key=lambda d: d.fact.end_line - d.fact.line, default=None)


def _into_operator(view: View, subject: Subject, add: Add) -> None:
    family = operators.family(view, subject.name)
    if family is None:
        return
    points = wrappers.entry_points(view, family)
    for point in points:
        if point.kind == "wrapper":
            add(node_of(view, point.definition), "", place_of("python", point.definition, point.evidence))
    for item in callers(view, family, [point.name for point in points]):
        caller = _around(view, item)
        if caller is not None:
            add(node_of(view, caller), "", item)


def _through_bindings(view: View, definitions: list[FiledDefinition], add: Add) -> None:
    for item, owner in named_by(view, definitions):
        if owner.fact.kind == "stub_kernel":
            hop = f"stub {keys.cpp_last(owner.fact.name)} · {owner.fact.dispatch_key}"
            for reference in view.references(owner.fact.key):
                caller = view.definition(reference.owner) if reference.owner >= 0 else None
                if caller is None or not _means_stub(view, reference, caller, owner.fact.name):
                    continue
                add(node_of(view, caller), hop, item)
        elif keys.space(owner.fact.key) == keys.space(keys.op("")):
            subject = operator_subject(view, owner.fact.name)
            key = owner.fact.dispatch_key or "CatchAll"
            for node in _operator(view, subject) if subject is not None else ():
                add(node, f"dispatcher · {key}", item)
        elif owner.fact.kind == "python_binding":
            add(node_of(view, owner), "Python binding", item)


def _means_stub(view: View, reference: FiledReference, caller: FiledDefinition, stub: str) -> bool:
    scopes = scopes_of(view, reference, caller)
    return stubs.meant(view, reference.fact.name, scopes, reference.file) == stub


def outgoing(view: View, subject: Subject) -> list[Call]:
    """What it calls; for an operator, the kernels that the dispatcher may choose."""
    found: dict[tuple[str, int, str], tuple[Node, str, list[Item]]] = {}

    def add(node: Node, hop: str, site: Item) -> None:
        key = (node.item.file, node.item.line, hop)
        found.setdefault(key, (node, hop, []))[2].append(site)

    if subject.kind == "operator":
        for item in kernels(view, subject, overloads(view, subject)):
            if item.kind in _BODIES and not item.via and item.evidence != "candidate":
                for definition in _at(view, item):
                    add(node_of(view, definition), f"dispatcher · {item.dispatch_key or 'CatchAll'}", item)
    for number in subject.ids:
        body = view.definition(number)
        for reference in view.inside(body) if body is not None and not body.fact.declares else ():
            for node, hop in _called(view, reference):
                fact = reference.fact
                path = reference.file.path
                add(node, hop, Item("use", fact.name, path, fact.line, kind=fact.kind, column=fact.column))
    return [Call(node, hop, tuple(sites)) for node, hop, sites in found.values()]


def _at(view: View, item: Item) -> list[FiledDefinition]:
    file = view.file(item.file)
    return [
        d
        for d in (view.definitions_in(file) if file else ())
        if d.fact.line == item.line and d.fact.name == item.symbol
    ]


def _called(view: View, reference: FiledReference) -> Iterator[tuple[Node, str]]:
    fact = reference.fact
    if fact.kind not in ("call", "address", "launch"):
        return
    if keys.space(fact.key) == "cpp":
        subjects, evidence = called(view, reference, ())
        for subject in subjects if evidence != "candidate" else ():
            if subject.kind == "stub":
                hop = f"stub {keys.cpp_last(subject.name)}"
                for item in trace_kernels.stub_items(view, subject.name, ""):
                    for definition in _at(view, item) if item.role == "stub_kernel" else ():
                        yield node_of(view, definition), f"{hop} · {item.dispatch_key}"
            elif subject.kind == "operator":
                yield from ((node, "dispatcher") for node in _operator(view, subject))
            elif subject.kind != "C++ class":
                yield from ((node, "") for node in _nodes(view, subject))
    elif keys.space(fact.key) in ("py", "op"):
        packets = wrappers.operators_of(view, fact.name)
        for packet in packets:
            found = operator_subject(view, packet)
            yield from ((node, "dispatcher") for node in _operator(view, found) if found) if found else ()
        if not packets:
            yield from ((node_of(view, d), "") for d in _python(view, reference))


def _python(view: View, reference: FiledReference) -> list[FiledDefinition]:
    ends = python_names.resolve(view, reference.fact.name).ends
    return [end for end in ends if end.fact.kind in ("function", "class")][:1]
