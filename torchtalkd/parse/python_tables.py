"""Dicts that are written out as tables from a name to a class or function. Pure.

`{"llama": ("llama", "LlamaForCausalLM"), "fp8": Fp8Config, Kind.CPU: lambda: CPUBackend()}`, also as
what a call is given: `LazyDict({…})`, `Registry(llama="LlamaConfig", **{"a-b": "C"})`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_values import arguments_of, chain_of, string_of, unwrapped

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)*")


class Value(NamedTuple):
    """What an entry stands for."""

    name: str
    """The full dotted name, as far as the file says it."""
    line: int
    column: int
    module_and_name: bool = False
    """Given as two texts, the module and the name in it."""


class Entry(NamedTuple):
    """One entry of a table."""

    place: Node
    name: str
    value: Value


def entries(name: Node, out: Outline, owner: int) -> Iterator[Entry]:
    """The entries of the dict that is assigned to a name."""
    parent = name.parent
    value = parent.child_by_field_name("right") if parent is not None else None
    if value is not None and parent is not None and parent.type == "assignment":
        yield from _entries(unwrapped(value), out, owner)


def _entries(node: Node, out: Outline, owner: int) -> Iterator[Entry]:
    if node.type == "call":
        given = node.child_by_field_name("arguments")
        for argument in given.named_children if given is not None else ():
            if argument.type == "keyword_argument":
                key, value = argument.child_by_field_name("name"), argument.child_by_field_name("value")
                if key is not None and value is not None:
                    yield from _entry(key, out.text(key), value, out, owner)
            elif argument.type in ("dictionary", "dictionary_splat"):
                yield from _entries(argument, out, owner)
    elif node.type in ("dictionary_splat", "binary_operator"):  # **{…}, {…} | {…}
        for inner in node.named_children:
            yield from _entries(unwrapped(inner), out, owner)
    elif node.type == "dictionary":
        for pair in node.named_children:
            if pair.type == "dictionary_splat":
                yield from _entries(pair, out, owner)
            key = pair.child_by_field_name("key") if pair.type == "pair" else None
            value = pair.child_by_field_name("value") if pair.type == "pair" else None
            if key is None or value is None:
                continue
            text = string_of(unwrapped(key), out)
            if text is None:
                text = chain_of(key, out).decode("utf-8", "replace").rpartition(".")[2]
            if text:
                yield from _entry(key, text, value, out, owner)


def _entry(key: Node, name: str, node: Node, out: Outline, owner: int) -> Iterator[Entry]:
    value = value_of(node, out, owner)
    if value is not None:
        yield Entry(key, name, value)


def value_of(node: Node, out: Outline, owner: int, module: Node | None = None) -> Value | None:
    """What an entry's value names: a dotted path as text (`module` is that of a bare name), module
    and name as two texts, a name of the file, what a lambda or a partial calls. None: no such thing."""
    node = unwrapped(node)
    at = node.start_point
    text = string_of(node, out)
    if text is not None:
        place = string_of(unwrapped(module), out) if module is not None else None
        full = f"{place}.{text}" if place else text
        known = _DOTTED.fullmatch(full)
        return Value(full.replace(":", "."), at.row + 1, at.column, bool(place)) if known else None
    if node.type in ("tuple", "list"):
        items = [unwrapped(item) for item in node.named_children if item.type != "comment"]
        texts = [string_of(item, out) for item in items[:2]]
        if len(texts) == 2 and all(text and _DOTTED.fullmatch(text) for text in texts):
            return Value(f"{texts[0]}.{texts[1]}", at.row + 1, at.column, True)
        return (
            value_of(items[-1], out, owner)
            if items and items[-1].type in ("identifier", "attribute")
            else None
        )
    if node.type == "subscript":  # Processor[Info]
        inner = node.child_by_field_name("value")
        return value_of(inner, out, owner) if inner is not None else None
    if node.type == "lambda":
        body = node.child_by_field_name("body")
        return value_of(body, out, owner) if body is not None else None
    if node.type == "call":
        function = node.child_by_field_name("function")
        chain = chain_of(function, out) if function is not None else b""
        if chain.rpartition(b".")[2] == b"partial":
            first = arguments_of(node, out).at(0)
            return value_of(first, out, owner) if first is not None else None
        return value_of(function, out, owner) if function is not None and chain else None
    chain = chain_of(node, out)
    name = out.resolve(chain, owner) if chain else ""
    return Value(name, at.row + 1, at.column) if name else None
