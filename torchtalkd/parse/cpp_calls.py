"""Calls in a C++ text: what the called name is, and what macros and methods of a call bind.

The walk (`cpp_walk`) handles plain calls itself, for they are most of all it meets; what is not
plain comes here: macros, launches, and the shapes that look like calls.
"""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.facts import ReferenceKind
from torchtalkd.parse.collector import Collector, MacroUse, Scope
from torchtalkd.parse.cpp_text import guard_at
from torchtalkd.parse.macros import is_called
from torchtalkd.parse.shapes import dispatch_stub, macro_use, pybind11, register_operators, torch_library
from torchtalkd.parse.spelling import Callee

CAPITALS: Final = re.compile(r"[A-Z][A-Z0-9_]+$")
"""What a macro is called."""
_STATEMENT_PARENTS: Final = frozenset(
    {"expression_statement", "ERROR", "translation_unit", "declaration_list"}
)
"""What a use that can define something stands in directly; another use is part of an expression."""
_MAKES: Final = re.compile(rb"\bmake_\w+\s*<\s*((?:\w+::)*[A-Za-z_]\w*)\s*[<>,]")
"""`std::make_shared<T>(…)`, `c10::make_intrusive<T>(…)`: a function of such a name makes a T of its
arguments."""
_CPP_SPACE: Final = keys.cpp("")
"""Put before a plain name, it is what `keys.cpp` gives."""
_MOST_CALLEES: Final = 200_000
"""Names that are kept: a process may live long."""


def named(collector: Collector, node: Node) -> Callee:
    """What the name that a node is means where it is called."""
    raw = collector.data[node.start_byte : node.end_byte]
    return collector.spelling.callees.get(raw) or understood(collector, raw)


def understood(collector: Collector, raw: bytes) -> Callee:
    """What a called name is; kept, for the same names are called in every file."""
    spelling = collector.spelling
    name = raw.decode("utf-8", "replace")
    if "<" in name:
        name = keys.without_template_arguments(name)
    key = keys.cpp(name)
    shape = spelling.shapes.get(keys.last(key))
    shaped = shape is not None and shape.shape in ("register_operators", "pybind11")
    makes = b"make_" in raw and _MAKES.search(raw)
    odd = shaped or makes or name in spelling.launchers or CAPITALS.match(name)
    member = _CPP_SPACE + name
    callee = Callee(key, name, not odd, key if member == key else member)
    if len(spelling.callees) > _MOST_CALLEES:
        spelling.callees.clear()
    spelling.callees[raw] = callee
    return callee


def not_plain(
    collector: Collector, scope: Scope, key: str, name: str, start: int, arguments: Node, launches: set[int]
) -> None:
    """A call that is a launch, a macro or a shape."""
    count = arguments.named_child_count
    spelling = collector.spelling
    written = collector.data[start : arguments.start_byte]
    made = _MAKES.search(written) if b"make_" in written else None
    if made is not None:
        # What it makes is made here, as far as a reader is concerned.
        given = made.group(1).decode("utf-8", "replace")
        collector.refer("call", keys.cpp(given), given, start + made.start(1), scope.ordinal, count)
        collector.refer("call", key, name, start, scope.ordinal, count)
        return
    if start in launches or name in spelling.launchers:
        collector.refer("launch", key, name, start, scope.ordinal, count)
        return
    if CAPITALS.match(name):
        at_file_scope = not scope.body or scope.library is not None
        if at_file_scope and _file_scope_macro(collector, scope, name, _call_of(arguments), arguments):
            return
        if name.startswith(spelling.dispatch_macros):
            _dispatch_name(collector, scope, arguments)
        collector.refer("macro", keys.macro(name), name, start, scope.ordinal, count)
        if scope.body:
            _handed_to_macro(collector, scope, name, start, arguments)
        return
    shape = spelling.shapes[keys.last(key)]
    if shape.shape == "register_operators":
        register_operators.constructor(collector, scope, arguments, shape.options.get("form", ""))
    else:
        pybind11.constructor(collector, scope, _call_of(arguments), arguments)


_NAMES: Final = frozenset({"identifier", "qualified_identifier", "template_function"})


