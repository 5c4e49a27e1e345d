"""The layer of registrations by hand: m.impl and m.def with a function, and macros that make them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import dispatch_keys, functions, macros, members, operators, targets
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Link
from torchtalkd.queries import trace_kernels, trace_launches, trace_layers
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View

ROLE_OF_KEY: Final = (
    ("Autocast", "autocast"),
    ("FuncTorch", "batching_rule"),
    ("Batched", "batching_rule"),
    ("VmapMode", "batching_rule"),
)
"""Beginning of a dispatch key → the role of what is registered under it (c10/core/DispatchKey.h)."""

_YAML = "native_functions"
_PYTHON: Final = keys.space(keys.py(""))


def registration_items(
    view: View, family: Family, overloads: frozenset[str], *, behind: bool = True
) -> Iterator[Item]:
    """Each registration in code, then the function that it names; with `behind` what that ends in, too."""
    for definition in view.definitions(keys.op(family.base)):
        fact = definition.fact
        if fact.kind not in ("registration", "schema") or fact.convention == _YAML:
            continue
        if not targets.is_built(view, definition.file) or not is_meant(
            family, fact.name, overloads, operators.namespaces(view, definition)
        ):
            continue
        registers = fact.kind == "registration" or (fact.detail or {}).get("lambda")
        if not registers and not view.targets(definition):
            continue
        yield from _items(view, definition, operator_of(family, fact.name, overloads), behind)
    for made in macros.made_for(view, family.base):
        if made.kind in ("registration", "schema") and is_meant(
            family, made.name, overloads, targets.names(view, made.use.file, _namespace(made.name))
        ):
            yield from _made_items(view, made, operator_of(family, made.name, overloads), behind)


def is_meant(family: Family, name: str, overloads: frozenset[str], namespaces: Sequence[str] = ()) -> bool:
    """Whether a registration's name is one of the overloads. A name that no schema has is meant
    where the whole operator is asked for: its schema may be in another tree. `namespaces` are those
    that a macro in the name's place stands for; none, if nobody knows."""
    written = keys.operator_name(name)
    if written.base != family.base:
        return False
    if operators.is_hole(written.namespace):
        known = [namespace for namespace in namespaces if not operators.is_hole(namespace)]
        if known and family.namespace not in known:
            return False
    elif written.namespace and written.namespace != family.namespace:
        return False
    full = operator_of(family, name, overloads)
    return full in overloads or (full not in family.overloads and overloads >= frozenset(family.overloads))


def _namespace(name: str) -> str:
    return keys.operator_name(name).namespace


def operator_of(family: Family, name: str, overloads: frozenset[str]) -> str:
    """The overload's full name."""
    written = keys.operator_name(name)
    if operators.is_hole(written.namespace):
        written = written._replace(namespace=family.namespace)
    return str(keys.canonical_operator(written, family.namespace))


def role_of(dispatch_key: str) -> str:
    """The layer that a dispatch key belongs to."""
    return next((role for begin, role in ROLE_OF_KEY if dispatch_key.startswith(begin)), "registration")


def _items(view: View, registration: FiledDefinition, operator: str, behind: bool) -> Iterator[Item]:
    fact = registration.fact
    block = block_of(view, registration)
    detail = fact.detail or {}
    written_key = fact.dispatch_key or (block.fact.dispatch_key if block else "")
    dispatch_key = dispatch_keys.canonical(written_key, view.rules)
    role = role_of(dispatch_key)
    targets = view.targets(registration)
    written = targets[0].fact.name if targets else ""
    yield Item(
        role=role,
        symbol=written or operator,
        file=registration.file.path,
        line=fact.line,
        evidence="exact",
        operator=operator,
        dispatch_key=dispatch_key,
        block_line=block.fact.line if block else 0,
        operators=(operator,),
        kind=fact.kind,
        signature=fact.signature,
        convention=fact.convention,
        guard=fact.guard,
        note=_note(detail),
    )
    for target in targets:
        if keys.space(target.fact.key) == _PYTHON:
            yield from _python_kernels(view, registration, target, operator, dispatch_key)
            continue
        links = target_functions(view, target.fact.name, registration)
        yield from _kernels(view, links, role, operator, dispatch_key, registration, behind)


def _python_kernels(
    view: View, registration: FiledDefinition, target: FiledReference, operator: str, dispatch_key: str
) -> Iterator[Item]:
    """The Python function registered, and the device kernels that it launches."""
    for function in trace_layers.python_target(view, registration, target.fact.key, target.fact.name):
        yield place_of(
            "native",
            function,
            "declared",
            operator=operator,
            dispatch_key=dispatch_key,
            declared=registration,
        )
        yield from trace_launches.launched_items(view, function, operator, dispatch_key)


def _kernels(
    view: View,
    links: list[Link],
    role: str,
    operator: str,
    dispatch_key: str,
    declared: FiledDefinition,
    behind: bool,
) -> Iterator[Item]:
    """The functions registered, and for a kernel proper what it ends in."""
    for link in links:
        yield place_of(
            "native" if role == "registration" else role,
            link.definition,
            link.evidence,
            operator=operator,
            dispatch_key=dispatch_key,
            declared=declared,
        )
        if role == "registration" and behind:
            yield from trace_kernels.behind_items(view, link.definition, operator, dispatch_key)


