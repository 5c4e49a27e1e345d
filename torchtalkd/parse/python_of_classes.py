"""What a module does with its test classes once they are there. Pure.

Kept in a class's detail: `gone`, the module deletes its name (`always` at its top level, `maybe` in a block:
`del TestBase` keeps a class's tests for its heirs); `handed`, it stands elsewhere in a statement of the
module, so that more tests may be made of it, or set on it (`make_dynamic(TestFoo)`).
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import Final

from tree_sitter import Node

from torchtalkd.parse.occurrences import occurrences
from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_values import arguments_of, chain_of

_TESTS: Final = (b"def test", b"setattr(")
"""One of these stands in a file with tests, or one that makes some."""
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
    data = out.data
    if out.root is None or not any(word in data for word in _TESTS):
        return
    classes = {
        d.name.rpartition(".")[2].encode(): ordinal
        for ordinal, d in enumerate(out.definitions)
        if d.kind == "class" and d.scope == 0
    }
    # What stands outside of all definitions is a small part of a file.
    ends = (*out.changes[1:], len(data))
    spans = [
        (start, data[start:end])
        for start, end, owner in zip(out.changes, ends, out.owners, strict=False)
        if owner == 0 and start < end
    ]
    begins = list(accumulate((len(text) + 1 for _, text in spans), initial=0))
    for start, end in occurrences(b"\n".join(text for _, text in spans), classes) if classes else ():
        nth = bisect_right(begins, start) - 1
        first = spans[nth][0] + start - begins[nth]
        node = out.root.descendant_for_byte_range(first, first + end - start)
        told = _told(out, node, makers) if node is not None and node.type == "identifier" else None
        if told is not None:
            ordinal = classes[data[first : first + end - start]]
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
