"""ready: which kinds of facts an index holds, and how many: what can be asked of it at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from torchtalkd.store.view import View

_BINDINGS: Final = ("python_binding", "schema", "registration")
"""The kinds that bind a name of one language to one of another."""


@dataclass(frozen=True, slots=True)
class Ready:
    """How many there are of each kind that a question needs."""

    bindings: int
    """Python names, schemas and registrations written in code or yaml."""
    native_functions: int
    """Entries of native_functions.yaml, without the overloads that torchgen adds to them."""
    python_modules: int
    tests: int
    """Operators and modules that a test description names."""


def ready(view: View) -> Ready:
    """Counts an index. Read-only; reads one index of the database once for each view."""
    found: Ready | None = view.kept.get("ready")
    if found is None:
        counts = view.counts()
        entries = view.definitions_of_kind("operator") if counts.get("operator") else []
        found = view.kept["ready"] = Ready(
            bindings=sum(counts.get(kind, 0) for kind in _BINDINGS),
            native_functions=sum("autogen_of" not in (entry.fact.detail or {}) for entry in entries),
            python_modules=counts.get("module", 0),
            tests=counts.get("test", 0),
        )
    return found
