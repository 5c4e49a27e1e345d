"""Which kernels a name holds that is launched: `kernel = a if fast else b; kernel[grid](x)`. Pure.

The assignments to the name are read as text, in the function around the launch, or for an attribute
(`self.kernel[grid](x)`) in the whole file: a launch is rare, and the loop over all calls should not pay.
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd.parse.python_outline import CHAIN, Outline

_LONGEST: Final = 400
"""Bytes of an assignment's value that are looked at."""
_NEXT_STATEMENT: Final = re.compile(rb"\n[ \t]*[\w.]+[ \t]*(?:[-+*/|&]?=[^=]|\[[^\n]*\]\(|\()")


_WRAPPED: Final = re.compile(rb"[\w.]+\(\s*([\w.]+)\s*\)")
"""`wrap_triton(kernel)[grid](x)`: torch/_library/triton.py."""


def held_kernels(out: Outline, written: bytes, owner: int, launch: int) -> list[str]:
    """The full names that a local name or attribute may hold where it is launched at a byte. What is
    called to make it (`functools.partial`, a cache) is among them if the file knows it."""
    if not CHAIN.fullmatch(written):
        wrapped = _WRAPPED.fullmatch(written)
        full = out.resolve(wrapped[1], owner) if wrapped else ""
        return [full] if full else []
    if owner <= 0:
        return []
    begin = 0 if b"." in written else _begin(out, owner)
    assignment = re.compile(rb"(?<![\w.])" + re.escape(written) + rb"[ \t]*(?::[^=\n]*)?=(?!=)")
    found: dict[str, None] = {}
    for match in assignment.finditer(out.data, begin, len(out.data) if begin == 0 else launch):
        end = match.end() + _LONGEST
        stop = _NEXT_STATEMENT.search(out.data, match.end(), end)
        for name in CHAIN.finditer(out.data, match.end(), stop.start() if stop else end):
            full = out.resolve(name[0], owner)
            if full and not full.startswith("functools."):
                found.setdefault(full)
    return list(found)


def _begin(out: Outline, owner: int) -> int:
    """The first byte of a definition's name."""
    return next((start for start, ordinal in out.by_start.items() if ordinal == owner), 0)
