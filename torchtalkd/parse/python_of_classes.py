"""What a module does with its test classes once they are there. Pure.

Kept in a class's detail: `gone`, the module deletes its name (`always` at its top level, `maybe` in a block:
`del TestBase` keeps a class's tests for its heirs); `handed`, it stands elsewhere in a statement of the
module, so that more tests may be made of it, or set on it (`make_dynamic(TestFoo)`).
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from tree_sitter import Node

from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_values import arguments_of, chain_of

_TESTS: Final = re.compile(rb"\bdef test|\bsetattr\b")
_SILENT: Final = frozenset(
    (
        "class_definition",
        "import_statement",
        "import_from_statement",
        "decorator",
        "string",
        "comment",
        "type",
    )
)
"""What a name stands in without being handed on: bases, imports, annotations."""


def told_of_classes(out: Outline, makers: frozenset[str]) -> None:
    """Tells the classes of a file with tests. `makers` are the calls that are told as `made`."""
    if out.root is None or not _TESTS.search(out.data):
        return
    classes = {
        d.name.rpartition(".")[2].encode(): ordinal
        for ordinal, d in enumerate(out.definitions)
        if d.kind == "class" and d.scope == 0
    }
    if not classes:
        return
    names = re.compile(rb"\b(?:" + b"|".join(map(re.escape, classes)) + rb")\b")
    size = len(out.data)
    for (start, end), owner in zip(pairwise((*out.changes, size)), out.owners, strict=False):
        # What stands outside of all definitions is a small part of a file.
        for match in names.finditer(out.data, start, min(end, size)) if owner == 0 else ():
            node = out.root.descendant_for_byte_range(match.start(), match.end())
            told = _told(out, node, makers) if node is not None and node.type == "identifier" else None
            if told is not None:
                ordinal = classes[match.group()]
                d = out.definitions[ordinal]
                out.definitions[ordinal] = d._replace(detail={**(d.detail or {}), told[0]: told[1]})


def _told(out: Outline, name: Node, makers: frozenset[str]) -> tuple[str, object] | None:
    """What a name of a class says where it stands in a statement of the module."""
    node, around = name, name.parent
    deleted = blocks = False
    while around is not None and around.type != "module":
        if around.type in _SILENT:
            return None
        if around.type == "call" and _last(out, around) in makers and arguments_of(around, out).at(0) == name:
            return None
        if around.type == "attribute" and around.child_by_field_name("object") != node:
            return None
        if around.type == "if_statement":
            condition = around.child_by_field_name("condition")
            if condition is not None and "__name__" in out.text(condition):
                return None
        deleted = deleted or around.type == "delete_statement"
        blocks = blocks or around.type == "block"
        node, around = around, around.parent
    return ("gone", "maybe" if blocks else "always") if deleted else ("handed", True)


def _last(out: Outline, call: Node) -> str:
    function = call.child_by_field_name("function")
    return chain_of(function, out).rpartition(b".")[2].decode() if function is not None else ""
