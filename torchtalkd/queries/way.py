"""way: the whole way of one call, from the Python name to the functions that compute.

For an operator and a backend: Python, then key after key what the dispatcher runs (vmap and autocast if
asked for, autograd, tracking of views), the backend's kernel, and what that ends in: operators that a
composite calls in turn, stubs, device kernels, a library. Each step names the one before it, so that
the steps are a tree. The tests are `tests/test_way.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import composite, operators, reach, wrappers
from torchtalkd.link.dispatch_table import Entry, dispatch_table
from torchtalkd.link.operators import Family
from torchtalkd.link.registered import Registered, fallbacks, registered, runtime_keys
from torchtalkd.queries import trace_kernels
from torchtalkd.queries.answers import Standalone, Standing, standing
from torchtalkd.queries.dispatch import unknown_key, why
from torchtalkd.queries.dispatch_kernels import Kernel, kernels_of
from torchtalkd.queries.locate import locate
from torchtalkd.queries.trace_derivative import function_items
from torchtalkd.queries.way_ends import libraries_called
from torchtalkd.store.view import View

MAX_DEPTH: Final = 4
"""Operators within operators that are followed."""
MOST_CALLED: Final = 16
"""Operators of one composite that are followed."""
HIP: Final = "HIP"
_HIPIFIED: Final = "HIP is compiled from this CUDA source (hipify)"


@dataclass(frozen=True, slots=True)
class Step:
    """One stop of the way."""

    number: int
    """From 1, in the order of the call."""
    after: int
    """The step that leads to it; 0 for the first."""
    role: str
    """python, vmap, autocast, autograd, formula, views, select, meta, composite, kernel, operator (called in
    turn), stub, device (a kernel on it), library, end (why nothing follows)."""
    symbol: str
    file: str
    """'' where it is no place of this tree."""
    line: int
    operator: str = ""
    key: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class WayAnswer(Standalone):
    """The answer to `trace --path`."""

    query: str
    operator: str
    """The overload that is followed, '' if nothing was found."""
    backend: str
    steps: tuple[Step, ...]
    standing: Standing
    others: tuple[str, ...] = ()
    """Further overloads of the name."""
    nearest: tuple[str, ...] = ()
    error: str = ""

    @property
    def cited(self) -> tuple[str, ...]:
        """The files that it names."""
        return tuple({step.file for step in self.steps if step.file})

    def without(self, moved: frozenset[str]) -> WayAnswer:
        """Without the steps in files that moved on."""
        return replace(self, steps=tuple(step for step in self.steps if step.file not in moved))


class Asked(NamedTuple):
    """What a call is like."""

    backend: str
    requires_grad: bool = False
    autocast: bool = False
    vmap: bool = False


def way(view: View, name: str, asked: Asked) -> WayAnswer:
    """The steps of a call of what `name` means. Read-only. `error` says that there is no such backend."""
    said = WayAnswer(name, "", asked.backend, (), standing(view))
    known = runtime_keys(view.rules.dispatch)
    backend = next((key for key in known if key.casefold() == asked.backend.casefold()), "")
    if not backend:
        return replace(said, error=unknown_key(asked.backend, known))
    located = locate(view, name)
    subjects = [s for s in located.subjects if s.answered and s.kind == "operator"]
    if not subjects:
        return replace(said, nearest=located.nearest)
    family = operators.family(view, subjects[0].name)
    if family is None:
        return replace(said, nearest=located.nearest)
    overload = _first(family, subjects[0].overloads)
    walk = _Walk(view, asked._replace(backend=backend))
    walk.python(family, name)
    walk.operator(family, overload, 0)
    others = tuple(o for o in subjects[0].overloads if o != overload)
    return replace(said, operator=overload, backend=backend, steps=tuple(walk.steps), others=others)


def as_json(answer: WayAnswer) -> dict[str, Any]:
    """The object of `--json`."""
    found: dict[str, Any] = {
        "query": answer.query,
        "operator": answer.operator,
        "backend": answer.backend,
        "steps": [{k: v for k, v in asdict(step).items() if v != ""} for step in answer.steps],
        "others": list(answer.others),
        "revision": answer.standing.revision,
    }
    if answer.nearest:
        found["nearest"] = list(answer.nearest)
    if answer.error:
        found["error"] = answer.error
    return found


def _first(family: Family, overloads: tuple[str, ...]) -> str:
    """The overload that a plain call means: it writes to nothing and names no dimensions."""

    def rank(entry: FiledDefinition) -> tuple[bool, bool]:
        return operators.is_out(entry), "Dimname" in entry.fact.signature

    meant = [entry for entry in family.entries if family.full_name(entry) in overloads]
    return family.full_name(min(meant, key=rank)) if meant else next(iter(overloads), family.name)


class _Walk:
    """The steps so far. Lives for one question."""

    def __init__(self, view: View, asked: Asked) -> None:
        self.view = view
        self.asked = asked
        self.key = "CUDA" if asked.backend == HIP else asked.backend
        self.steps: list[Step] = []
        self.seen: set[str] = set()

    def add(self, after: int, role: str, symbol: str, file: str = "", line: int = 0, **more: str) -> int:
        """Adds a step, each place behind one step once; returns its number."""
        for known in self.steps[after:]:
            if (known.after, known.role, known.symbol, known.file, known.line) == (
                after, role, symbol, file, line,
            ) and role in ("device", "library"):  # fmt: skip
                return known.number
        number = len(self.steps) + 1
        self.steps.append(Step(number, after, role, symbol, file, line, **more))
        return number

    def python(self, family: Family, name: str) -> None:
        """The Python name that the call begins with: the one asked for, or the first."""
        points = wrappers.entry_points(self.view, family)
        meant = [p for p in points if p.name == name or p.name.endswith("." + name)]
        bound = [p for p in points if p.kind == "binding"]
        for point in (meant or bound or points)[:1]:
            fact, file = point.definition.fact, point.definition.file
            self.add(0, "python", point.name, file.path, fact.line, note=point.kind)

    def operator(self, family: Family, overload: str, depth: int, after: int = -1) -> None:
        """The steps of one operator, key by key. A mode that has done its part is off for what follows."""
        asked = self.asked
        self._operator(family, overload, depth, after)
        self.asked = asked

    def _operator(self, family: Family, overload: str, depth: int, after: int) -> None:
        self.seen.add(overload)
        after = len(self.steps) if after < 0 else after
        several = registered(self.view, family, None).get(overload, ())
        active = {one.dispatch_key: one for one in several if not one.hidden}
        shown = tuple(key for _, key, _ in self._keys())
        table = dispatch_table(
            active, fallbacks(self.view, None), replace(self.view.rules.dispatch, table=shown)
        )
        entry = operators.entry(self.view, overload)
        for role, key, always in self._keys():
            found = table.get(key)
            if found is None:
                if role == "kernel":
                    self.add(after, "end", overload, operator=overload, key=key, note=f"no kernel for {key}")
                continue
            one = found.registered
            if one is None or (role != "kernel" and (one.falls_through or found.kind == "backend fallback")):
                continue
            if role != "kernel" and found.kind in ("math kernel", "default backend kernel"):
                if found.kind == "math kernel" and always:
                    # A composite runs above autograd; what it calls is differentiated.
                    self._kernels(after, "composite", overload, key, found, depth)
                    return
                continue
            if found.kind == "batched kernel":
                # Under vmap it is what the composite calls that is batched.
                self._kernels(after, "composite", overload, key, found, depth)
                return
            if role == "kernel":
                after = self._meta(after, entry, overload, key, one)
                composed = found.dispatch_key.startswith("Composite")
                self._kernels(after, "composite" if composed else role, overload, key, found, depth)
                return
            after = self._passing(after, role, overload, key, found)
            if role == "vmap":
                self.asked = self.asked._replace(vmap=False)
            if role == "autocast":
                self.asked = self.asked._replace(autocast=False)
            if role == "autograd" and self.asked.requires_grad and entry is not None:
                self._formula(after, entry, overload)

    def _keys(self) -> Iterator[tuple[str, str, bool]]:
        """Role, key, and whether it is one of autograd, in the order of the dispatcher."""
        device = next((b for b in reversed(self.view.rules.dispatch.backends) if self.key.endswith(b)), "")
        if self.asked.vmap:
            yield "vmap", "FuncTorchBatched", False
        if self.asked.autocast:
            yield "autocast", f"Autocast{device}", False
        yield "autograd", self._autograd_key(device), True
        yield "views", "ADInplaceOrView", False
        yield "select", "BackendSelect", False
        yield "kernel", self.key, False

    def _autograd_key(self, device: str) -> str:
        """The key of autograd for a tensor of this backend (c10/core/TensorImpl.cpp gives a tensor that of
        its backend's component; NestedTensor has its own)."""
        begin = self.key.removesuffix(device)
        if begin == "NestedTensor":
            return "AutogradNestedTensor"
        of_backend = bool(device) and begin in self.view.rules.dispatch.per_backend
        return f"Autograd{device}" if of_backend else "AutogradOther"

    def _passing(self, after: int, role: str, overload: str, key: str, found: Entry[Registered]) -> int:
        """A kernel that does its part and calls the next key."""
        assert found.registered is not None
        kernel = kernels_of(self.view, found.registered)[0]
        where = found.registered.where
        said = kernel.note or f"registered {where}"
        return self.add(
            after, role, kernel.name, kernel.file, kernel.line, operator=overload, key=key, note=said
        )

    def _formula(self, after: int, entry: FiledDefinition, overload: str) -> None:
        for derivative in operators.derivatives(self.view, entry):
            formulas = (derivative.fact.detail or {}).get("formulas") or {}
            lines = (derivative.fact.detail or {}).get("lines") or {}
            for inputs, formula in formulas.items():
                line = int(lines.get(inputs) or derivative.fact.line)
                self.add(
                    after, "formula", inputs, derivative.file.path, line, operator=overload, note=str(formula)
                )
            for item in function_items(self.view, derivative, overload):
                self.add(after, "formula", item.symbol, item.file, item.line, operator=overload)

    def _meta(
        self, after: int, entry: FiledDefinition | None, overload: str, key: str, one: Registered
    ) -> int:
        """The structured meta function, which runs before its impl (torchgen's structured wrapper)."""
        impl = any(
            k.definition and k.definition.fact.kind == "structured_impl" for k in kernels_of(self.view, one)
        )
        if entry is None or not (impl or one.dispatch_key.endswith("NonFunctional")):
            return after
        for item in trace_kernels.meta_items(self.view, entry):
            return self.add(
                after, "meta", item.symbol, item.file, item.line, operator=overload, key=key,
                note="shapes and dtypes",
            )  # fmt: skip
        return after

    def _kernels(
        self, after: int, role: str, overload: str, key: str, found: Entry[Registered], depth: int
    ) -> None:
        assert found.registered is not None
        for kernel in kernels_of(self.view, found.registered):
            guard = kernel.definition.fact.guard if kernel.definition is not None else ""
            said = why(key, found), kernel.note, guard and f"#if {guard}", self._hip(kernel)
            note = "; ".join(part for part in said if part)
            number = self.add(
                after, role, kernel.name, kernel.file, kernel.line, operator=overload, key=key, note=note
            )
            self._behind(number, kernel, overload, depth, composed=role == "composite")

    def _hip(self, kernel: Kernel) -> str:
        return _HIPIFIED if self.asked.backend == HIP and "/cuda/" in kernel.file else ""

    def _behind(self, after: int, kernel: Kernel, overload: str, depth: int, *, composed: bool) -> None:
        """What a kernel ends in, or why nothing more is known."""
        definition = kernel.definition
        if definition is None:
            self._generated(after, kernel, overload, depth)
            return
        if definition.file.language == "python":
            self._called(after, wrappers.operators_called(self.view, definition), overload, depth)
            return
        before = len(self.steps)
        for end in reach.reached(self.view, definition):
            if end.kind == "stub":
                self._stub(after, end, overload, composed=composed)
            elif trace_kernels.runs_on_a_device(self.view, end):
                self._device(after, end, overload)
        for library in libraries_called(self.view, definition):
            self.add(after, "library", library, operator=overload, note="not a part of this tree")
        if composed or len(self.steps) == before:
            self._called(after, composite.ends(self.view, definition), overload, depth)
        if len(self.steps) == before:
            self.add(
                after, "end", keys.cpp_last(definition.fact.name), definition.file.path, definition.fact.line,
                operator=overload, note="computes in its own body",
            )  # fmt: skip

    def _generated(self, after: int, kernel: Kernel, overload: str, depth: int) -> None:
        """A generated kernel calls the operator that it wraps, or the structured one."""
        family = operators.family(self.view, kernel.name)
        if family is not None and kernel.name in family.overloads and kernel.name not in self.seen:
            if depth < MAX_DEPTH:
                self.operator(family, kernel.name, depth + 1, after)
            return
        self.add(after, "end", kernel.name, kernel.file, kernel.line, operator=overload, note=kernel.note)

    def _stub(self, after: int, end: reach.Reached, overload: str, *, composed: bool) -> None:
        """A stub with the kernels registered for the backend. A composite calls stubs of several
        backends: only those with such a kernel are of its way."""
        items = trace_kernels.stub_items(self.view, end.name, overload)
        meant = [item for item in items if item.dispatch_key == self.key]
        if composed and not meant:
            return
        place = end.reference.file.path, end.reference.fact.line
        stub = self.add(after, "stub", end.name, *place, operator=overload, note=f"called {_via(end.via)}")
        for item in meant:
            role = "device" if item.role == "gpu_kernel" else "kernel"
            note = _HIPIFIED if self.asked.backend == HIP else item.note
            self.add(
                stub, role, item.symbol, item.file, item.line, operator=overload, key=self.key, note=note
            )
        if not meant:
            self.add(stub, "end", end.name, operator=overload, note=f"no kernel registered for {self.key}")

    def _device(self, after: int, end: reach.Reached, overload: str) -> None:
        place = end.definition
        file = place.file.path if place else end.reference.file.path
        line = place.fact.line if place else end.reference.fact.line
        note = f"launched {_via(end.via)}"
        if self.asked.backend == HIP:
            note += f"; {_HIPIFIED}"
        self.add(after, "device", end.name, file, line, operator=overload, key=self.key, note=note)

    def _called(self, after: int, calls: Any, overload: str, depth: int) -> None:
        """The operators that a composite calls in turn."""
        own = keys.operator_name(overload)
        # Of a method's receiver nothing is known: such calls are followed from the operator asked for alone.
        sure = [c for c in calls if depth == 0 or c.evidence != "candidate"]
        packets = [c.operator for c in sure if c.operator != f"{own.namespace}::{own.base}"]
        for packet in packets[:MOST_CALLED]:
            family = operators.family(self.view, packet)
            if family is None or not composite.computes(self.view, packet):
                continue
            inner = _first(family, family.overloads)
            if inner in self.seen or depth >= MAX_DEPTH:
                self.add(
                    after,
                    "operator",
                    inner,
                    operator=overload,
                    note="shown above" if inner in self.seen else "",
                )
                continue
            entry = operators.entry(self.view, inner)
            number = self.add(
                after, "operator", inner, entry.file.path if entry else "", entry.fact.line if entry else 0,
                operator=overload, note="called in turn",
            )  # fmt: skip
            self.operator(family, inner, depth + 1, number)


def _via(via: tuple[str, ...]) -> str:
    return f"by {' > '.join(via)}" if via else "by the kernel itself"
