"""What a name that C++ calls, launches or takes the address of means, by name alone.

The order is that of C++ as far as a name tells it: a macro of the same file, a stub, the functions and
classes that look-up finds, what a class inherits, a name that torchgen makes of an operator, a mere
declaration. What is left may be found by its arguments' types or a using-directive: all functions of that
last component are candidates then. A method of a receiver whose type is unknown may be that of each
class that has one. A declaration never stands for a function that has a body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition, FiledReference
from torchtalkd.link import (
    autograd,
    functions,
    members_of,
    operators,
    seen,
    structured,
    stubs,
)
from torchtalkd.link.arity import of_arity, takes
from torchtalkd.link.generated_names import Generated, generated
from torchtalkd.link.given_names import macros_at, macros_in_sight, unaliased
from torchtalkd.link.scopes import scopes_of
from torchtalkd.link.source import Evidence, Facts
from torchtalkd.link.tensor_methods import method_of_tensor, operator_takes

Sort: TypeAlias = Literal["function", "construct", "apply", "method", "stub", "operator", "macro"]
MANY: Final = 64
"""A free function's name with so many definitions says nothing without look-up."""


class Meaning(NamedTuple):
    """What a reference may mean: all ends are of one name, or each is a candidate."""

    sort: Sort
    ends: tuple[FiledDefinition, ...] = ()
    """Functions with a body (declarations where the tree has none), classes, macros, stubs."""
    evidence: Evidence = "unique"
    name: str = ""
    """The stub's full name."""
    operator: Generated | None = None
    """An operator that it is, or may be besides the ends."""
    candidates: int = 1
    """How many definitions it may be, variants of one function under an #if each counted once."""


NOTHING: Final = Meaning("function", candidates=0)


def meaning(facts: Facts, reference: FiledReference, owner: FiledDefinition | None) -> Meaning:
    """What a reference in C++ means, seen from the definition around it; of a method on a receiver, whoever
    that is."""
    fact = reference.fact
    if fact.kind == "method":
        return _method(facts, fact.key, reference.file, fact.arguments)
    kept: dict[tuple[int, str, str, str, str, int], Meaning] = facts.kept.setdefault("meanings", {})
    if keys.space(fact.key) == _MACRO:
        macros = macros_at(facts, fact.key, reference.file, fact.line)
        if macros:
            return _of_macros(macros)
    scopes = scopes_of(facts, reference, owner)
    made = structured.inherited_class(facts, owner)
    asked = (reference.file.id, scopes[0], made, fact.name, fact.kind, fact.arguments)
    found = kept.get(asked)
    if found is None:
        found = kept[asked] = _meaning(facts, reference, owner, scopes, made)
    return found


def _meaning(
    facts: Facts, reference: FiledReference, owner: FiledDefinition | None, scopes: Sequence[str], made: str
) -> Meaning:
    fact, file = reference.fact, reference.file
    last = keys.last(fact.key)
    if keys.space(fact.key) == _MACRO:
        key = keys.cpp(fact.name)
    else:
        key = fact.key
        if "::" not in fact.name and fact.kind == "call":
            macros = macros_in_sight(facts, keys.macro(last), file)
            if macros:
                return _of_macros(macros)
    unknown = not facts.count(key, 1) and not facts.count(keys.op(last), 1)
    if unknown and "_" not in last and "::" not in fact.name:
        return NOTHING
    if "::" in fact.name and _is_nobodys(facts, functions.plain(fact.name), key):
        return _of_operator(facts, reference, scopes) or NOTHING
    applied = autograd.function_of(facts, reference, owner) if owner is not None else []
    if applied:
        methods = [m for function in applied for m in autograd.methods(facts, function, ("forward",))]
        return Meaning("apply", tuple(methods or applied))
    stub = stubs.meant(facts, fact.name, scopes, file)
    if stub:
        return Meaning("stub", stub_places(facts, stub), name=stub)
    in_full = unaliased(facts, fact.name, file) if "::" in fact.name else ""
    if in_full:
        reference = reference._replace(fact=fact._replace(name=in_full))
        fact = reference.fact
    return (
        _looked_up(facts, fact.name, scopes, file, fact.arguments)
        or _of_class(facts, fact.name, [made] if made else scopes, fact.arguments)
        or _of_operator(facts, reference, scopes)
        or _looked_up(facts, fact.name, scopes, file, fact.arguments, declarations=True)
        or _by_last_component(facts, key, reference, scopes)
        or NOTHING
    )


