"""What a name means at a place of a Python text: the bindings of the scopes around it. Pure.

Read from the tree when it is asked for, and only as far as needed: the function around a place,
then the module's top level. `torchtalkd.parse.python_spot` asks; the tests are in
`tests/test_python_spot.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from torchtalkd.parse.python_names import imported_module

FUNCTIONS: Final = ("function_definition", "lambda")
_BLOCKS: Final = frozenset(
    (
        *("module", "block", "if_statement", "else_clause", "elif_clause", "try_statement", "except_clause"),
        *("finally_clause", "with_statement", "for_statement", "while_statement", "decorated_definition"),
        *("expression_statement", "except_group_clause", "match_statement", "case_clause"),
    )
)
"""Nodes whose children belong to the same scope."""


def text_of(node: Node | None) -> str:
    """The text of a node, '' for none."""
    if node is None or node.text is None:
        return ""
    return node.text.decode("utf-8", "replace")


def scope_of(node: Node, *, classes: bool) -> Node:
    """The function, class (where `classes` count) or module around a node, never itself."""
    around = node.parent
    below = node
    while around is not None and around.parent is not None:
        if around.type in FUNCTIONS and not _is_head(around, below):
            return around
        if classes and around.type == "class_definition" and not _is_head(around, below):
            return around
        below, around = around, around.parent
    return around if around is not None else node


def _is_head(definition: Node, child: Node) -> bool:
    """Whether a child of a definition is evaluated outside of it: a default, a base, an annotation."""
    if definition.type == "lambda":
        return False
    body = definition.child_by_field_name("body")
    name = definition.child_by_field_name("name")
    return (body is None or child.id != body.id) and (name is None or child.id != name.id)


def class_around(node: Node) -> Node | None:
    """The class that a method stands in, for the method's node."""
    around = scope_of(node, classes=True)
    return around if around.type == "class_definition" else None


def full_name(definition: Node, module: str) -> str:
    """The dotted name of a def or class: `torch.nn.Linear.forward`."""
    parts = [text_of(definition.child_by_field_name("name"))]
    around = scope_of(definition, classes=True)
    while around.parent is not None:
        if around.type != "lambda":
            parts.append(text_of(around.child_by_field_name("name")))
        around = scope_of(around, classes=True)
    parts.append(module)
    return ".".join(part for part in reversed(parts) if part)


def statements(scope: Node) -> Iterator[Node]:
    """The statements of a scope that bind names, in the order of the text; those of inner scopes
    are theirs."""
    body = scope if scope.type == "module" else scope.child_by_field_name("body")
    if body is None or scope.type == "lambda":
        return
    waiting = [body]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind in _BLOCKS:
            if kind in ("for_statement", "with_statement"):
                yield node
            waiting.extend(reversed(node.named_children))
        elif kind in (
            *("assignment", "augmented_assignment", "function_definition", "class_definition"),
            *("import_statement", "import_from_statement", "global_statement", "with_clause"),
        ):
            yield node


def imported(statement: Node, package: str) -> Iterator[tuple[str, str]]:
    """The names that an import binds, with what they mean; `*` for all of a module."""
    if statement.type == "import_statement":
        for name in statement.children_by_field_name("name"):
            if name.type == "aliased_import":
                yield text_of(name.child_by_field_name("alias")), text_of(name.child_by_field_name("name"))
            else:
                root = text_of(name).partition(".")[0]
                yield root, root
        return
    module = module_of(statement, package)
    if any(child.type == "wildcard_import" for child in statement.children):
        yield "*", module
    for name in statement.children_by_field_name("name"):
        if name.type == "aliased_import":
            inner = text_of(name.child_by_field_name("name"))
            yield text_of(name.child_by_field_name("alias")), _joined(module, inner)
        else:
            yield text_of(name), _joined(module, text_of(name))


def module_of(statement: Node, package: str) -> str:
    """The module that a `from … import` names."""
    return imported_module(text_of(statement.child_by_field_name("module_name")).replace(" ", ""), package)


def _joined(module: str, name: str) -> str:
    return f"{module}.{name}" if module else name


def parameter(function: Node, name: str) -> tuple[Node | None, int, bool]:
    """A function's parameter: its annotation, its position, and whether there is one of the name."""
    parameters = function.child_by_field_name("parameters")
    for position, child in enumerate(parameters.named_children if parameters is not None else ()):
        if child.type == "identifier" and text_of(child) == name:
            return None, position, True
        if child.type in ("typed_parameter", "default_parameter", "typed_default_parameter"):
            named = child.child_by_field_name("name") or next(iter(child.named_children), None)
            if named is not None and named.type == "identifier" and text_of(named) == name:
                return child.child_by_field_name("type"), position, True
        if child.type in ("list_splat_pattern", "dictionary_splat_pattern") and name in text_of(child):
            return None, position, True
    return None, -1, False


def bound_by_comprehension(node: Node, name: str) -> bool:
    """Whether a comprehension around a place binds a name."""
    around = node.parent
    while around is not None and around.type not in (*FUNCTIONS, "class_definition", "module"):
        for child in around.children:
            if child.type == "for_in_clause" and name in names_in(child.child_by_field_name("left")):
                return True
        around = around.parent
    return False


def names_in(target: Node | None) -> set[str]:
    """The names that a target binds: `a`, `(a, b)`, `[a, *b]`."""
    if target is None:
        return set()
    if target.type == "identifier":
        return {text_of(target)}
    if target.type in ("attribute", "subscript"):
        return set()
    return {name for child in target.named_children for name in names_in(child)}
