"""Which classes pytest and unittest collect tests from, and where. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition, FiledReference
from torchtalkd.link import python_names
from torchtalkd.link.source import Facts

NEVER: Final = "it is collected nowhere"
"""Of a class that holds tests for others to inherit."""
_MOST: Final = 200
"""Classes that extend one, directly or not."""
_DEEPEST: Final = 20


def why_not_collected(facts: Facts, class_: FiledDefinition) -> str:
    """Why the tests of a class may not be collected under its own name: '' where they are, NEVER where
    they are not, else a sentence."""
    known: dict[int, str] = facts.kept.setdefault("test_classes", {})
    found = known.get(class_.id)
    if found is None:
        found = known[class_.id] = _why(facts, class_)
    return found


def _why(facts: Facts, class_: FiledDefinition) -> str:
    rules = facts.rules.tests
    around = facts.scope(class_)
    if around is not None and around.fact.kind == "function":
        return f"{class_.fact.name.rpartition('.')[2]} is made in a function"
    if around is not None and around.fact.kind == "class":
        outer = why_not_collected(facts, around)
        return outer or f"{class_.fact.name.rpartition('.')[2]} stands in another class"
    if class_.fact.column > len("class ") and class_.file.language == "python":
        return f"{class_.fact.name.rpartition('.')[2]} stands in a block, and may not be there"
    gone = (class_.fact.detail or {}).get("gone")
    if gone:
        return NEVER if gone == "always" else f"{class_.fact.name.rpartition('.')[2]} may be deleted"
    cases, unknown = _reaches_case(facts, class_, 0)
    if cases and unknown:
        return f"whether {unknown} is a test case is decided where it runs"
    if cases or any(fnmatchcase(class_.fact.name.rpartition(".")[2], p) for p in rules.class_names):
        return ""
    return f"whether {unknown} is a test case is not known" if unknown else NEVER


def _reaches_case(facts: Facts, class_: FiledDefinition, depth: int) -> tuple[bool, str]:
    """Whether a class extends one whose subclasses hold tests, and a base of which that is not known."""
    rules, unknown = facts.rules.tests, ""
    for base in facts.references_of_kind(class_.file, "base"):
        if base.owner != class_.id:
            continue
        again = _assigned_again(facts, base)
        if base.fact.name in rules.case_classes:
            return True, again
        ends = [d for d in python_names.resolve(facts, base.fact.name).ends if d.fact.kind == "class"]
        if not ends and "." not in base.fact.name:
            ends = [
                d
                for d in facts.definitions(base.fact.key)
                if d.fact.kind == "class" and d.file == class_.file
            ]
        for end in ends[:1]:
            if end.fact.name in rules.case_classes:
                return True, again
            if depth < _DEEPEST and end.id != class_.id:
                below, further = _reaches_case(facts, end, depth + 1)
                if below:
                    return True, again or further
                unknown = unknown or further
        if not ends and base.fact.name != "object":
            unknown = unknown or base.fact.name
    return False, unknown


def _assigned_again(facts: Facts, base: FiledReference) -> str:
    """The name of a base that the file imports and assigns, too: `if not HAS_CUDA: TestCase = NoTest`; ''
    for any other."""
    last = base.fact.name.rpartition(".")[2]
    own = [d for d in facts.definitions(base.fact.key) if d.file == base.file and d.fact.kind == "alias"]
    imported = [d for d in own if not (d.fact.detail or {}).get("import") and d.fact.name != base.fact.name]
    return last if imported else ""


def heirs(facts: Facts, class_: FiledDefinition) -> list[FiledDefinition]:
    """The classes that extend a class, directly or not, by file and line; kept."""
    known: dict[int, list[FiledDefinition]] = facts.kept.setdefault("test_heirs", {})
    found = known.get(class_.id)
    if found is None:
        all_: dict[int, FiledDefinition] = {}
        waiting = [class_]
        while waiting and len(all_) < _MOST:
            for heir in _direct(facts, waiting.pop()):
                if heir.id not in all_ and heir.id != class_.id:
                    all_[heir.id] = heir
                    waiting.append(heir)
        found = known[class_.id] = sorted(all_.values(), key=lambda d: (d.file.path, d.fact.line))
    return found


def _direct(facts: Facts, class_: FiledDefinition) -> list[FiledDefinition]:
    found = []
    for reference in facts.references(class_.fact.key):
        if reference.fact.kind != "base" or reference.owner < 0:
            continue
        name = reference.fact.name
        local = "." not in name and reference.file == class_.file
        if name != class_.fact.name and not local:
            ends = python_names.resolve(facts, name).ends
            if not any(end.id == class_.id for end in ends):
                continue
        owner = facts.definition(reference.owner)
        if owner is not None and owner.fact.kind == "class":
            found.append(owner)
    return found


def importers(facts: Facts, class_: FiledDefinition, name: str) -> list[File]:
    """The test files that import a class by its name, or one that is made of it in its file, in which its
    tests are collected once more."""
    found: dict[int, File] = {}
    full = f"{class_.fact.name.rpartition('.')[0]}.{name}"
    for reference in facts.references(keys.py(name)):
        if reference.fact.kind != "import" or reference.file.role != "test" or reference.file == class_.file:
            continue
        if _is_collected(reference.file) and _means(facts, reference, full):
            found[reference.file.id] = reference.file
    return list(found.values())


def more_made(facts: Facts, class_: FiledDefinition) -> list[File]:
    """The files that hand a class to something at their top, which may make more tests of it or set some
    on it: its own, and others with tests."""
    found = [class_.file] if (class_.fact.detail or {}).get("handed") else []
    for reference in facts.references(class_.fact.key):
        if reference.fact.kind != "address" or reference.file == class_.file or reference.file in found:
            continue
        if reference.file.role != "test" or not _is_collected(reference.file):
            continue
        if _at_top(facts, reference) and _means(facts, reference, class_.fact.name):
            found.append(reference.file)
    return found


def _at_top(facts: Facts, reference: FiledReference) -> bool:
    owner = facts.definition(reference.owner) if reference.owner >= 0 else None
    return owner is not None and owner.fact.kind == "module"


def _means(facts: Facts, reference: FiledReference, full: str) -> bool:
    """Whether an import of a test file means a thing of another. A test file names it as the interpreter
    finds it, which is from its own folder or one around it: of two that end alike the nearest is meant."""
    name = reference.fact.name
    if name == full or not full.endswith(f".{name}"):
        return name == full
    folder = reference.file.path.rpartition("/")[0].replace("/", ".")
    while folder:
        if facts.named(keys.py(name.rpartition(".")[2]), f"{folder}.{name}"):
            return full == f"{folder}.{name}"
        module = name.rpartition(".")[0]
        if facts.named(keys.py(module.rpartition(".")[2]), f"{folder}.{module}"):
            return full == f"{folder}.{name}"
        folder = folder.rpartition(".")[0]
    return True


def brought_in(facts: Facts, file: File) -> list[FiledDefinition]:
    """The classes of other files whose tests are collected in a file: those that it imports or hands on at
    its top, and those that its own classes extend."""
    found: dict[int, FiledDefinition] = {}
    handed = (r for r in facts.references_of_kind(file, "address") if _at_top(facts, r))
    for reference in (*facts.references_of_kind(file, "import"), *handed):
        last = reference.fact.name.rpartition(".")[2]
        for definition in _classes_called(facts, last) if last[:1].isupper() else ():
            holder = definition.fact.name.rpartition(".")[0]
            if definition.file.role == "test" and _means(facts, reference, f"{holder}.{last}"):
                found[definition.id] = definition
    for reference in facts.references_of_kind(file, "base"):
        for end in python_names.resolve(facts, reference.fact.name).ends:
            if end.fact.kind == "class" and end.id not in found:
                found[end.id] = end
                found.update((base.id, base) for base in _above(facts, end, 0))
    return [definition for definition in found.values() if definition.file.id != file.id]


def _classes_called(facts: Facts, name: str) -> Iterator[FiledDefinition]:
    """The classes of a name, and those of which devices' classes have it: `TestFooCPU` is made of
    `TestFoo`."""
    rules = facts.rules.tests
    names = {name}
    for device in (*rules.devices, *rules.more_devices, *rules.opted_devices, *rules.included_devices):
        names.add(name.removesuffix(device.upper()))
    for one in sorted(names):
        for definition in facts.definitions(keys.py(one)):
            makes = one == name or (definition.fact.detail or {}).get("made")
            if definition.fact.kind == "class" and makes:
                yield definition


def _above(facts: Facts, class_: FiledDefinition, depth: int) -> list[FiledDefinition]:
    found: list[FiledDefinition] = []
    for reference in facts.references_of_kind(class_.file, "base"):
        if reference.owner == class_.id and depth < _DEEPEST:
            for end in python_names.resolve(facts, reference.fact.name).ends:
                if end.fact.kind == "class" and end.id != class_.id:
                    found += [end, *_above(facts, end, depth + 1)]
    return found


def _is_collected(file: File) -> bool:
    """Whether pytest looks for tests in a file that nobody names."""
    name = file.path.rpartition("/")[2]
    return fnmatchcase(name, "test_*.py") or fnmatchcase(name, "*_test.py")
