"""Calls and decorators that bind a name by a manifest's convention (`PythonBinding`). Pure.

`@register_decomposition([aten.add, aten.sub])` is a Definition for each operator, at the
operator's name, whose target is the decorated function.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, cast

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions.values import PythonBinding
from torchtalkd.facts import Definition, Kind, Reference
from torchtalkd.parse.occurrences import occurrences
from torchtalkd.parse.python_conventions import Bindings
from torchtalkd.parse.python_names import key_of, operator_of
from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_renamed import Renamed, with_given
from torchtalkd.parse.python_static import Bound, passes, static_values, text_of
from torchtalkd.parse.python_tests import entries_of, entry_detail
from torchtalkd.parse.python_uses import BindingCall
from torchtalkd.parse.python_values import (
    Arguments,
    Chain,
    Text,
    arguments_of,
    chain_of,
    decorated,
    receiver_of,
    unwrapped,
)

_OPERATOR = re.compile(r"[\w-]+::\w+(?:\.\w+)?")
_RECEIVER = "receiver"
_OWN_NAME = "|decorated"
_DECORATED = "decorated"
_DEFAULT_KEY = {"default": "CompositeExplicitAutograd"}
"""Device types that torch.library turns into another dispatch key than their own name in
capitals (torch/library.py, `_device_type_to_key`)."""


_IMPORT = {"import": True}
_LIBRARY_ARGUMENTS = re.compile(
    rb"\s*\(\s*[\"']([\w-]+)[\"']\s*(?:,\s*[\"']\w*[\"']\s*)?(?:,\s*[\"'](\w+)[\"'])?"
)
_ASSIGNED_TO = re.compile(rb"([\w.]+)\s*(?::[^=]+)?=\s*(?:\w+\s*\.\s*)*\Z")
_NAMED_AS = re.compile(rb"[^\n]*?\)\s*as\s+([\w.]+)")


class _Library(NamedTuple):
    namespace: str
    dispatch_key: str


class _Context(NamedTuple):
    out: Outline
    operator_namespace: str
    libraries: dict[str, _Library]
    registered: dict[str, str]
    """Python functions of this file that are operators' implementations → the operator: what
    `@torch.library.custom_op("ns::f")` makes of f takes further registrations."""


class _Call(NamedTuple):
    """A call that is read as a binding, with what its loops' variables are."""

    callee: Node
    node: Node
    arguments: Arguments
    owner: int
    last: str
    bound: Bound
    site: Node
    """Where an entry is listed: the call, or that of the function which returns it."""


def read_bindings(
    out: Outline,
    calls: list[BindingCall],
    bindings: Bindings,
    path: str,
    operator_namespace: str,
    renamed: dict[bytes, Renamed],
) -> None:
    """Add a Definition for each name that the calls bind. Decorators without arguments that may
    bind are added to `calls`."""
    libraries = _libraries(out, bindings.python.libraries) if calls else {}
    context = _Context(out, operator_namespace, libraries, {})
    for ordinal, decorators in out.decorators.items():
        for node in decorators:
            # `@f.register_fake`: a decorator without arguments can only name its receiver.
            last = out.text(node).rpartition(".")[2] if node.type == "attribute" else ""
            if last and bindings.wanted.binds(last):
                calls.append(BindingCall(node, out.definitions[ordinal].scope, last))
    for callee, owner, last in calls:
        candidates = bindings.at(last, path)
        if not candidates:
            continue
        parent = callee.parent
        node = parent if parent is not None and parent.type == "call" else callee
        arguments = with_given(arguments_of(node, out), renamed, callee, out)
        listed = any(binding.operand_space == "test" for binding in candidates)
        for bound, site in entries_of(node, out) if listed else [(b, node) for b in passes(node, out)]:
            call = _Call(callee, node, arguments, owner, last, bound, site)
            fitting: set[tuple[bool, str]] = set()
            for binding in candidates:
                place = (binding.also, binding.kind if binding.also else "")
                if place not in fitting and _bind(context, binding, call):
                    fitting.add(place)


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


