"""What a name used in C++ means: an operator, a stub, a function, a class, a macro."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import composite, functions, operators, stubs
from torchtalkd.link.arity import of_arity
from torchtalkd.link.scopes import scopes_of
from torchtalkd.link.source import Evidence
from torchtalkd.queries.answers import Subject
from torchtalkd.queries.locate import generated_subjects, operator_subject
from torchtalkd.queries.subjects import cpp_subjects, of_definitions, subject_kind
from torchtalkd.store.view import View

MANY: Final = 64
"""A name with so many definitions is not one that look-up by name tells apart."""


def called(view: View, reference: FiledReference, lines: Sequence[bytes]) -> tuple[list[Subject], Evidence]:
    """The meanings of a reference in C++, and how sure they are."""
    fact = reference.fact
    owner = view.definition(reference.owner) if reference.owner >= 0 else None
    scopes = scopes_of(view, reference, owner)
    if fact.kind == "macro":
        macros = [d for d in view.of_kind(fact.key, "macro") if d.file.role != "template"]
        own = [d for d in macros if d.file.id == reference.file.id] or macros
        return ([of_definitions("macro", fact.name, own)] if own else []), "exact"
    if fact.kind == "method":
        return _method(view, reference, owner, lines)
    if fact.kind in ("include", "dispatch_name"):
        return [], "exact"
    stub = stubs.meant(view, fact.name, scopes, reference.file)
    if stub:
        return [s for s in cpp_subjects(view, keys.cpp_last(stub), stub) if s.kind == "stub"][:1], "exact"
    wanted = ("class",) if fact.kind == "base" else (*functions.BODIES, "class")
    found = functions.functions(view, fact.name, scopes, file=reference.file, kinds=wanted)
    bodies = [d for d in found if d.fact.kind != "class"] or found
    if bodies:
        fitting = of_arity(bodies, fact.arguments)
        return _grouped(fitting), "exact"
    generated = generated_subjects(view, fact.name) if "::" in fact.name else []
    if generated:
        return generated, "exact"
    if "::" not in fact.name and fact.kind == "call":
        subject = operator_subject(view, f"{view.rules.operator_namespace}::{fact.name}")
        if subject is not None and _sees_operators(view, reference, scopes):
            return [subject], "exact"
    declared = functions.functions(
        view, fact.name, scopes, file=reference.file, kinds=wanted, declarations=True
    )
    return _grouped(of_arity(declared, fact.arguments)), "exact"


def _grouped(found: Sequence[FiledDefinition]) -> list[Subject]:
    groups: dict[tuple[str, str], list[FiledDefinition]] = {}
    for definition in found:
        groups.setdefault((subject_kind(definition), definition.fact.name), []).append(definition)
    return [of_definitions(kind, name, several) for (kind, name), several in groups.items()]


def _sees_operators(view: View, reference: FiledReference, scopes: Sequence[str]) -> bool:
    """Whether an unqualified call can mean an operator: from within `at`, or by its arguments' type."""
    at = {scope.partition("::")[0] for scope in view.rules.native_namespaces}
    return any(scope.partition("::")[0] in at for scope in scopes) or reference.fact.arguments > 0


def _method(
    view: View, reference: FiledReference, owner: FiledDefinition | None, lines: Sequence[bytes]
) -> tuple[list[Subject], Evidence]:
    last = keys.last(reference.fact.key)
    of_tensor = [
        d for cls in composite.PLAIN_MEMBERS for d in view.named(reference.fact.key, f"{cls}::{last}")
    ]
    subject = operator_subject(view, f"{view.rules.operator_namespace}::{last}")
    if subject is not None and not _has_method(view, subject):
        subject = None
    tensor = is_tensor(reference, owner, lines)
    if tensor and of_tensor:
        bodies = [d for d in of_tensor if not d.fact.declares] or of_tensor
        return _grouped(bodies), "exact"
    if subject is not None and not of_tensor:
        return [subject], "exact" if tensor else "candidate"
    if tensor:
        return [], "exact"
    # A method of this file's own classes, or the only one of its name in the tree.
    if view.count(reference.fact.key, MANY) >= MANY:
        return [], "exact"
    methods = [
        d
        for d in view.of_kind(reference.fact.key, "function")
        if (d.fact.detail or {}).get("method") and functions.visible(d, reference.file)
    ]
    own = [d for d in methods if d.file.id == reference.file.id] or methods
    bodies = [d for d in own if not d.fact.declares] or own
    names = {d.fact.name for d in bodies}
    return (_grouped(bodies), "unique") if len(names) == 1 else ([], "exact")


def _has_method(view: View, subject: Subject) -> bool:
    entries = [operators.entry(view, name) for name in subject.overloads]
    return any(e is not None and "method" in ((e.fact.detail or {}).get("variants") or ()) for e in entries)


def is_tensor(reference: FiledReference, owner: FiledDefinition | None, lines: Sequence[bytes]) -> bool:
    """Whether the receiver of a method call is declared a tensor: as a parameter or a local of the
    function around it, or is the result of `at::…` itself."""
    fact = reference.fact
    text = lines[fact.line - 1] if fact.line <= len(lines) else b""
    receiver = _RECEIVER.search(text[: fact.column])
    if receiver is None:
        return False
    name = receiver[1].decode()
    declared = re.compile(rf"\b(?:Tensor|TensorBase)\s*[&*]*\s*{re.escape(name)}\b")
    if owner is not None and declared.search(owner.fact.signature):
        return True
    first = owner.fact.line if owner is not None else max(1, fact.line - 200)
    above = b"\n".join(lines[first - 1 : fact.line]).decode("utf-8", "replace")
    made = re.compile(rf"\bauto\s*[&*]*\s*{re.escape(name)}\s*=\s*at::(?:{_FACTORIES})")
    return bool(declared.search(above) or made.search(above))


_FACTORIES: Final = "empty|zeros|ones|rand|full|arange|scalar_tensor"
_RECEIVER: Final = re.compile(rb"(?<![\w.>)\]])([A-Za-z_]\w*)\s*(?:\.|->)\s*$")
