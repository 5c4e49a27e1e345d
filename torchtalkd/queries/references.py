"""Where what a place means is used: calls in C++ and Python, registrations, formulas, tests.

Only uses that certainly mean it: a method of a receiver whose type is not known may be one of
hundreds of classes, and is none of them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nsmallest
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import functions, operators, python_names, stubs, wrappers
from torchtalkd.link.arity import of_arity
from torchtalkd.link.operators import Family
from torchtalkd.link.scopes import scopes_of
from torchtalkd.queries import trace_names
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.declaration import named_by
from torchtalkd.queries.definition import asked, defined, schemas
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.trace_layers import test_items
from torchtalkd.queries.trace_python import python_items
from torchtalkd.store.view import View

_OF_OPERATOR: Final = (
    "registration",
    "derivative",
    "decomposition",
    "meta",
    "ref",
    "lowering",
    "shape",
    "jit",
    "onnx",
)
_CALLS: Final = ("call", "address", "launch", "base")


class References(NamedTuple):
    """The uses of something."""

    items: list[Item]
    """The nearest first."""
    total: int
    """How many there are, where not all are among the items."""


def references(
    view: View, meant: Meant, near: str = "", *, declared: bool = True, limit: int | None = None
) -> References:
    """The uses, those of the file `near` first, then by how near their files are. With `declared` the
    definitions and schemas themselves, too. At most `limit` items; no more work is done than for these.
    """
    found: dict[tuple[str, int, int], Item | FiledReference] = {}
    for subject in asked(meant):
        for one in _of(view, subject, declared):
            if isinstance(one, Item):
                found.setdefault((one.file, one.line, one.column), one)
            else:
                found.setdefault((one.file.path, one.fact.line, one.fact.column), one)
    folders = near.split("/")[:-1]
    away: dict[str, int] = {}

    def distance(place: tuple[str, int, int]) -> tuple[int, tuple[str, int, int]]:
        path = place[0]
        if path not in away:
            others = path.split("/")[:-1]
            same = next((i for i, (a, b) in enumerate(zip(folders, others, strict=False)) if a != b), None)
            common = min(len(folders), len(others)) if same is None else same
            away[path] = 0 if path == near else 1 + len(folders) + len(others) - 2 * common
        return away[path], place

    nearest = sorted(found, key=distance) if limit is None else nsmallest(limit, found, key=distance)
    items = [one if isinstance(one, Item) else _use(one) for one in map(found.__getitem__, nearest)]
    return References(items, len(found))


def _of(view: View, subject: Subject, declared: bool) -> Iterator[Item | FiledReference]:
    if subject.kind == "operator":
        family = operators.family(view, subject.name)
        if family is not None:
            yield from schemas(view, subject) if declared else ()
            yield from _of_operator(view, family, subject)
        return
    definitions = [d for number in subject.ids if (d := view.definition(number)) is not None]
    if declared:
        yield from defined(view, subject)
    if not definitions:
        return
    key = definitions[0].fact.key
    space = keys.space(key)
    if space == "macro":
        # Twenty thousand, of some: they become items where they are shown.
        yield from view.references(key)
    elif space == "tag":
        yield from _tagged(view, subject.name)
    elif space == "py":
        yield from _of_python(view, subject, definitions)
    elif space == "cpp" and subject.kind == "stub":
        yield from _of_stub(view, subject.name, definitions)
    elif space == "cpp":
        yield from _of_function(view, definitions)


def _use(reference: FiledReference, symbol: str = "") -> Item:
    fact = reference.fact
    return Item(
        "use", symbol or fact.name, reference.file.path, fact.line, kind=fact.kind, column=fact.column
    )


def _of_operator(view: View, family: Family, subject: Subject) -> Iterator[Item]:
    wanted = frozenset(subject.overloads)
    for definition in view.definitions(keys.op(family.base)):
        fact = definition.fact
        if fact.kind not in _OF_OPERATOR or definition.file.role == "template":
            continue
        written = keys.operator_name(fact.name)
        if (written.namespace or view.rules.operator_namespace) != family.namespace:
            continue
        if (fact.detail or {}).get("implicit") or (written.overload and fact.name not in wanted):
            continue
        yield place_of("yaml" if fact.convention == "native_functions" else "use", definition, "declared")
    names = [point.name for point in wrappers.entry_points(view, family)]
    yield from test_items(view, family, names)
    yield from callers(view, family, names)


def callers(view: View, family: Family, names: list[str]) -> Iterator[Item]:
    """The calls of an operator: by its C++ function, by a Python name, by torch.ops."""
    means = _remembered(lambda r: _means_operator(view, r, family))
    for reference in view.references(keys.cpp(family.base)):
        if reference.fact.kind in _CALLS and reference.file.role != "template" and means(reference):
            yield _use(reference)
    known: dict[str, bool] = {}
    for last in dict.fromkeys([family.base, *(name.rpartition(".")[2] for name in names)]):
        for reference in view.references(keys.py(last)):
            name = reference.fact.name
            if name not in known:
                known[name] = family.name in wrappers.operators_of(view, name)
            if known[name]:
                yield _use(reference)
    for reference in view.references(keys.op(family.base)):
        if wrappers.spelled(view, reference.fact.name) == family.name:
            yield _use(reference)


def _remembered(means: Callable[[FiledReference], bool]) -> Callable[[FiledReference], bool]:
    """Asks once for all references of one file and one way of writing."""
    known: dict[tuple[int, str, str, int, str], bool] = {}

    def asked(reference: FiledReference) -> bool:
        fact = reference.fact
        key = (reference.file.id, fact.name, fact.kind, fact.arguments, "")
        if key not in known:
            known[key] = means(reference)
        return known[key]

    return asked


def _means_operator(view: View, reference: FiledReference, family: Family) -> bool:
    """Whether a call in C++ is one of an operator: by its generated name, or without a qualifier
    where no function of that name is nearer."""
    name = reference.fact.name
    if family.namespace != view.rules.operator_namespace:
        return False
    if "::" in name:
        return operators.generated_operator(functions.plain(name)) == family.base
    owner = view.definition(reference.owner) if reference.owner >= 0 else None
    scopes = scopes_of(view, reference, owner)
    if stubs.meant(view, name, scopes, reference.file):
        return False
    return not functions.functions(view, name, scopes, file=reference.file, declarations=True)


def _of_function(view: View, definitions: list[FiledDefinition]) -> Iterator[Item]:
    wanted = {d.id for d in definitions}
    key, name = definitions[0].fact.key, definitions[0].fact.name
    is_class = definitions[0].fact.kind == "class"
    kinds = ("class",) if is_class else tuple(functions.BODIES)
    several = len(functions.functions(view, name, [""], file=definitions[0].file, kinds=kinds)) > 1

    def means(reference: FiledReference) -> bool:
        owner = view.definition(reference.owner) if reference.owner >= 0 else None
        scopes = scopes_of(view, reference, owner)
        found = functions.functions(view, reference.fact.name, scopes, file=reference.file, kinds=kinds)
        if several:
            found = of_arity(found, reference.fact.arguments)
        return any(d.id in wanted for d in found)

    remembered = _remembered(means)
    method = any((d.fact.detail or {}).get("method") for d in definitions) and view.count(key) < 64
    alone = method and len({d.fact.name for d in view.definitions(key)}) == 1
    for reference in view.references(key):
        of_method = alone and reference.fact.kind == "method"
        if of_method or (reference.fact.kind in _CALLS and remembered(reference)):
            yield _use(reference)
    for target in view.targeting(key):
        owner = view.definition(target.owner)
        named = owner is not None and owner.fact.kind in ("derivative", "macro_use")
        if owner is not None and named and wanted & set(trace_names.meant(view, owner, target.fact.name)):
            yield _use(target)
    packets: dict[str, dict[str, None]] = {}
    for item, owner in named_by(view, definitions):
        yield item
        if keys.space(owner.fact.key) == keys.space(keys.op("")):
            written = keys.operator_name(owner.fact.name)
            packets.setdefault(str(written._replace(overload="")), {}).setdefault(owner.fact.name)
    for packet, overloads in packets.items():
        family = operators.family(view, packet)
        for entry in python_items(view, family, frozenset(overloads)) if family is not None else ():
            if entry.role == "python":
                yield entry


def _of_stub(view: View, stub: str, definitions: list[FiledDefinition]) -> Iterator[Item]:
    for reference in view.references(definitions[0].fact.key):
        owner = view.definition(reference.owner) if reference.owner >= 0 else None
        scopes = scopes_of(view, reference, owner)
        if stubs.meant(view, reference.fact.name, scopes, reference.file) == stub:
            yield _use(reference)
    for definition in definitions:
        if definition.fact.kind == "stub_kernel":
            yield place_of("registration", definition, "declared")


def _of_python(view: View, subject: Subject, definitions: list[FiledDefinition]) -> Iterator[Item]:
    wanted = {d.id for d in definitions}
    known: dict[str, bool] = {}
    for reference in view.references(definitions[0].fact.key):
        name = reference.fact.name
        if name not in known:
            ends = python_names.resolve(view, name).ends
            known[name] = any(end.id in wanted for end in ends)
        if known[name]:
            yield _use(reference)
    for target in view.targeting(definitions[0].fact.key):
        owner = view.definition(target.owner)
        if owner is not None and target.fact.name == subject.name and owner.fact.kind != "alias":
            yield place_of("use", owner, "declared")


def _tagged(view: View, tag: str) -> Iterator[Item]:
    for definition in view.definitions_of_kind("operator"):
        if tag in ((definition.fact.detail or {}).get("tags") or ()):
            yield place_of("yaml", definition, "declared")
