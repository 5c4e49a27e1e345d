"""What a module's variables are made of: `TABLE = {"a": f, "b": OTHER}`. Pure.

The module's Definition says it in its detail, `variables`: for each statement that gives a name of the module
a value, or adds to it, the name, its first and last line, and the full names in it that are not called:
what is in a table is run by who uses that table, and not by who uses another one of the same module. The
first entry has no name: its variables are those that other statements of the module use.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tree_sitter import Node

from torchtalkd.parse.python_outline import CHAIN, Outline

VARIABLES: Final = "variables"
_TEXTS: Final = re.compile(
    rb"#[^\n]*|(?:\"\"\"(?:[^\\]|\\.)*?\"\"\"|'''(?:[^\\]|\\.)*?'''|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')",
    re.DOTALL,
)
_WORD: Final = re.compile(rb"(?<![\w.\x80-\xff])[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_DEFINING: Final = (
    *("function_definition", "class_definition", "decorated_definition", "comment"),
    *("import_statement", "import_from_statement", "future_import_statement"),
)
_LONGEST: Final = 400_000
"""Bytes of a statement, above which what is in it is not looked for: then the name is left out."""


def read_variables(out: Outline) -> None:
    """Tell the module's definition of its variables."""
    names = [assigned.name for assigned in out.assigned if assigned.owner == 0]
    statements = [(out.text(name), name) for name in (*names, *out.added)]
    if not statements:
        return
    variables = {name.encode() for name, _ in statements}
    found: list[list[Any]] = []
    for name, node in statements:
        statement = node.parent
        if statement is None or statement.end_byte - statement.start_byte > _LONGEST:
            continue
        first, last = statement.start_point[0] + 1, statement.end_point[0] + 1
        found.append([name, first, last, _named(out, node, statement, variables)])
    loose = _used_elsewhere(out, variables)
    if loose:
        found.insert(0, ["", 0, 0, loose])
    module = out.definitions[0]
    out.definitions[0] = module._replace(detail={**(module.detail or {}), VARIABLES: found})


def _used_elsewhere(out: Outline, variables: set[bytes]) -> list[str]:
    """The full names of variables in statements that are no assignments: loops, calls, branches."""
    found: dict[str, None] = {}
    for statement in out.root.named_children if out.root is not None else ():
        inner = statement.named_children[:1] if statement.type == "expression_statement" else []
        if statement.type in _DEFINING or (inner and _gives_name(inner[0])):
            continue
        for match in _WORD.finditer(out.data, statement.start_byte, statement.end_byte):
            if match[0] in variables:
                found.setdefault(f"{out.module}.{match[0].decode('utf-8', 'replace')}")
    return list(found)


def _gives_name(assignment: Node) -> bool:
    """Whether an expression gives a plain name its value, or is a text."""
    if assignment.type not in ("assignment", "augmented_assignment"):
        return assignment.type == "string"
    left = assignment.child_by_field_name("left")
    return left is not None and left.type == "identifier"


def _named(out: Outline, name: Node, statement: Node, variables: set[bytes]) -> list[str]:
    """The full names in a statement that are not called, behind the name that it gives a value."""
    text = out.data[name.end_byte : statement.end_byte]
    if b'"' in text or b"'" in text or b"#" in text:
        text = _TEXTS.sub(b" ", text)
    found: dict[str, None] = {}
    known = out.names.top
    for match in CHAIN.finditer(text):
        root = match[0].partition(b".")[0].rstrip()
        if text[match.end() : match.end() + 1] == b"(" or text[match.start() - 1 : match.start()] == b".":
            continue
        if root in known:
            full = out.resolve(match[0], 0)
        elif root in variables:
            full = f"{out.module}.{match[0].decode('utf-8', 'replace')}"
        else:
            continue
        if full and len(full) < 200:
            found.setdefault(full)
    return list(found)
