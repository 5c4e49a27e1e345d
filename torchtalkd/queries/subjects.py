"""Definitions as subjects: those of one full name and kind are one thing; the likeliest meant first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, targets
from torchtalkd.link.made_functions import made_functions
from torchtalkd.queries.answers import Subject
from torchtalkd.store.view import View

MOST_SUBJECTS: Final = 24
"""Meanings of one kind that are answered; a name like `forward` has thousands."""

_CPP_KINDS = {
    "function": "C++ function",
    "class": "C++ class",
    "kernel": "device kernel",
    "structured_impl": "structured kernel",
    "structured_meta": "structured meta function",
    "stub": "stub",
    "stub_kernel": "stub",
    "autograd_function": "autograd function",
    "variable": "C++ variable",
}
_PYTHON_KINDS = {
    "function": "Python function",
    "class": "Python class",
    "kernel": "device kernel",
    "module": "Python module",
    "python_binding": "Python binding",
    "variable": "Python variable",
    "alias": "Python alias",
}


def cpp_subjects(view: View, last: str, qualified: str = "") -> list[Subject]:
    """The C++ names with a last component; of a qualified name those that are called so from the
    right: `native::add` is at::native::add too."""
    groups: dict[tuple[str, str], list[FiledDefinition]] = {}
    for definition in view.definitions(keys.cpp(last)):
        fact = definition.fact
        kind = _CPP_KINDS.get(fact.kind)
        if kind is None or definition.file.role == "template":
            continue
        if qualified and fact.name != qualified and not fact.name.endswith("::" + qualified):
            continue
        groups.setdefault((kind, fact.name), []).append(definition)
    classes = {name for kind, name in groups if kind == "autograd function"}
    found = [
        of_definitions(kind, name, definitions)
        for (kind, name), definitions in groups.items()
        if not (kind == "C++ class" and name in classes)
    ]
    shared = {d.id for d in view.definitions(keys.cpp(last)) if not d.fact.local}
    if qualified and any(shared & set(subject.ids) for subject in found):
        # Elsewhere a file's own function may have the same full name: it is another one.
        found = [replace(s, ids=tuple(n for n in s.ids if n in shared)) for s in found]
        found = [s for s in found if s.ids]
    if not found:
        for made in made_functions(view, last):
            if not qualified or f"::{made.name}".endswith(f"::{qualified}"):
                note = f"made by the macro {made.use.fact.name}"
                found.append(Subject("C++ function", made.name, note, ids=(made.use.id,)))
    exact = [subject for subject in found if subject.name == qualified]
    return _capped(sorted(exact or found, key=lambda s: _rank(view, s)))


def python_definitions(view: View, last: str) -> list[FiledDefinition]:
    """Functions, classes, modules and bindings with a last component; aliases and tests only
    where there is nothing else."""
    named = [
        d
        for written in view.definitions(keys.py(last))
        for d in targets.filled(view, written)
        if d.fact.kind in _PYTHON_KINDS and d.file.role != "template"
    ]
    own = [d for d in named if d.fact.kind != "alias" and d.file.role != "test"]
    if own:
        return own
    return [d for d in named if not (d.fact.detail or {}).get("import")] or named


def python_subjects(view: View, definitions: Iterable[FiledDefinition], note: str = "") -> list[Subject]:
    """Python definitions by full name, public and short ones first."""
    groups: dict[tuple[str, str], list[FiledDefinition]] = {}
    for definition in definitions:
        kind = _PYTHON_KINDS.get(definition.fact.kind, definition.fact.kind)
        groups.setdefault((kind, definition.fact.name), []).append(definition)
    found = [of_definitions(kind, name, several, note) for (kind, name), several in groups.items()]
    return _capped(sorted(found, key=lambda s: _rank(view, s)))


def of_definitions(kind: str, name: str, definitions: Iterable[FiledDefinition], note: str = "") -> Subject:
    """One subject of several definitions."""
    return Subject(kind, name, note, ids=tuple(d.id for d in definitions))


def subject_kind(definition: FiledDefinition) -> str:
    """What kind of subject a definition is, in words."""
    kinds = _PYTHON_KINDS if definition.file.language == "python" else _CPP_KINDS
    return kinds.get(definition.fact.kind, definition.fact.kind)


_ORDER = ("Python function", "Python class", "stub", "C++ function", "C++ class", "device kernel")


def _rank(view: View, subject: Subject) -> tuple[bool, int, int, bool, int, str]:
    """Public and short names first: the one in the library before those in tests and internals."""
    first = view.definition(subject.ids[0]) if subject.ids else None
    test = first is not None and first.file.role == "test"
    private = any(part.startswith("_") for part in subject.name.replace("::", ".").split("."))
    ordered = "C++ class" if _is_constructor(subject) else subject.kind
    kind = _ORDER.index(ordered) if ordered in _ORDER else len(_ORDER)
    separators = subject.name.count(".") + subject.name.count("::")
    return test, kind, separators, private, len(subject.name), subject.name


def _is_constructor(subject: Subject) -> bool:
    """Whether it is `a::B::B`: who asks for B means the class first."""
    parts = subject.name.split("::")
    return subject.kind == "C++ function" and len(parts) > 1 and parts[-1] == parts[-2]


def _capped(subjects: list[Subject]) -> list[Subject]:
    if len(subjects) <= MOST_SUBJECTS:
        return subjects
    rest = len(subjects) - MOST_SUBJECTS
    more = Subject("more names", _last(subjects[0].name), f"{rest} more definitions", answered=False)
    return [*subjects[:MOST_SUBJECTS], more]


def _last(name: str) -> str:
    """The last component of a qualified name of any language."""
    return functions.plain(name).rpartition("::")[2].rpartition(".")[2]


def distinct(subjects: Iterable[Subject]) -> list[Subject]:
    """Each subject once, the first as it came."""
    found: dict[tuple[str, str], Subject] = {}
    for subject in subjects:
        found.setdefault((subject.kind, subject.name), subject)
    return list(found.values())
