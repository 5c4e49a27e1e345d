"""Names that a module gives to functions that bind: `register = partial(direct_register, lib=my_lib)`. Pure.

`_custom_op = torch.library.custom_op`, chosen by version, or a `functools.partial` of such a function
with arguments of its own: what is called by the new name binds as the function does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tree_sitter import Node

from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_uses import BindingCall
from torchtalkd.parse.python_values import Arguments, arguments_of, chain_of, unwrapped

_PARTIAL = "functools.partial"


class Renamed(NamedTuple):
    """What another name of a binding function stands for."""

    last: str
    """The last component of the function's own name."""
    given: Arguments
    """The arguments that a partial has already."""


def read_renamed(out: Outline, binds: Callable[[str], bool]) -> dict[bytes, Renamed]:
    """The file's other names for functions that bind. `binds` tells them by the last component."""
    found: dict[bytes, Renamed] = {}
    for name, owner in out.assigned:
        parent = name.parent
        value = parent.child_by_field_name("right") if parent is not None and owner == 0 else None
        if value is None:
            continue
        value = unwrapped(value)
        given = Arguments([], {})
        if value.type == "call":
            function = value.child_by_field_name("function")
            if function is None or out.resolve(chain_of(function, out), 0) != _PARTIAL:
                continue
            given = arguments_of(value, out)
            if not given.positional:
                continue
            value = given.positional.pop(0)
        elif value.type not in ("attribute", "identifier"):
            continue
        last = out.resolve(chain_of(value, out), 0).rpartition(".")[2]
        if last and binds(last):
            found[out.data[name.start_byte : name.end_byte]] = Renamed(last, given)
    return found


def renamed_calls(out: Outline, renamed: dict[bytes, Renamed]) -> list[BindingCall]:
    """The decorators, and the calls that are statements of the module, that use such a name."""
    found: list[BindingCall] = []
    if not renamed:
        return found
    for ordinal, decorators in out.decorators.items():
        for node in decorators:
            found += _call(node, out, renamed, out.definitions[ordinal].scope)
    for name in renamed:
        for statement in re.finditer(rb"^[ \t]*(?=" + re.escape(name) + rb"\()", out.data, re.MULTILINE):
            call = _statement_at(out, statement.end())
            found += _call(call, out, renamed, 0) if call is not None else []
    return found


def with_given(arguments: Arguments, renamed: dict[bytes, Renamed], callee: Node, out: Outline) -> Arguments:
    """A call's arguments behind those that the name it is called by has already."""
    known = renamed.get(out.data[callee.start_byte : callee.end_byte]) if renamed else None
    if known is None:
        return arguments
    given = known.given
    return Arguments([*given.positional, *arguments.positional], {**given.keyword, **arguments.keyword})


def _call(node: Node, out: Outline, renamed: dict[bytes, Renamed], owner: int) -> list[BindingCall]:
    function = node.child_by_field_name("function") if node.type == "call" else None
    if function is None:
        return []
    known = renamed.get(out.data[function.start_byte : function.end_byte])
    return [BindingCall(function, owner, known.last)] if known is not None else []


def _statement_at(out: Outline, start: int) -> Node | None:
    """The call that begins at a byte."""
    node = out.root.descendant_for_byte_range(start, start + 1) if out.root is not None else None
    while node is not None and node.type != "call":
        node = node.parent
    return node if node is not None and node.start_byte == start else None
