"""`getattr(torch, name)`: which names of what may be meant. Pure.

The reference has the key of the attribute that is written, or `*` where the text does not say it; its name is
a `*` with the module or class that is looked into, as far as that is known: `*torch`.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse.python_outline import CHAIN, Outline

CALLEE: Final = b"getattr"
ANY: Final = "*"


class LookedUp(NamedTuple):
    """An attribute that is looked up by a text or a value."""

    key: str
    name: str


def looked_up(out: Outline, callee: Node, owner: int) -> LookedUp | None:
    """What a call of getattr means; None where it has not two arguments, or is of an object's own text."""
    call = callee.parent
    arguments = call.child_by_field_name("arguments") if call is not None else None
    given = arguments.named_children if arguments is not None else []
    if len(given) < 2:
        return None
    told = given[1]
    receiver = out.data[given[0].start_byte : given[0].end_byte]
    module = out.resolve(receiver, owner) if CHAIN.fullmatch(receiver) else ""
    if told.type != "string":
        return LookedUp(keys.attr(ANY), ANY + module)
    content = [child for child in told.named_children if child.type == "string_content"]
    written = out.text(content[0]) if len(content) == 1 and len(told.named_children) <= 3 else ""
    if not written.isidentifier():
        return LookedUp(keys.attr(ANY), ANY + module)
    return LookedUp(keys.attr(written), ANY + module) if module else None
