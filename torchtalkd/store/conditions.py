"""Conditions of the View's questions as SQL, and the rules as they are stored. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from torchtalkd.facts import Rules

_INDEXED_KINDS = ("operator", "schema", "derivative", "stub", "stub_kernel", "library", "kernel", "registry")
_INDEXED = "kind IN ('operator','schema','derivative','stub','stub_kernel','library','kernel','registry')"
"""As in schema.sql, word for word: only so SQLite uses the index."""
IMPORTING = """owner IN (SELECT id FROM definition WHERE kind = 'alias' AND detail LIKE '%"import":true%')"""
"""Of targets: those of imports."""


def of_kind(kind: str) -> str:
    """That a definition is of the kind given as value; by an index for the kinds that have one."""
    return f"kind = ? AND {_INDEXED}" if kind in _INDEXED_KINDS else "kind = ?"


def named_like(names: Iterable[str], begins: Iterable[str]) -> tuple[str, tuple[str, ...]]:
    """That a name is one of `names` or has one of the beginnings, and the condition's values."""
    exact = tuple(names)
    ranges = [part for begin in begins for part in (begin, begin[:-1] + chr(ord(begin[-1]) + 1))]
    parts = [f"name IN ({','.join('?' * len(exact))})", *["(name >= ? AND name < ?)"] * (len(ranges) // 2)]
    return f"({' OR '.join(parts)})", (*exact, *ranges)


def rules(text: str) -> Rules:
    """The rules in the JSON of the meta table."""

    # JSON has no tuples: a list of the manifest comes back as one, also inside a table.
    def frozen(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(value)
        return {name: frozen(inner) for name, inner in value.items()} if isinstance(value, dict) else value

    raw = json.loads(text)
    return Rules(**{field.name: frozen(raw[field.name]) for field in fields(Rules) if field.name in raw})
