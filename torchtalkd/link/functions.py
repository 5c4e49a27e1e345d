"""Which definitions may this C++ name mean, seen from here.

Look-up as C++ does it, as far as names alone allow: from the innermost enclosing namespace or
class outwards, the first one that has the name wins; a `static` or anonymous function answers
its own file only, unless it stands in a header. What only argument-dependent look-up or a
using-directive would find is not given. Files of role `template` define nothing; tests define
names for tests only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import overload
from torchtalkd.link.source import Evidence, Facts, Link

BODIES: Final = frozenset({"function", "kernel", "structured_impl"})
"""Kinds that can be called or registered by name."""

_TRANSPARENT: Final = re.compile(r"\bCPU_CAPABILITY::")
"""A namespace that names leave out: native/cpu is compiled once for each instruction set, with
this macro as an inline namespace (aten/src/ATen/native/DispatchStub.h)."""

HEADERS: Final = (".h", ".hpp", ".cuh", ".inl", ".inc", ".hh", ".hxx")
"""Suffixes of files whose local names are seen by whoever includes them."""


def functions(
    facts: Facts,
    name: str,
    scopes: Sequence[str],
    *,
    file: File | None = None,
    kinds: Collection[str] = BODIES,
    declarations: bool = False,
) -> list[FiledDefinition]:
    """The definitions that `name` (qualified or not) may mean, looked up from `scopes` in order.

    `scopes` are namespaces, innermost first (see `enclosing`). `file` is where the name stands:
    its own local functions count, and come first. Declarations are left out unless asked for.
    """
    written = plain(name)
    named = _by_name(facts, keys.cpp(written))
    if not named:
        return []
    if name.strip(" &(").startswith("::"):
        scopes = ("",)
    for scope in scopes:
        full = f"{scope}::{written}" if scope else written
        matching = [
            definition
            for definition in named.get(full, ())
            if definition.fact.kind in kinds
            and (declarations or not definition.fact.declares)
            and visible(definition, file)
        ]
        if matching:
            own = [
                definition for definition in matching if file is not None and definition.file.id == file.id
            ]
            return own or matching
    return []


def _by_name(facts: Facts, key: str) -> dict[str, list[FiledDefinition]]:
    """The definitions with a key by their full names: of hundreds with one key a name means few."""
    kept: dict[str, dict[str, list[FiledDefinition]]] = facts.kept.setdefault("definitions_by_name", {})
    found = kept.get(key)
    if found is None:
        found = kept[key] = {}
        for definition in facts.definitions(key):
            found.setdefault(definition.fact.name, []).append(definition)
    return found


def kernels(facts: Facts, name: str, schema: str, *, structured: bool = False) -> list[Link]:
    """The functions that a kernel's name in a yaml entry means, the overload that fits the
    schema chosen (torchgen looks them up in `rules.native_namespaces`; a name may be qualified).

    For a structured entry an impl of that name is meant, if there is one; for another never: the
    out= variant for names may be called as the structured one is.
    """
    scopes = (*facts.rules.native_namespaces, "")
    if structured:
        impls = functions(facts, name, scopes, kinds=("structured_impl",))
        if not impls:
            # Its macro makes the class that it belongs to: the namespace around it decides nothing.
            impls = [d for d in facts.of_kind(keys.cpp(plain(name)), "structured_impl") if visible(d, None)]
        if impls:
            # An impl takes what torchgen makes for it and has no overloads.
            return as_links(impls, "declared")
    return choose(functions(facts, name, scopes, kinds=("function", "kernel")), schema, name)


def choose(found: Sequence[FiledDefinition], schema: str, name: str) -> list[Link]:
    """Those of several definitions of one name that an operator's schema can mean."""
    fitting = overload.choose(found, schema, name, _signature) if schema else []
    if fitting:
        return [Link(definition, evidence) for definition, evidence in fitting]
    if len(found) == 1:
        return [Link(found[0], "candidate")]
    return [] if schema else as_links(found, "unique")


def _signature(definition: FiledDefinition) -> str:
    return definition.fact.signature


def as_links(found: Iterable[FiledDefinition], best: Evidence) -> list[Link]:
    """Links of one evidence where there is one signature in one build, else candidates.

    Several bodies of equal signature, each under an #if of its own, are variants of one function.
    """
    several = list(found)
    shapes = {(d.fact.name, d.fact.signature) for d in several}
    one = len(several) == 1 or (len(shapes) == 1 and all(d.fact.guard for d in several))
    return [Link(definition, best if one else "candidate") for definition in several]


def enclosing(name: str) -> list[str]:
    """The scopes around a qualified C++ name, innermost first: `a::b::f` → a::b, a, ''."""
    parts = name.split("::")[:-1]
    return ["::".join(parts[:length]) for length in range(len(parts), -1, -1)]


def plain(name: str) -> str:
    """A C++ name as written, without `&`, leading `::`, template arguments and parentheses."""
    text = name.strip().lstrip("&( ").strip()
    text = keys.without_template_arguments(text) if "<" in text and "operator" not in text else text
    text = _TRANSPARENT.sub("", text)
    return text.removeprefix("::").rstrip(") ").strip()


def visible(definition: FiledDefinition, file: File | None) -> bool:
    """Whether a definition can be meant from a file (None: from library code at large)."""
    if file is not None and definition.file.id == file.id:
        return True
    if definition.file.role == "template":
        return False
    if definition.file.role == "test" and (file is None or file.role != "test"):
        return False
    return not definition.fact.local or definition.file.path.endswith(HEADERS)
