"""Calls and decorators that bind a name by a manifest's convention (`PythonBinding`). Pure.

`@register_decomposition([aten.add, aten.sub])` is a Definition for each operator, at the
operator's name, whose target is the decorated function.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Any, NamedTuple, cast

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions.globs import union
from torchtalkd.conventions.values import Python, PythonBinding, PythonLayer
from torchtalkd.facts import Definition, Kind, Reference
from torchtalkd.parse.python_names import key_of, operator_of
from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_uses import BindingCall, Wanted
from torchtalkd.parse.python_values import (
    Arguments,
    Chain,
    Text,
    arguments_of,
    chain_of,
    string_of,
    unwrapped,
    values_of,
)

_OPERATOR = re.compile(r"[\w-]+::\w+(?:\.\w+)?")
_RECEIVER = "receiver"
_DECORATED = "decorated"
_DEFAULT_KEY = {"default": "CompositeExplicitAutograd"}
"""Device types that torch.library turns into another dispatch key than their own name in
capitals (torch/library.py, `_device_type_to_key`)."""


_IMPORT = {"import": True}
_LIBRARY_ARGUMENTS = rb"\s*\(\s*[\"']([\w-]+)[\"']\s*(?:,\s*[\"']\w*[\"']\s*)?(?:,\s*[\"'](\w+)[\"'])?"
_ASSIGNED_TO = re.compile(rb"([\w.]+)\s*(?::[^=]+)?=\s*(?:\w+\s*\.\s*)*\Z")
_NAMED_AS = re.compile(rb"[^\n]*?\)\s*as\s+([\w.]+)")


class Bindings:
    """The Python conventions of a manifest, ready to be asked by a call's last component."""

    def __init__(self, python: Python) -> None:
        self.python = python
        rows = [(union(b.paths) if b.paths else None, b) for b in python.bindings]
        # Most calls are named plainly: those are looked up, and only the others tried one by one.
        self._patterns = [
            (re.compile(translate(b.call)), n) for n, (_, b) in enumerate(rows) if not b.call.isidentifier()
        ]
        self._plain: dict[str, list[int]] = {}
        for n, (_, b) in enumerate(rows):
            if b.call.isidentifier():
                self._plain.setdefault(b.call, []).append(n)
        self._rows = rows
        self._layers = [(union((layer.pattern,)), layer) for layer in python.layers]
        self.wanted = Wanted(self._wants)
        self._by_call: dict[str, list[tuple[re.Pattern[str] | None, PythonBinding]]] = {}

    def _wants(self, last: str) -> bool:
        """Whether a call of something with this last component may bind."""
        return bool(self._of(last))

    def at(self, last: str, path: str) -> list[PythonBinding]:
        """The bindings of a call in the file at `path`."""
        return [b for paths, b in self._of(last) if paths is None or paths.fullmatch(path)]

    def layers(self, path: str) -> list[PythonLayer]:
        """The layers that the file at `path` belongs to."""
        return [layer for pattern, layer in self._layers if pattern.fullmatch(path)]

    def _of(self, last: str) -> list[tuple[re.Pattern[str] | None, PythonBinding]]:
        known = self._by_call.get(last)
        if known is None:
            if len(self._by_call) > 100_000:  # names are without end, memory is not
                self._by_call.clear()
            numbers = [n for call, n in self._patterns if call.fullmatch(last)] + self._plain.get(last, [])
            known = [self._rows[n] for n in sorted(numbers)]
            self._by_call[last] = known
        return known


_prepared: dict[int, Bindings] = {}


def bindings_of(python: Python) -> Bindings:
    """The prepared bindings of a manifest; kept by identity, for a process serves few manifests."""
    known = _prepared.get(id(python))
    if known is None:
        if len(_prepared) > 16:
            _prepared.clear()
        known = _prepared[id(python)] = Bindings(python)
    return known


class _Library(NamedTuple):
    namespace: str
    dispatch_key: str


class _Context(NamedTuple):
    out: Outline
    operator_namespace: str
    libraries: dict[str, _Library]


