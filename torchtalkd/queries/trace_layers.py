"""The other layers of a trace: decompositions, Python meta functions, references, lowerings,
shape functions, TorchScript, ONNX, and the tests that name the operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link.operators import Family
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View

LAYERS: Final = (
    "decomposition",
    "meta",
    "ref",
    "lowering",
    "shape",
    "jit",
    "onnx",
    "batching_rule",
    "autocast",
    "autograd_function",
)
"""Kinds of bindings whose key is an operator's."""


def layer_items(view: View, family: Family, overloads: frozenset[str]) -> Iterator[Item]:
    """What implements the operator in Python, layer by layer. A binding that names no overload
    is one of all."""
    for definition in view.definitions(keys.op(family.base)):
        fact = definition.fact
        if fact.kind not in LAYERS or definition.file.role in ("template", "test"):
            continue
        operator = _meant(view, family, fact.name, overloads)
        if operator:
            packet = not keys.operator_name(fact.name).overload
            yield from _items(view, definition, operator, packet)


def _meant(view: View, family: Family, name: str, overloads: frozenset[str]) -> str:
    """The operator that a binding's name means, '' if it is not among the overloads."""
    written = keys.operator_name(name)
    if written.base != family.base:
        return ""
    if (written.namespace or view.rules.operator_namespace) != family.namespace:
        return ""
    full = str(keys.canonical_operator(written, family.namespace))
    return full if not written.overload or full in overloads else ""


def _items(view: View, binding: FiledDefinition, operator: str, packet: bool) -> Iterator[Item]:
    fact = binding.fact
    found = False
    written = ""
    for target in view.targets(binding):
        written = written or target.fact.name
        for function in python_target(view, binding, target.fact.key, target.fact.name):
            found = True
            yield place_of(
                fact.kind, function, "declared", operator=operator, packet=packet, declared=binding
            )
    if not found:
        yield place_of(
            fact.kind, binding, "declared", operator=operator, packet=packet, symbol=written or fact.name
        )


def python_target(view: View, binding: FiledDefinition, key: str, name: str) -> list[FiledDefinition]:
    """The function that a binding in Python is for: of its own file first; of several of one
    name (`def _(x)` under each decorator) the next one below."""
    found = [d for d in view.named(key, name) if d.fact.kind in ("function", "class", "kernel")]
    own = [d for d in found if d.file.id == binding.file.id]
    below = sorted((d for d in own if d.fact.line >= binding.fact.line), key=lambda d: d.fact.line)
    if len(own) > 1 and below:
        return below[:1]
    return own or found[:1]


def test_items(view: View, family: Family, names: list[str]) -> Iterator[Item]:
    """Tests by OpInfo name: the operator's own name, and its Python names without `torch.`.
    Only operators of the framework's own namespace have such."""
    if family.namespace != view.rules.operator_namespace:
        return
    wanted = {family.base: None, family.base.rstrip("_"): None}
    for name in names:
        wanted.setdefault(name.partition(".")[2] if name.startswith("torch.") else name)
    for name in wanted:
        for definition in view.definitions(keys.test(name)):
            if definition.fact.kind == "test" and definition.fact.name in wanted:
                yield place_of("test", definition, "declared", operator=family.name, packet=True)
