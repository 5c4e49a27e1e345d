"""What a place of native_functions.yaml, derivatives.yaml or tags.yaml means.

The fields are torchgen's (torchgen/model.py `NativeFunction.from_yaml`,
tools/autograd/load_derivatives.py): a field's name is no name of anything, its value may be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import functions
from torchtalkd.queries import trace_derivative, trace_kernels
from torchtalkd.queries.answers import Subject
from torchtalkd.queries.locate import operator_subject
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.subjects import of_definitions, subject_kind
from torchtalkd.store.view import View

_FIELD: Final = re.compile(rb"^\s*(?:-\s+)?([A-Za-z_][\w, ]*):(?:\s|$)")
_OPERATOR: Final = re.compile(rb"(?:[A-Za-z_]\w*::)?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
_NAMES_OPERATORS: Final = ("func", "name", "autogen", "structured_delegate")
_NAMES_TAGS: Final = ("tags", "tag")


def at_yaml(
    view: View, file: File, lines: Sequence[bytes], line: int, column: int, word: str, begins: int
) -> Meant | None:
    """The meaning of a place; `word` is the identifier there, which `begins` at a column."""
    if not word or not 1 <= line <= len(lines):
        return None
    text = lines[line - 1]
    hash_ = text.find(b" #")
    if text.lstrip().startswith(b"#") or 0 <= hash_ < begins:
        return None
    field = _FIELD.match(text)
    name = field[1].decode().strip() if field else ""
    in_value = field is None or begins >= field.end(1)
    entry = _entry(view, file, line)
    if file.language == "native_functions" and entry is not None:
        rows = [
            d
            for d in view.definitions_on(file, line)
            if d.fact.kind == "registration" and not (d.fact.detail or {}).get("implicit")
        ]
        if rows:
            return _of_row(view, rows, line, begins, word, in_value)
    if not in_value:
        return None
    if name in _NAMES_OPERATORS or (not name and file.language == "native_functions"):
        return _operator(view, file, entry, text, line, begins, name)
    if name in _NAMES_TAGS or (field is None and file.language == "tags"):
        found = view.definitions(keys.tag(word))
        defines = file.language == "tags"
        subject = of_definitions("tag", word, found) if found else None
        return Meant(line, begins, begins + len(word), (subject,), defines=defines) if subject else None
    if file.language == "derivatives" and entry is not None:
        return _formula(view, entry, line, begins, word)
    if name == "structured_inherits":
        found = functions.functions(view, word, (*view.rules.native_namespaces, "at", ""), kinds=("class",))
        subjects = tuple(of_definitions(subject_kind(d), d.fact.name, [d]) for d in found)
        return Meant(line, begins, begins + len(word), subjects) if subjects else None
    return None


def _entry(view: View, file: File, line: int) -> FiledDefinition | None:
    """The operator or derivative whose entry a line belongs to."""
    for above in range(line, max(0, line - _LONGEST), -1):
        for definition in view.definitions_on(file, above):
            generated = (definition.fact.detail or {}).get("autogen_of")
            if definition.fact.kind in ("operator", "derivative") and not generated:
                return definition if definition.fact.end_line >= line else None
    return None


_LONGEST: Final = 400
"""Lines of an entry."""


def _of_row(
    view: View, rows: list[FiledDefinition], line: int, begins: int, word: str, in_value: bool
) -> Meant | None:
    """A line of `dispatch:`: a key means its kernel, and so does the kernel's name."""
    named = [d for d in rows if d.fact.dispatch_key == word] if not in_value else rows
    found: dict[int, FiledDefinition] = {}
    stub: Subject | None = None
    for registration in named:
        entry = view.scope(registration)
        if entry is None:
            continue
        for row in trace_kernels.rows(view, entry):
            if row.registration.id == registration.id:
                found.update((link.definition.id, link.definition) for link in row.kernels)
    if not found and stub is None:
        return None
    groups: dict[tuple[str, str], list[FiledDefinition]] = {}
    for definition in found.values():
        groups.setdefault((subject_kind(definition), definition.fact.name), []).append(definition)
    subjects = tuple(of_definitions(kind, name, several) for (kind, name), several in groups.items())
    return Meant(line, begins, begins + len(word), subjects)


def _operator(
    view: View, file: File, entry: FiledDefinition | None, text: bytes, line: int, begins: int, field: str
) -> Meant | None:
    """An operator's name as a value; in a schema only the name at its beginning is one."""
    for found in _OPERATOR.finditer(text):
        if not found.start() <= begins < found.end():
            continue
        if field in ("func", "name") and b"(" in text[: found.start()]:
            return None
        written = found[0].decode()
        namespace = keys.operator_name(entry.fact.name).namespace if entry else view.rules.operator_namespace
        full = written if "::" in written else f"{namespace}::{written}"
        subject = _exact(view, full)
        if subject is None:
            return None
        defines = field in ("func", "name", "autogen", "")
        delegate = field == "structured_delegate"
        return Meant(line, found.start(), found.end(), (subject,), defines=defines, schema=delegate)
    return None


def _exact(view: View, name: str) -> Subject | None:
    """The overload of a name: in yaml one without an overload is the overload that has none."""
    subject = operator_subject(view, name)
    if subject is None or keys.operator_name(name).overload:
        return subject
    return operator_subject(view, f"{name}.default") or subject


def _formula(view: View, entry: FiledDefinition, line: int, begins: int, word: str) -> Meant | None:
    """A function that a formula calls."""
    for target in view.targets(entry):
        if target.fact.line != line or keys.last(target.fact.key) != word:
            continue
        if not target.fact.column <= begins <= target.fact.column + len(target.fact.name):
            continue
        found = [link.definition for link in trace_derivative.formula_functions(view, target.fact.name)]
        if found:
            kind, name = subject_kind(found[0]), found[0].fact.name
            return Meant(line, begins, begins + len(word), (of_definitions(kind, name, found),))
        subject = operator_subject(view, f"{view.rules.operator_namespace}::{word}")
        return Meant(line, begins, begins + len(word), (subject,)) if subject else None
    return None
