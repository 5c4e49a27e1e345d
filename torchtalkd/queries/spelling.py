"""What a name as users write it says before the tree is asked: quotes, calls and prefixes gone.

Pure text. `locate` tries the readings that come out of it against the facts.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_QUOTES = "'\"`‘’“”"
_CALL = re.compile(r"\((?:[^()]|\([^()]*\))*\)\s*(?:->.*)?$", re.DOTALL)
_SPACES = re.compile(r"\s*(::|\.)\s*")
_UNNAMED = re.compile(r"\(anonymous namespace\)::|(?<=::)(?:DEFAULT|AVX2|AVX512|VSX|ZVECTOR|SVE256)::")
"""Namespaces that stand in a backtrace and not in the source: the second are the values of
CPU_CAPABILITY (aten/src/ATen/native/DispatchStub.h)."""
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
    text = clean(written)
    if text.rstrip().endswith("::"):
        # A namespace alone; what has its name is something else.
        return Spelled("", "", None)
    text = _UNNAMED.sub("", text)
    text = text.strip().strip(_QUOTES + ",;:").strip()
    if not text.startswith("operator"):
        text = _CALL.sub("", text).strip()
    text = text.strip(_QUOTES).lstrip("&*@").strip()
    count = 1 if "<" in text and "operator" not in text else 0
    while count:
        text, count = _TEMPLATE.subn("", text)
    text = _SPACES.sub(r"\1", text).removeprefix("::").rstrip(".:")
    return _read_operator(text)


LONGEST: Final = 1000
"""Characters; no name of a program is longer."""


def clean(written: str) -> str:
    """Text that may be a name: what is no character, and what is too long to be one, is cut off."""
    return written.encode("utf-8", "replace").decode("utf-8") if len(written) <= LONGEST else ""


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
