"""Reading a declarator: which name it declares, and with which parameters."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from tree_sitter import Node

from torchtalkd import keys

_SPECIFIERS = re.compile(
    r"\b(?:static|inline|virtual|constexpr|extern|explicit|friend|typename|__global__|__device__|__host__|__forceinline__)\b"
    r'|\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)|^"C"'
)
_STATIC = re.compile(rb"\bstatic\b")
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
STATEMENTS = frozenset(
    {
        "if",
        "for",
        "while",
        "switch",
        "catch",
        "return",
        "else",
        "do",
        "sizeof",
        "new",
        "delete",
        "throw",
    }
)
"""Words that the grammar takes for function names where it is lost."""


class Declarator(NamedTuple):
    """A function's head."""

    name: str
    """As written, template arguments left out: `Foo::bar`, `operator+`."""
    offset: int
    """Of the last component of the name."""
    parameters: str
    """The parameter list with what follows (const, noexcept, -> type), white space folded."""
    macro_arguments: Node | None
    """Parameter list of the inner head in `NAME(arguments)(parameters)`: a macro makes the name."""
    head: Node
    """The list in `NAME(…)`: parameters, or a macro's arguments."""


def declarator(node: Node, data: bytes) -> Declarator | None:
    """Read the declarator of a function definition or declaration; None if it is no function's."""
    while (kind := node.type) != "function_declarator":
        if kind == "operator_cast":
            return _conversion(node, data)
        if kind == "qualified_identifier":
            return _qualified_conversion(node, data)
        inner = node.child_by_field_name("declarator")
        if inner is None:
            named = node.named_children
            if not named or kind not in (
                "reference_declarator",
                "parenthesized_declarator",
                "attributed_declarator",
                "pointer_declarator",
            ):
                return None
            inner = named[-1] if kind != "attributed_declarator" else named[0]
        node = inner
    named_node = node.child_by_field_name("declarator")
    parameters = node.child_by_field_name("parameters")
    if named_node is None or parameters is None:
        return None
    rest = _folded(data[parameters.start_byte : node.end_byte])
    offset = named_node.start_byte
    name = data[offset : named_node.end_byte].decode("utf-8", "replace")
    if name.isidentifier():
        return Declarator(name, offset, rest, None, parameters)
    kind = named_node.type
    if kind == "function_declarator":
        inner_name = named_node.child_by_field_name("declarator")
        inner_list = named_node.child_by_field_name("parameters")
        if inner_name is None or inner_list is None:
            return None
        name = data[inner_name.start_byte : inner_name.end_byte].decode("utf-8", "replace")
        return Declarator(name, inner_name.start_byte, rest, inner_list, inner_list)
    if kind == "parenthesized_declarator":
        return None  # A pointer to a function, or NAME(X)(…) read as one.
    if kind == "qualified_identifier":
        last = named_node
        while last.type == "qualified_identifier":
            deeper = last.child_by_field_name("name")
            if deeper is None:
                break
            last = deeper
        offset = last.start_byte
    if "operator" in name:
        name = " ".join(name.split())
    else:
        name = "".join(keys.without_template_arguments(name).split())
    return Declarator(name, offset, rest, None, parameters)


class Head(NamedTuple):
    """What stands before a declarator."""

    result: str
    """The type: the text without the words that are none."""
    static: bool
    kernel: bool


@lru_cache(maxsize=20_000)
def head(text: bytes) -> Head:
    """Read what stands before a declarator; kept, for `void`, `static Tensor` and the like are most."""
    written = (_COMMENT.sub(b" ", text) if b"/" in text else text).decode("utf-8", "replace")
    result = " ".join(_SPECIFIERS.sub(" ", written).split())
    return Head(result, _STATIC.search(text) is not None, "__global__" in written)


def _qualified_conversion(node: Node, data: bytes) -> Declarator | None:
    """`T::operator bool() const`; None for any other qualified name."""
    last: Node | None = node
    while last is not None and last.type == "qualified_identifier":
        last = last.child_by_field_name("name")
    if last is None or last.type != "operator_cast":
        return None
    found = _conversion(last, data)
    qualifier = data[node.start_byte : last.start_byte].decode("utf-8", "replace")
    name = keys.without_template_arguments(qualifier) if "<" in qualifier else qualifier
    return found._replace(name=name + found.name) if found is not None else None


def _conversion(node: Node, data: bytes) -> Declarator | None:
    kind = node.child_by_field_name("type")
    abstract = node.child_by_field_name("declarator")
    if kind is None or abstract is None:
        return None
    return Declarator(
        "operator " + data[kind.start_byte : kind.end_byte].decode("utf-8", "replace"),
        node.start_byte,
        _folded(data[abstract.start_byte : node.end_byte]),
        None,
        abstract,
    )


def _folded(text: bytes) -> str:
    if b"/" in text:
        text = _COMMENT.sub(b" ", text)
    if b"\n" not in text and b"  " not in text and b"\t" not in text:
        return text.decode("utf-8", "replace").strip()
    return " ".join(text.decode("utf-8", "replace").split())
