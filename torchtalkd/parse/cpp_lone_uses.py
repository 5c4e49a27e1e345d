"""Uses of macros outside of functions whose names are not all capitals: `C10_DEFINE_bool(x, true, "…")`.

In capitals a name says itself that it is a macro's. What else stands as `name(…)` where a declaration
could begin, with no type before it and no body behind it, can only be a macro's use, too, if it stands
outside of functions and is no class's constructor, which the walk over the text decides. The cases are in
`tests/test_parse_cpp.py`.
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd.parse.macros import arguments

_LINE: Final = re.compile(rb"\n(?:[ \t]++(?=[A-Z][A-Z0-9]*+_))?+([A-Za-z_]\w*+)[ \t]*+\(")
"""A line that begins with such a name. Group 1 is the name. Further in, where most lines are statements, it
must begin in capitals."""
_CAPITALS: Final = re.compile(rb"[A-Z][A-Z0-9_]+")
_WORDS: Final = frozenset(
    b"alignas asm decltype explicit for if noexcept operator return sizeof static_assert switch typeof while"
    b" __asm __asm__ __attribute __attribute__ __declspec __launch_bounds__ __typeof__ _Static_assert".split()
)
"""Words of the language that parentheses follow."""
_OPENED: Final = re.compile(
    rb"(?:inline\s+)?namespace\b[^(){};]*\{|extern\s*\"C(?:\+\+)?\"\s*\{|(?:public|private|protected)\s*:"
    rb"|(?:template\b[^;{}]*>\s*)?(?:class|struct)\b[^;{}]*\{|[:,]\s*(?:public|private|protected|virtual)\b[^;{}]*\{"
)
"""A line behind which declarations stand, white space around it left out."""
_BEHIND: Final = re.compile(rb"[ \t\r]*(?:;|(?://[^\n]*)?\n(?:\s|//[^\n]*\n)*(?=[A-Za-z_}#~@]|/\*|\Z)|\Z)")
"""What follows a use that is a whole statement: a semicolon, or a line end and a new beginning."""
_VALUE: Final = re.compile(rb"\s*=[^=]")
"""What a member may be initialised with."""
_BEHIND_MEMBER: Final = re.compile(_BEHIND.pattern + rb"|\s*[={]")
"""In a class an initialiser may follow, too."""
_LONGEST: Final = 4_000
"""Bytes of a use."""
_NEAR: Final = 400
"""Bytes before a use that stand on its line, or are a brace on the one before."""
_MOST_LINES: Final = 60
"""Of comments before a use."""


def lone_uses(data: bytes) -> list[re.Match[bytes]]:
    """Where such a statement may stand, in their order."""
    found = []
    behind = 0
    for match in _LINE.finditer(data):
        name = match.group(1)
        if name in _WORDS or _CAPITALS.fullmatch(name) or not begins(data, match.start(), behind):
            continue
        opening = match.end() - 1
        use = arguments(data[opening : opening + _LONGEST].decode("latin-1"), 0)
        if use is None:
            continue
        end = opening + use[1]
        if _BEHIND.match(data, end) is None and _VALUE.match(data, end) is None:
            continue
        if data.rfind(b"/*", 0, opening) <= data.rfind(b"*/", 0, opening):
            # It is in no comment.
            behind = end
            found.append(match)
    return found


def is_member(data: bytes, start: int, end: int) -> bool:
    """Whether what stands in a class between two offsets is a statement there: a declaration could begin at
    the one, and one ends behind the other."""
    if _BEHIND_MEMBER.match(data, end) is None:
        return False
    near = max(start - _NEAR, 0)
    line = data.rfind(b"\n", near, start)
    before = data[max(line + 1, near) : start].strip()
    if before or line < 0:
        return before.endswith((b";", b"{", b"}", b":", b"*/"))
    return begins(data, line, -1) or data[near:line].rpartition(b"\n")[2].strip() == b"{"


def begins(data: bytes, end: int, behind: int) -> bool:
    """Whether a declaration could begin behind the line that ends at an offset; `behind`: where the last such
    statement ends. With -1, for members, none can at the text's begin, and what is before an #if decides."""
    for _ in range(_MOST_LINES):
        if end < 0:
            return False
        start = max(data.rfind(b"\n", 0, end) + 1, behind)
        code = data[start:end].partition(b"//")[0].strip()
        directive = code.startswith(b"#")
        if code and not (directive and behind < 0):
            return directive or code.endswith((b";", b"}", b"*/")) or _OPENED.fullmatch(code) is not None
        if start == behind:
            return True
        end = start - 1
    return False
