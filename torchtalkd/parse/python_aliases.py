"""Names that a Python file gives to other names: `conv2d = _add_docstr(torch.conv2d, …)`. Pure.

Only in a module's or class's body, where the name can be seen from elsewhere. What the module says it
exports is read by `python_exports`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.facts import Definition, Reference
from torchtalkd.parse.python_exports import read_exports
from torchtalkd.parse.python_names import imported_module, is_operators, key_of
from torchtalkd.parse.python_outline import Assigned, Outline
from torchtalkd.parse.python_values import arguments_of, assigned_to, chain_of, string_of

_WRAPPERS = frozenset((b"staticmethod", b"classmethod", b"property"))
"""Builtins whose result stands for what they are given; that of `len(x)` does not."""

_MODULE = re.compile(r"\.*[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


def read_aliases(out: Outline, loaders: re.Pattern[str] | None = None) -> None:
    """Add the file's aliases and `__all__` to the outline, and their names to `out.names`. `loaders` are the
    calls that load a module by its name."""
    for assigned in out.assigned:
        _read(out, assigned, loaders)
    read_exports(out)


def _read(out: Outline, assigned: Assigned, loaders: re.Pattern[str] | None) -> None:
    name, owner = assigned
    value = assigned_to(name)
    if value is None:
        return
    wrapper = ""
    if value.type == "call":
        function = value.child_by_field_name("function")
        wrapper = _wrapper(out, function, owner) if function is not None else ""
        if not wrapper:
            return
        given = arguments_of(value, out)
        if loaders is not None and loaders.fullmatch(wrapper):
            _load(out, name, owner, [*given.positional, *given.keyword.values()])
            return
        named = given.positional[:1] or _named_like(out, name, given.keyword.values())
        if not named:
            return
        value = named[0]
        if value.type == "identifier" and out.data[value.start_byte : value.end_byte] in out.names.modules:
            return
    chain = chain_of(value, out)
    target = out.resolve(chain, owner) if chain else ""
    if target:
        _stands_for(out, name, owner, value, target, wrapper)


def _load(out: Outline, name: Node, owner: int, given: list[Node]) -> None:
    """A module that is loaded by its name: `importlib.import_module("a.b")`, `LazyLoader("b", …, "a.b")`."""
    texts = [(node, text) for node in given if (text := string_of(node, out))]
    named = [(node, text) for node, text in texts if _MODULE.fullmatch(text)]
    if named:
        node, text = max(named, key=lambda one: one[1].count("."))
        target = imported_module(text, out.package) if text.startswith(".") else text
        _stands_for(out, name, owner, node, target, "")


def _stands_for(out: Outline, name: Node, owner: int, value: Node, target: str, wrapper: str) -> None:
    """Add the alias."""
    text = out.data[name.start_byte : name.end_byte]
    full = f"{out.definitions[owner].name}.{out.text(name)}"
    if target == full:
        return
    if owner == 0:
        out.names.top[text] = target if is_operators(target) and not wrapper else full
    else:
        out.names.member(owner, text, full)
    row, column = name.start_point
    detail = {"wrapper": wrapper} if wrapper else None
    ordinal = len(out.definitions)
    out.definitions.append(
        Definition(
            keys.py(full), full, "alias", row + 1, column, value.end_point.row + 1, owner, detail=detail
        )
    )
    at = value.start_point
    out.references.append(Reference(key_of(target), target, "target", at.row + 1, at.column, ordinal))
    out.told.add(value.start_byte)


def _named_like(out: Outline, name: Node, values: Iterable[Node]) -> list[Node]:
    """Of values given by keyword the one called like the name that is assigned, underscores aside:
    `max_pool2d = boolean_dispatch(if_true=max_pool2d_with_indices, if_false=_max_pool2d)`."""
    wanted = out.text(name).strip("_")
    return [value for value in values if value.type == "identifier" and out.text(value).strip("_") == wanted]


def _wrapper(out: Outline, function: Node, owner: int) -> str:
    """The name of what wraps; of `register(x)(f)` that of `register`."""
    while function.type == "call":
        inner = function.child_by_field_name("function")
        if inner is None:
            return ""
        function = inner
    chain = chain_of(function, out)
    if chain in _WRAPPERS:
        return chain.decode()
    return out.resolve(chain, owner) if chain else ""