def _bind(context: _Context, binding: PythonBinding, call: _Call) -> bool:
    """Whether the call has the binding's shape; if so its definitions are added."""
    out, arguments, owner = context.out, call.arguments, call.owner
    library = None
    if binding.library != "":
        library = _library(context, binding.library, call.callee, arguments)
        if library is None:
            return False
    refused = arguments.keyword.get(binding.unless) if binding.unless else None
    if refused is not None and refused.type == "false":
        return False
    operands = _operands(context, binding, call, library)
    if not operands:
        return False
    dispatch_keys = _dispatch_keys(binding, call, out) or [library.dispatch_key if library else ""]
    target = _target(out, binding, call)
    if target is None and binding.also:
        return False
    detail = _detail(context, binding, call)
    signature = _schema(out, binding, arguments) if binding.kind == "schema" else ""
    made = decorated(call.node, out) if binding.kind in ("registration", "schema") else -1
    if made >= 0:
        context.registered.setdefault(out.definitions[made].name, operands[0][2])
    end_line = call.node.end_point.row + 1
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
                    signature=signature
                    or (name.rpartition("::")[2] + binding.schema if binding.schema else ""),
                    dispatch_key=dispatch_key,
                    convention=binding.id,
                    detail=detail,
                )
            )
            if target is not None:
                out.references.append(target._replace(owner=ordinal))
    return True


def _operands(
    context: _Context, binding: PythonBinding, call: _Call, library: _Library | None
) -> list[tuple[Node, str, str]]:
    """Node, key and name of each thing that is bound."""
    out = context.out
    node = receiver_of(call.callee) if binding.operand == _RECEIVER else call.arguments.at(binding.operand)
    found: list[tuple[Node, str, str]] = []
    values = static_values(node, out, call.bound) if node is not None else []
    if node is None and isinstance(binding.operand, str) and binding.operand.endswith(_OWN_NAME):
        ordinal = decorated(call.node, out)
        name = out.definitions[ordinal].name.rpartition(".")[2] if ordinal >= 0 else ""
        values = [Text(call.callee, name)] if name else []
    if not values and node is not None and binding.kind == "schema":
        # `define("f" + infer_schema(function))`: the name at least is known.
        text = text_of(node, out, call.bound, beginning=True)
        values = [Text(node, text)] if text else []
    for value in values:
        if isinstance(value, Chain):
            name = out.resolve(value.written, call.owner)
            operator = operator_of(name, context.operator_namespace) if name else ""
            if binding.suffix and name:
                last = keys.last(keys.op(operator) if operator else key_of(name))
                operator = f"{binding.prefix}{last}{binding.suffix}"
            if binding.operand == _RECEIVER and name and not operator:
                last = name.rpartition(".")[2]
                operator = context.registered.get(name) or (binding.prefix and binding.prefix + last)
            if binding.operand_space == "test" and b"." in value.written + name.encode() and name:
                found.append((value.node, keys.test(name), name))  # ModuleInfo(torch.nn.Linear)
            elif binding.operand_space == "op" and operator:
                found.append((value.node, keys.op(operator), operator))
            elif name and (
                binding.operand_space == "py"
                or (binding.operand_space == "op" and binding.operand != _RECEIVER and b"." in value.written)
            ):
                # An operator registered by the Python function that stands for it.
                found.append((value.node, key_of(name), name))
        elif binding.operand_space == "test":
            found.append((value.node, keys.test(value.value), binding.prefix + value.value))
        elif binding.operand_space == "py":
            if all(part.isidentifier() for part in value.value.split(".")):
                found.append((value.node, keys.py(value.value), binding.prefix + value.value))
        else:
            # A whole schema may stand for the operator: add_shape_compute_mapping("aten::f(…) -> …", f).
            name = value.value.partition("(")[0].strip()
            if "::" not in name:
                name = f"{library.namespace}::{name}" if library else binding.prefix + name
            if _OPERATOR.fullmatch(name):
                found.append((value.node, keys.op(name), name))
    return found


