"""What a place of a C++, CUDA or yaml text means: the fact that stands there, then its name looked up."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition, FiledReference
from torchtalkd.link import functions, operators, stubs
from torchtalkd.queries import trace_names
from torchtalkd.queries.answers import Subject
from torchtalkd.queries.at_yaml import at_yaml
from torchtalkd.queries.called import called
from torchtalkd.queries.locate import operator_subject
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.subjects import cpp_subjects, of_definitions, subject_kind
from torchtalkd.store.view import View

_WORD: Final = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")
_QUALIFIED: Final = re.compile(rb"(?:::\s*)?(?:[A-Za-z_]\w*(?:<[^<>]*>)?\s*::\s*)*~?[A-Za-z_]\w*")
_NAME_OF: Final = re.compile(rb'"?\s*((?:[A-Za-z_]\w*::)?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)')


class Word(NamedTuple):
    """An identifier of a line."""

    text: str
    line: int
    column: int
    end: int


def word_at(lines: Sequence[bytes], line: int, column: int) -> Word | None:
    """The identifier at a place, or that ends there; None where there is none."""
    if not 1 <= line <= len(lines):
        return None
    for found in _WORD.finditer(lines[line - 1]):
        if found.start() <= column <= found.end():
            if column == found.end() and lines[line - 1][column : column + 1].isalnum():
                continue
            return Word(found[0].decode(), line, found.start(), found.end())
    return None


def at_code(view: View, file: File, lines: Sequence[bytes], line: int, column: int) -> Meant | None:
    """The meaning of a place; None where no fact stands there."""
    word = word_at(lines, line, column)
    if file.language in ("native_functions", "derivatives", "tags"):
        return at_yaml(view, file, lines, line, column, word.text if word else "", word.column if word else 0)
    if word is None:
        return None
    here = definitions_around(view, file, line)
    for definition in here:
        meant = _defined(view, definition, word, lines)
        if meant is not None:
            return meant
    for definition in here:
        for target in view.targets(definition):
            if target.fact.line == line and _covers(target, word, lines):
                return _targeted(view, definition, target, word)
    found = [r for r in view.references_on(file, line) if _covers(r, word, lines)]
    # A name is read as a macro's use and as a call's callee: the more exact reading comes first.
    found.sort(key=lambda r: (r.fact.kind in ("address", "argument"), -r.fact.column))
    for reference in found:
        subjects, evidence = called(view, reference, lines)
        if subjects:
            return Meant(line, word.column, word.end, tuple(subjects), evidence)
    return _typed(view, file, word, lines)


def definitions_around(view: View, file: File, line: int) -> list[FiledDefinition]:
    """The definitions of a file whose lines include one, the innermost first."""
    known: dict[int, list[FiledDefinition]] = view.kept.setdefault("around", {}).setdefault(file.id, {})
    if not known:
        for d in view.definitions_in(file):
            for block in range(d.fact.line // _BLOCK, max(d.fact.line, d.fact.end_line) // _BLOCK + 1):
                known.setdefault(block, []).append(d)
    near = known.get(line // _BLOCK, ())
    found = [d for d in near if d.fact.line <= line <= max(d.fact.line, d.fact.end_line)]
    return sorted(found, key=lambda d: (d.fact.end_line - d.fact.line, -d.id))


_BLOCK: Final = 64
"""Lines that are looked up together."""


def _covers(reference: FiledReference, word: Word, lines: Sequence[bytes]) -> bool:
    """Whether a reference's name as written includes a word."""
    fact = reference.fact
    if fact.column == word.column:
        return True
    return fact.column < word.column < fact.column + _written(lines, fact.line, fact.column)


def _written(lines: Sequence[bytes], line: int, column: int) -> int:
    """How long the qualified name is that begins at a place."""
    text = lines[line - 1] if line <= len(lines) else b""
    while column < len(text) and text[column : column + 1] in (b"&", b"(", b" "):
        column += 1
    found = _QUALIFIED.match(text, column)
    return len(found[0]) if found else 0


def _defined(view: View, definition: FiledDefinition, word: Word, lines: Sequence[bytes]) -> Meant | None:
    """The meaning of a word that is the name of a definition."""
    fact = definition.fact
    if fact.kind in ("schema", "registration", "library"):
        return _registered(view, definition, word, lines)
    if fact.line != word.line or fact.kind in ("macro_use", "module"):
        return None
    last = keys.last(fact.key)
    length = _written(lines, fact.line, fact.column)
    if not (fact.column <= word.column < fact.column + max(length, 1)) or not _is_last(last, word, fact.kind):
        return None
    return Meant(word.line, word.column, word.end, tuple(_subjects(view, definition)), defines=True)


def _is_last(last: str, word: Word, kind: str) -> bool:
    # TORCH_META_FUNC2(add, Tensor) defines add_Tensor: each of the two words is part of the name.
    return last == word.text or (kind == "structured_meta" and word.text in last) or last == f"~{word.text}"


