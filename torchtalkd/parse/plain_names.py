"""What all places in a function, or in a module, give a name, if that is plain. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from tree_sitter import Node

from torchtalkd.parse import plain_types
from torchtalkd.parse.plain_given import Reader, given, iterated
from torchtalkd.parse.plain_places import LONGEST, occurrences, places
from torchtalkd.parse.plain_types import NOTHING, Plain, joined
from torchtalkd.parse.python_outline import Outline

_WORK: Final = 50_000
"""Places that are looked at in one file."""
_ROUNDS: Final = 4
FREE: Final = 1 << 30
"""Nothing was assumed."""
_CHANGES: Final = re.compile(
    rb"[ \t]*(?:\.(?:"
    + "|".join(sorted(plain_types.changing())).encode()
    + rb")\b|\[.*\][ \t]*=(?!=)|\+=|\|=)"
)
"""Behind a name: what is in its value may be something else from there on."""
_GLOBAL: Final = re.compile(rb"\bglobal[ \t]+([^\n#;]+)")
_COMPREHENSIONS: Final = (
    *("list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"),
)


class BoundNames:
    """The names of one file."""

    def __init__(self, read: Reader) -> None:
        self._read = read
        self._left = _WORK
        self._names: dict[tuple[int, bytes], tuple[bool, Plain | None]] = {}
        self._assumed: dict[tuple[int, bytes], Plain | None] = {}
        """What is being worked out, from the first that was asked for → what it is so far."""
        self.lowest = FREE
        """The first of these that something was assumed of."""
        self._globals: set[bytes] | None = None
        """The names that some function says are the module's."""
        self._nodes: dict[int, Node | None] = {}
        self._starts: dict[int, int] = {}
        self._mixed: set[tuple[int, bytes]] = set()
        """Names that mean something else in a comprehension or a lambda."""

    def is_mixed(self, name: bytes) -> bool:
        """Whether it depends on the place in a function what a name is."""
        return any(mixed == name for _, mixed in self._mixed)

    def named(self, node: Node, owner: int, depth: int) -> Plain | None:
        """What a name is at a place; None for what the file does not say."""
        name = self._read.out.data[node.start_byte : node.end_byte]
        definitions = self._read.out.definitions
        at = owner
        while at > 0:
            if definitions[at].kind != "class":
                bound, found = self.bound(name, at, depth)
                if (at, name) in self._mixed:
                    there, inside = self._inner(node, name, at, depth)
                    if there:
                        return inside
                if bound:
                    return found
            at = definitions[at].scope
        bound, found = self.bound(name, 0, depth) if at == 0 else (False, None)
        return found if bound else None

    def bound(self, name: bytes, at: int, depth: int) -> tuple[bool, Plain | None]:
        """Whether a function (or, 0, the module) binds a name, and what all places in it give the name.

        A value may come of the name itself, `x = x.strip()`. What it is then is what stays the same when
        it is put there.
        """
        asked = (at, name)
        known = self._names.get(asked)
        if known is not None:
            return known
        if asked in self._assumed:
            self.lowest = min(self.lowest, list(self._assumed).index(asked))
            return True, self._assumed[asked]
        place = len(self._assumed)
        before, lowest = self.lowest, FREE
        self._assumed[asked] = NOTHING
        for _ in range(_ROUNDS):
            self.lowest = FREE
            bound, found = self._joined(name, at, depth)
            lowest = min(lowest, self.lowest)
            if found is None or found == self._assumed[asked]:
                break
            self._assumed[asked] = found
        else:
            found = None
        del self._assumed[asked]
        if lowest >= place:
            # Else it depends on what is still assumed of another name.
            self._names[asked] = bound, found
            lowest = FREE
        self.lowest = min(before, lowest)
        return bound, found

    def _joined(self, name: bytes, at: int, depth: int) -> tuple[bool, Plain | None]:
        """`_bound` with what is assumed of names that are being looked at."""
        start, end, function = 0, len(self._read.out.data), None
        if at:
            function = self._node(at)
            if function is None:
                return True, None
            start, end = function.start_byte, function.end_byte
        root = self._read.out.root
        if root is None or end - start > LONGEST or self._left < 0:
            return True, None
        changed = at == 0 and self._is_global(name)
        found: Plain | None = NOTHING
        inside: Plain | None = NOTHING
        bound = own = False
        for leaf in places(self._read.out.data, root, name, start, end):
            self._left -= 1
            owner = owner_at(self._read.out, leaf.start_byte)
            if at == 0 and owner and not changed:
                continue
            told = given(self._read, leaf, owner, depth)
            if told is None:
                continue
            value, inner = told
            if inner:
                inside, own = joined(inside, value), True
                continue
            bound = bound or owner == at
            found = joined(found, self._under_name(value, name, start, end) if value is not None else None)
            if found is None and bound:
                break
        if own and (inside is None or found is None or not bound):
            self._mixed.add((at, name))
        elif own:
            found = joined(found, inside)
        return bound, found

    def _is_global(self, name: bytes) -> bool:
        """Whether a function says that a name is the module's."""
        if self._globals is None:
            found = _GLOBAL.findall(self._read.out.data) if b"global" in self._read.out.data else []
            self._globals = {word.strip() for names in found for word in names.split(b",")}
        return name in self._globals

    def _under_name(self, value: Plain, name: bytes, start: int, end: int) -> Plain:
        """What is known of a value with a name: what it holds only where nothing is put into it."""
        bare = plain_types.of_name(value, False)
        if bare == value:
            return value
        data = self._read.out.data
        behind = (at + len(name) for at in occurrences(data, name, start, end))
        return bare if any(_CHANGES.match(data, at) for at in behind) else value

    def _inner(self, node: Node, name: bytes, at: int, depth: int) -> tuple[bool, Plain | None]:
        """Whether a comprehension or lambda around a place binds a name, and what the innermost gives it."""
        around = node.parent
        while around is not None and around.type != "function_definition":
            if around.type in _COMPREHENSIONS:
                for child in around.children:
                    left = child.child_by_field_name("left") if child.type == "for_in_clause" else None
                    if left is not None and self._has(left, name):
                        return True, iterated(
                            self._read, child, at, depth
                        ) if left.type == "identifier" else None
            elif around.type == "lambda":
                parameters = around.child_by_field_name("parameters")
                if parameters is not None and self._has(parameters, name):
                    return True, None
            around = around.parent
        return False, None

    def _has(self, node: Node, name: bytes) -> bool:
        return name in self._read.out.data[node.start_byte : node.end_byte]

    def _node(self, ordinal: int) -> Node | None:
        """The node of a function; None where the tree has it not whole."""
        if ordinal not in self._nodes:
            if not self._starts:
                self._starts = {at: start for start, at in self._read.out.by_start.items()}
            start, root = self._starts.get(ordinal, -1), self._read.out.root
            leaf = (
                root.descendant_for_byte_range(start, start + 1) if root is not None and start >= 0 else None
            )
            node = leaf.parent if leaf is not None and leaf.type == "identifier" else None
            fits = node is not None and node.type == "function_definition" and not node.has_error
            self._nodes[ordinal] = node if fits else None
        return self._nodes[ordinal]


def owner_at(out: Outline, start: int) -> int:
    """The ordinal of the innermost definition around a byte."""
    return out.owners[bisect_right(out.changes, start) - 1]
