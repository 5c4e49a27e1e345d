"""The card of one class or function of Python: its methods, and what running it comes to."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import Category, FiledDefinition
from torchtalkd.link import operators, python_classes, python_names, python_runs, wrappers
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.answers import Item
from torchtalkd.queries.locate import operator_subject
from torchtalkd.queries.module_categories import categories_of
from torchtalkd.queries.overloads import overloads
from torchtalkd.queries.trace_bindings import binding_items
from torchtalkd.queries.trace_registrations import registration_items
from torchtalkd.store.view import View

MOST_OPERATORS: Final = 12
"""Operators of one method whose kernels are shown; further ones are only named."""
MOST_KEYS: Final = 4
"""Dispatch keys of one operator whose kernels are shown."""
_BODIES: Final = ("function", "kernel", "structured_impl")


@dataclass(frozen=True, slots=True)
class Place:
    """A name with where it is defined; no file where the tree does not define it."""

    name: str
    file: str = ""
    line: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function that computes an operator."""

    dispatch_key: str
    symbol: str
    file: str
    line: int
    via: str = ""
    """The stub between the operator's function and this one."""
    note: str = ""
    """Of a composite: the operators that it calls."""


@dataclass(frozen=True, slots=True)
class Runs:
    """One thing that running a method comes to: an operator, a device kernel, or a module that it holds."""

    kind: str
    """operator, kernel, module; binding: a name that C++ binds; outside: what a framework has that is not in
    this tree."""
    name: str
    """`aten::linear`; the kernel's name; the module's method."""
    line: int
    """Where it is called, in the method or in the last helper…"""
    file: str
    """…which stands in this file."""
    via: tuple[str, ...] = ()
    """The helpers in between, outermost first."""
    attribute: str = ""
    """Of a module: the attribute that holds it."""
    kernels: tuple[Kernel, ...] = ()
    """Of an operator: its kernels, and those behind stubs and on devices. Of a kernel or a module: where
    it is defined."""
    evidence: str = "declared"


@dataclass(frozen=True, slots=True)
class Method:
    """A method."""

    name: str
    file: str
    line: int
    end_line: int
    signature: str
    origin: str = ""
    """The class that it is inherited from; '' for the class's own."""
    decorators: tuple[str, ...] = ()
    runs: tuple[Runs, ...] = ()
    """Of a method that users of an object run: what that comes to."""
    more: tuple[str, ...] = ()
    """Operators beyond those of `runs`."""


@dataclass(frozen=True, slots=True)
class Card:
    """One class or function."""

    kind: str
    """class, function, kernel, alias, binding."""
    name: str
    """Its full name, where it is defined."""
    public: str
    """The shortest name that users write for it."""
    type: str
    """What it is by the manifest's categories: module, optimizer; else its kind."""
    file: str
    line: int
    end_line: int
    signature: str = ""
    """Parameters: of a class those of its `__init__`."""
    decorators: tuple[str, ...] = ()
    bases: tuple[Place, ...] = ()
    """As the class names them."""
    above: tuple[str, ...] = ()
    """All that it inherits from, in the order in which Python looks for a method; without itself."""
    docstring: str = ""
    """Its beginning."""
    methods: tuple[Method, ...] = ()
    """A class's own, then inherited ones, in the order of the text."""
    inherited: tuple[tuple[str, int], ...] = ()
    """Class → how many methods of its are inherited but not listed."""
    runs: tuple[Runs, ...] = ()
    """Of a function: what it comes to."""
    more: tuple[str, ...] = ()


def card(
    view: View, definition: FiledDefinition, *, full: bool, alias: FiledDefinition | None = None
) -> Card:
    """The card of a definition. With `full` its bases, its docstring, and every inherited method. `alias` is
    the assignment that gives a bound function the asked name: it is the place that people look for."""
    if definition.fact.kind == "class":
        return _class_card(view, definition, full)
    place = alias or definition
    fact = place.fact
    runs, more = _function_runs(view, definition)
    kind = "alias" if alias is not None else "binding" if fact.kind == "python_binding" else fact.kind
    return Card(
        kind,
        fact.name,
        public_name(view, place),
        "function" if kind in ("alias", "binding", "function") else kind,
        place.file.path,
        fact.line,
        fact.end_line,
        fact.signature,
        _decorators(place),
        runs=runs,
        more=more,
    )


def _class_card(view: View, cls: FiledDefinition, full: bool) -> Card:
    fact = cls.fact
    categories = categories_of(view, cls)
    above = python_classes.ancestry(view, cls)[1:]
    made = python_classes.method(view, cls, "__init__")
    methods, inherited = _methods(view, cls, categories, full)
    return Card(
        "class",
        fact.name,
        public_name(view, cls),
        next((category.label for category in reversed(categories) if category.label), "class"),
        cls.file.path,
        fact.line,
        fact.end_line,
        made.fact.signature if made is not None else "",
        _decorators(cls),
        tuple(_bases(view, cls)) if full else (),
        tuple(one.fact.name for one in above) if full else (),
        str((fact.detail or {}).get("doc", "")) if full else "",
        methods,
        inherited,
    )


def _bases(view: View, cls: FiledDefinition) -> list[Place]:
    found = []
    for reference in python_classes.base_names(view, cls):
        ends = python_classes.nearest_above(python_classes.means(view, reference, "class"), reference)
        if ends:
            found.append(Place(ends[0].fact.name, ends[0].file.path, ends[0].fact.line))
        else:
            found.append(Place(reference.fact.name, note="not in this tree"))
    return found


