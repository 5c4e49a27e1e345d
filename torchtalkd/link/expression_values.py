"""The values that the text of a Python expression comes to, and how they compare. Pure.

Beside Python's own: what is not known, and what is only known by its name. See `link.expressions`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final


class Unknown:
    """A value that the text does not tell."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


UNDEFINED: Final = object()
"""What a look-up says of a name that means nothing here."""


class Opaque:
    """Something that is not None, and of which no more is known: what a call returns, a lambda."""


class Named(Opaque):
    """What a dotted name stands for that is not defined here: `torch.float32`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Named) and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name


class Called(Opaque):
    """A call of a function that is not known here, with its arguments."""

    def __init__(self, name: str, arguments: list[Any], keywords: dict[str, Any]) -> None:
        self.name = name
        self.arguments = arguments
        self.keywords = keywords


class Attributed:
    """A value that knows its attributes. (A class, no protocol: that a value is one is asked very often.)"""

    __slots__ = ()

    def attribute(self, name: str) -> Any:
        """The attribute, or UNKNOWN."""
        raise NotImplementedError

    def changed(self) -> Any:
        """What a function may have made of it: the same thing, with attributes that nobody knows."""
        raise NotImplementedError


_ORDER: Final[dict[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def plain(value: Any) -> bool:
    """Whether all of a value is known."""
    if isinstance(value, (list, tuple, set)):
        return all(map(plain, value))
    return not isinstance(value, (Unknown, Opaque, Attributed))


def compare(sign: ast.cmpop, left: Any, right: Any) -> bool | None:
    """Whether a comparison holds; None where that is not known."""
    if isinstance(sign, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        same: bool | None
        if None in (left, right) and UNKNOWN not in (left, right):
            same = left is right
        elif isinstance(left, Named) and left == right:
            same = True
        else:
            same = left == right if plain(left) and plain(right) else None
        return same if same is None or isinstance(sign, (ast.Is, ast.Eq)) else not same
    if isinstance(sign, (ast.In, ast.NotIn)):
        if not isinstance(right, (list, tuple, set, dict, str)) or not plain(left):
            return None
        found: bool | None = left in right
        if not found and not isinstance(right, str) and not all(map(plain, right)):
            found = None
        return found if found is None or isinstance(sign, ast.In) else not found
    order = _ORDER.get(type(sign))
    return bool(order(left, right)) if order and plain(left) and plain(right) else None


def dotted_name(node: ast.expr) -> str:
    """The dotted name that an expression is; '' for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
