"""The layers of a name that C++ binds for Python: who calls it, what implements it, what that launches;
and the modules that a build makes, with what is compiled into them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, library_blocks, python_names, targets
from torchtalkd.link.source import Link
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View

MOST_CALLERS: Final = 12
"""Python functions that are named as ways to a binding."""


def binding_items(view: View, binding: FiledDefinition) -> Iterator[Item]:
    """The C++ functions and classes that a Python name is bound to, with what they launch."""
    for link in implementations(view, binding):
        yield place_of("native", link.definition, link.evidence, declared=binding)
        if link.definition.fact.kind != "class":
            yield from trace_kernels.behind_items(view, link.definition, "", "")


def implementations(view: View, binding: FiledDefinition) -> list[Link]:
    """What a Python name is bound to; the class, for a class."""
    is_class = bool((binding.fact.detail or {}).get("class"))
    found: list[Link] = []
    for target in view.targets(binding):
        if keys.space(target.fact.key) != keys.space(keys.cpp("")):
            continue
        if is_class:
            scopes = library_blocks.scopes_of(view, binding)
            classes = functions.functions(view, target.fact.name, scopes, file=binding.file, kinds=("class",))
            found.extend(functions.as_links(classes, "declared"))
        else:
            found.extend(library_blocks.target_functions(view, target.fact.name, binding))
    return found


def member_items(view: View, binding: FiledDefinition) -> Iterator[Item]:
    """The methods bound to a class, in the order of the text."""
    if not (binding.fact.detail or {}).get("class"):
        return
    written = view.definition(binding.id) or binding
    for definition in view.definitions_in(binding.file):
        fact = definition.fact
        owner, _, last = fact.name.rpartition(".")
        is_bound = fact.kind == "python_binding" and fact.convention == binding.fact.convention
        if is_bound and owner == written.fact.name:
            named = definition._replace(fact=fact._replace(name=f"{binding.fact.name}.{last}"))
            yield place_of("python", named, "exact", note="method")
            for link in implementations(view, definition):
                yield place_of("native", link.definition, link.evidence, declared=named)


def callers(view: View, binding: FiledDefinition) -> Iterator[Item]:
    """The Python functions of the library that call a bound name, as their imports say."""
    last = keys.last(binding.fact.key)
    found: dict[int, FiledDefinition] = {}
    for reference in view.references(keys.py(last)):
        fact = reference.fact
        if fact.kind not in ("call", "address") or reference.file.role != "library" or reference.owner < 0:
            continue
        ends = python_names.resolve(view, fact.name).ends
        if not any(end.id == binding.id for end in ends):
            continue
        owner = view.definition(reference.owner)
        if owner is not None and owner.fact.kind == "function":
            found[owner.id] = owner
    for owner in list(found.values())[:MOST_CALLERS]:
        yield place_of("python", owner, "declared", note=f"calls {binding.fact.name}")


def called_items(view: View, function: FiledDefinition) -> Iterator[Item]:
    """The names bound by C++ that a Python function's body calls, layer by layer."""
    seen: set[str] = set()
    for reference in view.inside(function):
        fact = reference.fact
        if keys.space(fact.key) != "py" or fact.kind != "call" or fact.name in seen:
            continue
        seen.add(fact.name)
        for end in python_names.resolve(view, fact.name).ends:
            detail = end.fact.detail or {}
            if end.fact.kind != "python_binding" or end.fact.convention not in _IN_CPP or "class" in detail:
                continue
            links = implementations(view, end)
            if links:
                yield place_of("python", end, "declared", note=f"called by {function.fact.name}")
                yield from binding_items(view, end)


_IN_CPP: Final = ("pybind11", "load_inline", "torch_class")


def module_items(view: View, definition: FiledDefinition) -> Iterator[Item]:
    """What is compiled into a module: its build target, the block that names it, its library blocks."""
    target = view.scope(definition) or definition
    wanted = next((t for t in targets.targets(view) if t.definition.id == target.id), None)
    if wanted is None:
        return
    for block in view.definitions_of_kind("library"):
        if block.file.role != "library" or wanted not in targets.targets_of(view, block.file):
            continue
        for named in targets.filled(view, block):
            yield place_of(
                "registration",
                named,
                "declared",
                declared=target,
                dispatch_key=block.fact.dispatch_key,
                note=str((block.fact.detail or {}).get("form", "")),
            )
    yield from _importers(view, definition.fact.name)
    hole = f"{{{targets.EXTENSION_NAME}}}"
    for name in dict.fromkeys((hole, wanted.last)):
        for block in view.named(keys.py(name), name):
            is_block = block.fact.kind == "module" and block.fact.convention == "pybind11"
            if is_block and wanted in targets.targets_of(view, block.file):
                yield place_of(
                    "python", block, "declared", declared=target, symbol=wanted.module, note="PYBIND11_MODULE"
                )


def _importers(view: View, module: str) -> Iterator[Item]:
    """Where library code imports a module by its name."""
    key = keys.py(module)
    places = [(r.file, r.fact) for r in view.references(key) if r.fact.kind == "import"]
    for target in view.targeting(key):
        owner = view.definition(target.owner)
        if owner is not None and (owner.fact.detail or {}).get("import"):
            places.append((target.file, target.fact))
    found = {
        (file.path, fact.line) for file, fact in places if fact.name == module and file.role == "library"
    }
    for path, line in sorted(found)[:MOST_CALLERS]:
        yield Item("python", module, path, line, kind="import", note=f"imports or loads {module}")
