"""compare: what differs between two indexes, in files and in meaning.

Meaning is operators, kernels, registrations and tests.

Only files whose bytes differ are looked into, and what uses a macro whose definition differs. A thing is
*removed* when no file has it any more, not when one of its places went; *moved* when it stands in other
files than before; *changed* when its schema is another, or what it names. The tests are in
`tests/test_compare.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import macros
from torchtalkd.store.view import View

PARTS: Final = ("operators", "kernels", "registrations", "tests")
_YAML: Final = "native_functions"
_FUNCTIONS: Final = ("function", "structured_impl")
_NAMED: Final = ("kernel", "structured_impl")
"""Kinds that are kernels by themselves, without a dispatch key."""
_LEFT_OUT: Final = ("template",)


@dataclass(frozen=True, slots=True)
class Thing:
    """One operator, kernel, registration or test, at one place."""

    name: str
    dispatch_key: str
    file: str
    line: int
    what: str = ""
    """An operator's schema; the function that a registration names; a test's name within its file."""


@dataclass(frozen=True, slots=True)
class Move:
    """A thing that differs in place, or in what it says."""

    before: Thing
    after: Thing


@dataclass(frozen=True, slots=True)
class Changes:
    """What became of the things of one part, each by name."""

    added: tuple[Thing, ...] = ()
    removed: tuple[Thing, ...] = ()
    moved: tuple[Move, ...] = ()
    changed: tuple[Move, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that differs. Files by path."""

    files_added: tuple[str, ...]
    files_removed: tuple[str, ...]
    files_modified: tuple[str, ...]
    operators: Changes
    kernels: Changes
    registrations: Changes
    tests: Changes

    def as_json(self) -> dict[str, Any]:
        """The keys are the contract for scripts."""
        return asdict(self)


class _Id(NamedTuple):
    part: str
    name: str
    dispatch_key: str
    key: str
    """Under which it is found."""


_Found = dict[_Id, list[Thing]]


def compare(left: View, right: View) -> Comparison:
    """What differs in `right` from `left`. Read-only; its cost is that of the files that differ."""
    added, removed, modified = differing(left, right)
    olds, news = _things(left, removed + modified), _things(right, added + modified)
    for name in _other_macros(left, right, modified + added + removed):
        for view, found in ((left, olds), (right, news)):
            for use in view.of_kind(keys.macro(name), "macro_use")[: macros.MAX_USES]:
                _add_made(view, use, found)
    parts = {part: _changes(left, right, part, olds, news) for part in PARTS}
    kernels = _with_functions(left, right, removed + modified, added + modified, parts["kernels"])
    return Comparison(tuple(added), tuple(removed), tuple(modified), **{**parts, "kernels": kernels})


class Differing(NamedTuple):
    """The files that differ, by path."""

    added: list[str]
    removed: list[str]
    modified: list[str]


def differing(left: View, right: View) -> Differing:
    """The files in which `right` differs from `left`, by their bytes."""
    before = {file.path: file.digest for file in left.files()}
    after = {file.path: file.digest for file in right.files()}
    both = before.keys() & after.keys()
    return Differing(
        sorted(after.keys() - before.keys()),
        sorted(before.keys() - after.keys()),
        sorted(path for path in both if before[path] != after[path]),
    )


# -- what stands in files


def _things(view: View, paths: list[str]) -> _Found:
    found: _Found = defaultdict(list)
    for path in paths:
        file = view.file(path)
        if file is None or file.role in _LEFT_OUT:
            continue
        for definition in view.definitions_in(file):
            for part in _parts_of(definition):
                _add(found, part, definition, _what(view, definition))
            if definition.fact.kind == "macro_use" and file.role == "library":
                _add_made(view, definition, found)
    return found


def _parts_of(definition: FiledDefinition) -> Iterator[str]:
    fact = definition.fact
    if definition.file.role == "test":
        last = fact.name.rpartition(".")[2]
        if fact.kind == "test" or (fact.kind in ("function", "class") and last.lower().startswith("test")):
            yield "tests"
        return
    if fact.kind == "test":
        yield "tests"
    elif fact.kind in ("operator", "schema"):
        yield "operators"
    elif fact.kind == "stub_kernel" or (fact.kind in _NAMED and not fact.declares):
        yield "kernels"
    elif fact.kind == "registration":
        if fact.dispatch_key:
            yield "kernels"
        if fact.convention != _YAML:
            yield "registrations"
    elif fact.kind == "python_binding" and fact.convention != _YAML:
        yield "registrations"


def _what(view: View, definition: FiledDefinition) -> str:
    if definition.fact.kind in ("operator", "schema"):
        return definition.fact.signature
    if definition.fact.kind in ("registration", "stub_kernel", "python_binding"):
        return ", ".join(target.fact.name for target in view.targets(definition))
    if definition.file.role == "test":
        modules = (one.fact.name for one in view.definitions_in(definition.file) if one.fact.kind == "module")
        return definition.fact.name.removeprefix(next(modules, "") + ".")
    return ""


def _add(found: _Found, part: str, definition: FiledDefinition, what: str) -> None:
    fact = definition.fact
    thing = Thing(fact.name, fact.dispatch_key, definition.file.path, fact.line, what)
    found[_Id(part, fact.name, fact.dispatch_key, fact.key)].append(thing)


def _add_made(view: View, use: FiledDefinition, found: _Found) -> None:
    for made in macros.makes(view, use):
        what = ", ".join(made.targets)
        thing = Thing(made.name, made.dispatch_key, use.file.path, use.fact.line, what)
        parts = []
        if made.kind == "stub_kernel" or (made.kind == "registration" and made.dispatch_key):
            parts.append("kernels")
        if made.kind == "registration":
            parts.append("registrations")
        if made.kind == "schema":
            parts.append("operators")
        for part in parts:
            places = found[_Id(part, made.name, made.dispatch_key, macros.key_of(made))]
            if thing not in places:
                places.append(thing)


