"""What a dotted Python name stands for: imports, assignments and star imports followed.

A name is looked up as written; where nothing has it, the part before the last dot is followed
first (`torch.nn.Linear`: the module torch.nn takes it from torch.nn.modules, that from .linear).
Of several definitions the order is: one with a body, an alias, the bound operator or C++ function.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import targets
from torchtalkd.link.source import Facts

MAX_HOPS: Final = 8
"""How many aliases are followed before a name counts as unknown."""

_ENDS = ("function", "class", "module", "kernel")


class Resolution(NamedTuple):
    """Where one way of following a name ends."""

    ends: tuple[FiledDefinition, ...]
    """Definitions that are no alias: functions and classes first, then bindings. Of equal name."""
    hops: tuple[FiledDefinition, ...]
    """The aliases on the way, in the order that they were followed."""


def canonical(facts: Facts, dotted: str) -> list[str]:
    """The full names that a spelling may mean, likeliest first: as written, with its first
    components replaced (`rules.python_aliases`: F.conv2d → torch.nn.functional.conv2d), and
    below the modules that every user imports."""
    found = {dotted: None}
    parts = dotted.split(".")
    for length in range(len(parts) - 1, 0, -1):
        full = facts.rules.python_aliases.get(".".join(parts[:length]))
        if full:
            found.setdefault(".".join((full, *parts[length:])))
            break
    for root in _roots(facts):
        if not dotted.startswith(root + "."):
            found.setdefault(f"{root}.{dotted}")
    return list(found)


def _roots(facts: Facts) -> list[str]:
    """The top packages that the rules know: `torch`."""
    names = (*facts.rules.python_aliases.values(), *facts.rules.python_modules.values())
    return list(dict.fromkeys(name.partition(".")[0] for name in names))


def resolve(facts: Facts, dotted: str) -> Resolution:
    """Follows a full dotted name to what it is defined as; no ends if the tree does not say."""
    known: dict[str, Resolution] = facts.kept.setdefault("python", {})
    found = known.get(dotted)
    if found is None:
        found = known[dotted] = _follow(facts, dotted, frozenset())
    return found


def _follow(facts: Facts, dotted: str, passed: frozenset[str]) -> Resolution:
    if dotted in passed or len(passed) > MAX_HOPS or not dotted:
        return Resolution((), ())
    passed = passed | {dotted}
    named = named_exactly(facts, dotted)
    bodies = tuple(d for d in named if d.fact.kind in _ENDS and not d.fact.declares)
    bindings = tuple(d for d in named if d.fact.kind == "python_binding")
    if bodies and not (bindings and all(d.fact.kind == "module" for d in bodies)):
        return Resolution(bodies + bindings, ())
    for alias in named:
        if alias.fact.kind != "alias":
            continue
        for target in facts.targets(alias):
            if target.fact.name == dotted:
                continue
            further = _follow(facts, target.fact.name, passed)
            if further.ends:
                return Resolution(further.ends + bindings, (alias, *further.hops))
    module, dot, last = dotted.rpartition(".")
    if not dot:
        return Resolution(bindings, ())
    further = _through_module(facts, module, last, passed)
    if bindings and not any(end.fact.kind == "function" for end in further.ends):
        return Resolution(bindings, ())
    if not (further.ends or bindings):
        known_as = _renamed(facts, dotted)
        return _follow(facts, known_as, passed) if known_as else further
    # `from torch.functional import *` puts a function with a body over the bound operator.
    return Resolution((*further.ends, *bindings), further.hops)


def _renamed(facts: Facts, dotted: str) -> str:
    """The name under which the rules know a class or module that sources spell otherwise, with what stands
    behind it: torch._C.TensorBase.__idiv__ → torch.Tensor.__idiv__. '' for any other; what users write in
    short (`F.relu`) is none of them."""
    holder, _, last = dotted.rpartition(".")
    full = facts.rules.python_aliases.get(holder, "") if "." in holder else ""
    return f"{full}.{last}" if full else ""


def _through_module(facts: Facts, module: str, last: str, passed: frozenset[str]) -> Resolution:
    """`module.last` where no definition has that name: `module` may be an alias or a class that
    inherits, or may import everything from another module."""
    for star in stars(facts, module):
        if not exports(facts, star, last):
            continue
        further = _follow(facts, f"{star}.{last}", passed)
        if further.ends:
            return further
    followed = _follow(facts, module, passed)
    for end in followed.ends:
        full = end.fact.name
        if full != module and end.fact.kind in ("class", "module"):
            further = _follow(facts, f"{full}.{last}", passed)
            if further.ends:
                return Resolution(further.ends, (*followed.hops, *further.hops))
    return Resolution((), ())


def named_exactly(facts: Facts, dotted: str) -> list[FiledDefinition]:
    """The definitions with exactly this full name, of library files first. Templates define
    nothing, but for the methods that they list by hand (`__add__` of python_variable_methods.cpp)."""
    found = [
        d
        for d in (*facts.named(keys.py(dotted), dotted), *targets.bound_in_modules(facts, dotted))
        if d.file.role != "template" or d.fact.kind == "python_binding"
    ]
    found.sort(
        key=lambda d: (d.file.role != "library", d.file.path.endswith(".pyi"), d.file.path, d.fact.line)
    )
    if found and found[0].file.role == "library":
        found = [d for d in found if d.file.role == "library"]
    return found


def stars(facts: Facts, module: str) -> list[str]:
    """The modules that a module imports everything from, last import first, as Python decides."""
    known: dict[str, list[str]] = facts.kept.setdefault("stars", {})
    found = known.get(module)
    if found is None:
        found = []
        for definition in facts.named(keys.py(module), module):
            if definition.fact.kind == "module":
                found.extend(r.fact.name for r in facts.references_of_kind(definition.file, "star"))
        found = known[module] = list(dict.fromkeys(reversed(found)))
    return found


def exports(facts: Facts, module: str, name: str) -> bool:
    """Whether `from module import *` may give a name: one that its `__all__` lists or, without one, that
    begins with no underscore (docs.python.org, "The import statement"). Where the text does not tell all
    that is listed, any."""
    known: dict[str, frozenset[str] | None] = facts.kept.setdefault("exported", {})
    if module not in known:
        known[module] = _listed(facts, module, 0)
    listed = known[module]
    return name in listed if listed is not None else not name.startswith("_") or _listing(facts, module)


def _listing(facts: Facts, module: str) -> bool:
    """Whether a module has an `__all__`, or is not of this tree: then what it gives is not known."""
    own = f"{module}.__all__"
    is_here = any(d.fact.kind == "module" for d in facts.named(keys.py(module), module))
    return not is_here or bool(facts.named(keys.py(own), own))


def _listed(facts: Facts, module: str, depth: int) -> frozenset[str] | None:
    """The names of a module's `__all__`; None where it has none, or others may be in it."""
    own = f"{module}.__all__"
    found: set[str] = set()
    variables = [d for d in facts.named(keys.py(own), own) if d.fact.kind == "variable"]
    for variable in variables:
        detail = variable.fact.detail or {}
        if detail.get("more") or depth > MAX_HOPS:
            return None
        found.update(detail.get("names", ()))
        for other in detail.get("of", ()):
            inner = _listed(facts, other, depth + 1)
            if inner is None:
                return None
            found |= inner
    return frozenset(found) if variables else None


def public_modules(facts: Facts) -> list[str]:
    """Modules whose names users write: those with a short spelling and those that re-export
    bindings."""
    return list(
        dict.fromkeys((*_roots(facts), *facts.rules.python_aliases.values(), *facts.rules.wrapper_prefixes))
    )
