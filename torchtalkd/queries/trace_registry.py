"""A trace of a registry's entry: where it is registered, what it stands for, what that runs."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import python_names, python_reach, registries
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View


def registry_subjects(view: View, name: str, registry: str = "") -> list[Subject]:
    """The entries of a name, by what they are: those of one label are one subject. `registry` is the
    variable, class or function that holds them, where it is asked for too."""
    groups: dict[str, list[FiledDefinition]] = {}
    for entry in registries.entries(view, name):
        written = str(_detail(entry)["registry"])
        if not registry or registry in (written, written.rpartition(".")[2], _detail(entry).get("of")):
            groups.setdefault(str(_detail(entry)["label"]), []).append(entry)
    return [
        Subject(label, name, "registered name", ids=tuple(entry.id for entry in found))
        for label, found in groups.items()
    ]


def entry_items(view: View, entry: FiledDefinition) -> Iterator[Item]:
    """The entry's place, then the class or function, then the methods that its users run."""
    yield entry_item(view, entry)
    for link in registries.stands_for(view, entry):
        yield place_of("python", link.definition, link.evidence, declared=entry)
        if link.definition.fact.kind == "class":
            yield from method_items(view, link.definition)


def entry_item(view: View, entry: FiledDefinition) -> Item:
    """The place of an entry, with what it stands for."""
    detail = _detail(entry)
    written = ", ".join(target.fact.name for target in view.targets(entry))
    note = f"{detail['label']}: {written}"
    if detail.get("note"):
        note += f", for {detail['note']}"
    return place_of("registry", entry, "exact", note=note)


def registered_items(view: View, definition: FiledDefinition) -> Iterator[Item]:
    """The entries that stand for a class or function."""
    for entry in registries.entries_of(view, definition):
        yield entry_item(view, entry)


def method_items(view: View, cls: FiledDefinition) -> Iterator[Item]:
    """The methods that users of a class run (`rules.class_methods`), with what they call: `forward`
    of a module, each platform's variant of it, forward and backward of an autograd function."""
    for definition in view.definitions_in(cls.file):
        if not definition.fact.name.startswith(cls.fact.name + "."):
            continue
        scope = view.scope(definition)
        last = keys.last(definition.fact.key)
        wanted = any(fnmatchcase(last, pattern) for pattern in view.rules.class_methods)
        if wanted and scope is not None and scope.id == cls.id:
            yield place_of("python", definition, "exact", note=_calls(view, definition))


def _calls(view: View, method: FiledDefinition) -> str:
    """What a method ends in, in words: operators and kernels; else what it calls in the modules that
    users write."""
    ends = python_reach.reached(view, method)
    called = dict.fromkeys(
        end.operator or (end.kernel.fact.name.rpartition(".")[2] if end.kernel else "") for end in ends
    )
    if not called:
        public = python_names.public_modules(view)
        called = dict.fromkeys(
            reference.fact.name
            for reference in view.inside(method)
            if reference.fact.kind == "call"
            and keys.space(reference.fact.key) == "py"
            and reference.fact.name.rpartition(".")[0] in public
        )
    names = list(called)
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"calls {', '.join(names[:MOST_NAMES])}{more}" if names else "method"


MOST_NAMES = 6
"""Names in a note; more are counted."""


def _detail(entry: FiledDefinition) -> dict[str, Any]:
    return {"label": "registry entry", "registry": "", **(entry.fact.detail or {})}
