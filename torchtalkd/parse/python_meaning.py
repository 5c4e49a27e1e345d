"""What an expression of a Python text means, as far as the text tells: `Meanings.value`. Pure.

Imports are followed to the name that they mean, assignments to their right sides, annotations to
their classes. In a function the bindings that reach a place count: the last one that every way to
it passes, and those behind that in branches. The tests are in `tests/test_python_spot.py`.
"""

from __future__ import annotations

import builtins
from typing import Final, NamedTuple

from tree_sitter import Node, Tree

from torchtalkd.parse.python_scopes import (
    FUNCTIONS,
    bound_by_comprehension,
    class_around,
    full_name,
    imported,
    names_in,
    parameter,
    scope_of,
    statements,
    text_of,
)
from torchtalkd.spots import UNKNOWN, Value

_DEPTH: Final = 12
"""Assignments and calls that are followed from a place."""
_WORK: Final = 300
"""Expressions that are read for one place: who asks waits for it."""
_BRANCHES: Final = 4
"""Bindings that one name may have at a place; with more it is not known."""
BINARY: Final = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
}  # fmt: skip
"""The data model's names (docs.python.org, "Emulating numeric types")."""
COMPARED: Final = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
UNARY: Final = {"-": "neg", "+": "pos", "~": "invert"}


class PythonText(NamedTuple):
    """A text with its tree."""

    path: str
    data: bytes
    tree: Tree
    module: str
    package: str