def _other_macros(left: View, right: View, paths: list[str]) -> list[str]:
    """The macros that are defined otherwise in these files."""
    found = []
    for view in (left, right):
        bodies: dict[str, list[Any]] = defaultdict(list)
        for path in paths:
            file = view.file(path)
            for definition in view.definitions_in(file) if file else ():
                if definition.fact.kind == "macro":
                    bodies[definition.fact.name].append(definition.fact.detail)
        found.append(bodies)
    return sorted(
        name for name in found[0].keys() | found[1].keys() if found[0].get(name) != found[1].get(name)
    )


# -- what became of them


def _changes(left: View, right: View, part: str, olds: _Found, news: _Found) -> Changes:
    added, removed, moved, changed = [], [], [], []
    for thing in sorted(olds.keys() | news.keys()):
        if thing.part != part:
            continue
        # Where it has places elsewhere, those are in files that are the same on both sides.
        if thing not in news:
            if not _elsewhere(right, thing):
                removed.append(olds[thing][0])
        elif thing not in olds:
            if not _elsewhere(left, thing):
                added.append(news[thing][0])
        else:
            before, after = olds[thing], news[thing]
            if {one.file for one in before} != {one.file for one in after}:
                moved.append(Move(before[0], after[0]))
            if sorted(one.what for one in before) != sorted(one.what for one in after):
                changed.append(Move(before[0], after[0]))
    if part == "tests":
        moved += _moved_tests(added, removed)
    return Changes(tuple(added), tuple(removed), tuple(moved), tuple(changed))


def _moved_tests(added: list[Thing], removed: list[Thing]) -> Iterator[Move]:
    """Takes out of the lists the tests that have another file and so another full name: those of a name
    within their file that one file lost and one other got."""
    for before in list(removed):
        there = [one for one in added if one.what == before.what and one.file != before.file]
        if len(there) == 1 and sum(one.what == before.what for one in removed) == 1:
            removed.remove(before)
            added.remove(there[0])
            yield Move(before, there[0])


def _elsewhere(view: View, thing: _Id) -> bool:
    """Whether an index has a thing in any file."""
    for definition in view.definitions(thing.key):
        fact = definition.fact
        if (fact.name, fact.dispatch_key) == (thing.name, thing.dispatch_key) and (
            definition.file.role not in _LEFT_OUT and thing.part in _parts_of(definition)
        ):
            return True
    made = macros.made_for(view, keys.last(thing.key)) if thing.part in ("kernels", "registrations") else ()
    return any((one.name, one.dispatch_key) == (thing.name, thing.dispatch_key) for one in made)


def _with_functions(left: View, right: View, olds: list[str], news: list[str], kernels: Changes) -> Changes:
    """With the kernels whose function went, or came, while what names it stayed."""
    lost = tuple(_of_functions(left, right, olds))
    gained = tuple(_of_functions(right, left, news))
    known = {(one.name, one.dispatch_key) for one in (*kernels.added, *kernels.removed)}
    return Changes(
        kernels.added + tuple(one for one in gained if (one.name, one.dispatch_key) not in known),
        kernels.removed + tuple(one for one in lost if (one.name, one.dispatch_key) not in known),
        kernels.moved + tuple(_moved_functions(left, right, olds, news)),
        kernels.changed,
    )


def _moved_functions(left: View, right: View, olds: list[str], news: list[str]) -> Iterator[Move]:
    """The kernels whose function stands in another file than before, by what the right side names it for."""
    before, after = _functions_in(left, olds), _functions_in(right, news)
    for key in sorted(before.keys() & after.keys()):
        old, new = before[key], after[key]
        if {one.file.path for one in old} & {one.file.path for one in new}:
            continue
        for owner in _named_for(right, key):
            yield Move(_thing_of(owner, old[0]), _thing_of(owner, new[0]))


def _functions_in(view: View, paths: list[str]) -> dict[str, list[FiledDefinition]]:
    """The functions with a body in some files of the library, by key."""
    found: dict[str, list[FiledDefinition]] = defaultdict(list)
    for path in paths:
        file = view.file(path)
        for definition in view.definitions_in(file) if file and file.role == "library" else ():
            if definition.fact.kind in _FUNCTIONS and not definition.fact.declares:
                found[definition.fact.key].append(definition)
    return found


def _named_for(view: View, key: str) -> Iterator[FiledDefinition]:
    """The registrations, and stubs' kernels, that name a function."""
    for target in view.targeting(key):
        owner = view.definition(target.owner)
        if owner is None or owner.fact.kind not in ("registration", "stub_kernel"):
            continue
        if owner.fact.dispatch_key and owner.file.role == "library":
            yield owner


def _thing_of(owner: FiledDefinition, function: FiledDefinition) -> Thing:
    fact = function.fact
    return Thing(owner.fact.name, owner.fact.dispatch_key, function.file.path, fact.line, fact.name)


def _of_functions(here: View, there: View, paths: list[str]) -> Iterator[Thing]:
    """For each function of these files that the other index has nowhere, in any spelling of its qualifier:
    the kernels that both indexes name it for."""
    for key, functions in _functions_in(here, paths).items():
        if any(
            other.fact.kind in (*_FUNCTIONS, "kernel", "stub") and not other.fact.declares
            for other in there.definitions(key)
        ):
            continue
        for owner in _named_for(there, key):
            yield _thing_of(owner, functions[0])
