"""Which function an argument of a registration names, whatever it is wrapped in.

`&f`, `TORCH_FN(f)`, `TORCH_BOX(&f)`, `CppFunction::makeFromBoxedFunction<&f>()`,
`static_cast<T>(f)`, `torch::dispatch(key, f)`, a lambda, a fallthrough (torch/library.h,
torch/csrc/stable/library.h).
"""

from __future__ import annotations

from typing import NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.parse.collector import Collector

_NOTHING = frozenset({"nullptr", "NULL", "true", "false", "this", "0"})
_MAX_DEPTH = 12


class Callee(NamedTuple):
    """What a registration calls."""

    name: str
    """As written, without template arguments; '' for none."""
    offset: int
    form: str
    """`name`, `lambda` (its name is that of the function that it hands over to, if any),
    `fallthrough`, `boxed` or `` (something else)."""
    dispatch_key: str = ""
    """The key of a torch::dispatch around it."""


def callee(collector: Collector, node: Node) -> Callee:
    """Read an argument. Never raises; an argument that names no function has no name."""
    dispatch_key, form = "", "name"
    for _ in range(_MAX_DEPTH):
        kind = node.type
        if kind in (
            "identifier",
            "qualified_identifier",
            "template_function",
            "template_type",
            "type_identifier",
        ):
            name = keys.without_template_arguments(collector.slice(node)).strip()
            if name in _NOTHING:
                break
            return Callee(name.removeprefix("::"), node.start_byte, form, dispatch_key)
        if kind == "lambda_expression":
            handed = _handed_over_to(node)
            name = keys.without_template_arguments(collector.slice(handed)) if handed is not None else ""
            place = handed.start_byte if handed is not None else node.start_byte
            return Callee(name.strip().removeprefix("::"), place, "lambda", dispatch_key)
        inner = _inner(collector, node)
        if inner is None:
            break
        if inner[1] == "fallthrough":
            return Callee("", node.start_byte, "fallthrough", dispatch_key)
        if inner[1] == "boxed":
            form = "boxed"
        elif inner[1]:
            dispatch_key = inner[1]
        node = inner[0]
    return Callee("", node.start_byte, "", dispatch_key)


def _inner(collector: Collector, node: Node) -> tuple[Node, str] | None:
    """One wrapper less: (what is inside, `fallthrough` | `boxed` | a dispatch key | '')."""
    if node.type in ("pointer_expression", "parenthesized_expression", "unary_expression", "cast_expression"):
        value = node.child_by_field_name("value") or node.child_by_field_name("argument")
        if value is None:
            named = node.named_children
            value = named[-1] if named else None
        return (value, "") if value is not None else None
    if node.type == "compound_literal_expression":
        value = node.child_by_field_name("value")
        named = value.named_children if value is not None else []
        return (named[0], "") if named else None
    if node.type == "type_descriptor":
        # `makeFromBoxedFunction<SINGLE_ARG(f<A, B>)>`: a macro only keeps the commas together.
        kept = next((n for n in node.children if n.type.endswith("function_declarator")), None)
        inner = _first_name(kept) if kept is not None else None
        if inner is not None:
            return inner, ""
        named = node.named_children
        return (named[0], "") if named else None
    if node.type != "call_expression":
        return None
    function = node.child_by_field_name("function")
    arguments = node.child_by_field_name("arguments")
    if function is None or arguments is None:
        return None
    name = collector.slice(function)
    if "makeFallthrough" in name:
        return node, "fallthrough"
    values = collector.arguments(arguments)
    last = keys.cpp_last(keys.without_template_arguments(name)).rpartition(".")[2]
    if not values or last == "kernel":
        templated = _template_argument(function)
        return (templated, "boxed" if "Boxed" in name else "") if templated is not None else None
    if last == "dispatch" and len(values) > 1:
        return values[1], dispatch_key(collector.slice(values[0]))
    return values[0], "boxed" if last in ("TORCH_BOX", "makeFromBoxedFunction") else ""


def _handed_over_to(node: Node) -> Node | None:
    """The function whose call is a lambda's last statement: `[](Tensor x) { return f(x, 1); }`."""
    body = node.child_by_field_name("body")
    statements = [child for child in body.named_children if child.type != "comment"] if body else []
    call: Node | None = statements[-1] if statements else None
    if call is None or call.type not in ("return_statement", "expression_statement"):
        return None
    call = call.named_children[0] if call.named_children else None
    function = call.child_by_field_name("function") if call is not None else None
    if call is None or function is None or call.type != "call_expression":
        return None
    return function if function.type in ("identifier", "qualified_identifier", "template_function") else None


def _first_name(node: Node) -> Node | None:
    """The first name in the parentheses of what looks like a function's type."""
    pending = list(node.named_children)
    while pending:
        first = pending.pop(0)
        if first.type in ("template_type", "qualified_identifier", "type_identifier", "identifier"):
            return first
        pending = [*first.named_children, *pending]
    return None


def _template_argument(function: Node) -> Node | None:
    """`f<&g>` → the node of `g`'s expression (the last argument: `kernel<decltype(g), &g>`)."""
    while function.type == "qualified_identifier":
        deeper = function.child_by_field_name("name")
        if deeper is None:
            return None
        function = deeper
    if function.type == "field_expression":
        deeper = function.child_by_field_name("field")
        if deeper is None:
            return None
        function = deeper
    listed = function.child_by_field_name("arguments")
    named = listed.named_children if listed is not None else []
    if not named:
        return None
    return named[-1]


def dispatch_key(text: str) -> str:
    """`c10::DispatchKey::CPU` → `CPU`; a string literal's value; '' for something that is no key."""
    text = text.strip().strip('"')
    last = text.rpartition("::")[2]
    return (
        last[1:]
        if len(last) > 1 and last[0] == "k" and last[1].isupper()
        else last
        if last.isidentifier()
        else ""
    )