class Meanings:
    """Reads expressions of one text."""

    def __init__(self, text: PythonText) -> None:
        self._text = text
        self._left = _WORK

    def value(self, node: Node, depth: int = 0) -> Value:
        """What an expression is."""
        self._left -= 1
        if depth > _DEPTH or self._left < 0:
            return UNKNOWN
        kind = node.type
        if kind == "identifier":
            return self._named(node, depth)
        if kind == "attribute":
            return self._attribute(node, depth)
        if kind in ("parenthesized_expression", "type") and len(node.named_children) == 1:
            return self.value(node.named_children[0], depth)
        if kind == "call":
            function = node.child_by_field_name("function")
            if function is None:
                return UNKNOWN
            return Value("result", _first_text(node), (self.value(function, depth + 1),))
        if kind in ("binary_operator", "unary_operator", "comparison_operator"):
            named = {c.type for c in node.children}
            table = BINARY if kind[0] == "b" else UNARY if kind[0] == "u" else COMPARED
            method = next((table[word] for word in table if word in named), "")
            operands = tuple(self.value(child, depth + 1) for child in node.named_children[:2])
            return Value("operation", f"__{method}__", operands) if method else UNKNOWN
        if kind == "subscript":
            inner = node.child_by_field_name("value")
            of = (self.value(inner, depth + 1),) if inner is not None else ()
            return Value("operation", "__getitem__", of)
        if kind == "conditional_expression":
            branches = (node.named_children[0], node.named_children[-1])
            return Value("several", "", tuple(self.value(child, depth + 1) for child in branches))
        if kind == "named_expression":
            inner = node.child_by_field_name("value")
            return self.value(inner, depth + 1) if inner is not None else UNKNOWN
        return UNKNOWN

    def _attribute(self, node: Node, depth: int) -> Value:
        inner, last = node.child_by_field_name("object"), text_of(node.child_by_field_name("attribute"))
        if inner is None:
            return UNKNOWN
        of = self.value(inner, depth + 1)
        if of.kind == "name":
            return Value("name", f"{of.name}.{last}")
        if of.kind == "instance" and inner.type == "identifier" and depth < _DEPTH:
            own = self._own_attribute(inner, last, depth)
            if own is not None:
                return own
        if of.kind == "several" and of.of and all(value.kind == "name" for value in of.of):
            return Value("several", "", tuple(Value("name", f"{value.name}.{last}") for value in of.of))
        return Value("member", last, (of,))

    def _own_attribute(self, receiver: Node, last: str, depth: int) -> Value | None:
        """`self.last` where the class around assigns or annotates it."""
        function = scope_of(receiver, classes=False)
        holder = class_around(function) if function.type == "function_definition" else None
        if holder is None or parameter(function, text_of(receiver))[1] != 0:
            return None
        found: list[Value] = []
        for statement in statements(holder):
            if statement.type == "assignment" and text_of(statement.child_by_field_name("left")) == last:
                annotated = statement.child_by_field_name("type")
                if annotated is not None:
                    found.append(self._annotated(annotated, depth))
            if statement.type == "function_definition":
                if text_of(statement.child_by_field_name("name")) == last:
                    return None
                first = _first_parameter(statement)
                for inner in statements(statement):
                    if (
                        inner.type != "assignment"
                        or text_of(inner.child_by_field_name("left")) != f"{first}.{last}"
                    ):
                        continue
                    annotated, right = inner.child_by_field_name("type"), inner.child_by_field_name("right")
                    if annotated is not None:
                        found.append(self._annotated(annotated, depth))
                    elif right is not None and right.type != "none":
                        found.append(self.value(right, depth + 2))
        return _one(found) if found else None

    def _annotated(self, annotation: Node, depth: int) -> Value:
        """Something of the class that an annotation names; `Optional[C]` and `C | None` are C."""
        node = annotation
        while node.type in ("type", "parenthesized_expression") and node.named_children:
            node = node.named_children[0]
        if node.type == "string":
            inner = "".join(text_of(child) for child in node.children if child.type == "string_content")
            if inner.replace(".", "").isidentifier():
                root, dot, rest = inner.partition(".")
                found = self._lookup(root, node, depth)
                if found.kind == "name":
                    return Value("instance", "", (Value("name", found.name + dot + rest),))
            return UNKNOWN
        if node.type == "binary_operator" and "|" in {child.type for child in node.children}:
            kept = [child for child in node.named_children if child.type != "none"]
            return self._annotated(kept[0], depth) if len(kept) == 1 else UNKNOWN
        if node.type in ("subscript", "generic_type"):
            head = node.named_children[0]
            if (
                text_of(head).rpartition(".")[2] not in ("Optional", "Annotated")
                or len(node.named_children) < 2
            ):
                return UNKNOWN
            inner_node = node.named_children[1]
            while inner_node.type in ("type_parameter", "type") and inner_node.named_children:
                inner_node = inner_node.named_children[0]
            return self._annotated(inner_node, depth)
        value = self.value(node, depth + 1)
        return Value("instance", "", (value,)) if value.kind == "name" else UNKNOWN

    # -- names

    def _named(self, node: Node, depth: int) -> Value:
        name = text_of(node)
        if bound_by_comprehension(node, name):
            return UNKNOWN
        return self._lookup(name, node, depth)

    def _lookup(self, name: str, node: Node, depth: int) -> Value:
        around = scope_of(node, classes=True)
        if around.type == "class_definition":
            found = self._bound(name, around, node.start_byte, depth)
            if found is not None:
                return found
            around = scope_of(around, classes=False)
        while around.type in FUNCTIONS:
            found = self._in_function(name, around, node.start_byte, depth)
            if found is not None:
                return found
            around = scope_of(around, classes=False)
        if around.type == "module":
            found = self._bound(name, around, node.start_byte if node.parent else 0, depth)
            if found is not None:
                return found
            if name == self._text.module.partition(".")[0]:
                # The package's own files say `torch.x` where somebody else has imported it.
                return Value("name", name)
            stars = [
                meaning
                for statement in statements(around)
                if statement.type == "import_from_statement"
                for bound_name, meaning in imported(statement, self._text.package)
                if bound_name == "*"
            ]
            if stars and not hasattr(builtins, name):
                several = tuple(Value("name", f"{module}.{name}") for module in reversed(stars))
                return several[0] if len(several) == 1 else Value("several", "", several)
        return UNKNOWN

    def _parameter(self, name: str, function: Node, depth: int) -> Value | None:
        annotation, position, is_there = parameter(function, name)
        if not is_there:
            return None
        if annotation is not None:
            return self._annotated(annotation, depth)
        holder = class_around(function) if function.type == "function_definition" else None
        if position == 0 and holder is not None and not _is_static(function):
            return Value("instance", "", (Value("name", full_name(holder, self._text.module)),))
        return UNKNOWN

    def _in_function(self, name: str, function: Node, before: int, depth: int) -> Value | None:
        given = self._parameter(name, function, depth)
        binding = [s for s in statements(function) if self._binds(s, name)]
        # `x = x.t()`: the x on the right is an earlier one.
        above = [s for s in binding if s.end_byte <= before]
        found: list[Value] = []
        for statement in reversed(above):
            value = self._meaning(statement, name, function, depth)
            if value is not None:
                found.append(value)
            if _reaches_all(statement, before) and value is not None:
                break
            if len(found) >= _BRANCHES:
                return UNKNOWN
        else:
            if given is not None:
                found.append(given)
        if found:
            return _one(found)
        return UNKNOWN if binding else None

    def _bound(self, name: str, scope: Node, before: int, depth: int) -> Value | None:
        """What the statements of a class or module bind a name to: the first that means something,
        as in `try: import a … except ImportError: a = None`."""
        values = [
            self._meaning(statement, name, scope, depth)
            for statement in statements(scope)
            if self._binds(statement, name) and not statement.start_byte <= before < statement.end_byte
        ]
        known = [value for value in values if value is not None]
        return next((value for value in known if value != UNKNOWN), UNKNOWN) if known else None

    def _binds(self, statement: Node, name: str) -> bool:
        kind = statement.type
        if kind in ("import_statement", "import_from_statement"):
            return name in text_of(statement) and any(
                n == name for n, _ in imported(statement, self._text.package)
            )
        if kind in ("function_definition", "class_definition"):
            return text_of(statement.child_by_field_name("name")) == name
        if kind in ("assignment", "for_statement"):
            return name in names_in(statement.child_by_field_name("left"))
        return kind == "with_statement" and _is_target(statement, name)

    def _meaning(self, statement: Node, name: str, scope: Node, depth: int) -> Value | None:
        """What a statement that binds a name makes it mean; None for `x = None`, which says nothing."""
        kind = statement.type
        if kind in ("import_statement", "import_from_statement"):
            return Value("name", dict(imported(statement, self._text.package))[name])
        if kind in ("function_definition", "class_definition"):
            if scope.type == "function_definition":
                return UNKNOWN
            return Value("name", full_name(statement, self._text.module))
        return self._assigned(statement, name, scope, depth) if kind == "assignment" else UNKNOWN

    def _assigned(self, statement: Node, name: str, scope: Node, depth: int) -> Value | None:
        left = statement.child_by_field_name("left")
        annotated, right = statement.child_by_field_name("type"), statement.child_by_field_name("right")
        if left is None or left.type != "identifier":
            return UNKNOWN
        if annotated is not None:
            return self._annotated(annotated, depth)
        while right is not None and right.type == "assignment":
            right = right.child_by_field_name("right")
        if right is None or right.type == "none":
            return None
        value = self.value(right, depth + 1)
        if scope.type == "module" and value.kind == "unknown":
            return Value("name", f"{self._text.module}.{name}")
        return value


