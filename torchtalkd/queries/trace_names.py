"""A trace of what is no operator: the definitions of a name, and the bindings that name it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import autograd, functions, library_blocks, operators, python_reach, targets
from torchtalkd.queries import (
    trace_bindings,
    trace_body,
    trace_derivative,
    trace_kernels,
    trace_launches,
    trace_layers,
    trace_registrations,
    trace_registry,
)
from torchtalkd.queries.answers import Item, Subject
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View

_ROLES = {
    "kernel": "gpu_kernel",
    "structured_impl": "structured_impl",
    "structured_meta": "structured_meta",
    "autograd_function": "autograd_function",
    "stub_kernel": "stub_kernel",
    "derivative": "derivative",
    "docs": "docs",
    "test": "test",
    "tag": "yaml",
}


def name_items(view: View, subject: Subject, answered: frozenset[str] = frozenset()) -> Iterator[Item]:
    """The definitions of a subject, its declarations, then what registers or binds it. `answered` are
    the operators that have subjects of their own in the same answer."""
    definitions = [_called_as(d, subject) for n in subject.ids if (d := view.definition(n)) is not None]
    if subject.kind == "autograd node":
        for derivative in definitions:
            yield trace_derivative.entry_item(view, derivative, derivative.fact.name)
            yield from trace_derivative.function_items(view, derivative, derivative.fact.name)
        return
    if subject.kind == "stub":
        yield from _stub(view, subject.name, definitions)
        return
    for definition in sorted(definitions, key=lambda d: d.fact.declares):
        if definition.fact.kind == "registry":
            yield from trace_registry.entry_items(view, definition)
            continue
        if definition.fact.kind == "macro_use":
            # What the macro makes is asked for; it stands where the macro is used.
            yield replace(
                place_of("native", definition, "declared", note=f"made by {definition.fact.name}"),
                symbol=subject.name,
            )
            continue
        yield place_of(role_of(definition), definition, "exact", note=_note(definition))
        if definition.fact.kind == "python_binding":
            yield from trace_bindings.callers(view, definition)
            yield from trace_bindings.binding_items(view, definition)
            yield from trace_bindings.member_items(view, definition)
        if definition.fact.kind == "module":
            yield from trace_bindings.module_items(view, definition)
        if definition.fact.kind == "autograd_function" and definition.file.language != "python":
            yield from _autograd(view, definition)
        if definition.file.language == "python":
            yield from _of_python(view, definition, answered)
    own = [d for d in definitions if not d.fact.declares]
    if own and keys.space(own[0].fact.key) == "cpp":
        yield from _named_by(view, own)
        for definition in own:
            if definition.fact.kind != "class":
                yield from trace_kernels.behind_items(view, definition, "", "")
    if own and keys.space(own[0].fact.key) == "py":
        for definition in view.definitions(own[0].fact.key):
            if definition.fact.kind == "docs" and definition.fact.name == subject.name:
                yield place_of("docs", definition, "declared")


def _called_as(definition: FiledDefinition, subject: Subject) -> FiledDefinition:
    """The definition under the subject's name, where its own has a hole or is a pattern."""
    if not targets.is_hole(definition.fact.name) and "*" not in definition.fact.name:
        return definition
    return definition._replace(fact=definition.fact._replace(name=subject.name))


def _autograd(view: View, function: FiledDefinition) -> Iterator[Item]:
    """The methods of a C++ autograd function, and who applies it."""
    for method in autograd.methods(view, function):
        yield place_of("autograd_function", method, "exact", note="method")
        yield from trace_kernels.behind_items(view, method, "", "")
    for body in autograd.appliers(view, function):
        yield place_of("native", body, "unique", note=f"applies {keys.cpp_last(function.fact.name)}")


def _of_python(view: View, definition: FiledDefinition, answered: frozenset[str]) -> Iterator[Item]:
    """What users of a Python class run, what a function runs, who uses a kernel; and the registries
    that they are in."""
    kind = definition.fact.kind
    if kind == "class":
        yield from trace_registry.method_items(view, definition)
    if kind == "kernel" or (kind == "class" and python_reach.is_autograd_function(view, definition)):
        yield from trace_launches.user_items(view, definition)
    if kind == "function":
        yield from trace_bindings.called_items(view, definition)
    if kind == "function" and definition.file.role == "library":
        yield from trace_launches.launched_items(view, definition)
        yield from trace_body.called_items(view, definition, answered)
    if kind in ("class", "function", "kernel"):
        yield from trace_registry.registered_items(view, definition)
        yield from _registering(view, definition)


