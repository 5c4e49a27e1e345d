"""What is written at one place of a Python text, as far as its syntax tells.

A `Value` says where an expression comes from: a name with its import followed, an attribute of
another value, what a call gives. Whether `torch.randn(3)` is a tensor is not in the text; that is
for `torchtalkd.link.python_types`. `torchtalkd.parse.python_spot` makes them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

ValueKind: TypeAlias = Literal[
    "name",  # a dotted name, imports followed
    "member",  # `.name` of the first of `of`
    "result",  # what a call of the first of `of` gives
    "instance",  # something of the class that the first of `of` names: an annotation, `self`
    "operation",  # what an operator gives; `name` is its method: __matmul__
    "several",  # one of `of`, as the text runs
    "unknown",
]


class Value(NamedTuple):
    """An expression."""

    kind: ValueKind
    name: str = ""
    of: tuple[Value, ...] = ()


UNKNOWN = Value("unknown")


class Passed(NamedTuple):
    """The arguments of a call."""

    positional: int
    keywords: tuple[str, ...]
    certain: bool
    """Whether these are all: no `*args` and no `**kwargs`."""


class Spot(NamedTuple):
    """What stands at a place."""

    kind: Literal["value", "text", "operation", "definition"]
    """A name or attribute; a string; an operator between values; the name of a def or class."""
    line: int
    """1-based."""
    column: int
    """0-based, in bytes."""
    end: int
    """The column behind it."""
    value: Value
    """Of a value: what it is. Of an operation: the values that it is between, as `several`. Of a
    string: what it is passed to (the callee), unknown where it is no argument."""
    text: str = ""
    """Of a string: its contents. Of an operation: its method's name. Of a definition: its full name."""
    passed: Passed | None = None
    """Of a value that is called, or of an operation: with what."""
    argument: int = -1
    """Of a string: which argument of the call it is; -1 for none or a keyword's."""
