"""Is what a method is taken from certainly a value of Python's own types? Pure.

`line.split(",")` is no operator where `line` can only be text. What is not proved is not plain: each place
that gives a name its value must be one that says what the value is, and a place of a kind that is not known
here says nothing. All places in a function count, whichever comes first, and those in functions within it.
The tests are in `tests/test_parse_plain.py`.
"""

from __future__ import annotations

import builtins
import collections
from typing import Final

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse import plain_types
from torchtalkd.parse.plain_given import arguments, assigned
from torchtalkd.parse.plain_names import FREE, BoundNames, owner_at
from torchtalkd.parse.plain_places import USES, attribute_places
from torchtalkd.parse.plain_types import NOTHING, TEXT, TEXTUAL, WORDY, Plain, joined, of
from torchtalkd.parse.python_outline import CHAIN, Assigned, Outline

_DEEPEST: Final = 12
_MOST_PLACES: Final = 400
_DISPLAYS: Final[dict[str, type]] = {
    "list": list, "list_comprehension": list, "dictionary": dict, "dictionary_comprehension": dict,
    "set": set, "set_comprehension": set, "tuple": tuple, "expression_list": tuple, "integer": int,
    "float": float, "true": bool, "false": bool,
}  # fmt: skip
_OWN: Final = b"self"


