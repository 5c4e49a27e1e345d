"""What a place of a Python text gives a name, if that is plain: an assignment, a loop, a parameter. Pure."""

from __future__ import annotations

from typing import Final, Protocol

from tree_sitter import Node

from torchtalkd.parse import plain_types
from torchtalkd.parse.plain_places import USES
from torchtalkd.parse.plain_types import NOTHING, Plain, joined, of
from torchtalkd.parse.python_outline import CHAIN, Outline

_DEEPEST: Final = 12
_ALTERNATIVES: Final = ("Optional", "Union")


class Reader(Protocol):
    """Who reads expressions of a file."""

    out: Outline

    def plain(self, node: Node, owner: int, depth: int = 0) -> Plain | None:
        """What an expression is, if that is plain."""

    def meaning(self, written: bytes, owner: int) -> str:
        """The full name of a chain."""

    def is_hidden(self, name: bytes, owner: int) -> bool:
        """Whether a file or function gives a name of Python's own another meaning."""


def arguments(call: Node) -> list[Node]:
    """The arguments of a call, keywords' included."""
    listed = call.child_by_field_name("arguments")
    return [node for node in listed.named_children if node.type != "comment"] if listed is not None else []


def given(read: Reader, leaf: Node, owner: int, depth: int) -> tuple[Plain | None, bool] | None:
    """What a place gives a name, and whether that is a comprehension's own; None where it is read."""
    parent = leaf.parent
    kind = parent.type if parent is not None else ""
    if parent is None or kind in USES:
        return None
    if kind == "assignment":
        left = parent.child_by_field_name("left")
        if left is None or left.id != leaf.id:
            return None
        return assigned(read, parent, owner, depth), False
    if kind == "augmented_assignment":
        left, right = parent.child_by_field_name("left"), parent.child_by_field_name("right")
        if left is None or right is None or left.id != leaf.id:
            return None
        return read.plain(right, owner, depth + 1), False
    if kind == "named_expression":
        value = parent.child_by_field_name("value")
        if value is None or value.id == leaf.id:
            return None
        return read.plain(value, owner, depth + 1), False
    if kind in ("for_statement", "for_in_clause"):
        left = parent.child_by_field_name("left")
        if left is None or left.id != leaf.id:
            return None
        return iterated(read, parent, owner, depth), kind == "for_in_clause"
    if kind in ("pattern_list", "tuple_pattern"):
        return _unpacked(read, parent, leaf, owner, depth)
    if kind in ("default_parameter", "typed_default_parameter"):
        value = parent.child_by_field_name("value")
        if value is not None and value.id == leaf.id:
            return None
        annotation = parent.child_by_field_name("type")
        return annotated(read, annotation, owner) if annotation is not None else None, False
    if kind == "typed_parameter":
        annotation = parent.child_by_field_name("type")
        return annotated(read, annotation, owner) if annotation is not None else None, False
    if kind == "lambda_parameters":
        return None, True
    if kind in ("list_splat_pattern", "dictionary_splat_pattern"):
        around = parent.parent.type if parent.parent is not None else ""
        of_function = around in ("parameters", "typed_parameter")
        return (of(tuple) if kind[0] == "l" else of(dict)) if of_function else None, False
    return None, False


def _unpacked(read: Reader, pattern: Node, leaf: Node, owner: int, depth: int) -> tuple[Plain | None, bool]:
    """`head, rest = text.split(":")`, `for n, line in enumerate(lines)`."""
    around = pattern.parent
    kind = around.type if around is not None else ""
    place = next((at for at, child in enumerate(pattern.named_children) if child.id == leaf.id), -1)
    starred = any(child.type == "list_splat_pattern" for child in pattern.named_children)
    if around is None or place < 0 or starred:
        return None, kind == "for_in_clause"
    right = around.child_by_field_name("right")
    if right is None:
        return None, kind == "for_in_clause"
    if kind == "assignment":
        if right.type in ("expression_list", "tuple"):
            values = [child for child in right.named_children if child.type != "comment"]
            if len(values) == len(pattern.named_children):
                return read.plain(values[place], owner, depth + 1), False
        found = read.plain(right, owner, depth + 1)
        return found.item if found is not None else None, False
    if kind not in ("for_statement", "for_in_clause"):
        return None, False
    return _of_pair(read, right, place, owner, depth), kind == "for_in_clause"


