"""A place of a Python text → what is written there (`torchtalkd.spots`). Pure.

Nothing here knows what other files define: an import is followed to the name that it means, an
assignment to its right side, an annotation to its class. The tests are in
`tests/test_python_spot.py`.
"""

from __future__ import annotations

from typing import Final

import tree_sitter_python
from tree_sitter import Language, Node, Parser

from torchtalkd.parse.python_meaning import BINARY, COMPARED, UNARY, Meanings, PythonText
from torchtalkd.parse.python_names import imported_module, module_name, package_of
from torchtalkd.parse.python_scopes import (
    full_name,
    imported,
    module_of,
    text_of,
)
from torchtalkd.spots import UNKNOWN, Passed, Spot, Value

_PARSER: Final = Parser(Language(tree_sitter_python.language()))


def python_text(path: str, data: bytes, roots: tuple[str, ...]) -> PythonText:
    """Reads a text; `roots` are the manifest's, for the module's name."""
    module = module_name(path, roots)
    return PythonText(path, data, _PARSER.parse(data), module, package_of(path, module))


def python_spot(text: PythonText, line: int, column: int) -> Spot | None:
    """What stands at a place (line from 1, column in bytes from 0); None for nothing that a name means."""
    offset = _offset(text.data, line, column)
    if offset < 0:
        return None
    root = text.tree.root_node
    leaf = root.descendant_for_byte_range(offset, offset + 1)
    if (leaf is None or leaf.type not in _NAMED) and offset > 0 and column > 0:
        # A cursor behind the last letter of a name means that name.
        before = root.descendant_for_byte_range(offset - 1, offset)
        if before is not None and (
            before.type in _NAMED or leaf is None or leaf.type in (")", "(", ".", ",")
        ):
            leaf = before if before.type in _NAMED else leaf
    if leaf is None:
        return None
    reader = _Reader(text)
    if leaf.type == "identifier":
        return reader.name(leaf)
    if leaf.type in _IN_STRING:
        return reader.string(leaf)
    return reader.operator(leaf)


_IN_STRING: Final = ("string_content", "string_start", "string_end", "string")
_NAMED: Final = ("identifier", *_IN_STRING)