def _is_nobodys(facts: Facts, name: str, key: str) -> bool:
    """Whether a qualified name, as `std::max`, is that of no function, class or stub of the tree, from
    wherever it is seen: nothing is defined so, and its qualifier is no class or other name of a namespace."""
    kept: dict[tuple[str, str], bool] = facts.kept.setdefault("names_of_nobody", {})
    found = kept.get((name, key))
    if found is None:
        qualifier, _, last = name.rpartition("::")
        first, inner = keys.cpp(name.partition("::")[0]), keys.cpp(qualifier)
        found = kept[name, key] = bool(
            qualifier
            and last != "apply"
            and key == keys.cpp(name)
            and not facts.of_kind(first, "alias")
            and not any(facts.of_kind(inner, kind) for kind in ("class", "autograd_function"))
            and not any(
                d.fact.name == name or d.fact.name.endswith(f"::{name}") for d in facts.definitions(key)
            )
        )
    return found


def means_nothing(facts: Facts, reference: FiledReference) -> bool:
    """Whether a reference is by a qualified name that means nothing in the tree, whoever is around it: what
    need not be looked for then. False says nothing."""
    fact = reference.fact
    if "::" not in fact.name or fact.kind == "method" or keys.space(fact.key) == _MACRO:
        return False
    kept: dict[tuple[str, str], bool] = facts.kept.setdefault("names_of_nothing", {})
    found = kept.get((fact.name, fact.key))
    if found is None:
        name = functions.plain(fact.name)
        found = kept[fact.name, fact.key] = _is_nobodys(facts, name, fact.key) and not any(
            operators.generated_operator(f"{scope}{name}") for scope in ("", "at::", "torch::")
        )
    return found


# -- macros


def _of_macros(macros: Sequence[FiledDefinition]) -> Meaning:
    """Several of one file are variants of one, each under its #if."""
    one = len({d.file.id for d in macros}) == 1
    return Meaning("macro", tuple(macros), "unique" if one else "candidate")


# -- functions


_WANTED: Final = (*functions.BODIES, "class", "autograd_function")


def _looked_up(
    facts: Facts,
    written: str,
    scopes: Sequence[str],
    file: File,
    arguments: int,
    *,
    declarations: bool = False,
) -> Meaning | None:
    found = functions.functions(facts, written, scopes, file=file, kinds=_WANTED, declarations=declarations)
    return _chosen(facts, found, arguments)


def _chosen(facts: Facts, found: Sequence[FiledDefinition], arguments: int) -> Meaning | None:
    if not found:
        return None
    called = [d for d in found if d.fact.kind in functions.BODIES]
    if not called:
        return _constructed(facts, found, arguments)
    constructs = all(_is_constructor(d.fact.name) for d in called)
    return _of("construct" if constructs else "function", of_arity(called, arguments))


def _is_constructor(name: str) -> bool:
    around, _, last = name.rpartition("::")
    return bool(around) and around.rpartition("::")[2] == last


def _constructed(facts: Facts, classes: Sequence[FiledDefinition], arguments: int) -> Meaning:
    """A class's constructors that take so many arguments, the class where it writes none."""
    full = classes[0].fact.name
    made = [
        d for d in facts.named(keys.cpp(full), f"{full}::{keys.cpp_last(full)}") if d.fact.kind == "function"
    ]
    bodies = of_arity([d for d in made if not d.fact.declares] or made, arguments)
    ends = bodies or list(classes[:1])
    return _of("construct", ends)


def _of_class(facts: Facts, written: str, scopes: Sequence[str], arguments: int) -> Meaning | None:
    """A member that the class around has from its bases, or one of a named class: `Base::f()`."""
    name = functions.plain(written)
    qualifier, _, last = name.rpartition("::")
    for scope in scopes:
        cls = "::".join(part for part in (scope, qualifier) if part)
        if cls and members_of.class_named(facts, cls):
            found = members_of.own_or_inherited(facts, cls, last)
            if found:
                fitting = of_arity(found, arguments)
                return _of("function", fitting)
    return None


def _of_operator(facts: Facts, reference: FiledReference, scopes: Sequence[str]) -> Meaning | None:
    fact = reference.fact
    if "::" in fact.name:
        found = generated(facts, fact.name, scopes)
        return Meaning("operator", operator=found) if found is not None else None
    if fact.kind != "call":
        return None
    found = generated(facts, f"at::{fact.name}")
    native = {scope.partition("::")[0] for scope in facts.rules.native_namespaces}
    if found is None or not any(scope.partition("::")[0] in native for scope in scopes):
        return None
    # On numbers it is the function of <cmath>, which no fact tells apart.
    return Meaning("operator", evidence="candidate", operator=found)


