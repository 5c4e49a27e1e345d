"""search: names that contain a text: what is bound under them, or the kernels behind them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import accumulate
from typing import Final, Literal, TypeAlias, get_args

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import dispatch_keys as dispatch_keys_
from torchtalkd.link import operators, registries, targets
from torchtalkd.link.pieces import Work, derive, derived
from torchtalkd.queries import external, spelling, trace_names, trace_registry
from torchtalkd.queries.answers import Answer, Item, Subject, standing
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.trace_kernels import kernel_items
from torchtalkd.queries.trace_registrations import registration_items
from torchtalkd.store.view import View

Mode: TypeAlias = Literal["bindings", "kernels", "registries", "external"]
MODES: Final = get_args(Mode)

_PYTHON: Final = keys.space(keys.py(""))
MOST_NAMES: Final = 60
"""Names whose bindings or kernels are listed; past them only names are counted."""
_KERNEL_KINDS: Final = ("function", "kernel", "structured_impl")
_KERNEL_ROLES: Final = ("native", "structured_impl", "stub_kernel", "gpu_kernel", "autocast", "batching_rule")


def search(view: View, query: str, mode: Mode = "bindings", backend: str = "", limit: int = 10) -> Answer:
    """Operators, Python bindings and registrations, or kernels, whose name contains `query`: exact
    names first, then those that begin with it. `registries`: what registries in Python call so, or
    what an entry is (`attention backend`). `external`: where the tree uses a name of the frameworks
    that it depends on. Read-only.

    `backend` is a dispatch key, in any case; one that the tree does not know is `Answer.error`.
    Raises ValueError for another mode.
    """
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}: {', '.join(MODES)}")
    text = spelling.clean(query).strip()
    dispatch_key = ""
    if backend:
        known = dispatch_keys(view)
        dispatch_key = next((key for key in known if key.casefold() == backend.strip().casefold()), "")
        if not dispatch_key:
            error = f"unknown backend {backend!r}: this tree has {', '.join(known)}"
            return Answer(
                "search", query, mode, (), (), 0, standing(view), error=error, root=view.meta("root")
            )
    ways = {"bindings": _bindings, "kernels": _kernels, "registries": _registries, "external": _external}
    found = list(ways[mode](view, text, dispatch_key))
    # Stable: within equally close names the order of the layers and of the backends stays.
    found.sort(key=lambda item: rank(item, text))
    subjects = (Subject("search", text),) if found else ()
    shown = tuple(found[: max(limit, 0)])
    return Answer("search", query, mode, subjects, shown, len(found), standing(view), root=view.meta("root"))


def dispatch_keys(view: View) -> list[str]:
    """The dispatch keys that something is registered under: backends first, then by name."""
    known: list[str] | None = view.kept.get("dispatch_keys")
    if known is None:
        # What a script passes in a variable is registered under no key that its text says.
        present = {key for key in view.dispatch_keys() if key[0].isupper()}
        backends = [key for key in view.rules.backends if key in present]
        known = view.kept["dispatch_keys"] = [*backends, *sorted(present - set(backends))]
    return known


def _names(view: View, text: str, spaces: Iterable[str]) -> dict[str, list[str]]:
    """The keys of some spaces whose name contains a text, ignoring case; by space."""
    wanted = keys.operator_name(text).base.casefold() if "::" in text else text.rpartition(".")[2].casefold()
    found: dict[str, list[str]] = {}
    if not wanted or "\n" in wanted:
        return found
    for space in spaces:
        text_of, starts, names = _folded(view, space)
        containing = []
        at = text_of.find(wanted)
        while at >= 0:
            index = bisect_right(starts, at)
            containing.append(names[index - 1])
            at = text_of.find(wanted, starts[index]) if index < len(starts) else -1
        if containing:
            found[space] = sorted(containing, key=lambda name: _closeness(name, wanted))
    return found


_Folded: TypeAlias = tuple[str, list[int], list[str]]


def _folded(view: View, space: str) -> _Folded:
    """All names of a space: folded, one a line, in one text; where each begins in it; as written.

    One search through one text takes a tenth of a look at each of 70,000 names.
    """
    return derived(view, (space, "folded"), partial(_folding, space=space), view.kept_of_names)


def prepare(view: View) -> Iterator[None]:
    """Reads the names that are searched, before somebody does, in pieces."""
    for space in ("op", "py", "cpp"):
        yield
        yield from derive(view, (space, "folded"), partial(_folding, space=space), view.kept_of_names)


def _folding(view: View, space: str) -> Work[_Folded]:
    if space == _PYTHON:
        # Of Python only what is bound counts here: one name in twenty.
        bound: set[str] = set()
        for some in view.keys_in_pieces("python_binding"):
            bound |= some
            yield
        found = sorted(bound)
    else:
        found = view.keys(space)
        yield
    names = [keys.last(key) for key in found]
    folded = [name.casefold() + "\n" for name in names]
    starts = list(accumulate(map(len, folded), initial=0))[:-1]
    return "".join(folded), starts, names


def _closeness(name: str, wanted: str) -> tuple[int, int, str]:
    lower, wanted = name.casefold(), wanted.casefold()
    kind = 0 if lower == wanted else 1 if lower.startswith(wanted) else 2 if wanted in lower else 3
    return kind, len(name), name


def rank(item: Item, text: str) -> tuple[int, bool, int, str]:
    """By the operator's name where there is one, else by the symbol's; what declares or binds a
    name before what registers a kernel for it."""
    last = spelling.clean(text).strip().replace("::", ".").rpartition(".")[2]
    base = keys.operator_name(item.operator).base if item.operator else ""
    how, length, name = _closeness(base or item.symbol.replace("::", ".").rpartition(".")[2], last)
    return how, item.kind == "registration", length, name


def _bindings(view: View, text: str, dispatch_key: str) -> Iterator[Item]:
    """Each operator once, then Python names and registrations in code."""
    names = _names(view, text, ("op", "py"))
    for base in names.get("op", ()):
        for written in view.definitions(keys.op(base)):
            for definition in targets.filled(view, written):
                yield from _operator_item(view, definition, dispatch_key)
    if dispatch_key:
        return
    for last in names.get("py", ()):
        if view.count(keys.py(last)) >= _TOO_MANY:
            continue
        for definition in view.definitions(keys.py(last)):
            fact = definition.fact
            own = fact.kind == "python_binding" and fact.convention != "native_functions"
            if own and definition.file.role == "library":
                for named in targets.filled(view, definition):
                    yield place_of("python", named, "exact")


_TOO_MANY: Final = 64


def _operator_item(view: View, definition: FiledDefinition, dispatch_key: str) -> Iterator[Item]:
    fact = definition.fact
    if definition.file.role in ("template", "test"):
        return
    if fact.kind in ("operator", "schema"):
        if not dispatch_key:
            yield place_of("yaml", definition, "exact", operator=fact.name)
        elif fact.kind == "operator" and _delegates(view, definition, dispatch_key):
            yield place_of("yaml", definition, "exact", operator=fact.name, dispatch_key=dispatch_key)
    elif fact.kind == "registration":
        if dispatch_key and fact.dispatch_key == dispatch_key:
            role = "yaml" if fact.convention == "native_functions" else "registration"
            kernels = view.targets(definition)
            note = f"kernel {kernels[0].fact.name}" if kernels else ""
            yield place_of(
                role, definition, "exact", operator=fact.name, dispatch_key=dispatch_key, note=note
            )
        elif not dispatch_key and fact.convention != "native_functions":
            yield place_of(
                "registration", definition, "exact", operator=fact.name, dispatch_key=fact.dispatch_key
            )


def _delegates(view: View, entry: FiledDefinition, dispatch_key: str) -> bool:
    """Whether a structured delegate's out= overload has a kernel under a key."""
    out = operators.delegate(view, entry)
    if out is None or out.id == entry.id:
        return False
    return any(
        d.fact.kind == "registration" and d.fact.name == out.fact.name and d.fact.dispatch_key == dispatch_key
        for d in view.definitions(out.fact.key)
    )