def read_bindings(
    out: Outline, calls: list[BindingCall], bindings: Bindings, path: str, operator_namespace: str
) -> None:
    """Add a Definition for each name that the calls bind."""
    context = _Context(out, operator_namespace, _libraries(out, bindings.python.libraries) if calls else {})
    for ordinal, decorators in out.decorators.items():
        for node in decorators:
            # `@f.register_fake`: a decorator without arguments can only name its receiver.
            last = out.text(node).rpartition(".")[2] if node.type == "attribute" else ""
            if last and bindings.wanted.binds(last):
                calls.append(BindingCall(node, out.definitions[ordinal].scope, last))
    for callee, owner, last in calls:
        parent = callee.parent
        call = parent if parent is not None and parent.type == "call" else callee
        arguments = arguments_of(call, out)
        for binding in bindings.at(last, path):
            if _bind(context, binding, callee, call, arguments, owner, last):
                break


def read_layers(out: Outline, bindings: Bindings, path: str) -> None:
    """Add a Definition for each function of the module that implements the operator of its name."""
    for layer in bindings.layers(path):
        for d in list(out.definitions):
            if d.scope == 0 and (d.kind == "function" or (d.kind == "alias" and d.detail != _IMPORT)):
                name = d.name.rpartition(".")[2]
                ordinal = len(out.definitions)
                kind = cast("Kind", layer.kind)
                out.definitions.append(
                    Definition(
                        keys.op(name), name, kind, d.line, d.column, d.end_line, 0, convention=layer.id
                    )
                )
                out.references.append(Reference(d.key, d.name, "target", d.line, d.column, ordinal))


def _bind(
    context: _Context,
    binding: PythonBinding,
    callee: Node,
    call: Node,
    arguments: Arguments,
    owner: int,
    last: str,
) -> bool:
    """Whether the call has the binding's shape; if so its definitions are added."""
    out = context.out
    library = None
    if binding.library != "":
        library = _library(context, binding.library, callee, arguments)
        if library is None:
            return False
    operands = _operands(context, binding, callee, arguments, owner, library)
    if not operands:
        return False
    dispatch_keys = _dispatch_keys(out, binding, arguments) or [library.dispatch_key if library else ""]
    target = _target(out, binding, call, arguments, owner)
    detail = _detail(context, binding, arguments, owner, last)
    signature = _schema(out, binding, arguments) if binding.kind == "schema" else ""
    end_line = call.end_point.row + 1
    kind = cast("Kind", binding.kind)
    for node, key, name in operands:
        row, column = node.start_point
        for dispatch_key in dispatch_keys:
            ordinal = len(out.definitions)
            out.definitions.append(
                Definition(
                    key,
                    name,
                    kind,
                    row + 1,
                    column,
                    end_line,
                    owner,
                    signature=signature,
                    dispatch_key=dispatch_key,
                    convention=binding.id,
                    detail=detail,
                )
            )
            if target is not None:
                out.references.append(target._replace(owner=ordinal))
    return True


def _operands(
    context: _Context,
    binding: PythonBinding,
    callee: Node,
    arguments: Arguments,
    owner: int,
    library: _Library | None,
) -> list[tuple[Node, str, str]]:
    """Node, key and name of each thing that is bound."""
    node = _receiver(callee) if binding.operand == _RECEIVER else arguments.at(binding.operand)
    found: list[tuple[Node, str, str]] = []
    for value in values_of(node, context.out) if node is not None else ():
        if isinstance(value, Chain):
            name = context.out.resolve(value.written, owner)
            operator = operator_of(name, context.operator_namespace) if name else ""
            if binding.operand_space == "op" and operator:
                found.append((value.node, keys.op(operator), operator))
            elif name and (
                binding.operand_space == "py" or (binding.operand_space == "op" and b"." in value.written)
            ):
                # An operator registered by the Python function that stands for it.
                found.append((value.node, key_of(name), name))
        elif binding.operand_space == "test":
            found.append((value.node, keys.test(value.value), binding.prefix + value.value))
        elif binding.operand_space == "py":
            if all(part.isidentifier() for part in value.value.split(".")):
                found.append((value.node, keys.py(value.value), binding.prefix + value.value))
        else:
            name = value.value.partition("(")[0].strip() if binding.kind == "schema" else value.value
            if "::" not in name:
                name = f"{library.namespace}::{name}" if library else binding.prefix + name
            if _OPERATOR.fullmatch(name):
                found.append((value.node, keys.op(name), name))
    return found


def _receiver(callee: Node) -> Node | None:
    return callee.child_by_field_name("object") if callee.type == "attribute" else None


