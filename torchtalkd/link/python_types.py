"""What an expression of Python is, by the facts: is it a tensor, which method is this?

A `Value` (`torchtalkd.spots`) says what stands in the text; here its names are looked up. Nothing is
guessed: a call gives a tensor where every overload that it can mean returns one, and a value that
may be one of several things is a tensor where each of them is.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators, python_names, wrappers
from torchtalkd.link.source import Evidence, Facts
from torchtalkd.spots import Value

_DEPTH: Final = 10
_RETURNS_TENSOR: Final = re.compile(r"->\s*Tensor(?:\([^()]*\))?\s*$")


class Named(NamedTuple):
    """A full Python name that an expression may mean."""

    name: str
    evidence: Evidence
    receiver: bool = False
    """Whether it is a method of a value."""


def tensor_class(facts: Facts) -> str:
    """The full name of the class of tensors: what the rules' short name stands for."""
    return facts.rules.python_aliases.get("Tensor", "torch.Tensor")


def names(facts: Facts, value: Value, *, called: bool = False) -> list[Named]:
    """The names that an expression means, the likeliest first. `called`: it is called, so that for an
    object of a class the method `forward`, or `__call__`, is meant."""
    if value.kind == "name":
        return [Named(value.name, "exact")]
    if value.kind == "several":
        found = [named for inner in value.of for named in names(facts, inner, called=called)]
        known = [named for named in found if python_names.resolve(facts, named.name).ends]
        return known[:1]
    if value.kind == "member" and value.of:
        holder = class_of(facts, value.of[0])
        if holder:
            method = member(facts, holder, value.name)
            return [Named(method, "exact", receiver=True)] if method else []
        if value.of[0].kind in ("unknown", "result", "operation", "several", "member"):
            method = f"{tensor_class(facts)}.{value.name}"
            return [Named(method, "candidate", receiver=True)] if _is_method(facts, method) else []
        return []
    if called and value.kind in ("result", "instance"):
        holder = class_of(facts, value)
        for name in ("forward", "__call__") if holder and holder != tensor_class(facts) else ():
            method = member(facts, holder, name)
            if method:
                return [Named(method, "exact", receiver=True)]
    return []


def class_of(facts: Facts, value: Value, depth: int = 0) -> str:
    """The full name of the class that a value is certainly of, '' if it is not known."""
    if depth > _DEPTH:
        return ""
    if value.kind == "instance" and value.of:
        return _class(facts, value.of[0].name) if value.of[0].kind == "name" else ""
    if value.kind == "result" and value.of:
        return _result(facts, value.of[0], depth)
    if value.kind == "operation":
        operands = [class_of(facts, inner, depth + 1) for inner in value.of]
        return tensor_class(facts) if tensor_class(facts) in operands else ""
    if value.kind == "several":
        classes = {class_of(facts, inner, depth + 1) for inner in value.of}
        return classes.pop() if len(classes) == 1 else ""
    return ""


def is_tensor(facts: Facts, value: Value) -> bool:
    """Whether a value is certainly a tensor."""
    return class_of(facts, value) == tensor_class(facts)


def member(facts: Facts, holder: str, name: str) -> str:
    """The full name of a class's method, its bases searched; '' if the tree has none."""
    if holder == tensor_class(facts):
        full = f"{holder}.{name}"
        return full if python_names.resolve(facts, full).ends else ""
    for cls in _with_bases(facts, holder):
        full = f"{cls}.{name}"
        if python_names.resolve(facts, full).ends:
            return full
    return ""


def _is_method(facts: Facts, full: str) -> bool:
    """Whether the tensor's method is an operator: `append` and `forward` of an unknown receiver are not."""
    return bool(wrappers.operators_of(facts, full))


def _result(facts: Facts, callee: Value, depth: int) -> str:
    if callee.kind == "name":
        name = callee.name
        ends = python_names.resolve(facts, name).ends
        if ends and ends[0].fact.kind == "class":
            return _class(facts, name)
        return tensor_class(facts) if _gives_tensor(facts, name, method=False) else ""
    if callee.kind == "member" and callee.of:
        holder = class_of(facts, callee.of[0], depth + 1)
        if holder == tensor_class(facts) and _gives_tensor(facts, f"{holder}.{callee.name}", method=True):
            return holder
    return ""


def _gives_tensor(facts: Facts, dotted: str, *, method: bool) -> bool:
    """Whether every overload that a name is bound to returns one tensor; those that write to `out=`
    return what the others do."""
    for packet in wrappers.operators_of(facts, dotted):
        family = operators.family(facts, packet)
        entries = [
            entry
            for entry in (family.entries if family else ())
            if entry.fact.signature
            and not operators.is_out(entry)
            and (not method or "method" in ((entry.fact.detail or {}).get("variants") or ("function",)))
        ]
        if entries and all(_RETURNS_TENSOR.search(entry.fact.signature) for entry in entries):
            return True
    return False


def _class(facts: Facts, name: str) -> str:
    """The class that a name stands for, in one spelling; the tensor's for what inherits from it."""
    tensor = tensor_class(facts)
    if name == tensor:
        return tensor
    tensors = {end.id for end in python_names.resolve(facts, tensor).ends if end.fact.kind == "class"}
    for end in python_names.resolve(facts, name).ends:
        if end.fact.kind == "class":
            if end.id in tensors:
                return tensor
            chain = _with_bases(facts, end.fact.name)
            return tensor if tensor in chain[1:] else end.fact.name
    return ""


def _with_bases(facts: Facts, name: str) -> list[str]:
    """A class and what it inherits from, as far as the tree says, in the order of look-up."""
    found = {name: None}
    waiting = [name]
    tensor = tensor_class(facts)
    tensors = {end.id for end in python_names.resolve(facts, tensor).ends if end.fact.kind == "class"}
    while waiting and len(found) < 24:
        for end in python_names.resolve(facts, waiting.pop(0)).ends:
            if end.id in tensors:
                found.setdefault(tensor)
                continue
            for base in bases(facts, end):
                if base not in found:
                    found[base] = None
                    waiting.append(base)
    return list(found)


def bases(facts: Facts, cls: FiledDefinition) -> list[str]:
    """The full names of a Python class's bases, as written."""
    if cls.fact.kind != "class" or cls.file.language != "python":
        return []
    return [r.fact.name for r in facts.references_of_kind(cls.file, "base") if r.owner == cls.id]


def is_module(facts: Facts, name: str) -> bool:
    """Whether a class is one that users put into models or graphs: its bases lead to a class of the
    rules' public modules called Module or Function (torch/nn/modules/module.py,
    torch/autograd/function.py)."""
    return any(keys.last(keys.py(base)) in _MODULES for base in _with_bases(facts, name))


_MODULES: Final = ("Module", "Function")
