"""What an expression of a binding call comes to, where the text alone says it. Pure.

`f"{NAMESPACE}::{name}"` within `for name in ("a", "b"):` is two texts. Followed are loops over a list
that is written out around a call, and names of the module that are assigned text or such a list.
Nothing is computed: what another value decides stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final, TypeAlias

from tree_sitter import Node

from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_values import Chain, Text, string_of, unwrapped, values_of

Bound: TypeAlias = Mapping[bytes, Node]
"""The value that each loop variable around a call has in one pass."""

NONE: Final[Bound] = {}
_MOST_PASSES: Final = 256
"""Of one call; a longer list is data rather than a list of names."""
_SEQUENCES: Final = frozenset(("list", "tuple", "set"))
_TARGETS: Final = frozenset(("pattern_list", "tuple_pattern"))
_COMPREHENSIONS: Final = frozenset(("generator_expression", "list_comprehension", "set_comprehension"))
_BODIES: Final = frozenset(("function_definition", "lambda", "module"))


def passes(call: Node, out: Outline) -> list[Bound]:
    """The passes of the loops around a call, innermost variable last: one without loops is [{}]."""
    found: list[dict[bytes, Node]] = [{}]
    around = call.parent
    while around is not None and around.type not in _BODIES:
        loops = [around] if around.type == "for_statement" else []
        if around.type in _COMPREHENSIONS:
            loops = [child for child in around.named_children if child.type == "for_in_clause"]
        for loop in reversed(loops):
            found = [
                {**outer, **inner}
                for outer in islice(rounds(loop, out) or [{}], _MOST_PASSES)
                for inner in found
            ][:_MOST_PASSES]
        around = around.parent
    return list(found)


def rounds(loop: Node, out: Outline) -> list[dict[bytes, Node]]:
    """What a loop's variables are in each round; none where its list is not written out. A dict gives its
    keys, its `.items()` both."""
    left, right = loop.child_by_field_name("left"), loop.child_by_field_name("right")
    if left is None or right is None:
        return []
    items = _items(unwrapped(right), out)
    if left.type == "identifier":
        name = out.data[left.start_byte : left.end_byte]
        return [{name: item[0]} for item in items if len(item) == 1]
    if left.type not in _TARGETS:
        return []
    names = [out.data[name.start_byte : name.end_byte] for name in left.named_children]
    found = []
    for item in items:
        inner = item[0] if len(item) == 1 else None
        parts = list(item)
        if inner is not None:
            parts = [unwrapped(p) for p in inner.named_children] if inner.type in _SEQUENCES else []
        if len(parts) == len(names):
            found.append(dict(zip(names, parts, strict=True)))
    return found


def _items(node: Node, out: Outline) -> list[tuple[Node, ...]]:
    """What a loop over an expression gives: one node a round, or key and value."""
    method = ""
    if node.type == "call":
        function = node.child_by_field_name("function")
        table = function.child_by_field_name("object") if function is not None else None
        last = function.child_by_field_name("attribute") if function is not None else None
        if table is None or last is None:
            return []
        node, method = unwrapped(table), out.text(last)
    if node.type == "identifier":
        node = constants(out).get(out.data[node.start_byte : node.end_byte], node)
    if node.type in _SEQUENCES and not method:
        return [(unwrapped(item),) for item in node.named_children if item.type != "comment"]
    if node.type != "dictionary" or method not in ("", "keys", "values", "items"):
        return []
    found: list[tuple[Node, ...]] = []
    for pair in node.named_children:
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is not None and value is not None:
            both = (unwrapped(key), unwrapped(value))
            found.append(both if method == "items" else (both[method == "values"],))
    return found


def constants(out: Outline) -> dict[bytes, Node]:
    """The names of the module that are assigned text, a list or a dict, each once, with their values."""
    if out.constants is None:
        out.constants = {}
        several: set[bytes] = set()
        for name, owner in out.assigned:
            parent = name.parent
            value = parent.child_by_field_name("right") if parent is not None and owner == 0 else None
            if value is None:
                continue
            text = out.data[name.start_byte : name.end_byte]
            if text in out.constants:
                several.add(text)
            value = unwrapped(value)
            if value.type in _SEQUENCES or value.type in ("string", "concatenated_string", "dictionary"):
                out.constants[text] = value
        for text in several:
            del out.constants[text]
    return out.constants


def static_values(node: Node, out: Outline, bound: Bound = NONE) -> list[Text | Chain]:
    """As `values_of`, with loop variables, constants and format strings worked out."""
    found: list[Text | Chain] = []
    inner = unwrapped(node)
    if inner.type in _SEQUENCES:
        for item in inner.named_children:
            if unwrapped(item).type not in _SEQUENCES:
                found += static_values(item, out, bound)
        return found
    if inner.type == "identifier":
        value = _meaning(inner, out, bound)
        if value is not None:
            return values_of(value, out) if value.type != "identifier" else [_chain(value, out)]
    text = text_of(inner, out, bound)
    return [Text(inner, text)] if text is not None else values_of(inner, out)


def text_of(node: Node, out: Outline, bound: Bound = NONE, *, beginning: bool = False) -> str | None:
    """The text that an expression comes to; None where the file does not say. With `beginning`
    what is known of it from the left is enough: `"f" + schema` is `f`."""
    node = unwrapped(node)
    text = string_of(node, out)
    if text is not None:
        return text
    if node.type == "identifier":
        value = _meaning(node, out, bound)
        if value is None:
            assigned = assigned_before(node, out)
            if assigned is None:
                return None
            text = string_of(assigned, out)
            if text is None and assigned.type == "string":
                return _formatted(assigned, out, bound, beginning)
            return text if text is not None else _cut(assigned, out, bound)
        text = string_of(value, out)
        return _formatted(value, out, bound, beginning) if text is None and value.type == "string" else text
    if node.type == "binary_operator":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is None or right is None or operator is None or operator.type != "+":
            return None
        first = text_of(left, out, bound, beginning=beginning)
        if first is None:
            return None
        second = text_of(right, out, bound, beginning=beginning)
        return first + second if second is not None else first if beginning else None
    return _formatted(node, out, bound, beginning) if node.type == "string" else None


def _formatted(node: Node, out: Outline, bound: Bound, beginning: bool) -> str | None:
    parts: list[str] = []
    for part in node.named_children:
        if part.type == "string_content":
            parts.append(out.text(part).replace("{{", "{").replace("}}", "}"))
        elif part.type == "interpolation":
            inner = part.child_by_field_name("expression")
            plain = inner is not None and len(part.named_children) == 1
            text = _inserted(inner, out, bound) if plain and inner is not None else None
            if text is None:
                return "".join(parts) or None if beginning else None
            parts.append(text)
    return "".join(parts)


def _inserted(node: Node, out: Outline, bound: Bound) -> str | None:
    """What a format string shows of an expression: text, or a whole number as it is written."""
    value = _meaning(node, out, bound) if node.type == "identifier" else node
    if value is not None and value.type == "integer" and out.text(value).isdecimal():
        return out.text(value)
    return text_of(node, out, bound)


def assigned_before(name: Node, out: Outline) -> Node | None:
    """What a name is assigned in a statement of the same block, before it is used."""
    written = out.data[name.start_byte : name.end_byte]
    statement: Node | None = name
    while statement is not None and (statement.parent is None or statement.parent.type != "block"):
        statement = statement.parent
    before = statement.prev_named_sibling if statement is not None else None
    while before is not None:
        inner = before.named_children[0] if before.type == "expression_statement" else None
        left = inner.child_by_field_name("left") if inner is not None and inner.type == "assignment" else None
        if inner is not None and left is not None and out.data[left.start_byte : left.end_byte] == written:
            return inner.child_by_field_name("right")
        before = before.prev_named_sibling
    return None


def _cut(node: Node, out: Outline, bound: Bound) -> str | None:
    """The beginning of a text up to another: `schema[: schema.index("(")]`, `schema.split("(")[0]`."""
    value, index = node.child_by_field_name("value"), node.child_by_field_name("subscript")
    if node.type != "subscript" or value is None or index is None:
        return None
    written = out.text(node).replace(" ", "").replace("\n", "")
    for pattern in (_UP_TO, _SPLIT):
        match = pattern.fullmatch(written)
        if match is not None:
            name = match[1].encode()
            whole = bound.get(name) or constants(out).get(name)
            text = string_of(whole, out) if whole is not None else None
            return text.partition(match["at"])[0] if text is not None and match["at"] in text else None
    return None


_UP_TO: Final = re.compile(r"(\w+)\[0?:\1\.(?:index|find)\(([\"'])(?P<at>[^\"']+)\2\)\]")
_SPLIT: Final = re.compile(r"(\w+)\.(?:split|partition)\(([\"'])(?P<at>[^\"']+)\2(?:,\d+)?\)\[0\]")


def _meaning(name: Node, out: Outline, bound: Bound) -> Node | None:
    written = out.data[name.start_byte : name.end_byte]
    value = bound.get(written)
    if value is not None:
        return value
    # A function's own name hides the module's.
    return None if written in out.names.local else constants(out).get(written)


def _chain(node: Node, out: Outline) -> Chain:
    return Chain(node, out.data[node.start_byte : node.end_byte])
