"""The syntax of a Python file: bytes → what the one query of `queries/python.scm` matches.

Pure. Text that the grammar cannot read costs as little as possible: a definition that an
error further up has swallowed is parsed again on its own, in its place.
"""

from __future__ import annotations

import re
from enum import IntEnum
from functools import cache
from typing import NamedTuple, TypeAlias

import tree_sitter_python
from tree_sitter import Language, Node, Parser, Point, Query, QueryCursor, Range

from torchtalkd.parse.query_text import query_text

Match: TypeAlias = tuple[int, dict[str, list[Node]]]


class Pattern(IntEnum):
    """The patterns of `queries/python.scm`, in their order there."""

    FUNCTION = 0
    CLASS = 1
    BASES = 2
    DECORATOR = 3
    IMPORT = 4
    FROM = 5
    STAR = 6
    OLD = 7
    BOUND = 8
    AUGMENTED = 9
    CALL = 10
    METHOD = 11
    LAUNCH = 12
    VALUE = 13
    ARGUMENT = 14


class Tree(NamedTuple):
    """The matches of one file in document order, and what is wrong with its text."""

    matches: list[Match]
    error_line: int
    """1-based line of the first syntax error; 0: none."""
    ends: dict[int, int]
    """Where definitions end, by the first byte of their name: only for those whose node
    ends in the wrong place because of an error."""
    root: Node | None = None
    """The whole file, for the few who look for a place."""


_LANGUAGE = Language(tree_sitter_python.language())
_PARSER = Parser(_LANGUAGE)

_DEFINITION = re.compile(
    rb"^(?P<indent>[ \t]*)(?P<block>(?:@[^\n]*\n(?P=indent))*"
    rb"(?:async[ \t]+)?(?:def|class)[ \t]+(?P<name>[\w\x80-\xff]+))",
    re.MULTILINE,
)
_TEXT = frozenset(("string", "string_start", "string_content", "string_end", "escape_sequence", "comment"))
_MOST_BLOCKS = 5_000
_DEEPEST = 1_000
"""How deep in the tree a match may begin. An argument list is tried with every node within it
until it ends, so that the time for 20,000 calls within each other is the square of that; real
code is at most some hundred deep."""
_MOST_DEPTH = 20
"""How deep lost definitions are looked for within lost definitions."""


@cache
def _query(arguments: bool) -> Query:
    query = Query(_LANGUAGE, query_text("python"))
    if not arguments:
        query.disable_pattern(Pattern.ARGUMENT)
    return query


def _matches(root: Node, arguments: bool) -> list[Match]:
    cursor = QueryCursor(_query(arguments))
    cursor.set_max_start_depth(_DEEPEST)
    return cursor.matches(root)


def read_tree(data: bytes, *, arguments: bool = True) -> Tree:
    """Parse UTF-8 text. Never raises. With `arguments` plain names among arguments are matched, too."""
    root = _PARSER.parse(data).root_node
    matches = _matches(root, arguments)
    if not root.has_error:
        return Tree(matches, 0, {}, root)
    errors = QueryCursor(Query(_LANGUAGE, "(ERROR) @e (MISSING) @e")).matches(root)
    line = min((captured["e"][0].start_point.row + 1 for _, captured in errors), default=1)
    whole = _Blocks(data, arguments).recovered(root, matches, 0, len(data), _MOST_DEPTH)
    return Tree(whole, line, _ends(whole) if whole is not matches else {}, root)


class _Blocks:
    """Parses blocks of one file on their own, a limited number of them."""

    def __init__(self, data: bytes, arguments: bool) -> None:
        self._data = data
        self._arguments = arguments
        self._left = _MOST_BLOCKS

    def recovered(self, root: Node, matches: list[Match], start: int, end: int, depth: int) -> list[Match]:
        """`matches` with those of the definitions between `start` and `end` that the tree lacks."""
        found = {captured["n"][0].start_byte for index, captured in matches if index <= Pattern.CLASS}
        blocks: list[tuple[int, int]] = []
        added: list[Match] = []
        reached = start
        for lost in _DEFINITION.finditer(self._data, start, end):
            first = lost.start("block")
            if lost.start("name") in found or first < reached or self._left <= 0 or not depth:
                continue
            at = root.descendant_for_byte_range(first, first + 1)
            if at is not None and at.type in _TEXT:
                continue
            reached = min(self._block_end(lost, end), end)
            self._left -= 1
            blocks.append((first, reached))
            added += self._block(first, reached, depth - 1)
        if not blocks:
            return matches
        kept: list[Match] = []
        place = 0
        for match in sorted(matches, key=_start):
            position = _start(match)
            while place < len(blocks) and blocks[place][1] <= position:
                place += 1
            if place == len(blocks) or position < blocks[place][0]:
                kept.append(match)
        return sorted(kept + added, key=_start)

    def _block(self, start: int, end: int, depth: int) -> list[Match]:
        data = self._data
        parser = Parser(
            _LANGUAGE, included_ranges=[Range(_point(data, start), _point(data, end), start, end)]
        )
        root = parser.parse(data).root_node
        matches = _matches(root, self._arguments)
        return self.recovered(root, matches, start, end, depth) if root.has_error else matches

    def _block_end(self, lost: re.Match[bytes], end: int) -> int:
        dedent = _dedent(len(lost["indent"])).search(self._data, lost.end(), end)
        return dedent.start() if dedent else end


@cache
def _dedent(indent: int) -> re.Pattern[bytes]:
    return re.compile(rb"(?<=\n)(?=[ \t]{0,%d}[^\s#)\]}])" % min(indent, 1000))


def _point(data: bytes, position: int) -> Point:
    return Point(data.count(b"\n", 0, position), position - data.rfind(b"\n", 0, position) - 1)


def _start(match: Match) -> int:
    # A decorator, a call or a definition begins where the first of its captures does.
    return min(nodes[0].start_byte for nodes in match[1].values())


def _ends(matches: list[Match]) -> dict[int, int]:
    """Where each definition ends if indentation decides what contains what."""
    ends: dict[int, int] = {}
    open_: list[tuple[int, int]] = []  # column, first byte of the name

    def close(column: int, position: int) -> None:
        while open_ and open_[-1][0] >= column:
            _, name = open_.pop()
            ends[name] = min(ends[name], position)
            if open_:
                ends[open_[-1][1]] = max(ends[open_[-1][1]], ends[name])

    for index, captured in matches:
        if index <= Pattern.CLASS:
            body = captured["b"][0]
            close(body.start_point.column, body.start_byte)
            name = captured["n"][0].start_byte
            ends[name] = body.end_byte
            open_.append((body.start_point.column, name))
    close(0, 1 << 62)
    return ends
