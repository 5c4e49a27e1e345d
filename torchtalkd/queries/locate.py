"""locate: what a name means, in any spelling that users have for it.

A subject is something of exactly that name. Nothing merely similar is ever one: where nothing has
the name, `Located.nearest` says which names are spelled alike. Of several meanings the order is:
operator, Python, C++, stub, macro; an operator hides the others of a bare name, which are
then only named. The tests are `tests/test_queries.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators, python_names, targets, wrappers
from torchtalkd.link.operators import Family
from torchtalkd.queries import spelling
from torchtalkd.queries.answers import Subject
from torchtalkd.queries.nearest import nearest
from torchtalkd.queries.subjects import (
    cpp_subjects,
    distinct,
    of_definitions,
    python_definitions,
    python_subjects,
)
from torchtalkd.queries.trace_registry import registry_subjects
from torchtalkd.store.view import View


@dataclass(frozen=True, slots=True)
class Located:
    """What a name means."""

    query: str
    """As asked."""
    subjects: tuple[Subject, ...]
    """The best meaning first; empty where nothing has the name."""
    nearest: tuple[str, ...] = ()
    """Names that exist, spelled alike; only where there are no subjects."""


def locate(view: View, name: str) -> Located:
    """The subjects that a name means. Read-only."""
    spelled = spelling.read(name)
    subjects = _subjects(view, spelled) if spelled.text else []
    if subjects:
        return Located(name, tuple(distinct(subjects)))
    return Located(name, (), tuple(_overloads(view, spelled.text) or nearest(view, spelled.text)))


def python_name(view: View, dotted: str) -> list[Subject]:
    """The subjects of a full Python name, imports followed: what it is, then the operator behind it.
    Exactly that name, no other spelling."""
    packet = wrappers.spelled(view, dotted)
    if packet:
        overload = ".".join(dotted.split(".")[dotted.split(".").index("ops") + 3 :])
        subject = operator_subject(view, f"{packet}.{overload}" if overload else packet)
        return [subject] if subject is not None else []
    resolution = python_names.resolve(view, dotted)
    return _resolved(view, dotted, resolution) if resolution.ends else []


def operator_subject(view: View, name: str) -> Subject | None:
    """The operator of a full name `ns::base` or `ns::base.overload`; None if there is none."""
    family = operators.family(view, name)
    if family is None:
        return None
    overload = keys.canonical_operator(keys.operator_name(name), "").overload
    exact = overload or name.endswith(".default")
    return (_operator(family, overload) if exact else None) or _operator(family, None)


def _overloads(view: View, text: str) -> list[str]:
    """The overloads that an operator has, where one is written that it has not."""
    family = operators.family(view, text) if "." in text.rpartition("::")[2] else None
    return list(family.overloads) if family is not None else []


def _subjects(view: View, spelled: spelling.Spelled) -> list[Subject]:
    if spelled.operator:
        found = operators.family(view, spelled.operator)
        return [s for s in (_operator(found, spelled.overload),) if s] if found else []
    if "::" in spelled.text:
        return _qualified(view, spelled.text)
    if "." in spelled.text:
        return _dotted(view, spelled.text)
    return _bare(view, spelled.text)


def _operator(family: Family, overload: str | None, note: str = "") -> Subject | None:
    """An operator, or those overloads of it that are meant; None, if it has no such overload."""
    names = family.overloads
    if overload is not None:
        wanted = f"{family.name}.{overload}" if overload else family.name
        if wanted not in names and (names or overload):
            return None
        return Subject("operator", wanted, note, overloads=(wanted,))
    return Subject("operator", family.name, note, overloads=names)


# -- aten::mm, at::native::add, at::add


def _qualified(view: View, text: str) -> list[Subject]:
    namespace, _, base = text.rpartition("::")
    found: list[Subject] = []
    if "::" not in namespace:
        found.extend(
            subject
            for family in operators.families(view, base)
            if family.namespace == namespace
            for subject in [_operator(family, None)]
            if subject
        )
    if not found:
        found.extend(generated_subjects(view, text))
    found.extend(cpp_subjects(view, base, text))
    return found


def generated_subjects(view: View, text: str) -> list[Subject]:
    """The operator that a C++ name is made from (at::add, at::_ops::add_Tensor::call), or whose
    kernels have it (at::native::add)."""
    first = view.rules.operator_namespace
    namespace, _, last = text.rpartition("::")
    native = any(namespace in (scope, scope.partition("::")[2]) for scope in view.rules.native_namespaces)
    generated = operators.generated_operator(text)
    if generated:
        last = generated
    elif not native:
        return []
    note = f"{text} is made of it" if generated else f"{text} is what its kernels are called"
    for base, overload in operators.readings(view, last):
        family = operators.family(view, f"{first}::{base}")
        if family is None:
            continue
        wanted = [name for name in family.overloads if _is_meant(view, name, overload)]
        if wanted:
            name = wanted[0] if len(wanted) == 1 and overload is not None else family.name
            return [Subject("operator", name, note, overloads=tuple(wanted))]
    return []


def _is_meant(view: View, name: str, overload: str | None) -> bool:
    """Whether an overload is among those that a generated name stands for (`*out`: the out= ones)."""
    if overload is None:
        return True
    if overload == "*out":
        entry = operators.entry(view, name)
        return entry is not None and operators.is_out(entry)
    return keys.operator_name(name).overload == overload


# -- torch.linalg.det, F.conv2d, add.out, aten.add.Tensor


def _dotted(view: View, text: str) -> list[Subject]:
    base, _, overload = text.partition(".")
    parts = text.split(".")
    family = operators.family(view, f"{parts[0]}::{parts[1]}")
    if family is not None and len(parts) <= 3:
        written = None if len(parts) == 2 else ("" if parts[2] == "default" else parts[2])
        subject = _operator(family, written)
        if subject is not None:
            return [subject]
    if len(parts) == 2:
        wanted = "" if overload == "default" else overload
        for family in operators.families(view, base):
            subject = _operator(family, wanted)
            if subject is not None:
                return [subject]
    for name in python_names.canonical(view, text):
        resolution = python_names.resolve(view, name)
        if resolution.ends:
            return _resolved(view, name, resolution)
    modules = targets.modules(view, text)
    if modules:
        return [of_definitions("Python module", text, modules, "made by a build")]
    last = parts[-1]
    if view.count(keys.py(last), 20_000) >= 20_000:
        return []
    ending = [d for d in python_definitions(view, last) if f".{d.fact.name}".endswith("." + text)]
    # A registry may hold a name with dots; an entry may be asked for as that of its registry.
    return (
        registry_subjects(view, text)
        or python_subjects(view, ending)
        or registry_subjects(view, last, parts[-2])
    )


def _resolved(view: View, name: str, resolution: python_names.Resolution) -> list[Subject]:
    """The subjects of a Python name that was followed: the function or class, then the operator
    that it is bound to or calls."""
    note = ""
    if resolution.hops:
        last = resolution.ends[0].fact.name
        note = f"{name} is {last}"
    bodies = [end for end in resolution.ends if end.fact.kind != "python_binding"]
    bound = [end for end in resolution.ends if end.fact.kind == "python_binding"]
    found: list[Subject] = []
    for packet, names in _bound_operators(view, bound).items():
        family = operators.family(view, packet)
        if family is not None:
            subject = _operator(family, None, note)
            if subject is not None:
                known = tuple(n for n in subject.overloads if n in names) or subject.overloads
                found.append(replace(subject, overloads=known))
    others = [end for end in bound if not _operator_targets(view, end)]
    functions_found = python_subjects(view, [*bodies, *others], note)
    for body in bodies:
        if body.fact.kind == "function":
            found.extend(_called(view, body, found))
    return [*functions_found, *found] if bodies else [*found, *functions_found]


def _called(view: View, function: FiledDefinition, known: list[Subject]) -> list[Subject]:
    """The operator behind a Python function: the one of its own name that it calls, or the only
    one that it calls. A function that calls several stands for none of them."""
    called = wrappers.operators_called(view, function)
    own = keys.last(function.fact.key)
    named = [c for name in (own, f"{own}_") for c in called if c.operator.rpartition("::")[2] == name]
    chosen = named or (list(called) if len(called) == 1 else [])
    found = []
    for call in chosen:
        family = operators.family(view, call.operator)
        if family is None or any(s.name == family.name for s in known):
            continue
        subject = _operator(family, None, f"called by {function.fact.name}")
        if subject is not None:
            found.append(subject)
    return found


def _bound_operators(view: View, bindings: Iterable[FiledDefinition]) -> dict[str, list[str]]:
    """Packet → overloads that bindings are bound to."""
    found: dict[str, list[str]] = {}
    for binding in bindings:
        for name in _operator_targets(view, binding):
            written = keys.operator_name(name)
            found.setdefault(f"{written.namespace}::{written.base}", []).append(name)
    return found


def _operator_targets(view: View, binding: FiledDefinition) -> list[str]:
    """The overloads that a binding is bound to. A method table may name the function that
    torchgen writes for an operator: THPVariable_add (tools/autograd/gen_python_functions.py)."""
    targets = view.targets(binding)
    found = [t.fact.name for t in targets if keys.space(t.fact.key) == "op"]
    for target in targets:
        base = keys.last(target.fact.key).removeprefix(_GENERATED_METHOD)
        if base != keys.last(target.fact.key):
            family = operators.family(view, f"{view.rules.operator_namespace}::{base}")
            # torchgen writes them for the operators of yaml alone: torch.tensor is written by hand.
            generated = family is not None and any(e.fact.kind == "operator" for e in family.entries)
            found.extend(family.overloads if family is not None and generated else ())
    return found


_GENERATED_METHOD = "THPVariable_"


# -- add, add_kernel, Linear, TORCH_CHECK, MulBackward0


def _bare(view: View, text: str) -> list[Subject]:
    families = operators.families(view, text)
    named = [s for family in families if (s := _operator(family, None)) is not None]
    found = list(named)
    if families and any(entry.fact.kind == "operator" for entry in families[0].entries):
        # Beside the framework's own operator those of other namespaces are another question.
        found[1:] = (replace(subject, answered=False) for subject in named[1:])
    if not (found and found[0].name.startswith(f"{view.rules.operator_namespace}::")):
        # `mm_out` is what torchgen calls mm.out in C++, whatever else is called so.
        found.extend(_of_readings(view, text, only_out=bool(found) or view.count(keys.cpp(text)) > 0))
    registered = registry_subjects(view, text)
    if named:
        return [*found, *registered, *_other_meanings(view, text)]
    found.extend(_node(view, derivative) for derivative in operators.nodes(view, text))
    found.extend(_public(view, text) or python_subjects(view, python_definitions(view, text)))
    found.extend(cpp_subjects(view, text))
    macros = view.of_kind(keys.macro(text), "macro")
    if macros:
        found.append(of_definitions("macro", text, macros))
    if found and all(subject.kind == "Python module" for subject in found):
        # A file may be called like what it registers; the entry says more.
        return [*registered, *found]
    return [*found, *registered] or _rest(view, text)


def _node(view: View, derivative: FiledDefinition) -> Subject:
    name = operators.node_name(view, derivative)
    of = derivative.fact.name
    return Subject("autograd node", name, f"of {of}", ids=(derivative.id,), overloads=(of,))


def _public(view: View, text: str) -> list[Subject]:
    """What a bare name is called as in the modules that users write: `Linear` → torch.nn.Linear."""
    for module in python_names.public_modules(view):
        resolution = python_names.resolve(view, f"{module}.{text}")
        if resolution.ends:
            return _resolved(view, f"{module}.{text}", resolution)
    return []


def _of_readings(view: View, text: str, *, only_out: bool) -> list[Subject]:
    """A name that torchgen makes: `mm_out`, `add_outf`, `add_Tensor`."""
    if "_" not in text or (only_out and not text.endswith(("_out", "_outf", "_symint"))):
        return []
    return generated_subjects(view, f"at::{text}")


def _rest(view: View, text: str) -> list[Subject]:
    """Names of other spaces: tags, tests, and what is declared or registered only."""
    found = []
    for key, kind in ((keys.tag(text), "tag"), (keys.test(text), "test")):
        definitions = view.definitions(key)
        if definitions:
            found.append(of_definitions(kind, text, definitions))
    return found


def _other_meanings(view: View, text: str) -> list[Subject]:
    """How much else has the name of an operator: named, not answered."""
    found = []
    for space, kind in (("py", "Python names"), ("cpp", "C++ names"), ("macro", "macros")):
        count = view.count(f"{space}:{text}")
        if count:
            places = "1 place" if count == 1 else f"{count}{'+' if count >= 64 else ''} places"
            found.append(Subject(kind, text, places, answered=False))
    return found