def _target(
    out: Outline, binding: PythonBinding, call: Node, arguments: Arguments, owner: int
) -> Reference | None:
    if binding.target == "":
        return None
    if binding.target != _DECORATED:
        node = arguments.at(binding.target)
    else:
        decorated = _decorated(out, call)
        if decorated >= 0:
            d = out.definitions[decorated]
            return Reference(d.key, d.name, "target", d.line, d.column)
        outer = call.parent
        if outer is None or outer.type != "call" or outer.child_by_field_name("function") != call:
            return None
        node = arguments_of(outer, out).at(0)
    chain = chain_of(node, out) if node is not None else b""
    name = out.resolve(chain, owner) if chain else ""
    if node is None or not name:
        return None
    row, column = node.start_point
    return Reference(key_of(name), name, "target", row + 1, column)


def _decorated(out: Outline, call: Node) -> int:
    """Ordinal of what an expression decorates; -1: it is no decorator."""
    decorator = call.parent
    if decorator is None or decorator.type != "decorator":
        return -1
    around = decorator.parent
    definition = around.child_by_field_name("definition") if around is not None else None
    name = definition.child_by_field_name("name") if definition is not None else None
    return out.by_start.get(name.start_byte, -1) if name is not None else -1


def _dispatch_keys(out: Outline, binding: PythonBinding, arguments: Arguments) -> list[str]:
    node = arguments.at(binding.dispatch_key) if binding.dispatch_key != "" else None
    found: list[str] = []
    for value in values_of(node, out) if node is not None else ():
        if isinstance(value, Chain):
            # `DispatchKey.CPU`; a plain name is a variable, of which nothing is known.
            if b"." in value.written:
                found.append(value.written.rpartition(b".")[2].strip().decode("utf-8", "replace"))
        elif value.value.islower():
            found.append(_DEFAULT_KEY.get(value.value, value.value.upper()))
        elif value.value:
            found.append(value.value)
    return found


def _detail(
    context: _Context, binding: PythonBinding, arguments: Arguments, owner: int, last: str
) -> dict[str, Any] | None:
    detail: dict[str, Any] = {"info": last} if binding.operand_space == "test" else {}
    for keyword in binding.keywords:
        node = arguments.keyword.get(keyword)
        if node is None:
            continue
        values: list[str] = []
        for value in values_of(node, context.out):
            if isinstance(value, Text):
                values.append(value.value)
            elif name := context.out.resolve(value.written, owner):
                values.append(name)
        if unwrapped(node).type in ("list", "tuple", "set"):
            detail[keyword] = values
        elif values:
            detail[keyword] = values[0]
    return detail or None


def _schema(out: Outline, binding: PythonBinding, arguments: Arguments) -> str:
    """`define("f(Tensor x) -> Tensor")`, or `define("ns::f", "(Tensor x) -> Tensor")`."""
    operand = binding.operand if isinstance(binding.operand, int) else 0
    parts = [string_of(node, out) or "" for node in arguments.positional[operand : operand + 2]]
    if not parts:
        return ""
    return parts[0] if "(" in parts[0] else "".join(parts) if parts[-1].startswith("(") else ""


def _library(context: _Context, which: int | str, callee: Node, arguments: Arguments) -> _Library | None:
    node = _receiver(callee) if which == _RECEIVER else arguments.at(which)
    chain = chain_of(node, context.out) if node is not None else b""
    return context.libraries.get(chain.decode("utf-8", "replace")) if chain else None


def _libraries(out: Outline, makers: tuple[str, ...]) -> dict[str, _Library]:
    """Names of this file that hold an operator library, wherever they are assigned."""
    if not makers or not any(maker.encode() in out.data for maker in makers):
        return {}
    data = out.data
    found: dict[str, _Library] = {}
    for maker in makers:
        for match in re.finditer(rb"\b" + re.escape(maker.encode()) + _LIBRARY_ARGUMENTS, data):
            line = data.rfind(b"\n", 0, match.start()) + 1
            name = _ASSIGNED_TO.search(data, line, match.start()) or _NAMED_AS.match(data, match.end())
            if name is not None:
                library = _Library(match[1].decode(), (match[2] or b"").decode())
                found[name[1].decode("utf-8", "replace")] = library
    return found