def _subjects(view: View, definition: FiledDefinition) -> Iterator[Subject]:
    fact = definition.fact
    if fact.kind in ("stub", "stub_kernel"):
        kinds = ("stub", "stub_kernel")
        same = [d for d in view.definitions(fact.key) if d.fact.name == fact.name and d.fact.kind in kinds]
        yield of_definitions("stub", fact.name, same)
    elif fact.kind == "python_binding":
        bound = [t.fact.name for t in view.targets(definition) if keys.space(t.fact.key) == "op"]
        subject = operator_subject(view, bound[0]) if bound else None
        yield subject or of_definitions(subject_kind(definition), fact.name, [definition])
    else:
        yield of_definitions(subject_kind(definition), fact.name, [definition])


def _registered(view: View, definition: FiledDefinition, word: Word, lines: Sequence[bytes]) -> Meant | None:
    """A word in the string of a registration: the operator that it names."""
    fact = definition.fact
    if fact.kind == "library":
        return None
    for line in range(fact.line, min(fact.line + 2, fact.end_line + 1)):
        text = lines[line - 1] if line <= len(lines) else b""
        quote = text.find(b'"', fact.column if line == fact.line else 0)
        found = _NAME_OF.match(text, quote) if quote >= 0 else None
        if found is None:
            continue
        if line != word.line or not found.start(1) <= word.column < found.end(1):
            return None
        name = keys.operator_name(fact.name)
        subject = operator_subject(view, str(name))
        if subject is None:
            return None
        return Meant(word.line, found.start(1), found.end(1), (subject,), defines=fact.kind == "schema")
    return None


def _targeted(view: View, owner: FiledDefinition, target: FiledReference, word: Word) -> Meant | None:
    """What a binding names: its kernel, or, as a macro's argument, an operator."""
    key = target.fact.key
    found: Sequence[Subject] = ()
    if keys.space(key) == "op":
        subject = operator_subject(view, target.fact.name)
        found = [subject] if subject else []
    elif keys.space(key) == "cpp":
        if owner.fact.kind == "macro_use":
            found = _argument(view, owner, target)
        else:
            ids = trace_names.meant(view, owner, target.fact.name)
            found = list(of_ids(view, ids))
            if not found and stubs.is_stub(view, key):
                found = [s for s in cpp_subjects(view, keys.last(key)) if s.kind == "stub"]
    return Meant(word.line, word.column, word.end, tuple(found)) if found else None


def of_ids(view: View, ids: Iterable[int]) -> Iterator[Subject]:
    """Definitions as subjects, those of one name together."""
    groups: dict[tuple[str, str], list[FiledDefinition]] = {}
    for number in ids:
        definition = view.definition(number)
        if definition is not None:
            groups.setdefault((subject_kind(definition), definition.fact.name), []).append(definition)
    for (kind, name), several in groups.items():
        yield of_definitions(kind, name, several)


def _argument(view: View, use: FiledDefinition, target: FiledReference) -> list[Subject]:
    """An argument of a macro: a function of this file or its namespaces, else the operator of the name
    that the macro registers in its library."""
    detail = use.fact.detail or {}
    arguments = [str(a).strip() for a in detail.get("arguments") or ()]
    scopes = functions.enclosing(f"{detail.get('namespace') or ''}::x")
    library = str(detail.get("library") or "")
    base = target.fact.name
    if library:
        index = arguments.index(base) if base in arguments else -1
        overloaded = arguments[index + 1] if 0 <= index < len(arguments) - 1 else ""
        for name in (f"{library}::{base}.{overloaded}", f"{library}::{base}"):
            family = operators.family(view, name)
            if family is not None and (name in family.overloads or "." not in name):
                subject = operator_subject(view, name)
                return [subject] if subject is not None else []
    stub = stubs.meant(view, base, scopes, use.file)
    if stub:
        return [s for s in cpp_subjects(view, keys.cpp_last(stub), stub) if s.kind == "stub"]
    found = functions.functions(view, base, scopes, file=use.file)
    return list(of_ids(view, [d.id for d in found]))


def _typed(view: View, file: File, word: Word, lines: Sequence[bytes]) -> Meant | None:
    """A class named where no reference stands: a type."""
    text = lines[word.line - 1]
    before = text[: word.column].rstrip()
    if (
        before.endswith((b".", b"->", b'"'))
        or text.lstrip().startswith((b"//", b"*", b"#"))
        or b"//" in before
    ):
        return None
    key = keys.cpp(word.text)
    if not 0 < view.count(key, 64) < 64:
        return None
    around = next((d for d in definitions_around(view, file, word.line) if "::" in d.fact.name), None)
    found = functions.functions(
        view,
        word.text,
        functions.enclosing(around.fact.name) if around else [""],
        file=file,
        kinds=("class",),
    )
    written = _qualifier(before) + word.text
    if not found and "::" in written:
        found = [
            d for d in view.of_kind(key, "class") if d.fact.name.endswith(written) and not d.fact.declares
        ]
    subjects = list(of_ids(view, [d.id for d in found]))
    return Meant(word.line, word.column, word.end, tuple(subjects)) if len(subjects) == 1 else None


def _qualifier(before: bytes) -> str:
    found = re.search(rb"(?:[A-Za-z_]\w*::)+$", before)
    return found[0].decode() if found else ""


__all__ = ["Word", "at_code", "definitions_around", "of_ids", "word_at"]
