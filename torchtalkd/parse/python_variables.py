"""What a module's variables are made of: `TABLE = {"a": f, "b": OTHER}`. Pure.

The module's Definition says it in its detail, `variables`: for each statement that gives a name of the
module a value, or changes that (`TABLE["c"] = g`, `TABLE.update(more)`, `TABLE += more`), the name, its first
and last line, and the full names in it that are not called. What is in a table is run by who uses that
table, and not by who uses another one of the same module. Entries with one of these for a name say
- ``: a statement that may make names that no text shows: `globals()[name] = f`;
- `*`: what all other statements name;
- `?`: the variables that those name, or that functions may change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tree_sitter import Node

from torchtalkd.parse.python_outline import CHAIN, Outline

VARIABLES: Final = "variables"
_TEXTS: Final = re.compile(
    rb"#[^\n]*"
    rb"|\"\"\"[^\"\\]*+(?:(?:\\.|\"(?!\"\"))[^\"\\]*+)*+\"\"\"|\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\""
    rb"|'''[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+'''|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'",
    re.DOTALL,
)
_USED: Final = re.compile(rb"(?<![\w.\x80-\xff])(" + CHAIN.pattern + rb")(\(?)")
"""A dotted name, and whether it is called."""
_MAKERS: Final = frozenset(
    (
        *(b"globals", b"vars", b"locals", b"setattr", b"exec", b"eval", b"modules", b"__dict__"),
        *(b"_getframe", b"__setattr__"),
    )
)
"""Words of what may make names of a module."""
_MAKING: Final = re.compile(rb"\b(?:" + b"|".join(sorted(_MAKERS)) + rb")\b")
_STANDS: Final = re.compile(rb"(?<![\w.])[A-Za-z_\x80-\xff][\w\x80-\xff]*")
_CHANGES: Final = re.compile(rb"[ \t]*(?:\.(\w+)[ \t]*\(|\[[^\n]*\][ \t]*[-+|]?=(?!=)|[-+|]=)")
_GLOBAL: Final = re.compile(rb"global[ \t]+([^\n#]+)")
_LONGEST: Final = 400_000
"""Bytes of a statement, above which what is in it is not looked for."""
_MOST_LOOKED_AT: Final = 100_000_000
"""Bytes that are gone over for all variables of a file; with more each counts as changed."""
_WORD: Final = frozenset(bytes((n,)) for n in range(256) if n == 95 or n > 127 or chr(n).isalnum())
_UNCHANGING: Final = frozenset(
    name
    for type_ in (str, bytes, tuple, frozenset, range, int, float, bool, complex)
    for name in dir(type_)
    if not name.startswith("_")
)
"""The methods of Python's own types whose values stay as they are made."""
_ASSIGNMENTS: Final = ("assignment", "augmented_assignment")
_BLOCKS: Final = frozenset(
    (
        *("block", "if_statement", "else_clause", "elif_clause", "try_statement", "except_clause"),
        *("finally_clause", "with_statement", "for_statement", "while_statement", "except_group_clause"),
    )
)
_SILENT: Final = frozenset(
    (
        *("function_definition", "class_definition", "decorated_definition", "comment", "pass_statement"),
        *("import_statement", "import_from_statement", "future_import_statement", "delete_statement"),
        *("global_statement", "assert_statement", "raise_statement", "string", "break_statement"),
    )
)
"""Statements that make no names but those that the outline knows."""


class _Statement(NamedTuple):
    name: bytes
    """The variable; empty for a statement that is of none."""
    node: Node
    begin: int
    """The byte behind which its value begins."""
    changes: bool = False
    """Whether it gives no name its value, but changes one, which may be none of the module's."""
    each: bool = False
    """Whether it is a loop, which gives the variable one value after another."""


def read_variables(out: Outline) -> None:
    """Tell the module's definition of its variables."""
    top = out.root.named_children if out.root is not None else []
    statements = list(_statements(top, out.data))
    variables = {statement.name for statement in statements if not statement.changes} - {b""}
    if not statements:
        return
    found: list[list[Any]] = []
    loose: dict[str, None] = {}
    functions, makers = _functions(top, out.data), set(_MAKERS)
    for name, node, begin, *_ in statements:
        named = _named(out, begin, node.end_byte, variables)
        lines = node.start_point[0] + 1, node.end_point[0] + 1
        if name in variables:
            found.append([name.decode("utf-8", "replace"), *lines, named])
        elif _makes(node, makers, functions, out.data):
            found.append(["", *lines, named])
        else:
            loose.update(dict.fromkeys(named))
    changed = _changed(out, variables)
    changed |= {name for name in variables if f"{out.module}.{name.decode('utf-8', 'replace')}" in loose}
    # What a loop goes over is no table that others put something into.
    changed &= {statement.name for statement in statements if not statement.each}
    found.append(["*", 0, 0, list(loose)])
    found.append(["?", 0, 0, sorted(name.decode("utf-8", "replace") for name in changed)])
    module = out.definitions[0]
    out.definitions[0] = module._replace(detail={**(module.detail or {}), VARIABLES: found})


