"""What does a body of Python call?

A name is followed as `python_names` says, a method on `self` or `super()` through the classes
(`python_classes`), a call of an attribute (`self.fc(x)`) to the class that the attribute is given and its
`forward`. A receiver that the text does not tell (`x.step()`) stays unknown. The other way round is
`python_callers`.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition, FiledReference
from torchtalkd.link import python_classes, python_names, wrappers
from torchtalkd.link.source import Evidence, Facts

How: TypeAlias = Literal[
    "call",  # f(x), C.f(x), F.apply(x) of an autograd function
    "launch",  # kernel[grid](x)
    "value",  # the name as a value or a decorator: it may be called from there
    "construct",  # C(x): `__init__`; for a method that objects run unasked, that there is an object
    "self",  # self.f(x), cls.f(x)
    "super",  # super().f(x)
    "held",  # self.fc(x), where self.fc = Linear(…): its forward
    "base",  # class D(C)
    "method",  # x.f(y), of whatever x is
]

RUN_BY_CALL: Final = ("forward", "__call__")
"""What calling an object runs, where its class has it (torch/nn/modules/module.py `_call_impl`)."""
MAKES: Final = ("__init__", "__new__", "__post_init__")
_AUTOGRAD_FUNCTION: Final = "torch.autograd.Function"
_AUTOGRAD_FUNCTION_TOO: Final = "torch.autograd.function.Function"
APPLIED: Final = ("forward", "backward", "setup_context", "jvp", "vmap", "vjp")
"""Methods that `apply` of an autograd function leads to (torch/autograd/function.py)."""
_BODIES: Final = ("function", "kernel", "class")


class Called(NamedTuple):
    """One way out of a body."""

    reference: FiledReference
    ends: tuple[FiledDefinition, ...]
    """Functions, kernels and classes of the tree; of a class that is constructed its `__init__` too. Of a
    name that C++ binds, and no operator is behind, the binding."""
    operators: tuple[str, ...]
    """Packets that the name is bound to: `aten::conv2d`."""
    how: How
    evidence: Evidence


def calls(facts: Facts, body: FiledDefinition) -> tuple[Called, ...]:
    """What a function's body calls, lambdas and inner functions included, in the order of the text. What
    the tree does not say has no ends and no operators."""
    kept: dict[int, tuple[Called, ...]] = facts.kept.setdefault("python_calls", {})
    found = kept.get(body.id)
    if found is None:
        found = kept[body.id] = tuple(
            called for reference in facts.inside(body) if (called := _called(facts, reference)) is not None
        )
    return found


def _called(facts: Facts, reference: FiledReference) -> Called | None:
    fact = reference.fact
    space = keys.space(fact.key)
    if space == "attr" and fact.kind == "method":
        return of_method(facts, reference)
    if fact.kind not in ("call", "launch", "address") or space not in ("py", "op"):
        return None
    how: How = "value" if fact.kind == "address" else "launch" if fact.kind == "launch" else "call"
    if space == "op":
        packet = wrappers.spelled(facts, fact.name)
        return Called(reference, (), (packet,) if packet else (), how, "declared")
    ends = named(facts, reference)
    if any(end.fact.kind == "class" for end in ends) and how == "call":
        made = [end for cls in ends if cls.fact.kind == "class" for end in _made_by(facts, cls)]
        return Called(reference, (*ends, *made), (), "construct", "declared")
    operators = () if ends else tuple(wrappers.operators_of(facts, fact.name))
    if not ends and not operators:
        bound = python_names.resolve(facts, fact.name).ends
        ends = [end for end in bound if end.fact.kind == "python_binding"]
    return Called(reference, tuple(ends), operators, how, "candidate" if how == "value" else "declared")


def named(facts: Facts, reference: FiledReference) -> list[FiledDefinition]:
    """The functions, kernels and classes of the tree that a Python name means; of `F.apply`, for an
    autograd function F, what that runs."""
    return nearest(meanings(facts, reference), reference)


def meanings(facts: Facts, reference: FiledReference) -> list[FiledDefinition]:
    """As `named`, with all definitions of one full name, wherever the place is."""
    ends = python_classes.means(facts, reference, *_BODIES)
    if not ends and reference.fact.name.endswith(".apply"):
        before = python_names.resolve(facts, reference.fact.name.removesuffix(".apply")).ends
        for cls in before:
            if cls.fact.kind == "class" and is_autograd_function(facts, cls):
                found = (python_classes.method(facts, cls, name) for name in APPLIED)
                ends = [end for end in found if end is not None]
    return ends


def nearest(ends: list[FiledDefinition], reference: FiledReference) -> list[FiledDefinition]:
    """Of several definitions of one full name those that the place may mean."""
    if len(ends) < 2 or len({end.fact.name for end in ends}) > 1:
        return ends
    return python_classes.nearest_above(ends, reference)


def _made_by(facts: Facts, cls: FiledDefinition) -> list[FiledDefinition]:
    found = (python_classes.method(facts, cls, name) for name in MAKES)
    return [end for end in found if end is not None]


def of_method(facts: Facts, reference: FiledReference) -> Called:
    """What a call of a method means: on `self` and `super()` what the classes say, else nothing certain."""
    name = reference.fact.name
    receiver, _, last = name.rpartition(".")
    cls = python_classes.class_around(facts, reference.owner) if receiver else None
    if cls is not None and receiver == "super()":
        end = python_classes.followed(facts, cls, python_classes.behind(facts, cls, last))
        return Called(reference, (end,) if end else (), (), "super", "declared")
    if cls is not None and receiver == "self":
        end = python_classes.method(facts, cls, last)
        if end is not None:
            return Called(reference, (end,), (), "self", "declared")
        ends = [
            end
            for holding in python_classes.attribute(facts, cls, last)
            if (end := run_by_call(facts, holding)) is not None
        ]
        if ends:
            return Called(reference, tuple(ends), (), "held", "declared" if len(ends) == 1 else "candidate")
    return Called(reference, (), (), "method", "candidate")


def run_by_call(facts: Facts, cls: FiledDefinition) -> FiledDefinition | None:
    """What calling an object of a class runs: its `forward`, or else its `__call__`."""
    found = (python_classes.method(facts, cls, name) for name in RUN_BY_CALL)
    return next((end for end in found if end is not None), None)


def is_autograd_function(facts: Facts, cls: FiledDefinition) -> bool:
    """Whether a class inherits from torch.autograd.Function."""
    for one in python_classes.ancestry(facts, cls):
        if one.fact.name == _AUTOGRAD_FUNCTION_TOO:
            return True
        names = (reference.fact.name for reference in python_classes.base_names(facts, one))
        if any(name == _AUTOGRAD_FUNCTION or name.endswith("autograd.Function") for name in names):
            return True
    return False
