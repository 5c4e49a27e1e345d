"""What a Python module says it exports: `__all__`. Pure.

Its names as far as the text tells: lists, sums of lists, `+=`, `.extend`, `.append` (in loops over lists
that are written out, too), `list(TABLE)`, comprehensions over such, the `__all__` of other modules. Where
something else decides, the fact says that there may be more.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.facts import Definition
from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_static import NONE, Bound, constants, passes, rounds, text_of
from torchtalkd.parse.python_values import arguments_of, assigned_to, chain_of, unwrapped

_CALLED: Final = re.compile(rb"(__all__)\.(?:extend|append|remove)\(")
_SEQUENCES: Final = frozenset(("list", "tuple", "set"))
_COPIES: Final = frozenset((b"list", b"tuple", b"sorted", b"set"))
_COMPREHENSIONS: Final = frozenset(("list_comprehension", "generator_expression", "set_comprehension"))
_DEEPEST: Final = 20


@dataclass(slots=True)
class _Exports:
    names: dict[str, None] = field(default_factory=dict)
    of: dict[str, None] = field(default_factory=dict)
    more: bool = False


def read_exports(out: Outline) -> None:
    """Add the variable `__all__`: detail `names`; `of`, modules whose own exports are among them; `more`,
    where others may be."""
    found = _Exports()
    places = sorted([*out.exports, *_called(out)], key=lambda name: name.start_byte)
    if not places:
        return
    for name in places:
        parent = name.parent
        if parent is not None and parent.type == "attribute":
            _change(parent, found, out)
        else:
            value = assigned_to(name)
            if value is not None:
                if parent is not None and parent.type == "assignment":
                    found = _Exports()
                for bound in passes(name, out):
                    _add(value, found, out, bound)
    first = places[0]
    row, column = first.start_point
    full = f"{out.module}.__all__"
    end = first.parent.end_point.row + 1 if first.parent is not None else row + 1
    detail: dict[str, object] = {"names": list(found.names)}
    if found.of:
        detail["of"] = list(found.of)
    if found.more:
        detail["more"] = True
    out.definitions.append(
        Definition(keys.py(full), full, "variable", row + 1, column, end, 0, detail=detail)
    )


def _called(out: Outline) -> list[Node]:
    """The names `__all__` that a list's method is called on, in the module's own statements."""
    if b"__all__." not in out.data or out.root is None:
        return []
    found = []
    for match in _CALLED.finditer(out.data):
        start = match.start(1)
        node = out.root.descendant_for_byte_range(start, match.end(1))
        if node is None or node.start_byte != start or node.type != "identifier":
            continue  # `module.__all__.append`
        attribute = node.parent
        is_own = attribute is not None and attribute.child_by_field_name("object") == node
        if is_own and _owner(out, start) == 0:
            found.append(node)
    return found


def _owner(out: Outline, position: int) -> int:
    return out.owners[bisect_right(out.changes, position) - 1]


def _change(attribute: Node, found: _Exports, out: Outline) -> None:
    call = attribute.parent
    method = attribute.child_by_field_name("attribute")
    argument = arguments_of(call, out).at(0) if call is not None and call.type == "call" else None
    if call is None or method is None or argument is None:
        return
    for bound in passes(call, out):
        if out.text(method) == "extend":
            _add(argument, found, out, bound)
            continue
        text = text_of(argument, out, bound)
        if text is None:
            found.more = True
        elif out.text(method) == "append":
            found.names.setdefault(text)
        else:
            found.names.pop(text, None)


def _add(node: Node, found: _Exports, out: Outline, bound: Bound, depth: int = 0) -> None:
    """Add what an expression that gives names gives."""
    node = unwrapped(node)
    if depth > _DEEPEST:
        found.more = True
    elif node.type in _SEQUENCES:
        for item in node.named_children:
            if item.type == "list_splat":
                _add(item.named_children[0], found, out, bound, depth + 1)
            elif item.type != "comment":
                _name(item, found, out, bound)
    elif node.type == "binary_operator":
        for side in node.named_children:
            _add(side, found, out, bound, depth + 1)
    elif node.type == "dictionary":
        for pair in node.named_children:
            key = pair.child_by_field_name("key") if pair.type == "pair" else None
            _name(key, found, out, bound)
    elif node.type in _COMPREHENSIONS:
        _comprehension(node, found, out)
    elif node.type == "call":
        _copy(node, found, out, bound, depth)
    else:
        _named(node, found, out, bound, depth)


def _name(node: Node | None, found: _Exports, out: Outline, bound: Bound) -> None:
    if node is None or node.type == "comment":
        return
    text = text_of(node, out, bound)
    if text is None:
        found.more = True
    else:
        found.names.setdefault(text)


def _copy(call: Node, found: _Exports, out: Outline, bound: Bound, depth: int) -> None:
    """`list(TABLE)`, `sorted(a + b)`, `TABLE.keys()`."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "identifier" and out.text(function).encode() in _COPIES:
        argument = arguments_of(call, out).at(0)
        if argument is not None:
            _add(argument, found, out, bound, depth + 1)
            return
    if function is not None and function.type == "attribute":
        table, method = function.child_by_field_name("object"), function.child_by_field_name("attribute")
        if table is not None and method is not None and out.text(method) == "keys":
            _add(table, found, out, bound, depth + 1)
            return
    found.more = True


def _named(node: Node, found: _Exports, out: Outline, bound: Bound, depth: int) -> None:
    """A list that is kept under a name: of this module, or the `__all__` of another."""
    chain = chain_of(node, out)
    value = bound.get(chain) or constants(out).get(chain)
    if value is not None and value.type != "string":
        _add(value, found, out, bound, depth + 1)
        return
    full = out.resolve(chain, 0) if chain else ""
    module, _, last = full.rpartition(".")
    if last == "__all__" and module:
        if module != out.module:
            found.of.setdefault(module)
    else:
        found.more = True


def _comprehension(node: Node, found: _Exports, out: Outline) -> None:
    """`[f"x_{name}" for name in NAMES]`; a condition may leave some out, and those that are there may not
    be what is exported."""
    body = node.child_by_field_name("body")
    loops = [child for child in node.named_children if child.type == "for_in_clause"]
    turns = rounds(loops[0], out) if len(loops) == 1 else []
    if body is None or not turns or any(child.type == "if_clause" for child in node.named_children):
        found.more = True
        return
    for turn in turns:
        _name(body, found, out, {**NONE, **turn})