def _methods(
    view: View, cls: FiledDefinition, categories: list[Category], full: bool
) -> tuple[tuple[Method, ...], tuple[tuple[str, int], ...]]:
    wanted = tuple(pattern for c in categories for pattern in c.methods) or view.rules.class_methods
    roots = {end.id for c in categories for b in c.bases for end in python_names.resolve(view, b).ends}
    listed: list[Method] = []
    counted: dict[str, int] = {}
    seen: set[str] = set()
    for one in python_classes.ancestry(view, cls):
        for name, member in python_classes.own_members(view, one).items():
            function = python_classes.followed(view, one, member)
            if name in seen or function is None or function.fact.kind not in ("function", "kernel"):
                continue
            seen.add(name)
            inherited = one.id != cls.id
            run = any(fnmatchcase(name, pattern) for pattern in wanted)
            if inherited and one.id in roots and not full and not run:
                counted[one.fact.name] = counted.get(one.fact.name, 0) + 1
                continue
            listed.append(_method(view, name, function, one.fact.name if inherited else "", run))
    return tuple(listed), tuple(counted.items())


def _method(view: View, name: str, function: FiledDefinition, origin: str, run: bool) -> Method:
    fact = function.fact
    runs, more = method_runs(view, function) if run else ((), ())
    return Method(
        name,
        function.file.path,
        fact.line,
        fact.end_line,
        fact.signature,
        origin,
        _decorators(function),
        runs,
        more,
    )


def _decorators(definition: FiledDefinition) -> tuple[str, ...]:
    return tuple(str(name) for name in (definition.fact.detail or {}).get("decorators", ()))


def _function_runs(view: View, definition: FiledDefinition) -> tuple[tuple[Runs, ...], tuple[str, ...]]:
    if definition.fact.kind in ("function", "kernel"):
        return method_runs(view, definition)
    packets = wrappers.operators_of(view, definition.fact.name)
    place = definition.file.path, definition.fact.line
    return tuple(Runs("operator", p, place[1], place[0], kernels=chain(view, p)) for p in packets), ()


def method_runs(view: View, function: FiledDefinition) -> tuple[tuple[Runs, ...], tuple[str, ...]]:
    """What a function's body comes to, and the operators beyond the first dozen, by name."""
    found: list[Runs] = []
    more: list[str] = []
    for run in python_runs.runs(view, function):
        fact = run.reference.fact
        place = fact.line, run.reference.file.path, run.via
        if run.operator:
            if len(found) < MOST_OPERATORS:
                kernels = chain(view, run.operator)
                found.append(Runs("operator", run.operator, *place, kernels=kernels, evidence=run.evidence))
            else:
                more.append(run.operator)
        elif run.outside:
            kind = "module" if run.held else "outside"
            found.append(Runs(kind, run.outside, *place, run.held, (), run.evidence))
        elif run.end is not None and run.end.fact.kind == "python_binding":
            bound = [item for item in binding_items(view, run.end) if item.kind in _BODIES][:MOST_KEYS]
            if bound:
                found.append(Runs("binding", run.end.fact.name, *place, kernels=tuple(map(_kernel, bound))))
        elif run.end is not None:
            end = run.end
            kernel = Kernel("", end.fact.name, end.file.path, end.fact.line)
            kind = "module" if run.held else "kernel"
            found.append(Runs(kind, end.fact.name, *place, run.held, (kernel,), run.evidence))
    return tuple(found), tuple(more)


def chain(view: View, packet: str) -> tuple[Kernel, ...]:
    """The kernels of the overload that a plain call means, the usual backends first: for each key the
    function that is registered, and the last one that it leads to, behind a stub or on the device."""
    kept: dict[str, tuple[Kernel, ...]] = view.kept.setdefault("module_chains", {})
    found = kept.get(packet)
    if found is None:
        found = kept[packet] = tuple(_chain(view, packet))
    return found


def _chain(view: View, packet: str) -> list[Kernel]:
    subject = operator_subject(view, packet)
    family = operators.family(view, packet)
    entries = overloads(view, subject) if subject is not None else []
    if family is None or not entries:
        return []
    entry = entries[0]
    order = {backend: number for number, backend in enumerate(view.rules.backends)}
    rows = trace_kernels.rows(view, entry) if entry.fact.kind == "operator" else []
    # A composite's function is the one that most calls pass.
    rows.sort(
        key=lambda row: (
            not row.registration.fact.dispatch_key.startswith("Composite"),
            order.get(row.registration.fact.dispatch_key, len(order)),
        )
    )
    items: list[Item] = []
    for row in rows[:MOST_KEYS]:
        bodies = [item for item in trace_kernels.row_items(view, row) if item.kind in _BODIES]
        own = [item for item in bodies if not item.via]
        behind = [item for item in bodies if item.via and item.dispatch_key in _served(row)]
        items += [*(own or bodies)[:1], *behind[-1:]]
    if not items:
        registered = registration_items(view, family, frozenset([family.full_name(entry)]))
        items = list(islice((item for item in registered if item.kind in _BODIES), MOST_KEYS))
    return [_kernel(item) for item in items]


def _kernel(item: Item) -> Kernel:
    return Kernel(item.dispatch_key, item.symbol, item.file, item.line, item.via, item.note)


def _served(row: trace_kernels.Row) -> tuple[str, ...]:
    return (row.registration.fact.dispatch_key, "")


def public_name(view: View, definition: FiledDefinition) -> str:
    """The shortest dotted name below the definition's own packages under which it is found; its own name
    where there is no other."""
    full, last = definition.fact.name, keys.last(definition.fact.key)
    parts = full.split(".")[:-1]
    for length in range(1, len(parts)):
        name = ".".join((*parts[:length], last))
        resolution = python_names.resolve(view, name)
        if any(one.id == definition.id for one in (*resolution.ends, *resolution.hops)):
            return name
    return full
