"""What a kernel's body ends in: dispatch stubs and device kernels, through helpers of its own.

From a native function to its stub there is often a helper in between, and from a CUDA function
to its launch nearly always. Helpers are followed where the name can mean one function: one of
the same file, or the only one of its name. Never through an operator (what `at::mul` does is the
answer to another question) nor through another operator's kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import autograd, functions, launch_macros, overload, stubs, targets
from torchtalkd.link.source import Facts

MAX_DEPTH: Final = 4
"""Helpers between a kernel and what it ends in; a longer way is not the kernel's own any more."""
MAX_AWAY: Final = 2
"""Helpers of other files among them."""
MANY: Final = 64
"""A name with so many definitions is nobody's helper."""
MOST_ALIKE: Final = 4
"""Specialisations of one template that are looked into: the others launch the same for other types."""
FEW: Final = 6
"""An unqualified name with more definitions may mean one that look-up by name does not see."""


class Reached(NamedTuple):
    """A stub or a launch in a body."""

    kind: Literal["stub", "kernel", "launcher"]
    """stub: `name` is the stub's. kernel: `definition` is launched. launcher: a call of
    `name` (gpu_kernel) that runs a function of this body on the device."""
    name: str
    definition: FiledDefinition | None
    """The device function, for a kernel."""
    reference: FiledReference
    """Where it stands."""
    inside: FiledDefinition
    """The function that it stands in."""
    via: tuple[str, ...]
    """The helpers in between, outermost first."""


def reached(facts: Facts, start: FiledDefinition) -> tuple[Reached, ...]:
    """Stubs called and device kernels launched in a function's body or in its helpers'."""
    kept: dict[int, tuple[Reached, ...]] = facts.kept.setdefault("reached", {})
    found = kept.get(start.id)
    if found is None:
        found = kept[start.id] = tuple(_walk(facts, start))
    return found


def _walk(facts: Facts, start: FiledDefinition) -> list[Reached]:
    found: list[Reached] = []
    seen = {start.id}
    # What is read (a body, or a macro that one uses), the function that it is read for, how it came there.
    waiting: list[tuple[FiledDefinition, FiledDefinition, tuple[str, ...], int]] = [(start, start, (), 0)]
    while waiting:
        text, body, via, away = waiting.pop(0)
        scopes = [*functions.enclosing(body.fact.name)]
        names: set[tuple[str, str, int]] = set()
        for reference in facts.inside(text):
            fact = reference.fact
            if fact.kind == "launch":
                found.extend(_launched(facts, reference, fact.name, body, via, scopes))
                continue
            seen_before = (fact.key, fact.name, fact.arguments)
            if fact.kind not in _FOLLOWED or seen_before in names:
                continue
            names.add(seen_before)
            if fact.kind == "macro":
                for name in launch_macros.launched_by(facts, fact.key, body):
                    found.extend(_launched(facts, reference, name, body, via, scopes))
                for macro in launch_macros.own(facts, fact.key, body):
                    if macro.id not in seen:
                        seen.add(macro.id)
                        waiting.append((macro, body, via, away))
                continue
            if fact.kind == "address":
                kernels = _device_kernels(facts, fact.name, body, scopes)
                found.extend(Reached("kernel", k.fact.name, k, reference, body, via) for k in kernels)
            for function in autograd.function_of(facts, reference, body):
                for method in autograd.methods(facts, function, ("forward",)):
                    if method.id not in seen:
                        seen.add(method.id)
                        name = f"{keys.cpp_last(function.fact.name)}::forward"
                        waiting.append((method, method, (*via, name), away))
            stub = stubs.meant(facts, fact.name, scopes, body.file) if fact.kind != "method" else ""
            if stub:
                found.append(Reached("stub", stub, None, reference, body, via))
                continue
            if len(via) >= MAX_DEPTH:
                continue
            if fact.kind == "method":
                followed = launch_macros.only_method(facts, reference, body)
            else:
                followed = helpers(facts, reference, body, scopes, start) or functors(facts, reference, body)
            for helper in followed:
                further = away + (helper.file.id != body.file.id)
                if helper.id not in seen and further <= MAX_AWAY:
                    seen.add(helper.id)
                    waiting.append((helper, helper, (*via, keys.cpp_last(helper.fact.name)), further))
    return _without_variables(facts, found)


def _without_variables(facts: Facts, found: list[Reached]) -> list[Reached]:
    """Without `kernel<<<…>>>` where the body has made its variable `kernel` of a device kernel."""
    valued = {end.inside.id for end in found if end.kind == "kernel" and end.reference.fact.kind == "address"}
    return [
        end
        for end in found
        if end.kind != "launcher"
        or end.inside.id not in valued
        or functions.functions(
            facts, end.name, functions.enclosing(end.inside.fact.name), file=end.inside.file
        )
    ]


_FOLLOWED: Final = ("call", "address", "argument", "macro", "method")


def _launched(
    facts: Facts,
    reference: FiledReference,
    name: str,
    body: FiledDefinition,
    via: tuple[str, ...],
    scopes: Sequence[str],
) -> list[Reached]:
    kernels = _device_kernels(facts, name, body, scopes)
    if kernels:
        return [Reached("kernel", k.fact.name, k, reference, body, via) for k in kernels]
    return [Reached("launcher", name, None, reference, body, via)]


