"""What a name as users write it says before the tree is asked: quotes, calls and prefixes gone.

Pure text. `locate` tries the readings that come out of it against the facts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_QUOTES = "'\"`‘’“”"
_CALL = re.compile(r"\((?:[^()]|\([^()]*\))*\)\s*(?:->.*)?$", re.DOTALL)
_SPACES = re.compile(r"\s*(::|\.)\s*")
_TEMPLATE = re.compile(r"<[^<>]*>")


class Spelled(NamedTuple):
    """A name, and what its spelling alone says."""

    text: str
    """Without what surrounds it."""
    operator: str
    """`aten::mm`, where the spelling can only mean an operator (torch.ops.aten.mm); else ''."""
    overload: str | None
    """The overload that is written, '' for the default one; None where none is."""


def read(written: str) -> Spelled:
    """The name in what a user wrote or pasted: `'aten::x'`, `torch.mm()`, `&at::native::foo<int>`,
    `aten::add.Tensor(Tensor self, …) -> Tensor`."""
    text = written.strip().strip(_QUOTES + ",;:").strip()
    if not text.startswith("operator"):
        text = _CALL.sub("", text).strip()
    text = text.strip(_QUOTES).lstrip("&*@").strip()
    count = 1 if "<" in text and "operator" not in text else 0
    while count:
        text, count = _TEMPLATE.subn("", text)
    text = _SPACES.sub(r"\1", text).removeprefix("::").rstrip(".:")
    return _read_operator(text)


def _read_operator(text: str) -> Spelled:
    parts = text.split(".")
    for root in (["torch", "ops"], ["ops"]):
        begin = len(root)
        if parts[:begin] == root and begin + 2 <= len(parts) <= begin + 3:
            overload = parts[begin + 2] if len(parts) == begin + 3 else None
            return Spelled(text, f"{parts[begin]}::{parts[begin + 1]}", _overload(overload))
    namespace, colons, rest = text.rpartition("::")
    if colons and "::" not in namespace and "." in rest:
        base, _, overload = rest.partition(".")
        return Spelled(text, f"{namespace}::{base}", _overload(overload))
    return Spelled(text, "", None)


def _overload(written: str | None) -> str | None:
    """torch.ops calls the overload without a name `default`."""
    return "" if written == "default" else written
