"""One entry of derivatives.yaml → a derivative and the functions that its formulas call.

What an entry means is defined by tools/autograd/load_derivatives.py: each field but `name`,
`output_differentiability` and `dispatch` is a formula, for one or several inputs (`self,
other: …`) or, forward, for a result. `auto_linear`, `auto_element_wise` and
`non_differentiable` are kept as they are. With `dispatch:` each key has formulas of its own.

`detail`: `formulas` {"self": "grad…"} (those of the key `Default`, if there is a dispatch),
`lines` {"self": 123} of each, `dispatch` and `dispatch_lines` {key: {…}} if written,
`output_differentiability` as written. Targets: the functions called in all formulas; a method
(`grad.mul(…)`) is none. Tests: `tests/test_op_schema.py`.
"""

from __future__ import annotations

import re
from typing import Any

from torchtalkd import keys
from torchtalkd.facts import Definition
from torchtalkd.parse.entry_facts import MAX_FORMULA, EntryFacts, field_line
from torchtalkd.parse.yaml_entries import Entry, Mapping, Node, Scalar, value

_CALL = re.compile(
    r"(?<![\w.:])(?<!->)((?:::)?[A-Za-z_]\w*(?:::[A-Za-z_]\w*)*)\s*(?:<[\w:<>,\s*&]{0,200}>\s*)?\("
)
_STRING = re.compile(r'\\?"(?:[^"\\]|\\[^"])*\\?"')
_NOT_FUNCTIONS = frozenset(
    [
        "if",
        "for",
        "while",
        "switch",
        "return",
        "sizeof",
        "decltype",
        "alignof",
        "catch",
        "int",
        "bool",
        "float",
        "double",
        "long",
        "auto",
        "static_cast",
        "const_cast",
        "dynamic_cast",
        "reinterpret_cast",
    ]
)


def add_derivative(facts: EntryFacts, entry: Entry) -> None:
    """Adds what one entry says. An entry without a readable `name:` is a Problem and adds nothing."""
    fields = facts.fields(entry, "name", ())
    schema = fields.pop("name", None)
    name = facts.schema_name(schema, entry, "name")
    if not name or not isinstance(schema, Scalar):
        return
    detail: dict[str, Any] = {}
    if "output_differentiability" in fields:
        detail["output_differentiability"] = value(fields.pop("output_differentiability"))
    found: list[Scalar] = []
    dispatch = fields.pop("dispatch", None)
    formulas, lines = _formulas(facts, name, list(fields.items()), found)
    if isinstance(dispatch, Mapping):
        detail["dispatch"], detail["dispatch_lines"] = {}, {}
        for key, block in dispatch.items:
            if not isinstance(key, Scalar) or not isinstance(block, Mapping):
                facts.problem(
                    dispatch.line, f"`dispatch:` of {name}: a key must hold lines of `input: formula`"
                )
                continue
            inner = [(k.value, node) for k, node in block.items if isinstance(k, Scalar)]
            detail["dispatch"][key.value], detail["dispatch_lines"][key.value] = _formulas(
                facts, name, inner, found
            )
        if not formulas:
            formulas = detail["dispatch"].get("Default", {})
            lines = detail["dispatch_lines"].get("Default", {})
    elif dispatch is not None:
        facts.problem(field_line(entry, "dispatch"), f"`dispatch:` of {name} must hold a block for each key")
    detail["formulas"], detail["lines"] = formulas, lines
    line, column = facts.text.place(schema)
    at = field_line(entry, "name")
    derivative = facts.define(
        Definition(
            keys.op(name),
            name,
            "derivative",
            at,
            column if line == at else 0,
            entry.end_line,
            signature=schema.value,
            convention="derivatives",
            detail=detail,
        )
    )
    for formula in found:
        _add_calls(facts, derivative, formula)


def _formulas(
    facts: EntryFacts, name: str, fields: list[tuple[str, Node]], found: list[Scalar]
) -> tuple[dict[str, str], dict[str, int]]:
    """The formulas of one block and their lines; the scalars are added to `found`."""
    formulas: dict[str, str] = {}
    lines: dict[str, int] = {}
    for inputs, node in fields:
        if inputs in formulas:
            continue
        if not isinstance(node, Scalar) or not node.value:
            facts.problem(node.line, f"the formula of {name} for `{inputs}` must be one line of text")
            continue
        formulas[inputs] = node.value
        lines[inputs] = node.line
        found.append(node)
    return formulas, lines


def _add_calls(facts: EntryFacts, derivative: int, formula: Scalar) -> None:
    """A target for each function that a formula calls, once a line, where it stands."""
    for line, begin, text in facts.text.rows(formula):
        if formula.style in ("'", '"'):
            # The quotes of yaml are not the formula's; columns stay.
            text = text.replace(formula.style, " ", 1) if line == formula.line else text
            text = text[:-1] if line == formula.end_line else text
        text = _STRING.sub(lambda string: " " * len(string[0]), text[:MAX_FORMULA])
        seen: set[str] = set()
        for call in _CALL.finditer(text):
            called = call[1]
            if called in seen or called in _NOT_FUNCTIONS:
                continue
            seen.add(called)
            column = facts.text.column(line, begin + call.start(1))
            facts.target(derivative, keys.cpp(called), called, (line, column))
