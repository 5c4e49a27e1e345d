"""Where a name of a Python text may be given a value, found by its text and told apart by the tree. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

LONGEST: Final = 200_000
"""Bytes of a text, above which it is not looked through."""
_WORD: Final = frozenset(bytes((n,)) for n in range(256) if n == 95 or n > 127 or chr(n).isalnum())
_DEFINES: Final = (b"def", b"class", b"import")
_READS: Final = (b"return", b" in", b"not", b" and", b" or", b" is", b"=", b"+", b"%", b"assert", b"yield")
"""Behind these a name is read, unless something is given to it at once."""
USES: Final = frozenset(
    (
        *("argument_list", "attribute", "subscript", "slice", "binary_operator", "unary_operator", "await"),
        *("comparison_operator", "boolean_operator", "not_operator", "call", "return_statement", "yield"),
        *("if_statement", "elif_clause", "while_statement", "conditional_expression", "interpolation"),
        *("parenthesized_expression", "list", "tuple", "set", "dictionary", "pair", "raise_statement"),
        *("assert_statement", "expression_statement", "expression_list", "list_splat", "if_clause"),
        *("dictionary_splat", "with_item", "list_comprehension", "set_comprehension", "type"),
        *("generator_expression", "format_expression", "delete_statement", "match_statement", "module"),
        *("keyword_argument", "decorator", "format_specifier", "type_parameter", "generic_type", "lambda"),
    )
)
"""Around a name that is read. (A keyword's own name is none of the function's.)"""


def occurrences(data: bytes, name: bytes, start: int, end: int) -> Iterator[int]:
    """Where a name begins between two bytes, but for attributes of that name."""
    width = len(name)
    at = data.find(name, start, end)
    while at >= 0:
        if _is_whole(data, at, at + width) and data[at - 1 : at] != b".":
            yield at
        at = data.find(name, at + width, end)


def places(data: bytes, root: Node, name: bytes, start: int, end: int) -> Iterator[Node]:
    """The leaves between two bytes that have a name, but for those where it is certainly read."""
    for at in occurrences(data, name, start, end):
        behind = at + len(name)
        if not _is_read(data, at, behind):
            leaf = root.descendant_for_byte_range(at, behind)
            if leaf is not None and leaf.type == "identifier" and leaf.end_byte == behind:
                yield leaf


def attribute_places(data: bytes, root: Node, name: bytes) -> Iterator[Node]:
    """The attributes of any object that have a name, but for those where it is certainly read."""
    written = b"." + name
    at = data.find(written)
    while at >= 0:
        behind = at + len(written)
        if _is_whole(data, behind, behind) and not _is_read(data, at, behind):
            leaf = root.descendant_for_byte_range(at + 1, behind)
            attribute = leaf.parent if leaf is not None and leaf.type == "identifier" else None
            if attribute is not None and attribute.type == "attribute":
                yield attribute
        at = data.find(written, behind)


def _is_whole(data: bytes, start: int, end: int) -> bool:
    """Whether no letter stands beside a name, behind it or (where it has a beginning) before it."""
    return data[end : end + 1] not in _WORD and (start == end or data[start - 1 : start] not in _WORD)


def _is_read(data: bytes, start: int, end: int) -> bool:
    """Whether a name's surroundings show at once that it is read there and not given a value."""
    at = end
    while data[at : at + 1] in (b" ", b"\t"):
        at += 1
    follows = data[at : at + 1]
    before = data[max(0, start - 8) : start].rstrip(b" \t")
    if follows in (b".", b"(", b"["):
        return not before.endswith(_DEFINES)
    if follows in (b"=", b",", b":"):
        return data[at : at + 2] == b"=="
    if data[at : at + 3].rstrip(b" ").endswith(b"=") or data[at + 1 : at + 3].startswith(b"="):
        return False
    return before.endswith(_READS)
