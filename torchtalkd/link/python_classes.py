"""Classes of Python: what they inherit from and what inherits from them, which method they have.

Names of bases are followed as all names are (`python_names`): through imports, aliases, re-exports and
star imports. A base that the tree does not define (a library's, a call's result) ends the way there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import python_names
from torchtalkd.link.source import Facts

_DEEPEST: Final = 40
"""Classes above a class; more is a circle of names that the tree does not mean."""
_MEMBERS: Final = ("function", "kernel", "alias", "class")


class Held(NamedTuple):
    """An attribute that a class's methods give its objects: `self.fc = nn.Linear(3, 4)`."""

    attribute: str
    cls: str
    """The full name of what is called, imports followed."""
    reference: FiledReference


def bases(facts: Facts, cls: FiledDefinition) -> tuple[FiledDefinition, ...]:
    """The classes of the tree that a class names as its bases, in the order of the text."""
    known: dict[int, tuple[FiledDefinition, ...]] = facts.kept.setdefault("python_bases", {})
    found = known.get(cls.id)
    if found is None:
        written = base_names(facts, cls)
        classes = {end.id: end for r in written for end in _base(facts, r) if end.id != cls.id}
        found = known[cls.id] = tuple(classes.values())
    return found


def base_names(facts: Facts, cls: FiledDefinition) -> list[FiledReference]:
    """The bases that a class names, as written."""
    all_bases: dict[int, list[FiledReference]] | None = facts.kept.get("python_all_bases")
    if all_bases is not None:
        return all_bases.get(cls.id, [])
    of_files: dict[int, dict[int, list[FiledReference]]] = facts.kept.setdefault("python_base_names", {})
    if cls.file.id not in of_files:
        of_files[cls.file.id] = _by_owner(facts.references_of_kind(cls.file, "base"))
    return of_files[cls.file.id].get(cls.id, [])


def _by_owner(references: Iterable[FiledReference]) -> dict[int, list[FiledReference]]:
    found: dict[int, list[FiledReference]] = {}
    for reference in references:
        found.setdefault(reference.owner, []).append(reference)
    return found


def prepare(facts: Facts, name: str) -> None:
    """Reads for the whole tree what is else read file by file: the bases of all classes, and the members
    of one name. For who is about to ask for hundreds of them: a tenth of a second on PyTorch."""
    if "python_all_bases" not in facts.kept:
        facts.kept["python_all_bases"] = _by_owner(facts.references_with("", "base"))
    of_names: dict[str, dict[int, FiledDefinition]] = facts.kept.setdefault("python_members_named", {})
    if name not in of_names:
        found = of_names[name] = {}
        for definition in facts.definitions(keys.py(name)):
            scope = facts.scope(definition) if definition.fact.kind in _MEMBERS else None
            if scope is not None and scope.fact.kind == "class":
                found[scope.id] = definition


def _base(facts: Facts, reference: FiledReference) -> list[FiledDefinition]:
    return nearest_above(means(facts, reference, "class"), reference)


def means(facts: Facts, reference: FiledReference, *kinds: str) -> list[FiledDefinition]:
    """The definitions of some kinds that a Python name in a file means. One without a module may come
    from a star import of its file."""
    name = reference.fact.name
    found = [end for end in python_names.resolve(facts, name).ends if end.fact.kind in kinds]
    if not found and "." not in name:
        module = facts.definitions_in(reference.file)[:1]
        full = f"{module[0].fact.name}.{name}" if module else ""
        found = [end for end in python_names.resolve(facts, full).ends if end.fact.kind in kinds]
    return found


def nearest_above(found: list[FiledDefinition], reference: FiledReference) -> list[FiledDefinition]:
    """Of several definitions of one name those that a place may mean: in its own file the last above it."""
    if len(found) < 2:
        return found
    own = [d for d in found if d.file.id == reference.file.id and d.fact.line < reference.fact.line]
    return own[-1:] or found