def _kernels(view: View, text: str, dispatch_key: str) -> Iterator[Item]:
    """The kernels of operators that match, then functions of a matching name that a
    registration names."""
    names = _names(view, text, ("op", "cpp"))
    seen: set[tuple[str, int, str]] = set()
    for base in names.get("op", ())[:MOST_NAMES]:
        for item in _of_operators(view, base):
            place = (item.file, item.line, item.dispatch_key)
            if _of_backend(item, dispatch_key) and place not in seen:
                seen.add(place)
                yield item
    if not dispatch_key:
        yield from _python_kernels(view, text)
    known = {(file, line) for file, line, _ in seen}
    for last in names.get("cpp", ()):
        if view.count(keys.cpp(last)) >= _TOO_MANY:
            continue
        for item in _named_kernels(view, last):
            if (item.file, item.line) not in known and _of_backend(item, dispatch_key):
                yield item


def _of_operators(view: View, base: str) -> list[Item]:
    """The kernels of the operators with a name. Kept with the view: many searches come by one operator."""
    kept: dict[str, list[Item]] = view.kept.setdefault("searched_kernels", {})
    found = kept.get(base)
    if found is None:
        found = kept[base] = []
        for family in operators.families(view, base):
            overloads = frozenset(family.overloads)
            for items in (kernel_items(view, family, overloads), registration_items(view, family, overloads)):
                found.extend(item for item in items if _is_kernel(item))
    return found


