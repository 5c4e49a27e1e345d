"""What the classes of a Python file say of themselves: their docstrings, kept as `detail["doc"]`. Pure."""

from __future__ import annotations

from inspect import cleandoc
from typing import Final

from torchtalkd.parse.python_outline import Outline
from torchtalkd.parse.python_values import string_of

_LONGEST: Final = 1_500
"""Letters of a docstring that are kept: its beginning says what the class is."""


def read_docs(out: Outline) -> None:
    """Add the docstrings of the file's classes to their definitions."""
    for ordinal, node in out.classes:
        body = node.child_by_field_name("body")
        first = (
            next((child for child in body.named_children if child.type != "comment"), None) if body else None
        )
        inner = first.named_children[0] if first is not None and first.named_children else None
        if inner is None or inner.type not in ("string", "concatenated_string"):
            continue
        text = cleandoc(string_of(inner, out) or "")
        if text:
            definition = out.definitions[ordinal]
            if len(text) > _LONGEST:
                text = text[:_LONGEST].rpartition("\n")[0] or text[:_LONGEST]
            detail = {**(definition.detail or {}), "doc": text}
            out.definitions[ordinal] = definition._replace(detail=detail)