def ancestry(facts: Facts, cls: FiledDefinition) -> tuple[FiledDefinition, ...]:
    """A class and all that it inherits from, in the order in which Python looks for a method (C3; where
    the bases contradict each other, as far as they are met)."""
    known: dict[int, tuple[FiledDefinition, ...]] = facts.kept.setdefault("python_ancestry", {})
    return _ancestry(facts, cls, known, frozenset())


def _ancestry(
    facts: Facts, cls: FiledDefinition, known: dict[int, tuple[FiledDefinition, ...]], passed: frozenset[int]
) -> tuple[FiledDefinition, ...]:
    found = known.get(cls.id)
    if found is not None or cls.id in passed or len(passed) > _DEEPEST:
        return found or (cls,)
    above = bases(facts, cls)
    rows = [list(_ancestry(facts, base, known, passed | {cls.id})) for base in above]
    order = [cls, *_merged([*rows, list(above)])]
    found = tuple({d.id: d for d in order}.values())
    if not passed & {d.id for d in found}:
        known[cls.id] = found
    return found


def _merged(rows: list[list[FiledDefinition]]) -> Iterable[FiledDefinition]:
    """The C3 merge (docs.python.org, "The Python 2.3 Method Resolution Order")."""
    while rows := [row for row in rows if row]:
        behind = {d.id for row in rows for d in row[1:]}
        head = next((row[0] for row in rows if row[0].id not in behind), rows[0][0])
        yield head
        rows = [[d for d in row if d.id != head.id] for row in rows]


def is_a(facts: Facts, cls: FiledDefinition, other: FiledDefinition) -> bool:
    """Whether a class is another one or inherits from it."""
    return any(d.id == other.id for d in ancestry(facts, cls))


def subclasses(facts: Facts, cls: FiledDefinition, *, library: bool = False) -> tuple[FiledDefinition, ...]:
    """The classes that name one as a base, whatever they call it; with `library` only those of library
    files. By file and place."""
    known: dict[tuple[int, bool], tuple[FiledDefinition, ...]] = facts.kept.setdefault("python_below", {})
    found = known.get((cls.id, library))
    if found is None:
        below: dict[int, FiledDefinition] = {}
        for name in names_of(facts, cls):
            for reference in named_as_base(facts, keys.py(name)).get(cls.id, ()):
                if library and reference.file.role != "library":
                    continue
                owner = facts.definition(reference.owner)
                if owner is not None:
                    below[owner.id] = owner
        below.pop(cls.id, None)
        found = known[cls.id, library] = tuple(below.values())
    return found


def named_as_base(facts: Facts, key: str) -> dict[int, list[FiledReference]]:
    """The places that name a base with a key, by the class that they mean. Read once a key: a tree of
    tests has hundreds of classes called `M`."""
    known: dict[str, dict[int, list[FiledReference]]] = facts.kept.setdefault("pythonnamed_as_base", {})
    found = known.get(key)
    if found is None:
        found = known[key] = {}
        for reference in facts.references_with(key, "base"):
            for base in _base(facts, reference):
                found.setdefault(base.id, []).append(reference)
    return found


def _leads(facts: Facts, name: str, to: FiledDefinition) -> bool:
    return any(end.id == to.id for end in python_names.resolve(facts, name).ends)


def descendants(facts: Facts, cls: FiledDefinition, *, library: bool = False) -> tuple[FiledDefinition, ...]:
    """All classes that inherit from one, the nearest first; without itself. With `library`, those that
    library files define and that inherit through such."""
    known: dict[tuple[int, bool], tuple[FiledDefinition, ...]] = facts.kept.setdefault("python_under", {})
    found = known.get((cls.id, library))
    if found is None:
        below: dict[int, FiledDefinition] = {cls.id: cls}
        waiting = [cls]
        while waiting:
            further = []
            for one in waiting:
                for sub in subclasses(facts, one, library=library):
                    if sub.id not in below:
                        below[sub.id] = sub
                        further.append(sub)
            waiting = further
        del below[cls.id]
        found = known[cls.id, library] = tuple(below.values())
    return found


