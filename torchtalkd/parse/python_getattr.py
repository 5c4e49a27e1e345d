"""`getattr(torch, name)`: which names of what may be meant. Pure.

The reference has the key of the attribute that is written, or `*` where the text does not say it; its name is
a `*` with the module or class that is looked into, as far as that is known: `*torch`. A name may be that of a
loop over a list, of a parameter that a decorator has values for, or made of another one: `name + "_like"`
is `*_like`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse.python_outline import CHAIN, Outline
from torchtalkd.parse.python_static import Bound, assigned_before, passes, text_of
from torchtalkd.parse.python_values import Text, string_of, values_of

CALLEE: Final = b"getattr"
ANY: Final = "*"


class LookedUp(NamedTuple):
    """An attribute that is looked up by a text or a value."""

    key: str
    name: str


def looked_up(out: Outline, callee: Node, owner: int) -> list[LookedUp]:
    """What a call of getattr means; nothing where it has not two arguments, or is of an object's own text."""
    call = callee.parent
    arguments = call.child_by_field_name("arguments") if call is not None else None
    given = arguments.named_children if arguments is not None else []
    if call is None or len(given) < 2:
        return []
    told = given[1]
    receiver = out.data[given[0].start_byte : given[0].end_byte]
    module = out.resolve(receiver, owner) if CHAIN.fullmatch(receiver) else ""
    if told.type == "string" and (string_of(told, out) or "").isidentifier() and not module:
        return []
    names = _names(told, out, call) if module else None
    return [LookedUp(keys.attr(name), ANY + module) for name in names or [ANY]]


def _names(told: Node, out: Outline, call: Node) -> list[str] | None:
    """The names that an expression may come to, or one with a `*` in it; None where they are not known."""
    found: dict[str, None] = {}
    for bound in passes(call, out):
        texts = _texts(told, out, bound)
        if texts is None or len(found) > _MOST:
            return _alike(told, out)
        found.update(dict.fromkeys(texts))
    return list(found) if all(name.isidentifier() for name in found) else None


def _texts(node: Node, out: Outline, bound: Bound, depth: int = 0) -> list[str] | None:
    """What an expression comes to in one pass of the loops around it."""
    if node.type != "identifier":
        text = text_of(node, out, bound)
        return [text] if text is not None else None
    before = assigned_before(node, out)
    if before is not None:
        return _texts(before, out, bound, depth + 1) if depth < _DEEPEST else None
    value = bound.get(out.data[node.start_byte : node.end_byte])
    if value is None:
        return _parametrized(node, out)
    text = string_of(value, out)
    return [text] if text is not None else None


def _parametrized(name: Node, out: Outline) -> list[str] | None:
    """The values that a decorator of the function around has for a parameter:
    `@parametrize("name", ["a", "b"])`."""
    around = name.parent
    while around is not None and around.type not in ("function_definition", "lambda"):
        around = around.parent
    decorated = around.parent if around is not None else None
    for decorator in decorated.named_children if decorated is not None else ():
        call = decorator.named_children[0] if decorator.type == "decorator" else None
        function = call.child_by_field_name("function") if call is not None and call.type == "call" else None
        if call is None or function is None or not out.text(function).endswith(_PARAMETRIZE):
            continue
        listed = call.child_by_field_name("arguments")
        given = [n for n in listed.named_children if n.type != "comment"] if listed is not None else []
        if len(given) > 1 and string_of(given[0], out) == out.text(name):
            values = values_of(given[1], out)
            texts = [value.value for value in values if isinstance(value, Text)]
            items = [n for n in given[1].named_children if n.type != "comment"]
            return texts if texts and len(texts) == len(items) else None
    return None


def _alike(told: Node, out: Outline) -> list[str] | None:
    """`*_like` for `name + "_like"`."""
    node: Node | None = told
    if told.type == "identifier":
        node = assigned_before(told, out)
    if node is None or node.type != "binary_operator" or b"+" not in {c.text for c in node.children}:
        return None
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    begin = string_of(left, out) if left is not None else None
    end = string_of(right, out) if right is not None else None
    said = f"{begin or ''}{ANY}{end or ''}"
    return [said] if said != ANY and "." not in said else None


_MOST: Final = 200
_DEEPEST: Final = 4
_PARAMETRIZE: Final = "parametrize"
"""Of pytest and of those that are called like it."""
