"""The edges of the call graph within Python, and from Python to operators and to what is bound.

A name is followed through imports and assignments. A method on a receiver of unknown class may be that
of each class of the library that has one, and the operator that tensors have by that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import python_names, python_reach, wrappers
from torchtalkd.link.library_blocks import target_functions
from torchtalkd.link.operators import Family
from torchtalkd.link.tensor_methods import method_of_tensor
from torchtalkd.queries.edges import MOST_CANDIDATES, Edge, Hop, at_reference, packet_node
from torchtalkd.queries.owners import owner_of
from torchtalkd.store.view import View

_CALLS: Final = ("call", "address", "launch", "method")
_CALLABLE: Final = ("function", "class", "kernel", "python_binding")
_SELF: Final = "self."


def python_callees(view: View, body: FiledDefinition) -> Iterator[Edge]:
    """What a Python function, class or module calls, in the order of the text."""
    for reference in view.inside(body):
        if reference.fact.kind in _CALLS:
            yield from _ends(view, reference, owner_of(view, reference) or body)


def python_callers(view: View, node: FiledDefinition) -> Iterator[Edge]:
    """Who calls a Python function, class, kernel or binding in Python."""
    last = keys.last(node.fact.key)
    wanted = [*view.references(keys.py(last))]
    if node.fact.scope >= 0 and node.fact.kind == "function" and _named_so(view, last) <= MOST_CANDIDATES:
        wanted += view.references(keys.attr(last))
    elif node.fact.scope >= 0:
        wanted += (r for r in view.references(keys.attr(last)) if r.fact.name == _SELF + last)
    cls = view.scope(node) if last == "__init__" else None
    if cls is not None:
        # Who makes an object names its class.
        wanted += view.references(cls.fact.key)
    for reference in wanted:
        owner = owner_of(view, reference) if reference.fact.kind in _CALLS else None
        if owner is not None:
            for edge in _ends(view, reference, owner):
                if edge.other.id == node.id:
                    yield edge._replace(other=owner)


def operator_users(view: View, family: Family) -> Iterator[Edge]:
    """The Python functions that call an operator: by a bound name, by torch.ops, by a tensor's method."""
    node = packet_node(view, family.name)
    points = wrappers.entry_points(view, family)
    for point in points:
        if point.kind == "wrapper":
            fact, place = point.definition.fact, point.definition.file.path
            yield Edge(point.definition, "python", point.evidence, place, fact.line, fact.column)
    lasts = {family.base: None}
    lasts.update((point.name.rpartition(".")[2], None) for point in points)
    references = [r for last in lasts for r in view.references(keys.py(last))]
    references += view.references(keys.op(family.base))
    if _named_so(view, family.base) < MOST_CANDIDATES:
        references += view.references(keys.attr(family.base))
    for reference in references if node is not None else ():
        owner = owner_of(view, reference) if reference.fact.kind in _CALLS else None
        if owner is not None:
            for edge in _ends(view, reference, owner):
                if node is not None and edge.other.id == node.id:
                    yield edge._replace(other=owner)


def bound_functions(view: View, binding: FiledDefinition) -> Iterator[Edge]:
    """What a Python name that is bound to C++ leads to: operators, functions, a class's constructors."""
    for target in view.targets(binding):
        if keys.space(target.fact.key) == keys.space(keys.op("")):
            written = keys.operator_name(target.fact.name)._replace(overload="")
            other = packet_node(view, str(written))
            if other is not None:
                yield at_reference(other, "python binding", "declared", target, binding.fact.name)
        else:
            for link in target_functions(view, target.fact.name, binding):
                yield at_reference(
                    link.definition, "python binding", link.evidence, target, binding.fact.name
                )


def _ends(view: View, reference: FiledReference, body: FiledDefinition) -> Iterator[Edge]:
    """What a reference in Python may be."""
    fact = reference.fact
    last = keys.last(fact.key)
    space = keys.space(fact.key)
    hop: Hop = "address" if fact.kind == "address" else "launch" if fact.kind == "launch" else "python"
    if space in (_OP, _PY):
        packets = _operators(view, fact.name)
        for packet in packets:
            other = packet_node(view, packet)
            if other is not None:
                yield at_reference(other, "python binding", "unique", reference, fact.name)
        if packets and space == _OP:
            return
        bodies = _callables(view, fact.name)
        for end in bodies or python_reach.meant(view, fact.name, body):
            if not (packets and end.fact.kind == "python_binding"):
                yield at_reference(end, hop, "unique", reference)
                yield from _made(view, reference, end)
        return
    if space != _ATTR:
        return
    if fact.name.startswith(_SELF) and fact.name.count(".") == 1:
        own = python_reach.own_method(view, last, body)
        for end in own:
            yield at_reference(end, "python", "unique", reference)
        if own:
            return
    names = _named_so(view, last)
    if names > MOST_CANDIDATES:
        return
    for end in _methods(view, last):
        yield at_reference(end, "method", "candidate", reference, candidates=names)
    operator = method_of_tensor(view, last)
    other = packet_node(view, operator.packet) if operator is not None else None
    if other is not None:
        yield at_reference(other, "method", "candidate", reference, candidates=names)


def _made(view: View, reference: FiledReference, cls: FiledDefinition) -> Iterator[Edge]:
    """The constructor of a class that is called."""
    if cls.fact.kind == "class" and reference.fact.kind == "call":
        for end in python_names.resolve(view, f"{cls.fact.name}.__init__").ends:
            if end.fact.kind == "function":
                yield at_reference(end, "construct", "unique", reference)


def _operators(view: View, name: str) -> list[str]:
    kept: dict[str, list[str]] = view.kept.setdefault("python_operators", {})
    found = kept.get(name)
    if found is None:
        found = kept[name] = wrappers.operators_of(view, name)
    return found


def _callables(view: View, name: str) -> list[FiledDefinition]:
    ends = python_names.resolve(view, name).ends
    return [end for end in ends if end.fact.kind in _CALLABLE][:1]


def _methods(view: View, last: str) -> list[FiledDefinition]:
    """The methods of the library's Python classes with a name."""
    kept: dict[str, list[FiledDefinition]] = view.kept.setdefault("python_methods", {})
    found = kept.get(last)
    if found is None:
        found = kept[last] = [
            d
            for d in (view.definitions(keys.py(last)) if view.count(keys.py(last), 64) < 64 else ())
            if d.fact.kind == "function"
            and d.file.role == "library"
            and not d.file.path.endswith(".pyi")
            and (around := view.scope(d)) is not None
            and around.fact.kind == "class"
        ]
    return found


def _named_so(view: View, last: str) -> int:
    """How many things a method of an unknown receiver may be."""
    if view.count(keys.py(last), 64) >= 64:
        return 64
    return len(_methods(view, last)) + (method_of_tensor(view, last) is not None)


_OP: Final = keys.space(keys.op(""))
_PY: Final = keys.space(keys.py(""))
_ATTR: Final = keys.space(keys.attr(""))