def _handed_to_macro(collector: Collector, scope: Scope, name: str, start: int, arguments: Node) -> None:
    """The functions that a macro used in a body is given: those that it calls, where this file defines it;
    of another file's macro what cannot be a variable, as nothing in the body before has the name."""
    macro = collector.macros.get(name)
    parameters = (macro.parameters or ()) if macro is not None else ()
    begin = -1
    for number, argument in enumerate(arguments.named_children):
        if argument.type not in _NAMES:
            continue
        if macro is not None:
            if number >= len(parameters) or not is_called(macro.body, parameters[number]):
                continue
        elif argument.type == "identifier":
            if begin < 0:
                begin = _first_offset(collector, scope)
            if collector.data.find(argument.text or b"", begin, start) >= 0:
                continue
            given = collector.slice(argument)
            if CAPITALS.match(given) and given in guard_at(collector.directives, start):
                continue  # What an #if around asks for is a macro.
        given = keys.without_template_arguments(collector.slice(argument))
        collector.refer("address", keys.cpp(given), given, argument.start_byte, scope.ordinal)


def _first_offset(collector: Collector, scope: Scope) -> int:
    """Of the line that the definition around begins on."""
    if not 0 <= scope.ordinal < len(collector.definitions):
        return 0
    starts = collector.text.line_starts
    line = collector.definitions[scope.ordinal].line
    return starts[line - 1] if line <= len(starts) else 0


def called(collector: Collector, scope: Scope, name: str, offset: int, count: int = -1) -> None:
    """A call that the grammar took for a definition: only its name is known, and perhaps the count of what
    it is given."""
    if CAPITALS.match(name):
        collector.refer("macro", keys.macro(name), name, offset, scope.ordinal, count)
    else:
        kind: ReferenceKind = "launch" if name in collector.spelling.launchers else "call"
        collector.refer(kind, keys.cpp(name), name, offset, scope.ordinal, count)


def _file_scope_macro(collector: Collector, scope: Scope, name: str, call: Node, arguments: Node) -> bool:
    """A macro used where it can define something. True when it was read as a binding."""
    parent = call.parent
    if parent is not None and parent.type not in _STATEMENT_PARENTS:
        return False
    spelling = collector.spelling
    collector.macro_offsets.add(call.start_byte)
    shape = spelling.shapes.get(name)
    if shape is not None and shape.shape == "dispatch_stub":
        dispatch_stub.read(collector, scope, shape, call, arguments)
        return True
    if name in collector.macros:
        collector.uses.append(use_of(collector, scope, name, call, call.end_byte, 0))
        return False
    if not spelling.makes_nothing(name):
        macro_use.read(collector, scope, name, call, arguments)
    return False


def use_of(collector: Collector, scope: Scope, name: str, node: Node, end: int, body_owner: int) -> MacroUse:
    """The use of a macro of this file that a node is, to be expanded."""
    text = collector.data[node.start_byte : end].decode("utf-8", "replace")
    return MacroUse(
        text,
        node.start_byte,
        scope.prefix,
        scope.ordinal,
        scope.local,
        scope.library,
        name,
        body_owner,
        node.end_byte,
    )


def _dispatch_name(collector: Collector, scope: Scope, arguments: Node) -> None:
    for argument in arguments.named_children[:6]:
        if argument.type == "string_literal":
            text = collector.slice(argument)[1:-1]
            collector.refer("dispatch_name", keys.cpp(text), text, argument.start_byte, scope.ordinal)
            return


def _call_of(arguments: Node) -> Node:
    """The call expression that an argument list belongs to."""
    call = arguments.parent
    assert call is not None, "the query matches argument lists inside calls"
    return call


def binding_method(collector: Collector, scope: Scope, name_node: Node, name: str) -> bool:
    """A method that binds a name, on a library, a pybind module or class, or RegisterOperators."""
    if not (scope.library or collector.mentions_bindings):
        return False
    call = name_node.parent
    while call is not None and call.type != "call_expression":
        call = call.parent
    arguments = call.child_by_field_name("arguments") if call is not None else None
    if call is None or arguments is None:
        return False
    return (
        torch_library.method(collector, scope, call, name, arguments)
        or register_operators.method(collector, scope, call, name, arguments)
        or pybind11.method(collector, scope, call, name, arguments)
    )


METHODS: Final = frozenset((*torch_library.METHODS, *register_operators.METHODS, *pybind11.METHODS))
"""Names of the methods that may bind."""
