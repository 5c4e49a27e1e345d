"""What a macro used in one file and defined in another makes: registrations, functions, stubs' kernels.

The parser reads a use as a `macro_use` with its arguments, and a definition whose body makes
something with `makes`: [kind, name, dispatch key, [targets]], in which `{0}`, `{1}` stand for
the arguments. Only here the two meet. (In one file the parser expands the use itself.) What has
no `makes`, because it only hands its arguments on or is a list of operators, is expanded here,
in library blocks, and read for what it registers.

A use is found by its arguments, or by a list that the macro's body spells out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link.expand import Macro, expanded
from torchtalkd.link.pieces import Work, derive, derived
from torchtalkd.link.source import Facts

MAX_DEPTH: Final = 4
"""Macros within macros that are followed."""
_PIECE: Final = 200
"""Uses that are looked at in one piece of the work."""
MAX_USES: Final = 400
"""Uses with one argument that are looked at; more have a word like `int` as argument."""

_NAMES = re.compile(r"[A-Za-z_]\w*")
_HOLE = re.compile(r"\{(\d+)\}")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_IMPL = re.compile(
    r"\b\w+\s*\.\s*(impl|def)\s*\(\s*(?:TORCH_SELECTIVE_(?:NAME|SCHEMA)\s*\(\s*)?((?:\"[^\"]*\"\s*)+)"
)
_REGISTERS: Final = ("registration", "schema", "python_binding", "library")


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
    """What the uses make that have `name` as an argument, or whose macro's body lists it."""
    kept: dict[str, tuple[Made, ...]] = facts.kept.setdefault("made", {})
    found = kept.get(name)
    if found is None:
        made: dict[tuple[int, str, str, str], Made] = {}
        for use in _uses_with(facts, name):
            for one in makes(facts, use):
                made.setdefault((use.id, one.kind, one.name, one.dispatch_key), one)
        for use, macro in _uses_of_lists(facts, name):
            for one in _listed(facts, use, macro, name):
                made.setdefault((use.id, one.kind, one.name, one.dispatch_key), one)
        found = kept[name] = tuple(made.values())
    return found


def makes(facts: Facts, use: FiledDefinition) -> list[Made]:
    """What one use makes, by the definition of its macro; a macro within a macro is followed. Kept."""
    kept: dict[int, list[Made]] = facts.kept.setdefault("makes", {})
    made = kept.get(use.id)
    if made is None:
        made = kept[use.id] = _makes(facts, use)
    return made


def _makes(facts: Facts, use: FiledDefinition) -> list[Made]:
    detail = use.fact.detail or {}
    arguments = tuple(str(argument) for argument in detail.get("arguments") or ())
    found: dict[tuple[str, str, str, tuple[str, ...]], Made] = {}
    for made in _made(facts, use, use.fact.name, arguments, 0):
        found.setdefault(made[2:], made)
    if not found and detail.get("library"):
        macro = _macro(facts, use.fact.name, use)
        if macro is not None:
            text = f"{use.fact.name}({', '.join(arguments)})"
            return list(_registered(facts, use, macro, text))
    return list(found.values())


def key_of(made: Made) -> str:
    """The key that the definition would have."""
    return keys.op(made.name) if made.kind in ("registration", "schema") else keys.cpp(made.name)


# -- finding the uses


class _Library(NamedTuple):
    """The uses in library blocks, by what leads to them."""

    by_word: dict[str, list[FiledDefinition]]
    """Word in an argument → uses: `POINTWISE_BOXED(bitwise_or_.Scalar)` by `bitwise_or_`."""
    lists: dict[str, list[tuple[FiledDefinition, FiledDefinition]]]
    """Body of a macro → uses of it, with its definition."""


def _uses_with(facts: Facts, name: str) -> list[FiledDefinition]:
    """The uses with an argument of a name."""
    uses = {use.id: use for use in _library(facts).by_word.get(name, ())}
    for target in facts.targeting(keys.cpp(name))[:MAX_USES]:
        owner = facts.definition(target.owner) if target.fact.kind == "argument" else None
        if owner is not None and owner.fact.kind == "macro_use" and owner.file.role == "library":
            uses[owner.id] = owner
    return list(uses.values())


