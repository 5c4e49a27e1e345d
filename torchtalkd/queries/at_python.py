"""What a place of a Python text means: its `Spot` with the names looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File
from torchtalkd.link import python_types, wrappers
from torchtalkd.link.python_types import Named
from torchtalkd.queries.answers import Subject
from torchtalkd.queries.locate import operator_subject, python_name
from torchtalkd.queries.meant import Meant
from torchtalkd.spots import Spot, Value
from torchtalkd.store.view import View

_OPERATOR: Final = re.compile(
    r"(?:(?P<namespace>[A-Za-z_]\w*)::)?(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)(?=\s*\(|\s*$)"
)
_OF_LIBRARY: Final = ("impl", "define", "fallback", "_impl", "_register_fake")
"""Methods of torch.library.Library (torch/library.py) that take an operator's name without namespace."""
NOT_KNOWN: Final = "the receiver's type is not known: this may be the tensor's method"


def at_python(view: View, file: File | None, spot: Spot) -> Meant | None:
    """The meaning of a spot; None where the tree knows nothing about it."""
    if spot.kind == "definition":
        return _meant(view, [Named(spot.text, "exact")], spot, defines=True) or _bound_here(view, file, spot)
    if spot.kind == "text":
        return _text(view, file, spot)
    if spot.kind == "operation":
        if not any(python_types.is_tensor(view, operand) for operand in spot.value.of):
            return None
        method = f"{python_types.tensor_class(view)}.{spot.text}"
        return _meant(view, [Named(method, "exact", receiver=True)], spot)
    named = python_types.names(view, spot.value, called=spot.passed is not None)
    return _meant(view, named, spot)


def _meant(view: View, named: Iterable[Named], spot: Spot, *, defines: bool = False) -> Meant | None:
    for name, evidence, receiver in named:
        subjects = python_name(view, name)
        if subjects:
            note = NOT_KNOWN if evidence == "candidate" else ""
            place = (spot.line, spot.column, spot.end)
            return Meant(*place, tuple(subjects), evidence, spot.passed, receiver, defines, note=note)
    return None


def _bound_here(view: View, file: File | None, spot: Spot) -> Meant | None:
    """A function that is known by no name but bound to an operator where it stands: `def _(x)` below a
    decorator."""
    for definition in view.definitions_in(file) if file else ():
        fact = definition.fact
        if (fact.line, fact.column) == (spot.line, spot.column) and keys.space(fact.key) == "op":
            subject = operator_subject(view, fact.name)
            if subject is not None:
                return Meant(spot.line, spot.column, spot.end, (subject,), defines=True)
    return None


def _text(view: View, file: File | None, spot: Spot) -> Meant | None:
    """A string that names an operator: with its namespace anywhere, without it where the library
    that it is registered with is known."""
    written = _OPERATOR.match(spot.text)
    if written is None:
        return None
    namespace = written["namespace"] or _library(spot.value)
    end = spot.column + written.end()
    if namespace:
        subject = operator_subject(view, f"{namespace}::{written['name']}")
        return Meant(spot.line, spot.column, end, (subject,)) if subject is not None else None
    for definition in view.definitions_in(file) if file else ():
        fact = definition.fact
        if fact.line != spot.line or abs(fact.column - spot.column) > 4:
            continue
        found = _of_binding(view, fact.key, fact.name)
        if found:
            return Meant(spot.line, spot.column, end, tuple(found))
    return None


def _of_binding(view: View, key: str, name: str) -> list[Subject]:
    if keys.space(key) == "op":
        subject = operator_subject(view, name)
        return [subject] if subject is not None else []
    if key == keys.test(name):
        # An OpInfo's name is that of the public function below the package (common_methods_invocations.py).
        first = view.rules.python_aliases.get("Tensor", "torch.Tensor").partition(".")[0]
        return python_name(view, f"{first}.{name}")
    return []


def _library(callee: Value) -> str:
    """The namespace of the library that a method call is one of: `Library("aten", "IMPL").impl(…)`."""
    if callee.kind != "member" or callee.name not in _OF_LIBRARY or not callee.of:
        return ""
    made = callee.of[0]
    if made.kind == "result" and made.of and made.of[0].name.rpartition(".")[2] == "Library":
        return made.name
    return ""


def leads_on(view: View, meant: Meant) -> bool:
    """Whether there is more behind a Python name than another server for Python sees: an operator, a
    binding, a module, or a function that calls operators."""
    for subject in meant.subjects:
        if subject.kind not in (
            "Python function",
            "Python class",
            "Python module",
            "Python variable",
            "Python alias",
        ):
            return True
        if subject.kind == "Python class" and python_types.is_module(view, subject.name):
            return True
        definitions = [d for number in subject.ids if (d := view.definition(number)) is not None]
        for d in definitions:
            calls = d.fact.kind == "function" and bool(wrappers.operators_called(view, d))
            if calls or (d.fact.kind == "function" and _bound_by(view, d.fact.key, subject.name)):
                return True
    return False


def _bound_by(view: View, key: str, name: str) -> bool:
    """Whether a function is what a binding of an operator names: a decomposition, a meta function."""
    owners = (view.definition(t.owner) for t in view.targeting(key) if t.fact.name == name)
    return any(owner is not None and keys.space(owner.fact.key) == "op" for owner in owners)
