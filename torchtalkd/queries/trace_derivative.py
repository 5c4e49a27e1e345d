"""The derivative layer of a trace: the entry of derivatives.yaml, its formulas, the functions they name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import functions, operators
from torchtalkd.link.operators import Family
from torchtalkd.link.source import Link
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View

FORMULA_SCOPES: Final = (
    "torch::autograd::generated::details",
    "torch::autograd::generated",
    "torch::autograd",
    "at::native",
    "at",
    "",
)
"""Where a formula's functions are looked up: the namespaces that the generated Functions.cpp uses
(tools/autograd/templates/Functions.cpp)."""


def derivative_items(
    view: View, family: Family, overloads: frozenset[str], *, named: bool = True
) -> Iterator[Item]:
    """The derivative entry of each overload; with `named` also what its formulas call."""
    for entry in family.entries:
        if entry.fact.name in overloads:
            for derivative in operators.derivatives(view, entry):
                yield entry_item(view, derivative, entry.fact.name)
                if named:
                    yield from function_items(view, derivative, entry.fact.name)


def entry_item(view: View, derivative: FiledDefinition, operator: str) -> Item:
    """The entry itself; its formulas are the note, the node's name the symbol."""
    detail = derivative.fact.detail or {}
    formulas = detail.get("formulas") or {}
    said = [f"{inputs}: {formula}" for inputs, formula in formulas.items()]
    for key, block in (detail.get("dispatch") or {}).items():
        if key != "Default":
            said.extend(f"{key} {inputs}: {formula}" for inputs, formula in block.items())
    if "output_differentiability" in detail:
        said.append(f"output_differentiability: {detail['output_differentiability']}")
    return place_of(
        "derivative",
        derivative,
        "declared",
        operator=operator,
        note="; ".join(said),
        symbol=operators.node_name(view, derivative) or derivative.fact.name,
    )


def function_items(view: View, derivative: FiledDefinition, operator: str) -> Iterator[Item]:
    """The definitions of the functions that the formulas call. One that is an operator (`at::mm`
    in a formula) is the answer to another question and is left out."""
    seen: set[str] = set()
    for target in view.targets(derivative):
        name = target.fact.name
        if name in seen:
            continue
        seen.add(name)
        for link in formula_functions(view, name):
            yield place_of(
                "derivative", link.definition, link.evidence, operator=operator, declared=derivative
            )


def formula_functions(view: View, name: str) -> list[Link]:
    """The functions that a formula's name means, in the namespaces of the generated code; only
    in those of autograd's own helpers, for a name that an operator has too."""
    scopes: tuple[str, ...] = FORMULA_SCOPES
    if view.count(keys.op(functions.plain(name)).rpartition("::")[2]):
        scopes = FORMULA_SCOPES[:3]
    return functions.as_links(functions.functions(view, name, scopes, kinds=("function",)), "unique")