def _one(values: list[Value]) -> Value:
    distinct = tuple(dict.fromkeys(values))
    return distinct[0] if len(distinct) == 1 else Value("several", "", distinct)


def _is_static(function: Node) -> bool:
    around = function.parent
    if around is None or around.type != "decorated_definition":
        return False
    return any("staticmethod" in text_of(child) for child in around.children if child.type == "decorator")


def _first_parameter(function: Node) -> str:
    parameters = function.child_by_field_name("parameters")
    first = next(iter(parameters.named_children), None) if parameters is not None else None
    return text_of(first)


def _is_target(statement: Node, name: str) -> bool:
    waiting = [child for child in statement.children if child.type != "block"]
    while waiting:
        node = waiting.pop()
        if node.type == "as_pattern_target" and name in text_of(node):
            return True
        waiting.extend(node.named_children)
    return False


def _first_text(call: Node) -> str:
    """The first argument of a call where it is a plain string: `Library("aten", …)`."""
    arguments = call.child_by_field_name("arguments")
    first = next(iter(arguments.named_children), None) if arguments is not None else None
    if first is None or first.type != "string" or len(first.children) != 3:
        return ""
    return text_of(first.children[1])


def _reaches_all(statement: Node, place: int) -> bool:
    """Whether every way to a place behind a statement passes it: its block is around the place."""
    block = statement.parent
    while block is not None and block.type in ("expression_statement", "decorated_definition"):
        block = block.parent
    return block is None or block.type == "module" or block.start_byte <= place < block.end_byte