def descendants_named(facts: Facts, name: str, *, library: bool = False) -> tuple[FiledDefinition, ...]:
    """As `descendants`, of a class given by its full name. Where the tree does not define it (the module
    class of PyTorch, in an extension), those that name it as a base count, and what inherits from them."""
    classes = [end for end in python_names.resolve(facts, name).ends if end.fact.kind == "class"]
    found: dict[int, FiledDefinition] = {}
    if not classes:
        for reference in facts.references_with(keys.py(name), "base"):
            if reference.fact.name == name and not (library and reference.file.role != "library"):
                owner = facts.definition(reference.owner)
                if owner is not None:
                    found[owner.id] = owner
    for cls in [*classes, *found.values()]:
        found.update((below.id, below) for below in descendants(facts, cls, library=library))
    return tuple(found.values())


def names_of(facts: Facts, definition: FiledDefinition) -> tuple[str, ...]:
    """The full names that a definition of a module or class is known by: its own, and those of aliases
    that lead to it under another last component (`Base = nn.Module`, `from x import f as g`). Names that
    only differ before the last component are not listed: they share its key."""
    known: dict[int, tuple[str, ...]] = facts.kept.setdefault("python_known_as", {})
    found = known.get(definition.id)
    if found is None:
        names = {keys.last(definition.fact.key): definition.fact.name}
        waiting = [definition.fact.name]
        while waiting and len(names) <= _DEEPEST:
            name = waiting.pop()
            for target in facts.targeting(keys.py(name)):
                owner = facts.definition(target.owner)
                if owner is None or owner.fact.kind != "alias":
                    continue
                last = keys.last(owner.fact.key)
                if last not in names and _leads(facts, owner.fact.name, definition):
                    names[last] = owner.fact.name
                    waiting.append(owner.fact.name)
        found = known[definition.id] = tuple(names.values())
    return found


# -- what a class has


def own_members(facts: Facts, cls: FiledDefinition) -> dict[str, FiledDefinition]:
    """What a class's own body defines, by name: methods, aliases, inner classes; of several of one name
    the last, as at run time."""
    known: dict[int, dict[str, FiledDefinition]] = facts.kept.setdefault("python_members", {})
    found = known.get(cls.id)
    if found is None:
        for definition in facts.definitions_in(cls.file):
            fact = definition.fact
            if fact.scope >= 0 and fact.kind in _MEMBERS and keys.space(fact.key) == "py":
                scope = facts.scope(definition)
                if scope is not None:
                    known.setdefault(scope.id, {})[keys.last(fact.key)] = definition
        found = known.setdefault(cls.id, {})
    return found


def members(facts: Facts, cls: FiledDefinition) -> dict[str, FiledDefinition]:
    """All that a class has, its own and what it inherits, by name."""
    found: dict[str, FiledDefinition] = {}
    for one in ancestry(facts, cls):
        for name, definition in own_members(facts, one).items():
            found.setdefault(name, definition)
    return found


def own_member(facts: Facts, cls: FiledDefinition, name: str) -> FiledDefinition | None:
    """What a class's own body defines under a name."""
    of_names: dict[str, dict[int, FiledDefinition]] = facts.kept.get("python_members_named", {})
    if name in of_names:
        return of_names[name].get(cls.id)
    return own_members(facts, cls).get(name)


def member(facts: Facts, cls: FiledDefinition, name: str) -> FiledDefinition | None:
    """What a class has under a name, its own before what it inherits; an alias is not followed."""
    return next((d for one in ancestry(facts, cls) if (d := own_member(facts, one, name))), None)


