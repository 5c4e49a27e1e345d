"""What a macro used in one file and defined in another makes: registrations, functions, stubs' kernels.

The parser reads a use as a `macro_use` with its arguments, and a definition whose body makes
something with `makes`: [kind, name, dispatch key, [targets]], in which `{0}`, `{1}` stand for
the arguments. Only here the two meet. (In one file the parser expands the use itself.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link.source import Facts

MAX_DEPTH: Final = 4
"""Macros within macros that are followed."""
MAX_USES: Final = 400
"""Uses with one argument that are looked at; more have a word like `int` as argument."""

_HOLE = re.compile(r"\{(\d+)\}")


class Made(NamedTuple):
    """A definition that a macro's use makes. Its place is the use's."""

    use: FiledDefinition
    macro: FiledDefinition
    kind: str
    name: str
    """As a Definition's: `aten::sin`, `at::native::sin_stub`."""
    dispatch_key: str
    targets: tuple[str, ...]
    """C++ names that it refers to."""


def made_for(facts: Facts, name: str) -> tuple[Made, ...]:
    """What the uses make that have `name` as an argument."""
    kept: dict[str, tuple[Made, ...]] = facts.kept.setdefault("made", {})
    found = kept.get(name)
    if found is None:
        uses: dict[int, FiledDefinition] = {}
        for target in facts.targeting("cpp:" + name)[:MAX_USES]:
            owner = facts.definition(target.owner) if target.fact.kind == "argument" else None
            if owner is not None and owner.fact.kind == "macro_use" and owner.file.role == "library":
                uses[owner.id] = owner
        found = kept[name] = tuple(made for use in uses.values() for made in makes(facts, use))
    return found


def makes(facts: Facts, use: FiledDefinition) -> list[Made]:
    """What one use makes, by the definition of its macro; a macro within a macro is followed."""
    detail = use.fact.detail or {}
    arguments = tuple(str(argument) for argument in detail.get("arguments") or ())
    found: dict[tuple[str, str, str, tuple[str, ...]], Made] = {}
    for made in _made(facts, use, use.fact.name, arguments, 0):
        found.setdefault(made[2:], made)
    return list(found.values())


def _made(
    facts: Facts, use: FiledDefinition, name: str, arguments: tuple[str, ...], depth: int
) -> Iterator[Made]:
    for macro in facts.definitions(keys.macro(name)):
        if macro.fact.kind != "macro" or macro.file.role == "template":
            continue
        for kind, made_name, dispatch_key, targets in (macro.fact.detail or {}).get("makes") or ():
            filled = tuple(_filled(str(target), arguments) for target in targets)
            if kind == "macro_use":
                if depth < MAX_DEPTH and made_name != name:
                    yield from _made(facts, use, str(made_name), filled, depth + 1)
                continue
            made = _placed(
                use, str(kind), _filled(str(made_name), arguments), _filled(dispatch_key, arguments)
            )
            if made is not None:
                yield Made(use, macro, str(kind), *made, tuple(target for target in filled if target))


def _placed(use: FiledDefinition, kind: str, name: str, dispatch_key: str) -> tuple[str, str] | None:
    """Name and dispatch key where the use stands: in a library block, in a namespace."""
    detail = use.fact.detail or {}
    library, namespace = str(detail.get("library") or ""), str(detail.get("namespace") or "")
    name = name.replace("{library}", library).removeprefix("::")
    dispatch_key = dispatch_key.replace("{dispatch_key}", str(detail.get("dispatch_key") or ""))
    if not name or "{" in name:
        return None
    if kind not in _REGISTERS and "::" not in name and namespace:
        name = f"{namespace}::{name}"
    return name, dispatch_key


_REGISTERS: Final = ("registration", "schema", "python_binding", "library")


def _filled(text: str, arguments: tuple[str, ...]) -> str:
    def value(hole: re.Match[str]) -> str:
        number = int(hole[1])
        return arguments[number].strip().strip('"') if number < len(arguments) else ""

    return _HOLE.sub(value, text).strip()


def key_of(made: Made) -> str:
    """The key that the definition would have."""
    return keys.op(made.name) if made.kind in ("registration", "schema") else keys.cpp(made.name)