def _functions(top: list[Node], data: bytes) -> dict[bytes, Node]:
    """The functions of a module by their names."""
    found: dict[bytes, Node] = {}
    for node in top:
        name = node.child_by_field_name("name") if node.type == "function_definition" else None
        if name is not None:
            found[data[name.start_byte : name.end_byte]] = node
    return found


def _makes(statement: Node, makers: set[bytes], functions: dict[bytes, Node], data: bytes) -> bool:
    """Whether a statement may make names of the module: by a word that stands in it, or in a function that
    it names. `functions` are those that were not looked at; those that may are added to the words."""
    words = set(_STANDS.findall(data, statement.start_byte, statement.end_byte))
    for word in words & functions.keys():
        function = functions.pop(word)
        if _MAKING.search(data, function.start_byte, function.end_byte):
            makers.add(word)
    return not words.isdisjoint(makers)


def _changed(out: Outline, variables: set[bytes]) -> set[bytes]:
    """The variables of which some function may change what is in them, as far as a text shows that."""
    if len(variables) * len(out.data) > _MOST_LOOKED_AT:
        return set(variables)
    found = {name for name in variables if _is_changed(out.data, name)}
    for match in _GLOBAL.finditer(out.data) if b"global" in out.data else ():
        found |= variables.intersection(word.strip() for word in match[1].split(b","))
    return found


def _is_changed(data: bytes, name: bytes) -> bool:
    for at in _occurrences(data, name):
        behind = _CHANGES.match(data, at + len(name))
        if behind is not None and (behind[1] or b"").decode("utf-8", "replace") not in _UNCHANGING:
            return True
    return False


def _occurrences(data: bytes, name: bytes) -> Iterator[int]:
    """Where a name begins, but for attributes of that name."""
    width = len(name)
    at = data.find(name)
    while at >= 0:
        before, after = data[at - 1 : at], data[at + width : at + width + 1]
        if before not in _WORD and before != b"." and after not in _WORD:
            yield at
        at = data.find(name, at + width)


def _statements(top: list[Node], data: bytes) -> Iterator[_Statement]:
    """The statements of a module and of its blocks, in the order of the text."""
    waiting = top[::-1]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind in _BLOCKS:
            if kind == "for_statement":
                left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
                if left is not None and right is not None:
                    for name in _names(left, data):
                        yield _Statement(name, right, right.start_byte, each=True)
            waiting += [n for n in reversed(node.named_children) if n.type in _BLOCKS or _is_statement(n)]
        elif kind == "expression_statement" and node.named_children:
            inner = node.named_children[0]
            if inner.type in _ASSIGNMENTS:
                yield from _assigned(inner, data)
            elif inner.type != "string":
                yield _Statement(_root(inner, data), node, node.start_byte, True)
        elif kind not in _SILENT:
            yield _Statement(b"", node, node.start_byte)


def _is_statement(node: Node) -> bool:
    return node.type.endswith(("_statement", "_definition"))


def _assigned(assignment: Node, data: bytes) -> Iterator[_Statement]:
    """The variables that an assignment gives a value, `a = b = f(x)`; `T[a] = b` changes T."""
    node: Node | None = assignment
    while node is not None and node.type in _ASSIGNMENTS:
        left = node.child_by_field_name("left")
        if left is not None and left.type == "identifier":
            yield _Statement(data[left.start_byte : left.end_byte], assignment, left.end_byte)
        elif left is not None:
            names = _names(left, data)
            for name in names or [_root(left, data)]:
                yield _Statement(name, assignment, assignment.start_byte, not names)
        node = node.child_by_field_name("right")


def _names(pattern: Node, data: bytes) -> list[bytes]:
    """The plain names that a target binds."""
    found: list[bytes] = []
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        if node.type == "identifier":
            found.append(data[node.start_byte : node.end_byte])
        elif node.type not in ("subscript", "attribute"):
            waiting += node.named_children
    return found


def _root(node: Node, data: bytes) -> bytes:
    """The variable that `T.add(x)`, `T[a]` or `T.a.b` is about; empty for what is about none."""
    if node.type == "call":
        function = node.child_by_field_name("function")
        if function is None or function.type != "attribute":
            return b""
        node = function
    while node.type in ("attribute", "subscript"):
        inner = node.child_by_field_name("object") or node.child_by_field_name("value")
        if inner is None:
            return b""
        node = inner
    return data[node.start_byte : node.end_byte] if node.type == "identifier" else b""


def _named(out: Outline, start: int, end: int, variables: set[bytes]) -> list[str]:
    """The full names between two bytes that are not called."""
    text = out.data[start:end] if end - start <= _LONGEST else b""
    if b'"' in text or b"'" in text or b"#" in text:
        text = _TEXTS.sub(b" ", text)
    found: dict[str, None] = {}
    known = out.names.top
    for chain, called in dict.fromkeys(_USED.findall(text)):
        root = chain.partition(b".")[0].rstrip()
        if root in known:
            full = out.resolve(chain, 0) if not called else ""
        elif root in variables:
            full = f"{out.module}.{root.decode('utf-8', 'replace')}"
        else:
            continue
        if full and len(full) < 200:
            found.setdefault(full)
    return list(found)