def _device_kernels(
    facts: Facts, name: str, body: FiledDefinition, scopes: Sequence[str]
) -> list[FiledDefinition]:
    """The device kernels that a name means: of the same file, or of a header, as another source's are
    not seen (`kernel<<<…>>>` mostly means a variable). Behind `namespace k = a::b`, one of the same file."""
    found = [
        d
        for d in functions.functions(facts, name, scopes, file=body.file, kinds=("kernel",))
        if d.file.id == body.file.id or d.file.path.endswith(functions.HEADERS) or _is_declared(facts, d)
    ]
    if found or "::" not in name:
        return found
    return [d for d in facts.of_kind(keys.cpp(functions.plain(name)), "kernel") if d.file.id == body.file.id]


def _is_declared(facts: Facts, kernel: FiledDefinition) -> bool:
    return any(
        d.fact.declares and d.file.path.endswith(functions.HEADERS)
        for d in facts.named(kernel.fact.key, kernel.fact.name)
    )


def helpers(
    facts: Facts,
    reference: FiledReference,
    body: FiledDefinition,
    scopes: Sequence[str],
    start: FiledDefinition,
) -> list[FiledDefinition]:
    """The helper functions that a call in a body can mean; none, if it may be somebody else's.
    A kernel is a helper of another kernel of the same operator: its out= variant, mostly."""
    key = reference.fact.key
    if facts.count(key, MANY) >= MANY:
        return []
    found = functions.functions(facts, reference.fact.name, scopes, file=body.file, kinds=("function",))
    ways_in = kernel_of(facts, key)
    if not found or not ways_in <= kernel_of(facts, start.fact.key):
        return []
    if is_operator(facts, keys.last(key)) and not _is_native(facts, reference.fact.name, found, ways_in):
        return []
    own = [definition for definition in found if definition.file.id == body.file.id]
    if own:
        return _of_arity(own, reference.fact.arguments)
    if len({(d.file.id, d.fact.name) for d in found}) > 1:
        return _specialisations(facts, found, body)
    if "::" not in reference.fact.name and len(facts.definitions(key)) > FEW:
        return []
    return _of_arity(found, reference.fact.arguments)


def _specialisations(
    facts: Facts, found: Sequence[FiledDefinition], body: FiledDefinition
) -> list[FiledDefinition]:
    """Of bodies of one name and signature in several files, as explicit specialisations of a template
    are, the first few that are compiled into the same module as what calls them."""
    if len({(d.fact.name, d.fact.signature) for d in found}) > 1:
        return []
    own = set(targets.targets_of(facts, body.file))
    return (
        [d for d in found if own.intersection(targets.targets_of(facts, d.file))][:MOST_ALIKE] if own else []
    )


def functors(facts: Facts, reference: FiledReference, body: FiledDefinition) -> list[FiledDefinition]:
    """The call operators of a class of the same file that a body names as a template argument:
    `random_impl<RandomStub, Generator>(…)`."""
    if reference.fact.kind != "address":
        return []
    classes = {
        d.id
        for d in facts.of_kind(reference.fact.key, "class")
        if d.file.id == body.file.id and not d.fact.declares
    }
    if not classes:
        return []
    return [
        d
        for d in facts.of_kind(keys.cpp("operator()"), "function")
        if d.file.id == body.file.id and (around := facts.scope(d)) is not None and around.id in classes
    ]


def _of_arity(found: list[FiledDefinition], arguments: int) -> list[FiledDefinition]:
    """Of several overloads those that take so many arguments; all, where none does (defaults)."""
    if len(found) == 1 or arguments < 0:
        return found
    fitting = [d for d in found if len(overload.parameter_types(d.fact.signature)) == arguments]
    return fitting or found


def _is_native(facts: Facts, written: str, found: Sequence[FiledDefinition], ways_in: frozenset[str]) -> bool:
    """Whether a call of an operator's name is of a native function instead: by its qualifier, or
    as look-up finds one in a native namespace first that no registration names."""
    if written.startswith(("at::native::", "native::")):
        return True
    namespaces = tuple(f"{namespace}::" for namespace in facts.rules.native_namespaces)
    return "::" not in written and not ways_in and all(d.fact.name.startswith(namespaces) for d in found)


def is_operator(facts: Facts, name: str) -> bool:
    """Whether an operator of any namespace has a name, or makes a C++ function called so."""
    known: frozenset[str] | None = facts.kept.get("operators")
    if known is None:
        known = facts.kept["operators"] = facts.keys_of_kind("operator") | facts.keys_of_kind("schema")
    if keys.op(name) in known:
        return True
    for suffix in ("_out", "_outf", "_symint"):
        if name.endswith(suffix) and keys.op(name.removesuffix(suffix)) in known:
            return True
    return False


def kernel_of(facts: Facts, key: str) -> frozenset[str]:
    """The operators (base names, in-place ones without `_`) whose registrations name a function:
    it is the way into them."""
    kept: dict[str, frozenset[str]] = facts.kept.setdefault("kernel_of", {})
    found = kept.get(key)
    if found is None:
        owners = [facts.definition(target.owner) for target in facts.targeting(key)]
        found = kept[key] = frozenset(
            keys.operator_name(owner.fact.name).base.rstrip("_")
            for owner in owners
            if owner is not None and owner.fact.kind in ("registration", "schema")
        )
    return found
