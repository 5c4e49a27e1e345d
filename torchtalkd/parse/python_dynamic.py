"""Names that a Python module gets at run time: in loops, and when somebody first asks for them. Pure.

`for name in ("a", "b"): globals()[name] = make(name)`, `setattr(Tensor, f"{name}_", getattr(ops, name))`,
and what a module's `__getattr__` gives: its imports, and the tables that it looks names up in. Each is an
alias of what it stands for; of a value that only a function makes, an alias of that function.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.facts import Definition, Reference
from torchtalkd.parse.occurrences import occurrences
from torchtalkd.parse.python_names import imported_module, is_operators, key_of
from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_static import Bound, assigned_before, constants, passes, text_of
from torchtalkd.parse.python_values import arguments_of, chain_of, string_of, unwrapped

_TABLES: Final = (b"globals", b"vars", b"locals")
_WORD: Final = re.compile(rb"[A-Za-z_]\w*")
_DOTTED: Final = re.compile(r"\.*[A-Za-z_]\w*(?:[.:][A-Za-z_]\w*)*")
_LAZY: Final = ".__getattr__"
_DEEPEST: Final = 4


class _Set(NamedTuple):
    """A name that is set."""

    place: Node
    holder: str
    """The full name of the module or class that gets it."""
    name: Node
    value: Node


def read_dynamic(out: Outline) -> None:
    """Add the aliases of names that are set at run time."""
    if out.root is None:
        return
    for found in _sets(out):
        for bound in passes(found.place, out):
            last = text_of(found.name, out, bound)
            target, wrapper = _stands_for(found.value, out, bound)
            if last and last.isidentifier() and target:
                _add(out, found.name, f"{found.holder}.{last}", (target,), wrapper)
    if b"__getattr__" in out.names.top:
        lazy = out.module + _LAZY
        for ordinal, definition in enumerate(out.definitions):
            if definition.name == lazy and definition.scope == 0 and definition.kind == "function":
                _read_lazy(out, ordinal, definition)


def _sets(out: Outline) -> Iterator[_Set]:
    data = out.data
    words = [b"setattr"] if b"setattr(" in data else []
    if b"s()[" in data:
        words += _TABLES
    for start, end in occurrences(data, words):
        word = data[start:end]
        if not data.startswith(b"()[" if word in _TABLES else b"(", end):
            continue
        owner = out.owners[bisect_right(out.changes, start) - 1]
        around = out.definitions[owner]
        if around.kind not in ("module", "class"):
            continue
        node = out.root.descendant_for_byte_range(start, start + 1) if out.root is not None else None
        call = node.parent if node is not None and node.type == "identifier" else None
        if node is None or node.start_byte != start or call is None or call.type != "call":
            continue
        if word not in _TABLES:
            given = arguments_of(call, out).positional
            holder = _holder(given[0], out, owner) if len(given) == 3 else ""
            if holder:
                yield _Set(call, holder, given[1], given[2])
            continue
        key = call.parent
        assignment = key.parent if key is not None else None
        if key is None or assignment is None or key.type != "subscript" or assignment.type != "assignment":
            continue
        name, value = key.child_by_field_name("subscript"), assignment.child_by_field_name("right")
        if name is not None and value is not None and assignment.child_by_field_name("left") == key:
            holder = out.module if word == b"globals" else around.name
            yield _Set(call, holder, name, value)


def _holder(node: Node, out: Outline, owner: int) -> str:
    """The module or class that `setattr` is given: a name, or `sys.modules[__name__]`."""
    if out.text(node).replace(" ", "") == "sys.modules[__name__]":
        return out.module
    chain = chain_of(node, out)
    return out.resolve(chain, owner) if chain else ""


def _stands_for(node: Node, out: Outline, bound: Bound, depth: int = 0) -> tuple[str, str]:
    """What a value is another name of, and the function that wraps it; '' where the text does not say."""
    node = unwrapped(node)
    chain = chain_of(node, out)
    if chain:
        known = bound.get(chain) if node.type == "identifier" else None
        if known is not None:
            return _stands_for(known, out, {}, depth + 1) if depth < _DEEPEST else ("", "")
        before = assigned_before(node, out) if node.type == "identifier" and depth < _DEEPEST else None
        if before is not None:
            return _stands_for(before, out, bound, depth + 1)
        return out.resolve(chain, 0), ""
    if node.type != "call":
        return "", ""
    function = node.child_by_field_name("function")
    given = arguments_of(node, out).positional
    if function is None:
        return "", ""
    if out.text(function) == "getattr" and len(given) >= 2:
        holder, name = out.resolve(chain_of(given[0], out), 0), text_of(given[1], out, bound)
        return (f"{holder}.{name}", "") if holder and name else ("", "")
    wrapper = out.resolve(chain_of(function, out), 0)
    inner = _stands_for(given[0], out, bound, depth + 1)[0] if given and depth < _DEEPEST else ""
    return (inner, wrapper) if inner and wrapper else (wrapper, "")


def _add(out: Outline, place: Node, full: str, targets: tuple[str, ...], wrapper: str = "") -> None:
    """Add an alias; the first of its targets that there is counts."""
    row, column = place.start_point
    wanted = [target for target in targets if target != full and not is_operators(target)]
    if not wanted:
        return
    ordinal = len(out.definitions)
    detail = {"wrapper": wrapper, "set": True} if wrapper else {"set": True}
    out.definitions.append(
        Definition(keys.py(full), full, "alias", row + 1, column, place.end_point.row + 1, 0, detail=detail)
    )
    out.references += [Reference(key_of(t), t, "target", row + 1, column, ordinal) for t in wanted]
    last = full.rpartition(".")[2].encode()
    if full.rpartition(".")[0] == out.module:
        out.names.top.setdefault(last, full)


# -- when first asked for


def _read_lazy(out: Outline, ordinal: int, function: Definition) -> None:
    """What a module's `__getattr__` gives."""
    lines = out.data.split(b"\n")
    body = b"\n".join(lines[function.line - 1 : function.end_line])
    start = sum(len(line) + 1 for line in lines[: function.line - 1])
    for local, meaning in (out.names.scoped.get(ordinal) or {}).items():
        quoted = re.search(rb"[\"']" + re.escape(local) + rb"[\"']", out.data)
        if meaning is None or quoted is None or "." not in meaning:
            continue
        at = body.find(local)
        node = (
            out.root.descendant_for_byte_range(start + at, start + at + 1) if out.root is not None else None
        )
        if node is not None and local not in out.names.top:
            _add(out, node, f"{out.module}.{local.decode()}", (meaning,))
    for word in dict.fromkeys(_WORD.findall(body)):
        table = constants(out).get(word)
        if table is not None and table.type == "dictionary":
            _read_table(out, table)


