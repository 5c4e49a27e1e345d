"""One thing that cannot be right: `Finding`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """A contradiction in the source, with its place."""

    kind: str
    """missing kernel, signature, stub without kernel, derivative of nothing, undeclared operator,
    registered twice, no fake function, unreadable entry."""
    file: str
    """From the root."""
    line: int
    """1-based."""
    message: str
    """A sentence."""
    operator: str = ""
    """With overload."""
    column: int = 0
    """0-based, in bytes, of what stands there."""