def _python_kernels(view: View, text: str) -> Iterator[Item]:
    """Device kernels that are written in Python."""
    wanted = text.rpartition(".")[2].casefold()
    known: list[str] | None = view.kept.get("python_kernels")
    if known is None:
        listed = sorted(view.keys_of_kind("kernel"))
        known = view.kept["python_kernels"] = [key for key in listed if keys.space(key) == _PYTHON]
    for key in known:
        if wanted in keys.last(key).casefold():
            for kernel in view.of_kind(key, "kernel"):
                if kernel.file.role == "library":
                    yield place_of("gpu_kernel", kernel, "exact")


def _registries(view: View, text: str, dispatch_key: str) -> Iterator[Item]:
    """The entries whose name, or what they are, contains a text."""
    if dispatch_key:
        return
    wanted = text.casefold()
    for entry in view.definitions_of_kind("registry"):
        label = str((entry.fact.detail or {}).get("label", ""))
        if wanted not in entry.fact.name.casefold() and wanted != label.casefold():
            continue
        if entry.file.role != "library":
            continue
        yield trace_registry.entry_item(view, entry)
        for link in registries.stands_for(view, entry):
            item = place_of(
                "python", link.definition, link.evidence, declared=entry, note=link.definition.fact.name
            )
            yield replace(item, symbol=entry.fact.name)


def _external(view: View, text: str, dispatch_key: str) -> Iterator[Item]:
    if not dispatch_key:
        yield from external.external_items(view, text)


def _is_kernel(item: Item) -> bool:
    """Whether a function stands there; a line that registers one is listed under the bindings."""
    return item.role in _KERNEL_ROLES and item.kind not in ("registration", "schema")


def _of_backend(item: Item, dispatch_key: str) -> bool:
    return not dispatch_key or item.dispatch_key == dispatch_key


def _named_kernels(view: View, last: str) -> Iterator[Item]:
    """Device functions and structured kernels of a name, and functions that a stub or a
    registration names."""
    definitions = [
        d for d in view.definitions(keys.cpp(last)) if d.file.role == "library" and not d.fact.declares
    ]
    for definition in definitions:
        if definition.fact.kind in ("kernel", "structured_impl"):
            role = "gpu_kernel" if definition.fact.kind == "kernel" else "structured_impl"
            yield place_of(role, definition, "exact")
    bodies = {d.id: d for d in definitions if d.fact.kind == "function"}
    if not bodies:
        return
    for target in view.targeting(keys.cpp(last)):
        owner = view.definition(target.owner)
        if owner is None or owner.fact.kind not in ("stub_kernel", "registration", "schema"):
            continue
        role = "stub_kernel" if owner.fact.kind == "stub_kernel" else "native"
        operator = targets.filled(view, owner)[0].fact.name if role == "native" else ""
        for number in trace_names.meant(view, owner, target.fact.name):
            if number in bodies:
                yield place_of(
                    role,
                    bodies[number],
                    "declared",
                    operator=operator,
                    dispatch_key=dispatch_keys_.canonical(owner.fact.dispatch_key, view.rules),
                    declared=owner,
                )