def _of_pair(read: Reader, right: Node, place: int, owner: int, depth: int) -> Plain | None:
    """One of the values that iterating over `enumerate(x)`, `zip(x, y)` or `d.items()` gives together."""
    function = right.child_by_field_name("function") if right.type == "call" else None
    if function is None:
        found = read.plain(right, owner, depth + 1)
        return found.item.item if found is not None and found.item is not None else None
    given = arguments(right)
    written = read.out.data[function.start_byte : function.end_byte]
    if written in (b"enumerate", b"zip") and not read.is_hidden(written, owner):
        if written == b"enumerate" and place == 0:
            return of(int)
        at = place if written == b"zip" else 0
        inside = read.plain(given[at], owner, depth + 1) if at < len(given) else None
        return inside.item if inside is not None else None
    method, receiver = function.child_by_field_name("attribute"), function.child_by_field_name("object")
    if method is not None and receiver is not None and read.out.text(method) == "items":
        mapping = read.plain(receiver, owner, depth + 1)
        if mapping is None or not all(issubclass(type_, dict) for type_ in mapping.types):
            return None
        return mapping.item if place == 0 else mapping.value
    return None


def assigned(read: Reader, assignment: Node, owner: int, depth: int) -> Plain | None:
    """What an assignment gives: what its annotation says, else its right side."""
    annotation, right = assignment.child_by_field_name("type"), assignment.child_by_field_name("right")
    if annotation is not None:
        return annotated(read, annotation, owner)
    while right is not None and right.type == "assignment":
        right = right.child_by_field_name("right")
    return read.plain(right, owner, depth + 1) if right is not None else None


def iterated(read: Reader, loop: Node, owner: int, depth: int) -> Plain | None:
    """What a loop gives its variable, one after another."""
    right = loop.child_by_field_name("right")
    found = read.plain(right, owner, depth + 1) if right is not None else None
    return found.item if found is not None and found.types else found


def annotated(read: Reader, annotation: Node, owner: int, depth: int = 0) -> Plain | None:
    """Something of what an annotation says."""
    node = annotation
    while node.type in ("type", "parenthesized_expression", "type_parameter") and node.named_children:
        node = node.named_children[0]
    if depth > _DEEPEST:
        return None
    if node.type == "none":
        return NOTHING
    if node.type == "binary_operator" and b"|" in {c.text for c in node.children}:
        left, right = node.named_children[0], node.named_children[-1]
        return joined(annotated(read, left, owner, depth + 1), annotated(read, right, owner, depth + 1))
    if node.type in ("subscript", "generic_type"):
        inner = node.named_children[1:]
        if len(inner) == 1 and inner[0].type == "type_parameter":
            inner = inner[0].named_children
        head = node.named_children[0]
        name = read.meaning(read.out.data[head.start_byte : head.end_byte], owner)
        module, _, last = name.rpartition(".")
        within = [annotated(read, child, owner, depth + 1) for child in inner]
        if last in _ALTERNATIVES and module.startswith("typing"):
            found: Plain | None = NOTHING
            for one in within:
                found = joined(found, one)
            return found
        type_ = plain_types.named(name) if name else None
        if type_ is None:
            return None
        first = within[0] if within else None
        if issubclass(type_, dict):
            return of(type_, first, within[1] if len(within) > 1 else None)
        if issubclass(type_, tuple) and (len(within) != 2 or inner[1].type != "ellipsis"):
            first = first if within and all(one == first for one in within) else None
        return of(type_, first)
    if node.type not in ("identifier", "attribute"):
        return None
    written = read.out.data[node.start_byte : node.end_byte]
    name = read.meaning(written, owner) if CHAIN.fullmatch(written) else ""
    type_ = plain_types.named(name) if name else None
    return of(type_) if type_ is not None else None