def _read_table(out: Outline, table: Node) -> None:
    """`{"A": "pkg.mod:A"}`, `{"A": ("pkg.mod", "A")}`, `{"A": "pkg.mod"}`, `{"mod": ["A", "B"]}`."""
    for pair in table.named_children:
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        name = string_of(unwrapped(key), out) if key is not None else None
        if key is None or value is None or not name:
            continue
        value = unwrapped(value)
        if value.type == "list":
            module = imported_module("." + name, out.package)
            for item in value.named_children:
                last = string_of(unwrapped(item), out)
                if last and last.isidentifier():
                    _add(out, item, f"{out.module}.{last}", (f"{module}.{last}", f"{name}.{last}"))
            continue
        parts = [value] if value.type != "tuple" else [unwrapped(item) for item in value.named_children]
        texts = [string_of(part, out) for part in parts]
        if not name.isidentifier() or not all(text and _DOTTED.fullmatch(text) for text in texts):
            continue
        written = ":".join(str(text) for text in texts)
        module, colon, last = written.partition(":")
        module = imported_module(module, out.package) if module.startswith(".") else module
        if colon:
            targets: tuple[str, ...] = (f"{module}.{last.replace(':', '.')}",)
        else:
            # A module that has the name, or the name's own full path.
            targets = (f"{module}.{name}", module)
        _add(out, key, f"{out.module}.{name}", targets)
