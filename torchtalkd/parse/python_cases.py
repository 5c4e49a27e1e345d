"""Decorators that stand for one which makes several tests: another name of it, a `functools.partial` of it,
a function of the file that returns it. Pure.

    sizes = parametrize("n", [1, 2])                                  # @sizes
    small = partial(parametrize, "n")                                 # @small([1, 2])
    def layouts(name="layout"): return parametrize(name, [1, 2])      # @layouts("kind")

All of them come to the text of a call of the decorator that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tree_sitter import Node

from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_values import arguments_of, chain_of

LONGEST_TEXT: Final = 2_000
_NOT_KNOWN: Final = "not_known()"
"""What stands in place of a variable of a function."""
_SPACE: Final = re.compile(r"\s+")


def text_of(out: Outline, node: Node) -> str:
    """A node's text, white space folded; '' where it is long."""
    return _folded(out.text(node)) if node.end_byte - node.start_byte <= LONGEST_TEXT else ""


def _folded(text: str) -> str:
    # A comment ends with its line, so such a text stays as it is.
    return text if "#" in text or "\n" not in text else _SPACE.sub(" ", text)


def renamed(out: Outline, name: Node, decorator: Node, cases: frozenset[str]) -> list[str] | None:
    """[full name, text] of what a decorator is that is the name of a call of one that makes several tests,
    or of a `functools.partial` of it; `name` is where it is assigned. None for any other."""
    value = name.parent.child_by_field_name("right") if name.parent is not None else None
    function = value.child_by_field_name("function") if value is not None and value.type == "call" else None
    if value is None or function is None:
        return None
    given = arguments_of(value, out)
    meant = out.resolve(chain_of(function, out), 0) or out.text(function)
    if meant.rpartition(".")[2] in cases and decorator.type != "call":
        return [meant, text_of(out, value)]
    first = given.at(0)
    if meant.rpartition(".")[2] != "partial" or first is None or decorator.type != "call":
        return None
    meant = out.resolve(chain_of(first, out), 0)
    if meant.rpartition(".")[2] not in cases:
        return None
    own = arguments_of(decorator, out)
    positional = [text_of(out, part) for part in (*given.positional[1:], *own.positional)]
    keyword = {**given.keyword, **own.keyword}
    parts = [*positional, *(f"{word}={text_of(out, part)}" for word, part in keyword.items())]
    return [meant, f"{meant.rpartition('.')[2]}({', '.join(parts)})"]


def returned(out: Outline, ordinal: int, decorator: Node, cases: frozenset[str]) -> list[str] | None:
    """[full name, text] of what a decorator is that calls a function of the file, where the one thing which
    that returns is a call of a decorator that makes several tests: its parameters are what they are given."""
    if decorator.type != "call" or out.root is None:
        return None
    made = out.definitions[ordinal]
    at = (made.line - 1, made.column)
    name = out.root.descendant_for_point_range(at, at)
    function = name.parent if name is not None else None
    if function is None or function.type != "function_definition":
        return None
    body, listed = function.child_by_field_name("body"), function.child_by_field_name("parameters")
    if body is None or listed is None or not body.named_children:
        return None
    returns = [node for node in _own(body) if node.type == "return_statement"]
    value = returns[0].named_children[0] if len(returns) == 1 and returns[0].named_children else None
    callee = value.child_by_field_name("function") if value is not None and value.type == "call" else None
    if value is None or callee is None or returns[0] != body.named_children[-1]:
        return None
    meant = out.resolve(chain_of(callee, out), ordinal) or out.text(callee)
    if meant.rpartition(".")[2] not in cases:
        return None
    bound = dict.fromkeys(_assigned(out, body), _NOT_KNOWN)
    given = arguments_of(decorator, out)
    for index, node in enumerate(node for node in listed.named_children if node.type != "comment"):
        named = node if node.type == "identifier" else node.child_by_field_name("name")
        if named is None:
            return None
        word, default = out.text(named), node.child_by_field_name("value")
        argument = given.keyword.get(word) or given.at(index) or default
        bound[word] = f"({text_of(out, argument)})" if argument is not None else _NOT_KNOWN
    text = "".join(_filled(out, value, bound))
    return [meant, _folded(text)] if len(text) <= LONGEST_TEXT else None


def _own(node: Node) -> Iterator[Node]:
    """A node and all below it, however deep, but the bodies of functions in it, in order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        if node.type not in ("function_definition", "lambda"):
            waiting.extend(reversed(node.named_children))


def _assigned(out: Outline, body: Node) -> Iterator[str]:
    """The names that a function's body binds."""
    for node in _own(body):
        bound = node.child_by_field_name("left" if node.type != "function_definition" else "name")
        for part in _own(bound) if bound is not None else ():
            if part.type == "identifier":
                yield out.text(part)


def _filled(out: Outline, node: Node, bound: Mapping[str, str]) -> Iterator[str]:
    """The text of a node, with what names stand for in their place."""
    at = node.start_byte
    for name in _names(node):
        stands = bound.get(out.text(name))
        if stands is not None:
            yield out.data[at : name.start_byte].decode("utf-8", "replace")
            yield stands
            at = name.end_byte
    yield out.data[at : node.end_byte].decode("utf-8", "replace")


def _names(node: Node) -> Iterator[Node]:
    """The identifiers of an expression, but those of attributes and keywords, in order."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.type == "identifier":
            yield node
            continue
        field = {"attribute": "attribute", "keyword_argument": "name"}.get(node.type)
        skipped = node.child_by_field_name(field) if field else None
        waiting.extend(child for child in reversed(node.named_children) if child != skipped)