def _target(out: Outline, binding: PythonBinding, call: _Call) -> Reference | None:
    if binding.target == "":
        return None
    if binding.target != _DECORATED:
        node = call.arguments.at(binding.target)
    else:
        ordinal = decorated(call.node, out)
        if ordinal >= 0:
            d = out.definitions[ordinal]
            return Reference(d.key, d.name, "target", d.line, d.column)
        outer = call.node.parent
        if outer is None or outer.type != "call" or outer.child_by_field_name("function") != call.node:
            return None
        node = arguments_of(outer, out).at(0)
    chain = chain_of(node, out) if node is not None else b""
    if node is not None and chain in call.bound:
        node = call.bound[chain]
        chain = chain_of(node, out)
    name = out.resolve(chain, call.owner) if chain else ""
    if node is None or not name:
        return None
    row, column = node.start_point
    return Reference(key_of(name), name, "target", row + 1, column)


def _dispatch_keys(binding: PythonBinding, call: _Call, out: Outline) -> list[str]:
    node = call.arguments.at(binding.dispatch_key) if binding.dispatch_key != "" else None
    found: list[str] = []
    for value in static_values(node, out, call.bound) if node is not None else ():
        if isinstance(value, Chain):
            # `DispatchKey.CPU`; a plain name is a variable, of which nothing is known.
            if b"." in value.written:
                found.append(value.written.rpartition(b".")[2].strip().decode("utf-8", "replace"))
        elif value.value.islower():
            found.append(_DEFAULT_KEY.get(value.value, value.value.upper()))
        elif value.value:
            found.append(value.value)
    return found


def _detail(context: _Context, binding: PythonBinding, call: _Call) -> dict[str, Any] | None:
    out, arguments = context.out, call.arguments
    detail: dict[str, Any] = {}
    if binding.operand_space == "test":
        detail = {"info": call.last, **entry_detail(out, call.site, arguments)}
    for keyword in binding.keywords:
        node = arguments.keyword.get(keyword)
        if node is None:
            continue
        values: list[str] = []
        for value in static_values(node, out, call.bound):
            if isinstance(value, Text):
                values.append(value.value)
            else:
                name = out.resolve(value.written, call.owner)
                values.append(name or value.written.decode("utf-8", "replace"))
        if unwrapped(node).type in ("list", "tuple", "set"):
            detail[keyword] = values
        elif values:
            detail[keyword] = values[0]
    return detail or None


def _put_together(binding: PythonBinding, name: str) -> str:
    return name.rpartition("::")[2] + binding.schema if binding.schema else ""


def _schema(out: Outline, binding: PythonBinding, arguments: Arguments) -> str:
    """`define("f(Tensor x) -> Tensor")`, or `define("ns::f", "(Tensor x) -> Tensor")`."""
    named = arguments.at(binding.operand) if isinstance(binding.operand, str) else None
    if named is not None:
        text = text_of(named, out) or ""
        return text if "(" in text else ""
    operand = binding.operand if isinstance(binding.operand, int) else 0
    parts = [text_of(node, out) or "" for node in arguments.positional[operand : operand + 2]]
    if not parts:
        return ""
    return parts[0] if "(" in parts[0] else "".join(parts) if parts[-1].startswith("(") else ""


def _library(context: _Context, which: int | str, callee: Node, arguments: Arguments) -> _Library | None:
    node = receiver_of(callee) if which == _RECEIVER else arguments.at(which)
    chain = chain_of(node, context.out) if node is not None else b""
    return context.libraries.get(chain.decode("utf-8", "replace")) if chain else None


def _libraries(out: Outline, makers: tuple[str, ...]) -> dict[str, _Library]:
    """Names of this file that hold an operator library, wherever they are assigned."""
    data = out.data
    found: dict[str, _Library] = {}
    for maker in makers:
        for start, end in occurrences(data, (maker.encode(),)):
            match = _LIBRARY_ARGUMENTS.match(data, end)
            if match is None:
                continue
            line = data.rfind(b"\n", 0, start) + 1
            name = _ASSIGNED_TO.search(data, line, start) or _NAMED_AS.match(data, match.end())
            if name is not None:
                library = _Library(match[1].decode(), (match[2] or b"").decode())
                found[name[1].decode("utf-8", "replace")] = library
    return found