def _offset(data: bytes, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = data.find(b"\n", start) + 1
        if not start:
            return -1
    end = data.find(b"\n", start)
    return min(start + column, len(data) if end < 0 else end)


def _spot(
    kind: str, node: Node, value: Value, text: str = "", passed: Passed | None = None, argument: int = -1
) -> Spot:
    row, column = node.start_point
    end = node.end_point[1] if node.end_point[0] == row else column + 1
    return Spot(kind, row + 1, column, end, value, text, passed, argument)  # type: ignore[arg-type]


class _Reader:
    def __init__(self, text: PythonText) -> None:
        self._text = text
        self._meanings = Meanings(text)

    # -- spots

    def name(self, leaf: Node) -> Spot | None:
        parent = leaf.parent
        if parent is None:
            return None
        kind = parent.type
        if kind in ("function_definition", "class_definition") and _is(parent, "name", leaf):
            return _spot("definition", leaf, UNKNOWN, full_name(parent, self._text.module))
        if kind in ("dotted_name", "aliased_import", "relative_import"):
            return self._in_import(leaf, parent)
        if kind == "keyword_argument" and _is(parent, "name", leaf):
            return None
        if kind in ("parameters", "lambda_parameters") or (
            kind in ("typed_parameter", "default_parameter", "typed_default_parameter")
            and parent.named_children[0].id == leaf.id
        ):
            return None
        expression = parent if kind == "attribute" and _is(parent, "attribute", leaf) else leaf
        return _spot("value", leaf, self._meanings.value(expression), "", self._passed(expression))

    def _in_import(self, leaf: Node, parent: Node) -> Spot | None:
        statement: Node | None = parent
        while statement is not None and not statement.type.startswith("import"):
            statement = statement.parent
        if statement is None:
            return None
        package = self._text.package
        if parent.type == "aliased_import":
            # The alias: what it stands for.
            found = dict(imported(statement, package)).get(text_of(leaf), "")
            return _spot("value", leaf, Value("name", found)) if found else None
        written = [child for child in parent.named_children if child.end_byte <= leaf.end_byte]
        dotted = ".".join(text_of(child) for child in written)
        module = (
            statement.child_by_field_name("module_name") if statement.type != "import_statement" else None
        )
        if module is None:
            return _spot("value", leaf, Value("name", dotted))
        if module.start_byte <= leaf.start_byte < module.end_byte:
            dots = text_of(module)[: len(text_of(module)) - len(text_of(module).lstrip("."))]
            return _spot("value", leaf, Value("name", imported_module(dots + dotted, package)))
        whole = module_of(statement, package)
        return _spot("value", leaf, Value("name", f"{whole}.{dotted}" if whole else dotted))

    def string(self, leaf: Node) -> Spot | None:
        node = leaf if leaf.type == "string" else leaf.parent
        if node is None or node.type != "string":
            return None
        content = next((child for child in node.children if child.type == "string_content"), None)
        if content is None or len(content.text or b"") > _LONGEST:
            return None
        holder: Node | None = node.parent
        if holder is not None and holder.type == "concatenated_string":
            node, holder = holder, holder.parent
        callee, argument = UNKNOWN, -1
        if holder is not None and holder.type == "keyword_argument":
            holder = holder.parent
        elif holder is not None and holder.type == "argument_list":
            argument = [child.id for child in holder.named_children].index(node.id)
        if holder is not None and holder.type == "argument_list" and holder.parent is not None:
            function = holder.parent.child_by_field_name("function")
            callee = self._meanings.value(function) if function is not None else UNKNOWN
        return _spot("text", content, callee, text_of(content), None, argument)

    def operator(self, leaf: Node) -> Spot | None:
        parent = leaf.parent
        if parent is None:
            return None
        written = leaf.type
        left, right = parent.child_by_field_name("left"), parent.child_by_field_name("right")
        method = ""
        if parent.type == "binary_operator" and written in BINARY:
            method = f"__{BINARY[written]}__"
        elif parent.type == "augmented_assignment" and written.removesuffix("=") in BINARY:
            method = f"__i{BINARY[written.removesuffix('=')]}__"
        elif parent.type == "unary_operator" and written in UNARY:
            method, left = f"__{UNARY[written]}__", parent.child_by_field_name("argument")
        elif parent.type == "comparison_operator" and written in COMPARED:
            around = parent.named_children
            at = next((i for i, c in enumerate(around) if c.start_byte > leaf.start_byte), 1)
            method, left, right = f"__{COMPARED[written]}__", around[at - 1], around[at]
        if not method or left is None:
            return None
        operands = tuple(self._meanings.value(node) for node in (left, right) if node is not None)
        passed = Passed(len(operands) - 1, (), True)
        return _spot("operation", leaf, Value("several", "", operands), method, passed)

    def _passed(self, expression: Node) -> Passed | None:
        call = expression.parent
        if call is None or call.type != "call" or not _is(call, "function", expression):
            return None
        arguments = call.child_by_field_name("arguments")
        if arguments is None or arguments.type != "argument_list":
            return Passed(0, (), False)
        positional, keywords, certain = 0, [], True
        for child in arguments.named_children:
            if child.type == "keyword_argument":
                keywords.append(text_of(child.child_by_field_name("name")))
            elif child.type in ("list_splat", "dictionary_splat"):
                certain = False
            elif child.type != "comment":
                positional += 1
        return Passed(positional, tuple(keywords), certain)


_LONGEST: Final = 4_000


def _is(node: Node, field: str, child: Node) -> bool:
    found = node.child_by_field_name(field)
    return found is not None and found.id == child.id
