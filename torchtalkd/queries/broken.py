"""What is certainly broken in a file: an entry whose kernel is nowhere, a kernel of no operator.

Only what no build of the tree can mend: a name that anything else in the tree may define, by a macro
or a generator, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import operators
from torchtalkd.link.made_functions import made_functions
from torchtalkd.queries import problem_registrations
from torchtalkd.store.view import View


class Broken(NamedTuple):
    """One finding."""

    code: str
    """no-kernel, no-operator, registered-twice or no-fake."""
    line: int
    column: int
    name: str
    message: str


def broken(view: View, file: File) -> list[Broken]:
    """The findings of a file, in the order of the text. Read-only."""
    if file.role not in ("library", ""):
        return []
    if file.language == "native_functions":
        return list(_entries(view, file))
    if file.language == "derivatives":
        return list(_derivatives(view, file))
    if file.language in ("cpp", "cuda", "objcpp"):
        return sorted(
            (*_registrations(view, file), *_dispatched(view, file)), key=lambda b: (b.line, b.column)
        )
    return []


def _derivatives(view: View, file: File) -> Iterator[Broken]:
    if not view.keys_of_kind("operator"):
        return
    for definition in view.definitions_in(file):
        fact = definition.fact
        if fact.kind == "derivative" and operators.entry(view, fact.name) is None:
            message = f"no entry of native_functions.yaml declares {fact.name}"
            yield Broken("no-operator", fact.line, fact.column, fact.name.rpartition("::")[2], message)


def _dispatched(view: View, file: File) -> Iterator[Broken]:
    """What the dispatcher would find wrong with the operators that a file declares or registers."""
    bases: dict[str, FiledDefinition] = {}
    for definition in view.definitions_in(file):
        if definition.fact.kind in ("registration", "schema"):
            bases.setdefault(keys.last(definition.fact.key), definition)
    families = [
        family
        for base in bases
        if base != "*"
        for family in operators.families(view, base)
        if not operators.is_hole(family.namespace)
    ]
    for code, found in (
        ("registered-twice", problem_registrations.registered_twice(view, families)),
        ("no-fake", problem_registrations.without_fake(view, families)),
    ):
        for finding in found:
            if finding.file == file.path:
                name = keys.operator_name(finding.operator).base
                yield Broken(code, finding.line, finding.column, name, finding.message)


def _entries(view: View, file: File) -> Iterator[Broken]:
    seen: set[tuple[int, str]] = set()
    for definition in view.definitions_in(file):
        fact = definition.fact
        if fact.kind != "registration" or (fact.detail or {}).get("ufunc"):
            continue
        for target in view.targets(definition):
            name = target.fact.name
            if (fact.line, name) in seen or not _is_nowhere(view, definition, name):
                continue
            seen.add((fact.line, name))
            said = (
                "its kernel"
                if (fact.detail or {}).get("implicit")
                else f"the kernel {name} of {fact.dispatch_key}"
            )
            message = f"{fact.name}: {said} is defined nowhere in this tree"
            yield Broken("no-kernel", fact.line, fact.column, name, message)


def _is_nowhere(view: View, registration: FiledDefinition, name: str) -> bool:
    """Whether no definition, declaration or macro of the tree can be a kernel's."""
    entry = view.scope(registration)
    detail = (entry.fact.detail or {}) if entry is not None else {}
    if _VIEW_COPY in (detail.get("tags") or ()):
        return False
    implicit = bool((registration.fact.detail or {}).get("implicit"))
    made = ("manual_kernel_registration", "structured_delegate", "autogen_of")
    if implicit and any(field in detail for field in made):
        return False
    last = keys.cpp_last(name)
    for spelled in (last, f"{last}_symint", last.removesuffix("_symint")):
        if view.count(keys.cpp(spelled)) or made_functions(view, spelled):
            return False
        if any(view.targeting(keys.cpp(spelled))[1:]) and _is_made(view, spelled):
            return False
    return not (view.references(keys.cpp(last)) or _is_made(view, last) or _may_be_pasted(view, last))


_VIEW_COPY: Final = "view_copy"
"""The tag of operators whose kernel torchgen writes (torchgen/gen_functionalization_type.py,
`gen_composite_view_copy_kernel`)."""
_PASTED: Final = re.compile(r"(\w{3,})\s*##")


def _may_be_pasted(view: View, last: str) -> bool:
    """Whether a macro of the tree makes names that begin like this one: `_cast_##n`."""
    known: tuple[str, ...] | None = view.kept.get("pasted")
    if known is None:
        bodies = (
            str((macro.fact.detail or {}).get("body") or "")
            for key in view.keys(keys.space(keys.macro("")))
            for macro in view.of_kind(key, "macro")
        )
        known = tuple({begin for body in bodies if "##" in body for begin in _PASTED.findall(body)})
        view.kept["pasted"] = known
    return last.startswith(known)


def _is_made(view: View, last: str) -> bool:
    """Whether a macro's argument is the name: the macro may make the function."""
    owners = (view.definition(target.owner) for target in view.targeting(keys.cpp(last)))
    return any(owner is not None and owner.fact.kind == "macro_use" for owner in owners)


def _registrations(view: View, file: File) -> Iterator[Broken]:
    for definition in view.definitions_in(file):
        fact = definition.fact
        if fact.kind != "registration" or (fact.detail or {}).get("macro"):
            continue
        written = keys.operator_name(fact.name)
        if not written.namespace or operators.is_hole(written.namespace) or written.base == "*":
            continue
        if written.namespace not in _namespaces(view) or _exists(view, written):
            continue
        name = f"{written.base}.{written.overload}" if written.overload else written.base
        message = f"{fact.name} is registered here, and no schema of the tree defines it"
        yield Broken("no-operator", fact.line, fact.column, name, message)


def _exists(view: View, written: keys.OperatorName) -> bool:
    for definition in view.definitions(keys.op(written.base)):
        if definition.fact.kind not in ("operator", "schema"):
            continue
        name = keys.operator_name(definition.fact.name)
        if operators.is_hole(name.namespace) or name.namespace == written.namespace:
            return True
    return False


def _namespaces(view: View) -> frozenset[str]:
    """The namespaces whose operators this tree defines itself."""
    known: frozenset[str] | None = view.kept.get("schema_namespaces")
    if known is None:
        found = {
            keys.operator_name(d.fact.name).namespace
            for kind in ("operator", "schema")
            for d in view.definitions_of_kind(kind)
            if d.file.role == "library"
        }
        known = view.kept["schema_namespaces"] = frozenset(found)
    return known