def behind(facts: Facts, cls: FiledDefinition, name: str) -> FiledDefinition | None:
    """What `super().name` means in a class, as far as the class alone says."""
    above = ancestry(facts, cls)[1:]
    return next((d for one in above if (d := own_member(facts, one, name))), None)


def heirs(facts: Facts, cls: FiledDefinition, name: str) -> Iterable[FiledDefinition]:
    """The classes whose objects run a class's method: itself, and those below that have none of their own."""
    below: dict[int, FiledDefinition] = {cls.id: cls}
    waiting = [cls]
    while waiting:
        for sub in subclasses(facts, waiting.pop()):
            if sub.id not in below and own_member(facts, sub, name) is None:
                below[sub.id] = sub
                waiting.append(sub)
    return below.values()


def method(facts: Facts, cls: FiledDefinition, name: str) -> FiledDefinition | None:
    """The function that a class runs under a name, aliases followed: `__call__ = _call_impl`."""
    return followed(facts, cls, member(facts, cls, name))


def followed(facts: Facts, cls: FiledDefinition, found: FiledDefinition | None) -> FiledDefinition | None:
    """A member of a class, or where it is an alias the function that it stands for."""
    if found is None or found.fact.kind != "alias":
        return found
    for target in facts.targets(found):
        holder, _, last = target.fact.name.rpartition(".")
        if (
            any(one.fact.name == holder for one in ancestry(facts, cls))
            and target.fact.name != found.fact.name
        ):
            inner = member(facts, cls, last)
            if inner is not None and inner.id != found.id and inner.fact.kind != "alias":
                return inner
        ends = python_names.resolve(facts, target.fact.name).ends
        return next((end for end in ends if end.fact.kind in ("function", "kernel")), None)
    return None


def class_around(facts: Facts, number: int) -> FiledDefinition | None:
    """The class whose method the definition with an id is, or stands in as a function within a method."""
    known: dict[int, FiledDefinition | None] = facts.kept.setdefault("python_class_around", {})
    if number not in known:
        definition = facts.definition(number) if number >= 0 else None
        while definition is not None and definition.fact.kind != "class":
            definition = facts.scope(definition)
        known[number] = definition
    return known[number]


# -- what its objects hold


def held(facts: Facts, cls: FiledDefinition) -> dict[str, list[Held]]:
    """What a class's own methods give its objects, by attribute."""
    known: dict[int, dict[str, list[Held]]] = facts.kept.setdefault("python_held", {})
    found = known.get(cls.id)
    if found is None:
        for reference in facts.references_of_kind(cls.file, "holds"):
            holder = class_around(facts, reference.owner)
            if holder is not None:
                one = held_of(reference)
                known.setdefault(holder.id, {}).setdefault(one.attribute, []).append(one)
        found = known.setdefault(cls.id, {})
    return found


def held_of(reference: FiledReference) -> Held:
    """A reference of kind `holds` (`parse/python_held.py`), taken apart."""
    attribute, _, cls = reference.fact.name.partition(" = ")
    return Held(attribute, cls, reference)


def attribute_names(facts: Facts, cls: FiledDefinition, name: str) -> list[str]:
    """The full names of what makes `self.name` in a class, be it of this tree or not: by the class itself or,
    without that, by the nearest one that it inherits from."""
    for one in ancestry(facts, cls):
        made = held(facts, one).get(name)
        if made:
            return list(dict.fromkeys(each.cls for each in made))
    return []


def attribute(facts: Facts, cls: FiledDefinition, name: str) -> list[FiledDefinition]:
    """The classes of the tree whose objects `self.name` may be in a class: what the class itself or,
    without that, the nearest one that it inherits from assigns."""
    for one in ancestry(facts, cls):
        found: dict[int, FiledDefinition] = {}
        for made in held(facts, one).get(name, ()):
            ends = [end for end in python_names.resolve(facts, made.cls).ends if end.fact.kind == "class"]
            found.update((end.id, end) for end in nearest_above(ends, made.reference))
        if found:
            return list(found.values())
    return []
