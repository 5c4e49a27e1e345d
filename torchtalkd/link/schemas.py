"""The schema of an overload, read: of the yaml entry, of what `autogen` makes, of m.def in code."""

from __future__ import annotations

from torchtalkd.codegen.printed_schema import printed_schema
from torchtalkd.codegen.schema import Schema, SchemaError, parse_schema
from torchtalkd.link.operators import Family
from torchtalkd.link.overloads import overloads, stem_of
from torchtalkd.link.source import Facts


def schema_of(facts: Facts, family: Family, operator: str) -> Schema | None:
    """The schema; None where there is none to read."""
    for entry in family.entries:
        if family.full_name(entry) != operator:
            continue
        if (entry.fact.detail or {}).get("autogen_of"):
            made = overloads(facts, stem_of(facts, operator)).by_name.get(operator)
            return made.schema if made is not None else None
        text = entry.fact.signature
        if "(" in text:
            try:
                return parse_schema(text)
            except SchemaError:
                continue
    return None


def printed(facts: Facts, family: Family, operator: str) -> str:
    """The schema as the dispatcher prints it, '' where there is none to read."""
    schema = schema_of(facts, family, operator)
    return printed_schema(schema, family.namespace) if schema is not None else ""


def writes_only(schema: Schema | None) -> bool:
    """Whether an operator writes to its arguments and returns nothing: its fake function would have
    nothing to do (torch/_library/utils.py `can_generate_trivial_fake_impl`)."""
    return schema is not None and not schema.returns and any(a.written for a in schema.arguments)


def is_readable(text: str) -> bool:
    """Whether a schema can be read; that it cannot is a Problem of its own."""
    try:
        parse_schema(text)
    except SchemaError:
        return False
    return True