def _registering(view: View, definition: FiledDefinition) -> Iterator[Item]:
    """The bindings in Python that a function implements: operators, their fakes, decompositions, …"""
    for target in view.targeting(definition.fact.key):
        owner = view.definition(target.owner)
        if owner is None or keys.space(owner.fact.key) != "op" or owner.file.role in ("template", "test"):
            continue
        meant_here = trace_layers.python_target(view, owner, target.fact.key, target.fact.name)
        if any(function.id == definition.id for function in meant_here):
            role = owner.fact.kind if owner.fact.kind in trace_layers.LAYERS else "registration"
            yield place_of(
                role,
                owner,
                "declared",
                operator=owner.fact.name,
                dispatch_key=owner.fact.dispatch_key,
                note=f"names {keys.last(definition.fact.key)}",
            )


def role_of(definition: FiledDefinition) -> str:
    """The layer of a definition that belongs to no operator."""
    kind = definition.fact.kind
    if kind in _ROLES:
        return _ROLES[kind]
    return "python" if definition.file.language == "python" or kind == "python_binding" else "native"


def _note(definition: FiledDefinition) -> str:
    detail = definition.fact.detail or {}
    if definition.fact.kind == "macro":
        if detail.get("constant"):
            return " ".join(str(detail.get("body") or "").split())
        return f"({', '.join(detail.get('parameters') or ())})"
    if detail.get("desc"):
        return str(detail["desc"])
    return f"made by {detail['macro']}" if detail.get("macro") else ""


def _stub(view: View, name: str, definitions: list[FiledDefinition]) -> Iterator[Item]:
    for definition in sorted(definitions, key=lambda d: d.fact.declares):
        if definition.fact.kind == "stub":
            yield place_of("native", definition, "exact", note="the stub")
    yield from trace_kernels.stub_items(view, name, "")


def _named_by(view: View, definitions: list[FiledDefinition]) -> Iterator[Item]:
    """Registrations, stub registrations, bindings and formulas that mean these definitions."""
    wanted = {d.id for d in definitions}
    for target in view.targeting(definitions[0].fact.key):
        owner = view.definition(target.owner)
        if owner is None or owner.file.role == "template":
            continue
        links = meant(view, owner, target.fact.name)
        if not wanted & set(links):
            continue
        evidence = "declared" if len(links) == 1 else "candidate"
        yield from _binding(view, owner, evidence, definitions[0])


def meant(view: View, owner: FiledDefinition, written: str) -> list[int]:
    """Ids of the definitions that a binding's target means."""
    fact = owner.fact
    if fact.convention == "native_functions":
        entry = view.scope(owner)
        schema = entry.fact.signature if entry is not None else ""
        structured = bool(entry is not None and (entry.fact.detail or {}).get("structured"))
        return [
            link.definition.id for link in functions.kernels(view, written, schema, structured=structured)
        ]
    if fact.kind == "derivative":
        return [link.definition.id for link in trace_derivative.formula_functions(view, written)]
    if fact.kind == "stub_kernel":
        scopes = functions.enclosing(fact.name)
        return [d.id for d in functions.functions(view, written, scopes, file=owner.file)]
    return [link.definition.id for link in library_blocks.target_functions(view, written, owner)]


def _binding(view: View, owner: FiledDefinition, evidence: str, named: FiledDefinition) -> Iterator[Item]:
    owner = targets.filled(view, owner)[0]
    fact = owner.fact
    block = view.scope(owner)
    is_operator = keys.space(fact.key) == "op"
    if fact.kind in ("registration", "schema", "stub_kernel"):
        role = trace_registrations.role_of(fact.dispatch_key) if is_operator else "registration"
    elif fact.kind in ("derivative", "python_binding", "docs"):
        role = {"python_binding": "python"}.get(fact.kind, fact.kind)
    else:
        return
    yield Item(
        role=role,
        symbol=(operators.node_name(view, owner) or fact.name) if fact.kind == "derivative" else fact.name,
        file=owner.file.path,
        line=fact.line,
        evidence=evidence,
        operator=fact.name if is_operator else "",
        dispatch_key=fact.dispatch_key,
        block_line=block.fact.line if block is not None and block.fact.kind == "library" else 0,
        operators=(fact.name,) if is_operator else (),
        kind=fact.kind,
        convention=fact.convention,
        note=f"names {keys.cpp_last(named.fact.name)}",
    )