class Plains:
    """What is plain in one file."""

    def __init__(self, out: Outline) -> None:
        self.out = out
        self.names = BoundNames(self)
        self._asked: dict[tuple[int, bytes], Plain | None] = {}
        self._attributes: dict[bytes, Plain | None] = {}
        self._members: dict[bytes, list[Assigned]] | None = None
        self._methods: set[bytes] = set()

    def is_plain(self, callee: Node, owner: int, method: str) -> bool:
        """Whether a callee `x.method` in a definition is taken from a plain value, which has the method."""
        receiver = callee.child_by_field_name("object") if callee.type == "attribute" else None
        if receiver is None:
            return False
        found = None
        if receiver.type in ("identifier", "attribute"):
            asked = (owner, self.out.data[receiver.start_byte : receiver.end_byte])
            if asked in self._asked:
                found = self._asked[asked]
            else:
                found = self.plain(receiver, owner)
                if not self.names.is_mixed(asked[1]):
                    self._asked[asked] = found
        else:
            found = self.plain(receiver, owner)
        return found is not None and plain_types.has(found, method)

    def plain(self, node: Node, owner: int, depth: int = 0) -> Plain | None:
        """What an expression is, if that is plain."""
        kind = node.type
        if depth > _DEEPEST:
            return None
        if kind in ("string", "concatenated_string"):
            return self._literal(node)
        if kind in _DISPLAYS:
            return self._display(node, owner, depth)
        if kind == "identifier":
            return self.names.named(node, owner, depth)
        if kind == "attribute":
            return self._attribute(node, owner, depth)
        if kind == "call":
            return self._called(node, owner, depth)
        if kind == "none":
            return NOTHING
        if kind == "parenthesized_expression" and len(node.named_children) == 1:
            return self.plain(node.named_children[0], owner, depth + 1)
        if kind == "conditional_expression":
            branches = node.named_children
            return joined(
                self.plain(branches[0], owner, depth + 1), self.plain(branches[-1], owner, depth + 1)
            )
        if kind == "boolean_operator":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            return self._both(left, right, owner, depth)
        if kind == "not_operator":
            return of(bool)
        if kind == "subscript":
            return self._subscript(node, owner, depth)
        if kind == "binary_operator":
            return self._operated(node, owner, depth)
        if kind == "named_expression":
            value = node.child_by_field_name("value")
            return self.plain(value, owner, depth + 1) if value is not None else None
        return None

    def _both(self, left: Node | None, right: Node | None, owner: int, depth: int) -> Plain | None:
        if left is None or right is None:
            return None
        return joined(self.plain(left, owner, depth + 1), self.plain(right, owner, depth + 1))

    def _literal(self, node: Node) -> Plain:
        start = self.out.data[node.start_byte : node.start_byte + 3].lower()
        return of(bytes) if b"b" in start.partition(b'"')[0].partition(b"'")[0] else TEXT

    def _display(self, node: Node, owner: int, depth: int) -> Plain | None:
        kind = node.type
        type_ = _DISPLAYS[kind]
        inner = node.named_children
        if type_ in (int, float, bool):
            return of(type_)
        if kind.endswith("comprehension"):
            body = node.child_by_field_name("body")
            item = self.plain(body, owner, depth + 1) if body is not None and type_ is not dict else None
            return of(type_, item)
        if type_ is dict:
            pairs = [child for child in inner if child.type != "comment"]
            if not pairs or any(child.type != "pair" for child in pairs):
                return of(dict)
            names = self._all([p.child_by_field_name("key") for p in pairs], owner, depth)
            return of(dict, names, self._all([p.child_by_field_name("value") for p in pairs], owner, depth))
        items = [child for child in inner if child.type != "comment"]
        return of(type_, self._all(list(items), owner, depth) if items else None)

    def _all(self, nodes: list[Node | None], owner: int, depth: int) -> Plain | None:
        """What each of some expressions is; of many the first ones decide that none is known."""
        found: Plain | None = NOTHING
        for node in nodes:
            found = joined(found, self.plain(node, owner, depth + 2) if node is not None else None)
            if found is None:
                return None
        return found

    def _called(self, node: Node, owner: int, depth: int) -> Plain | None:
        function = node.child_by_field_name("function")
        if function is None:
            return None
        written = self.out.data[function.start_byte : min(function.end_byte, function.start_byte + 100)]
        if CHAIN.fullmatch(written):
            name = self.meaning(written, owner)
            if name:
                return self._given_by(name, node, owner, depth)
        if function.type != "attribute":
            return None
        receiver, method = function.child_by_field_name("object"), function.child_by_field_name("attribute")
        if receiver is None or method is None:
            return None
        plain = self.plain(receiver, owner, depth + 1)
        if plain is None:
            return None
        found = plain_types.result(plain, self.out.text(method))
        given = arguments(node)
        if found is not None and dict in plain.types and len(given) > 1:
            # `d.get(key, otherwise)`
            return joined(found, self.plain(given[1], owner, depth + 1))
        return found

    def _given_by(self, name: str, call: Node, owner: int, depth: int) -> Plain | None:
        """What calling a function or class by its full name gives."""
        if name.startswith(TEXTUAL):
            return WORDY
        type_ = plain_types.GIVING.get(name.removeprefix("builtins.")) or plain_types.named(name)
        if type_ is None:
            return None
        given = arguments(call)
        if type_ is collections.defaultdict and given and given[0].type == "identifier":
            made = self.meaning(self.out.data[given[0].start_byte : given[0].end_byte], owner)
            class_ = plain_types.named(made) if made else None
            return of(type_, None, of(class_) if class_ is not None else None)
        item = None
        if issubclass(type_, (list, tuple, set, frozenset, range)) and len(given) == 1:
            inside = self.plain(given[0], owner, depth + 1)
            item = inside.item if inside is not None else None
        return of(type_, of(int) if type_ is range else item)

    def meaning(self, written: bytes, owner: int) -> str:
        """The full name of a chain; of a name of Python's own that nothing in the file hides, `str`."""
        name = self.out.resolve(written, owner)
        if name or b"." in written:
            return name
        text = written.decode("utf-8", "replace")
        return text if hasattr(builtins, text) and not self.is_hidden(written, owner) else ""

    def is_hidden(self, name: bytes, owner: int) -> bool:
        """Whether a file or function gives a name of Python's own another meaning."""
        if name in self.out.names.top or name in self.out.names.local:
            return True
        at = owner
        while at >= 0:
            if self.out.definitions[at].kind != "class" and self.names.bound(name, at, 0)[0]:
                return True
            at = self.out.definitions[at].scope
        return False

    def _subscript(self, node: Node, owner: int, depth: int) -> Plain | None:
        value = node.child_by_field_name("value")
        found = self.plain(value, owner, depth + 1) if value is not None else None
        if found is None or not found.types:
            return found
        if all(issubclass(type_, dict) for type_ in found.types):
            return found.value
        if any(issubclass(type_, dict) for type_ in found.types):
            return None
        index = node.child_by_field_name("subscript")
        if found.types == {str} or (index is not None and index.type == "slice"):
            return found
        return found.item

    def _operated(self, node: Node, owner: int, depth: int) -> Plain | None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return None
        one = self.plain(left, owner, depth + 1)
        sign = self.out.data[left.end_byte : right.start_byte].strip()
        if one is not None and ((one.types == {str} and sign == b"%") or not one.types):
            return TEXT if one.types else NOTHING
        other = self.plain(right, owner, depth + 1)
        if one is None or other is None or not one.types or not other.types:
            return None
        if sign in (b"+", b"|", b"-", b"&") and one.types == other.types:
            return joined(one, other)
        if sign == b"*" and (one.types == {int} or other.types == {int}):
            return other if one.types == {int} else one
        return None

    # -- attributes

    def _attribute(self, node: Node, owner: int, depth: int) -> Plain | None:
        """`self.names`, where all places in the file that give an attribute of the name a value say what it
        is."""
        receiver, last = node.child_by_field_name("object"), node.child_by_field_name("attribute")
        if receiver is None or last is None or receiver.type != "identifier":
            return None
        if self.out.data[receiver.start_byte : receiver.end_byte] != _OWN:
            return None
        name = self.out.data[last.start_byte : last.end_byte]
        if name in self._attributes:
            return self._attributes[name]
        self._attributes[name] = None  # Meanwhile it is not known.
        before, self.names.lowest = self.names.lowest, FREE
        found = self._of_attribute(name, depth)
        if self.names.lowest == FREE:
            self._attributes[name] = found
        else:
            del self._attributes[name]
        self.names.lowest = min(before, self.names.lowest)
        return found

    def _of_attribute(self, name: bytes, depth: int) -> Plain | None:
        data, root = self.out.data, self.out.root
        found: Plain | None = None
        for member in self._of_classes(name):
            around = member.name.parent
            value = assigned(self, around, member.owner, depth) if around is not None else None
            if value is None:
                return None
            value = plain_types.of_name(value, False)
            found = value if found is None else joined(found, value)
        if name in self._methods:
            return None
        if root is None:
            return None
        for count, attribute in enumerate(attribute_places(data, root, name)):
            around = attribute.parent
            if around is None or around.type in USES:
                continue
            given = self._attribute_given(attribute, around, depth)
            if given is None:
                continue
            value = given[0]
            if value is None or count > _MOST_PLACES:
                return None
            value = plain_types.of_name(value, False)
            found = value if found is None else joined(found, value)
        return found

    def _of_classes(self, name: bytes) -> list[Assigned]:
        """The places in the bodies of classes that give a name a value."""
        if self._members is None:
            self._members = {}
            definitions, data = self.out.definitions, self.out.data
            for assigned in self.out.assigned:
                if definitions[assigned.owner].kind == "class":
                    text = data[assigned.name.start_byte : assigned.name.end_byte]
                    self._members.setdefault(text, []).append(assigned)
            for definition in definitions:
                if definition.scope >= 0 and definitions[definition.scope].kind == "class":
                    self._methods.add(keys.last(definition.key).encode())
        return self._members.get(name, [])

    def _attribute_given(self, attribute: Node, around: Node, depth: int) -> tuple[Plain | None] | None:
        """What a place gives an attribute; None where it is read."""
        left = around.child_by_field_name("left")
        if around.type not in ("assignment", "augmented_assignment"):
            return None if around.type in ("default_parameter", "typed_default_parameter") else (None,)
        if left is None or left.id != attribute.id:
            return None
        owner = owner_at(self.out, attribute.start_byte)
        if around.type == "augmented_assignment":
            right = around.child_by_field_name("right")
            return (self.plain(right, owner, depth + 1) if right is not None else None,)
        return (assigned(self, around, owner, depth),)