def _uses_of_lists(facts: Facts, name: str) -> Iterator[tuple[FiledDefinition, FiledDefinition]]:
    """The uses, in library blocks, of macros whose own body spells a name; with the macro."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for body, uses in _library(facts).lists.items():
        if name in body and word.search(body):
            yield from uses


def _library(facts: Facts) -> _Library:
    return derived(facts, ("macro", "library_uses"), _used, facts.kept_of_definitions)


def prepare(facts: Facts) -> Iterator[None]:
    """Derives which macros are used in library blocks, before somebody asks, in pieces."""
    return derive(facts, ("macro", "library_uses"), _used, facts.kept_of_definitions)


def _used(facts: Facts) -> Work[_Library]:
    uses: list[FiledDefinition] = []
    for some in facts.uses_in_libraries():
        uses += (use for use in some if use.file.role == "library")
        yield
    uses.sort(key=lambda use: (use.file.path, use.id))
    found = _Library({}, {})
    for number, use in enumerate(uses):
        if number % _PIECE == 0:
            yield
        arguments = " ".join(str(a) for a in (use.fact.detail or {}).get("arguments") or ())
        for word in dict.fromkeys(_NAMES.findall(arguments)):
            found.by_word.setdefault(word, []).append(use)
        macro = _macro(facts, use.fact.name, use)
        if macro is not None:
            body = str((macro.fact.detail or {}).get("body") or "")
            found.lists.setdefault(body, []).append((use, macro))
    return found


def _macro(facts: Facts, name: str, near: FiledDefinition) -> FiledDefinition | None:
    """The definition of a macro; of several, that of the same file, or the first."""
    found = [d for d in facts.of_kind(keys.macro(name), "macro") if d.file.role != "template"]
    own = [d for d in found if d.file.id == near.file.id]
    return next(iter(own or found), None)


# -- by template


def _made(
    facts: Facts, use: FiledDefinition, name: str, arguments: tuple[str, ...], depth: int
) -> Iterator[Made]:
    for macro in facts.of_kind(keys.macro(name), "macro"):
        if macro.file.role == "template":
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


def _filled(text: str, arguments: tuple[str, ...]) -> str:
    def value(hole: re.Match[str]) -> str:
        number = int(hole[1])
        return arguments[number].strip().strip('"') if number < len(arguments) else ""

    return _HOLE.sub(value, text).strip()


# -- by expansion


def _listed(facts: Facts, use: FiledDefinition, macro: FiledDefinition, name: str) -> Iterator[Made]:
    """What a use makes of the part of its macro's body that spells a name. Of a list (`_(mm)
    _(bmm)`, with the macro to apply as argument) only that entry is expanded."""
    detail = macro.fact.detail or {}
    body = str(detail.get("body") or "")
    arguments = [str(argument) for argument in (use.fact.detail or {}).get("arguments") or ()]
    parameters = [str(parameter) for parameter in detail.get("parameters") or ()]
    applied = dict(zip(parameters, arguments, strict=False))
    entries = [
        f"{applied[match[1]]}({inner})"
        for match in _CALL.finditer(body)
        if match[1] in applied
        and (inner := _inside(body, match.end())) is not None
        and re.search(rf"\b{re.escape(name)}\b", inner)
    ]
    text = "\n".join(entries) if entries else f"{use.fact.name}({', '.join(arguments)})"
    for made in _registered(facts, use, macro, text):
        if keys.operator_name(made.name).base == name:
            yield made


def _inside(text: str, begin: int) -> str | None:
    depth = 1
    for at in range(begin, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return text[begin:at]
    return None


def _registered(facts: Facts, use: FiledDefinition, macro: FiledDefinition, text: str) -> Iterator[Made]:
    """The m.impl and m.def calls in what a text expands to."""
    detail = use.fact.detail or {}
    library = str(detail.get("library") or "")
    for match in _IMPL.finditer(expanded(text, _finder(facts, use))):
        name = "".join(re.findall(r'"([^"]*)"', match[2])).strip()
        kind = "registration" if match[1] == "impl" else "schema"
        written = name.partition("(")[0]
        if not re.fullmatch(r"[\w:.]+", written):
            continue
        if "::" not in written:
            written = f"{library}::{written}"
        yield Made(use, macro, kind, written, str(detail.get("dispatch_key") or ""), ())


def _finder(facts: Facts, use: FiledDefinition) -> Callable[[str], Macro | None]:
    """Looks macros up as a use sees them; each once."""
    known: dict[str, Macro | None] = {}

    def find(name: str) -> Macro | None:
        if name not in known:
            wanted = _WORD.fullmatch(name) and not name.startswith(_KEPT)
            definition = _macro(facts, name, use) if wanted else None
            detail = (definition.fact.detail if definition is not None else None) or {}
            parameters = tuple(str(parameter) for parameter in detail.get("parameters") or ())
            known[name] = Macro(parameters, str(detail.get("body") or "")) if definition is not None else None
        return known[name]

    return find


_WORD: Final = re.compile(r"_*[A-Z][A-Z0-9_]{2,}")
"""Words that are looked up as macros: KERNEL2 is one, `mm` is not."""
_KEPT: Final = "TORCH_SELECTIVE_"
"""Macros around a name that stay: their expansion hides the string (torch/library.h)."""
