"""A number with its thing, as a person says it."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """`1 problem`, `2 problems`; `thing` is a noun whose plural takes an s."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