def _by_last_component(
    facts: Facts, key: str, reference: FiledReference, scopes: Sequence[str]
) -> Meaning | None:
    """Functions that look-up by name does not find: behind a using-directive, by the type of an argument,
    or, within a class that a macro makes, from its bases."""
    if facts.count(key, MANY) >= MANY:
        return None
    file, arguments = reference.file, reference.fact.arguments
    name = functions.plain(reference.fact.name)
    in_class = bool(members_of.class_named(facts, scopes[0]))
    found = []
    for d in facts.definitions(key):
        if d.fact.kind not in functions.BODIES or not functions.visible(d, file):
            continue
        if "::" in name:
            fits = d.fact.name.endswith("::" + name)
        else:
            fits = in_class or not members_of.is_method(facts, d)
        if fits and seen.is_seen(facts, d, file):
            found.append(d)
    named: dict[str, list[FiledDefinition]] = {}
    for d in found:
        named.setdefault(d.fact.name, []).append(d)
    fitting = of_arity([d for several in named.values() for d in _bodies_first(several)], arguments)
    if not fitting:
        return None
    operator = generated(facts, f"at::{name}") if "::" not in name else None
    return Meaning(
        "function",
        tuple(fitting),
        "candidate",
        operator=operator,
        candidates=len(fitting) + (operator is not None),
    )


def _bodies_first(several: Sequence[FiledDefinition]) -> list[FiledDefinition]:
    return [d for d in several if not d.fact.declares] or list(several)


def _of(sort: Sort, ends: Sequence[FiledDefinition]) -> Meaning:
    """What one name that look-up found means."""
    evidence = functions.as_links(ends, "unique")[0].evidence
    if ends[0].fact.name.startswith("std::"):
        # The tree adds overloads for its own types to a library that has the others.
        return Meaning(sort, tuple(ends), "candidate", candidates=len(ends) + 1)
    return Meaning(sort, tuple(ends), evidence, candidates=1 if evidence == "unique" else len(ends))


# -- methods


def _method(facts: Facts, key: str, file: File, arguments: int) -> Meaning:
    kept: dict[tuple[int, str, int], Meaning] = facts.kept.setdefault("method_meanings", {})
    found = kept.get((file.id, key, arguments))
    if found is None:
        found = kept[file.id, key, arguments] = _method_seen(facts, key, file, arguments)
    return found


def _method_seen(facts: Facts, key: str, file: File, arguments: int) -> Meaning:
    ends = [d for d in members_of.methods(facts, key) if seen.is_seen(facts, d, file)]
    operator = method_of_tensor(facts, keys.last(key))
    fitting = [d for d in ends if takes(d, arguments)]
    takes_them = operator is not None and operator_takes(facts, operator, arguments)
    if fitting or takes_them:
        # Where nothing fits, the text is not what it seems: then all are candidates.
        ends, operator = fitting, operator if takes_them else None
    count = len(ends) + (operator is not None)
    if not count and facts.count(key, members_of.MANY) >= members_of.MANY:
        count = members_of.MANY
    certain = count == 1 and keys.last(key) not in STANDARD_MEMBERS
    return Meaning("method", tuple(ends), "unique" if certain else "candidate", "", operator, count)


STANDARD_MEMBERS: Final = frozenset(
    """
    append assign at back begin bind c_str capacity clear close compare copy count data detach
    emplace emplace_back empty end equal erase fill find first flags flush front get getline
    has_value index insert join key length load lock max max_size merge min name notify_all
    notify_one open pop pop_back pop_front precision push push_back push_front put read release
    replace reserve reset resize reverse rfind second seek size sort splice store str substr swap
    tie top transform type unique unlock value value_or wait what width write
    """.split()  # noqa: SIM905
)
"""Members of the standard library's classes: a receiver of such a method may be no class of the tree."""


# -- shared

_MACRO: Final = keys.space(keys.macro(""))


def stub_places(facts: Facts, stub: str) -> tuple[FiledDefinition, ...]:
    """Where a stub stands: its definition, else a declaration, else its first registration."""
    named = [
        d
        for d in facts.definitions(keys.cpp(stub))
        if d.fact.kind in ("stub", "stub_kernel") and (d.fact.name == stub or stub.endswith(d.fact.name))
    ]
    ranked = sorted(named, key=lambda d: (d.fact.kind != "stub", d.fact.declares))
    return tuple(ranked[:1])
