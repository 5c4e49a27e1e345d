"""Registries in Python: from a name to the class or function it stands for, and back."""

from __future__ import annotations

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, python_names
from torchtalkd.link.source import Facts, Link

_ENDS = ("class", "function", "kernel")


def entries(facts: Facts, name: str) -> list[FiledDefinition]:
    """The entries of a name; those of tests only where there are no others."""
    found = [d for d in facts.definitions(keys.registry(name)) if d.file.role != "template"]
    own = [d for d in found if d.file.role != "test"]
    return sorted(own or found, key=lambda d: (d.file.path, d.fact.line))


def stands_for(facts: Facts, entry: FiledDefinition) -> list[Link]:
    """The definitions that an entry stands for; none where they are in another tree. A class whose
    module takes it from elsewhere at run time is looked for below the module's package."""
    found: list[Link] = []
    for target in facts.targets(entry):
        name = target.fact.name
        ends = [end for end in python_names.resolve(facts, name).ends if end.fact.kind in _ENDS]
        own = [end for end in ends if end.file.id == entry.file.id and end.fact.line >= entry.fact.line]
        if len(own) > 1:
            # Several of one name in one file: a decorator stands right before its own.
            ends = sorted(own, key=lambda end: end.fact.line)[:1]
        if ends:
            found.extend(Link(end, "declared") for end in ends)
            continue
        package = name.rpartition(".")[0]
        below = [
            d
            for d in facts.definitions(target.fact.key)
            if d.fact.kind in _ENDS
            and d.file.role == "library"
            and package
            and d.fact.name.startswith(package + ".")
        ]
        found.extend(functions.as_links(below, "unique"))
    return found


def entries_of(facts: Facts, definition: FiledDefinition) -> list[FiledDefinition]:
    """The entries that stand for a class or function, in the order of the files."""
    found: dict[int, FiledDefinition] = {}
    for target in facts.targeting(definition.fact.key):
        owner = facts.definition(target.owner)
        if owner is None or owner.fact.kind != "registry" or owner.id in found:
            continue
        if any(link.definition.id == definition.id for link in stands_for(facts, owner)):
            found[owner.id] = owner
    return [found[number] for number in sorted(found)]
