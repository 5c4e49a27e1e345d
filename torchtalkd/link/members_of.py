"""Methods by their name: which classes have one, what a class inherits, what overrides it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import functions
from torchtalkd.link.source import Facts

MANY: Final = 256
"""Definitions and declarations of one method name that are read; a name with more is everybody's."""
_CLASSES: Final = ("class", "autograd_function")
CALL: Final = "operator()"
_DEEPEST: Final = 6
"""Levels of classes above or below one that are looked at."""


def class_named(facts: Facts, name: str) -> list[FiledDefinition]:
    """The definitions of a class of a full name."""
    return [d for d in facts.named(keys.cpp(name), name) if d.fact.kind in _CLASSES] if name else []


def is_method(facts: Facts, definition: FiledDefinition) -> bool:
    """Whether a function is a member of a class."""
    kept: dict[int, bool] = facts.kept.setdefault("is_method", {})
    found = kept.get(definition.id)
    if found is None:
        around = definition.fact.name.rpartition("::")[0]
        marked = bool((definition.fact.detail or {}).get("method"))
        found = kept[definition.id] = marked or bool(around and class_named(facts, around))
    return found


def class_of(facts: Facts, definition: FiledDefinition) -> str:
    """The full name of the class that a definition is, or is a member of; '' for none."""
    if definition.fact.kind in _CLASSES:
        return definition.fact.name
    around = definition.fact.name.rpartition("::")[0]
    return around if is_method(facts, definition) else ""


def call_operators(facts: Facts, cls: str) -> list[FiledDefinition]:
    """The bodies of a class's `operator()`."""
    kept: dict[str, list[FiledDefinition]] | None = facts.kept.get("call_operators")
    if kept is None:
        kept = facts.kept["call_operators"] = {}
        for definition in facts.definitions(keys.cpp(CALL)):
            if definition.fact.kind == "function" and not definition.fact.declares:
                kept.setdefault(definition.fact.name.rpartition("::")[0], []).append(definition)
    return kept.get(cls, [])


def constructors(facts: Facts, cls: str) -> list[FiledDefinition]:
    """The constructors that a class writes, bodies and declarations; the class itself where it has none."""
    if not cls:
        return []
    made = facts.named(keys.cpp(cls), f"{cls}::{keys.cpp_last(cls)}")
    return [d for d in made if d.fact.kind == "function"] or class_named(facts, cls)


def methods(facts: Facts, key: str) -> list[FiledDefinition]:
    """The methods with a key: of each full name its bodies, or its declarations where it has none.
    Nothing for a name that too many have."""
    kept: dict[str, list[FiledDefinition]] = facts.kept.setdefault("methods", {})
    found = kept.get(key)
    if found is None:
        named: dict[str, list[FiledDefinition]] = {}
        if facts.count(key, MANY) < MANY:
            for definition in facts.definitions(key):
                # A header that torchgen fills in has written members of at::Tensor, too.
                written = definition.file.role != "template" or definition.file.path.endswith(
                    functions.HEADERS
                )
                own = definition.fact.kind == "function" and written
                if own and is_method(facts, definition):
                    named.setdefault(definition.fact.name, []).append(definition)
        found = kept[key] = [
            d
            for several in named.values()
            for d in ([each for each in several if not each.fact.declares] or several)
        ]
    return found


def own_or_inherited(facts: Facts, cls: str, last: str) -> list[FiledDefinition]:
    """The methods of a name that a class has, its own before those of its bases, by full name."""
    seen: set[str] = set()
    level = [cls]
    for _ in range(_DEEPEST):
        for name in level:
            found = _named(facts, f"{name}::{last}")
            if found:
                return found
        seen.update(level)
        level = [base for name in level for base in bases(facts, name) if base not in seen]
    return []


def _named(facts: Facts, full: str) -> list[FiledDefinition]:
    found = [d for d in facts.named(keys.cpp(full), full) if d.fact.kind in functions.BODIES]
    return [d for d in found if not d.fact.declares] or found


def overriders(facts: Facts, method: FiledDefinition) -> list[FiledDefinition]:
    """The methods of the same name in the classes below a method's class."""
    cls, _, last = method.fact.name.rpartition("::")
    found: list[FiledDefinition] = []
    for below in _all_below(facts, cls):
        found.extend(_named(facts, f"{below}::{last}"))
    return found


def overridden(facts: Facts, method: FiledDefinition) -> list[FiledDefinition]:
    """The methods of the same name in the classes above a method's class."""
    cls, _, last = method.fact.name.rpartition("::")
    return [d for above in _all_above(facts, cls) for d in _named(facts, f"{above}::{last}")]


def _all_below(facts: Facts, cls: str) -> list[str]:
    kept: dict[str, list[str]] = facts.kept.setdefault("classes_below", {})
    found = kept.get(cls)
    if found is None:
        found = kept[cls] = _levels(cls, lambda name: derived(facts, name))
    return found


def _all_above(facts: Facts, cls: str) -> list[str]:
    kept: dict[str, list[str]] = facts.kept.setdefault("classes_above", {})
    found = kept.get(cls)
    if found is None:
        found = kept[cls] = _levels(cls, lambda name: bases(facts, name))
    return found


def _levels(start: str, further: Callable[[str], Iterable[str]]) -> list[str]:
    found: dict[str, None] = {}
    level: Iterable[str] = [start]
    for _ in range(_DEEPEST):
        level = [name for each in level for name in further(each) if name != start and name not in found]
        found.update(dict.fromkeys(level))
    return list(found)


def bases(facts: Facts, cls: str) -> list[str]:
    """The full names of the classes that a class names as its bases."""
    kept: dict[str, list[str]] = facts.kept.setdefault("bases_of", {})
    found = kept.get(cls)
    if found is None:
        found = []
        for definition in class_named(facts, cls):
            for reference in facts.references_of_kind(definition.file, "base"):
                if reference.owner == definition.id:
                    found.extend(_classes(facts, reference.fact.name, cls, definition.file))
        found = kept[cls] = list(dict.fromkeys(found))
    return found


def derived(facts: Facts, cls: str) -> list[str]:
    """The full names of the classes that name a class as a base."""
    if not class_named(facts, cls):
        return []
    found: dict[str, None] = {}
    for reference in facts.references(keys.cpp(cls)):
        owner = facts.definition(reference.owner) if reference.fact.kind == "base" else None
        if owner is None or owner.fact.kind not in _CLASSES:
            continue
        if cls in _classes(facts, reference.fact.name, owner.fact.name, owner.file):
            found.setdefault(owner.fact.name)
    return list(found)


def _classes(facts: Facts, written: str, inside: str, file: File) -> Sequence[str]:
    scopes = functions.enclosing(inside)
    found = functions.functions(facts, written, scopes, file=file, kinds=_CLASSES, declarations=True)
    return list(dict.fromkeys(d.fact.name for d in found))
