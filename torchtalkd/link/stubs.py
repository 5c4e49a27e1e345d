"""Which kernels stand behind a dispatch stub.

A stub (aten/src/ATen/native/DispatchStub.h) is declared and defined by macros; each
REGISTER_…DISPATCH names one kernel for one device type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import functions
from torchtalkd.link.source import Facts, Link


class StubKernel(NamedTuple):
    """One registration of a stub, with the functions that it may mean."""

    registration: FiledDefinition
    functions: tuple[Link, ...]
    """Empty where the tree has no definition of that name: a template, a lambda, a macro's."""
    written: str
    """The kernel as written, '' for none."""


def is_stub(facts: Facts, key: str) -> bool:
    """Whether a key is the name of a stub. (A function elsewhere may be called the same.)"""
    known: frozenset[str] | None = facts.kept.get("stubs")
    if known is None:
        known = facts.kept["stubs"] = facts.keys_of_kind("stub") | facts.keys_of_kind("stub_kernel")
    return key in known


def meant(facts: Facts, reference: str, scopes: Sequence[str], file: File | None = None) -> str:
    """The full name of the stub that a name means, looked up from `scopes`; '' for none.

    What is no stub hides one: in the file that has a static function called `add_stub`, the
    name is not the stub `add_stub` (nor is it elsewhere).
    """
    written = functions.plain(reference)
    key = keys.cpp(written)
    if not is_stub(facts, key):
        return ""
    seen = [d for d in facts.definitions(key) if functions.visible(d, file)]
    own = [d for d in seen if file is not None and d.file.id == file.id]
    for scope in scopes:
        full = f"{scope}::{written}" if scope else written
        named = [d for d in own if d.fact.name == full] or [d for d in seen if d.fact.name == full]
        if named:
            return full if any(d.fact.kind in ("stub", "stub_kernel") for d in named) else ""
    return ""


def is_anothers(facts: Facts, stub: str, base: str) -> bool:
    """Whether a stub is named after another operator than `base`: `sub` calls add_stub, and
    `index_select` copies by copy_stub. `mean_stub` is that of `mean`, of `_mean` and of `mean_`."""
    stem = _STEM.sub("", keys.cpp_last(stub)).strip("_")
    own = base.strip("_").removesuffix("_backward").strip("_")
    if not stem or stem in own or own in stem:
        return False
    return facts.count(keys.op(stem)) > 0 or facts.count(keys.op(f"{stem}_")) > 0


_STEM = re.compile(r"_(?:stub|kernel|fn|impl)$")


def kernels(facts: Facts, key: str, name: str = "") -> list[StubKernel]:
    """Each kernel registered for the stubs of a key; of the one called `name` if given."""
    found = []
    for registration in facts.definitions(key):
        fact = registration.fact
        if fact.kind != "stub_kernel" or registration.file.role != "library":
            continue
        if name and not _is_called(fact.name, name):
            continue
        if fact.detail and fact.detail.get("none"):
            continue
        written = ""
        links: list[Link] = []
        for target in facts.targets(registration):
            written = written or target.fact.name
            scopes = functions.enclosing(name or fact.name)
            bodies = functions.functions(facts, target.fact.name, scopes, file=registration.file)
            if fact.detail and fact.detail.get("ufunc"):
                # The loops over scalars and over vectors have one name and are both meant.
                links.extend(Link(body, "declared") for body in bodies)
            else:
                links.extend(functions.as_links(bodies, "declared"))
        found.append(StubKernel(registration, tuple(links), written))
    order = {backend: place for place, backend in enumerate(facts.rules.backends)}
    found.sort(
        key=lambda k: (order.get(k.registration.fact.dispatch_key, len(order)), k.registration.file.path)
    )
    return found


def registered_for(facts: Facts, key: str, name: str) -> set[str]:
    """The dispatch keys that a stub is registered for, those included that are said to have no kernel."""
    return {
        d.fact.dispatch_key
        for d in facts.definitions(key)
        if d.fact.kind == "stub_kernel" and d.file.role == "library" and _is_called(d.fact.name, name)
    }


def _is_called(written: str, name: str) -> bool:
    """`REGISTER_DISPATCH(cpublas::gemm_stub, …)` may say only the end of the name."""
    return written == name or ("::" in written and name.endswith(f"::{written}"))
