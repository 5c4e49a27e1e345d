"""Where a walk over the call graph begins: the nodes that a name means.

A class stands for its constructors and methods, a stub for itself, whatever is called like an operator's
kernel for the functions of that name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import meaning, members_of
from torchtalkd.queries.answers import Subject
from torchtalkd.queries.edges import packet_node
from torchtalkd.queries.locate import locate
from torchtalkd.queries.subjects import of_definitions
from torchtalkd.store.view import View

MOST_STARTS: Final = 200
"""Definitions that a walk begins at; a name with more says too little."""
_CLASSES: Final = ("class", "autograd_function")
_NOTHING: Final = ("tag", "test", "registry", "Python module")
"""Kinds of subjects that neither call nor are called."""


def graph_starts(
    view: View, name: str
) -> tuple[list[tuple[Subject, list[FiledDefinition]]], tuple[str, ...]]:
    """The subjects that a name means with the nodes of each; names spelled alike where it means nothing."""
    located = locate(view, name)
    answered = [s for s in located.subjects if s.answered and s.kind not in _NOTHING]
    own = [s for s in answered if s.kind != "operator"]
    found = []
    for subject in answered:
        if subject.kind == "operator" and own and _is_of_others(subject, own, name):
            continue
        nodes = starts_of(view, subject)
        if nodes:
            found.append((subject, nodes))
    if not found and "::" in name:
        found = [(of_definitions("C++ function", d.fact.name, [d]), [d]) for d in _inherited(view, name)]
    return found, located.nearest


def _inherited(view: View, name: str) -> list[FiledDefinition]:
    """The method that a class has from a base, where a name asks for it as the class's own."""
    plain = name.removeprefix("::").removesuffix("()").rstrip()
    written, _, last = plain.rpartition("::")
    for cls in view.definitions(keys.cpp(written)):
        full = cls.fact.name
        if cls.fact.kind in _CLASSES and (full == written or full.endswith(f"::{written}")):
            if last == members_of.CALL.removesuffix("()"):
                return members_of.call_operators(view, full)
            found = members_of.own_or_inherited(view, full, last)
            if found:
                return found
    return []


def starts_of(view: View, subject: Subject) -> list[FiledDefinition]:
    """The nodes of one subject: bodies, or declarations where the tree has none."""
    if subject.kind == "operator":
        packet = str(keys.operator_name(subject.name)._replace(overload=""))
        node = packet_node(view, packet)
        return [node] if node is not None else []
    definitions = [d for n in subject.ids if (d := view.definition(n)) is not None]
    if subject.kind == "stub":
        return list(meaning.stub_places(view, subject.name))
    bodies = [d for d in definitions if not d.fact.declares] or definitions
    if bodies and bodies[0].fact.kind in _CLASSES:
        bodies = [*bodies, *(m for cls in bodies for m in _members(view, cls))]
    return list({d.id: d for d in bodies}.values())[:MOST_STARTS]


def _is_of_others(subject: Subject, own: list[Subject], name: str) -> bool:
    """Whether an operator is only what a function of the asked name is a kernel of, or calls."""
    last = name.replace("::", ".").rpartition(".")[2]
    return bool(subject.note) and any(s.name.replace("::", ".").endswith(last) for s in own)


def _members(view: View, cls: FiledDefinition) -> Iterator[FiledDefinition]:
    """The methods of a class, by their bodies wherever these stand."""
    dot = "." if cls.file.language == "python" else "::"
    inside = f"{cls.fact.name}{dot}"
    for declared in view.definitions_in(cls.file):
        if declared.fact.kind != "function" or not declared.fact.name.startswith(inside):
            continue
        if dot in declared.fact.name.removeprefix(inside):
            continue
        named = view.named(declared.fact.key, declared.fact.name)
        yield from [d for d in named if not d.fact.declares] or [declared]
