"""A manifest's rules as the store keeps them: one row of JSON → `rules_of`."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, Final

from torchtalkd.facts import (
    Build,
    Category,
    DispatchKeys,
    PythonRegistrations,
    Rules,
    TestInfo,
    TestRules,
    Torchgen,
)

_TABLES: Final[dict[str, type[Any]]] = {
    "torchgen": Torchgen,
    "dispatch": DispatchKeys,
    "python": PythonRegistrations,
    "builds": Build,
    "tests": TestRules,
    "test_infos": TestInfo,
    "categories": Category,
}
"""Fields of Rules that are tables of their own, or lists of such."""


def rules_of(text: str) -> Rules:
    """The rules; what an older row does not have is as the class says."""
    rules: Rules = _thawed(Rules, json.loads(text))
    return rules


def _thawed(cls: type[Any], raw: dict[str, Any]) -> Any:
    """A dataclass of JSON, which has no tuples: a list of the manifest comes back as one, also in a table."""

    def frozen(value: Any) -> Any:
        if isinstance(value, list):
            return tuple(value)
        return {name: frozen(inner) for name, inner in value.items()} if isinstance(value, dict) else value

    def value(name: str) -> Any:
        written = raw[name]
        if cls is not Rules or name not in _TABLES:
            return frozen(written)
        if isinstance(written, list):
            return tuple(_thawed(_TABLES[name], item) for item in written)
        return _thawed(_TABLES[name], written)

    return cls(**{field.name: value(field.name) for field in fields(cls) if field.name in raw})