def block_of(view: View, place: FiledDefinition) -> FiledDefinition | None:
    """The library block that a registration stands in."""
    around = view.scope(place)
    if around is not None and around.fact.kind == "library":
        return around
    line = place.fact.line
    blocks = [
        d
        for d in view.definitions_in(place.file)
        if d.fact.kind == "library" and d.fact.line <= line <= d.fact.end_line
    ]
    return max(blocks, key=lambda d: d.fact.line, default=None)


def _note(detail: dict[str, object]) -> str:
    said = [word for word in ("fallthrough", "lambda", "boxed") if detail.get(word)]
    if detail.get("macro"):
        said.append(f"made by {detail['macro']}")
    return ", ".join(said)


def target_functions(view: View, written: str, registration: FiledDefinition) -> list[Link]:
    """The functions that a registration's target means, looked up from where it stands: of several those
    that a build compiles into the same module, then those of a file for its key, then the nearest copies."""
    scopes = scopes_of(view, registration)
    found = functions.functions(view, written, scopes, file=registration.file, kinds=("function", "kernel"))
    if not found:
        found = members.inherited(view, written, scopes, registration.file)
    if len(found) > 1:
        own = set(targets.targets_of(view, registration.file))
        found = [d for d in found if own.intersection(targets.targets_of(view, d.file))] or found
    if len(found) > 1:
        found = suited(found, registration.fact.dispatch_key)
    if len({(d.fact.name, d.fact.signature) for d in found}) == 1:
        found = members.nearest(found, registration.file)
    return functions.as_links(found, "declared")


def suited(found: list[FiledDefinition], dispatch_key: str) -> list[FiledDefinition]:
    """Of several functions of one full name those whose file can hold a kernel of the key: an
    extension may define one for the CPU and one for CUDA, each linked into a library of its own."""
    device = next((d for d in ("CUDA", "HIP", "MPS") if d in dispatch_key), "")
    wanted = {"CUDA": ("cuda",), "HIP": ("cuda",), "MPS": ("objcpp", "metal")}.get(device, ("cpp",))
    fitting = [d for d in found if d.file.language in wanted]
    return fitting or found


def scopes_of(view: View, binding: FiledDefinition) -> list[str]:
    """The namespaces from which a binding's targets are looked up, nearest first."""
    namespace = str((binding.fact.detail or {}).get("namespace") or "")
    scopes = functions.enclosing(f"{namespace}::x") if namespace else []
    scopes.extend(s for s in namespaces_of(view, binding) if s not in scopes)
    return scopes


def namespaces_of(view: View, place: FiledDefinition) -> list[str]:
    """The namespaces that a place may stand in: those of its file's definitions around its line,
    nearest first. (A library block belongs to no name, so its namespace is not in the facts.)"""
    before = [
        d
        for d in view.definitions_in(place.file)
        if d.fact.kind in ("function", "class", "stub")
        and "::" in d.fact.name
        and not (d.fact.detail or {}).get("method")
    ]
    before.sort(key=lambda d: abs(d.fact.line - place.fact.line))
    found: dict[str, None] = {}
    for definition in before[:40]:
        for scope in functions.enclosing(definition.fact.name):
            found.setdefault(scope)
    found.pop("", None)
    return [*found, ""]


def _made_items(view: View, made: macros.Made, operator: str, behind: bool) -> Iterator[Item]:
    dispatch_key = dispatch_keys.canonical(made.dispatch_key, view.rules)
    role = role_of(dispatch_key)
    block = block_of(view, made.use)
    yield Item(
        role=role,
        symbol=made.targets[0] if made.targets else operator,
        file=made.use.file.path,
        line=made.use.fact.line,
        evidence="declared",
        operator=operator,
        dispatch_key=dispatch_key,
        block_line=block.fact.line if block else 0,
        operators=(operator,),
        kind=made.kind,
        declared_file=made.macro.file.path,
        declared_line=made.macro.fact.line,
        convention="macro",
        guard=made.use.fact.guard,
        note=f"made by {made.macro.fact.name}",
    )
    links = _made_functions(view, made)
    yield from _kernels(view, links, role, operator, dispatch_key, made.use, behind)


def _made_functions(view: View, made: macros.Made) -> list[Link]:
    """The functions that a macro registers: those its body names, else those that the use's
    arguments do (a body may wrap them: `plumbing<decltype(&rule), &rule>`)."""
    found = [link for target in made.targets for link in target_functions(view, target, made.use)]
    if found:
        return found
    written = keys.operator_name(made.name)
    for argument in view.targets(made.use):
        if keys.last(argument.fact.key) not in (written.base, written.overload):
            links = target_functions(view, argument.fact.name, made.use)
            found.extend(link for link in links if link.definition.file.id == made.use.file.id)
    return found
