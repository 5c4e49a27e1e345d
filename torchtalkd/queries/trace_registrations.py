"""The layer of registrations by hand: m.impl and m.def with a function, and macros that make them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import library_blocks
from torchtalkd.link.operators import Family
from torchtalkd.link.registered_by_hand import ByHand, registered_by_hand
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

_PYTHON: Final = keys.space(keys.py(""))


def registration_items(
    view: View, family: Family, overloads: frozenset[str], *, behind: bool = True
) -> Iterator[Item]:
    """Each registration in code, then the function that it names; with `behind` what that ends in, too."""
    for registered in registered_by_hand(view, family, overloads):
        yield from (_made_items if registered.made else _items)(view, registered, behind)


def role_of(dispatch_key: str) -> str:
    """The layer that a dispatch key belongs to."""
    return next((role for begin, role in ROLE_OF_KEY if dispatch_key.startswith(begin)), "registration")


def _items(view: View, registered: ByHand, behind: bool) -> Iterator[Item]:
    registration, operator, dispatch_key = registered.place, registered.operator, registered.dispatch_key
    fact = registration.fact
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
        block_line=registered.block_line,
        operators=(operator,),
        kind=fact.kind,
        signature=fact.signature,
        convention=fact.convention,
        guard=fact.guard,
        note=_note(fact.detail or {}),
    )
    for target in targets:
        if keys.space(target.fact.key) == _PYTHON:
            yield from _python_kernels(view, registration, target, operator, dispatch_key)
            continue
        links = library_blocks.target_functions(view, target.fact.name, registration)
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


def _note(detail: dict[str, object]) -> str:
    said = [word for word in ("fallthrough", "lambda", "boxed") if detail.get(word)]
    if detail.get("macro"):
        said.append(f"made by {detail['macro']}")
    return ", ".join(said)


def _made_items(view: View, registered: ByHand, behind: bool) -> Iterator[Item]:
    made, operator, dispatch_key = registered.made, registered.operator, registered.dispatch_key
    assert made is not None
    role = role_of(dispatch_key)
    yield Item(
        role=role,
        symbol=made.targets[0] if made.targets else operator,
        file=made.use.file.path,
        line=made.use.fact.line,
        evidence="declared",
        operator=operator,
        dispatch_key=dispatch_key,
        block_line=registered.block_line,
        operators=(operator,),
        kind=made.kind,
        declared_file=made.macro.file.path,
        declared_line=made.macro.fact.line,
        convention="macro",
        guard=made.use.fact.guard,
        note=f"made by {made.macro.fact.name}",
    )
    links = library_blocks.made_functions(view, made)
    yield from _kernels(view, links, role, operator, dispatch_key, made.use, behind)
