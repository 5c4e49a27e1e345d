"""What an argument in Python code says, as far as the text alone tells: text, names, lists. Pure."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tree_sitter import Node

from torchtalkd.parse.python_outline import CHAIN, Outline

_SEQUENCES = frozenset(("list", "tuple", "set"))


class Text(NamedTuple):
    """A string that is written out."""

    node: Node
    value: str


class Chain(NamedTuple):
    """A dotted name."""

    node: Node
    written: bytes


class Arguments(NamedTuple):
    """The arguments of a call, without comments; after a `*x` positions are not known."""

    positional: list[Node]
    keyword: dict[str, Node]

    def at(self, which: int | str) -> Node | None:
        """The argument at a position or with a keyword; `name|0` is the first of these that there is."""
        if isinstance(which, str):
            for word in which.split("|"):
                node = self.at(int(word)) if word.isdecimal() else self.keyword.get(word)
                if node is not None:
                    return node
            return None
        return self.positional[which] if 0 <= which < len(self.positional) else None


def arguments_of(call: Node, out: Outline) -> Arguments:
    """The arguments of a `call` node; none when there are none to see."""
    positional: list[Node] = []
    keyword: dict[str, Node] = {}
    listed = call.child_by_field_name("arguments") if call.type == "call" else None
    counted = True
    for node in listed.named_children if listed is not None and listed.type == "argument_list" else ():
        if node.type == "keyword_argument":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is not None and value is not None:
                keyword[out.text(name)] = value
        elif node.type == "list_splat":
            counted = False
        elif counted and node.type not in ("comment", "dictionary_splat", "ERROR"):
            positional.append(unwrapped(node))
    return Arguments(positional, keyword)


def unwrapped(node: Node) -> Node:
    """The expression within parentheses."""
    while node.type == "parenthesized_expression":
        inner = [child for child in node.named_children if child.type != "comment"]
        if len(inner) != 1:
            break
        node = inner[0]
    return node


def assigned_to(name: Node) -> Node | None:
    """What is assigned to a name; of `a = b = x` the x."""
    assignment = name.parent
    value = assignment.child_by_field_name("right") if assignment is not None else None
    while value is not None and value.type == "assignment":
        value = value.child_by_field_name("right")
    return unwrapped(value) if value is not None else None


def chain_of(node: Node, out: Outline) -> bytes:
    """The dotted name that the node is; empty for anything else."""
    if node.type not in ("identifier", "attribute"):
        return b""
    text = out.data[node.start_byte : node.end_byte]
    return text if CHAIN.fullmatch(text) else b""


def string_of(node: Node, out: Outline) -> str | None:
    """The value of a string literal, also of several side by side; None for f-strings and others."""
    if node.type == "concatenated_string":
        parts = [string_of(part, out) for part in node.named_children if part.type != "comment"]
        return None if None in parts else "".join(part for part in parts if part is not None)
    if node.type != "string":
        return None
    text = out.text(node)
    if any(child.type == "interpolation" for child in node.named_children):
        return None
    quote = min((at for at in (text.find("'"), text.find('"')) if at >= 0), default=-1)
    prefix = text[: max(quote, 0)].lower()
    if quote < 0 or "f" in prefix or "b" in prefix:
        return None
    width = 3 if text[quote : quote + 3] in ("'''", '"""') else 1
    inner = text[quote + width : -width]
    if "\\" not in inner or "r" in prefix:
        return inner
    try:
        value = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return inner
    return value if isinstance(value, str) else None


def decorated(call: Node, out: Outline) -> int:
    """Ordinal of what an expression decorates; -1: it is no decorator."""
    decorator = call.parent
    if decorator is None or decorator.type != "decorator":
        return -1
    around = decorator.parent
    definition = around.child_by_field_name("definition") if around is not None else None
    name = definition.child_by_field_name("name") if definition is not None else None
    return out.by_start.get(name.start_byte, -1) if name is not None else -1


def receiver_of(callee: Node) -> Node | None:
    """What a method is taken from: `a.b` of `a.b.f`."""
    return callee.child_by_field_name("object") if callee.type == "attribute" else None


def values_of(node: Node, out: Outline) -> list[Text | Chain]:
    """The strings and dotted names of an argument: itself, or the items of a list or tuple."""
    node = unwrapped(node)
    if node.type in _SEQUENCES:
        found: list[Text | Chain] = []
        for item in node.named_children:
            item = unwrapped(item)
            if item.type not in _SEQUENCES:
                found += values_of(item, out)
        return found
    text = string_of(node, out)
    if text is not None:
        return [Text(node, text)]
    chain = chain_of(node, out)
    return [Chain(node, chain)] if chain else []
