"""How a pattern of a manifest matches a path.

Patterns are relative to the root of the tree and use forward slashes, so where the tree
itself lies has no part in it. `*` and `?` stay within one name, `[abc]` is one character,
`**` as a whole name is any number of folders. A pattern that matches a folder covers all
that is below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

_NAME_PART = re.compile(r"\*+|\?|\[!?\]?[^\]/]*\]|[^*?\[]+")
_NEVER = "(?!)"
_MOST_DEEP = 3
"""Each `**` multiplies the work by a path's depth, and a tree may bring its own patterns."""


def glob_fault(pattern: str) -> str:
    """Why `pattern` cannot be used ('' when it can)."""
    if not pattern:
        return "a pattern may not be empty"
    if "\\" in pattern:
        return "patterns use forward slashes"
    if pattern.startswith(("/", "~")) or re.match(r"[A-Za-z]:", pattern):
        return "patterns are relative to the root of the tree, not absolute"
    names = pattern.split("/")
    if ".." in names:
        return "a pattern may not leave the root of the tree with '..'"
    if "" in names or "." in names:
        return "a pattern may not contain an empty name or '.' between its slashes"
    if "{" in pattern or "}" in pattern:
        return "braces are not supported: write one pattern for each alternative"
    if names.count("**") > _MOST_DEEP:
        return f"more than {_MOST_DEEP} times '**'"
    for name in names:
        if "**" in name and name != "**":
            return "'**' must be a whole name between slashes: a/**/b, **/x, a/**"
        if "".join(_NAME_PART.findall(name)) != name:
            return "'[' without its ']'"
        try:
            re.compile(_name_regex(name))
        except re.error as error:
            return f"not a valid character class: {error}"
    return ""


def path_fault(path: str) -> str:
    """Why `path` is no plain path below the root ('' when it is)."""
    if not path:
        return ""  # The root itself.
    fault = glob_fault(path)
    if fault:
        return fault.replace("patterns are", "paths are").replace("a pattern", "a path")
    return "a plain path is wanted here, not a pattern" if any(c in path for c in "*?[") else ""


def matches(pattern: str, path: str) -> bool:
    """Whether the pattern covers the path."""
    return _single(pattern).fullmatch(path) is not None


def union(patterns: Iterable[str]) -> re.Pattern[str]:
    """One compiled expression whose `fullmatch` says whether any of the patterns covers a path."""
    parts = [_glob_regex(pattern) for pattern in patterns]
    return re.compile(f"(?:{'|'.join(parts)})(?:/.*)?" if parts else _NEVER, re.DOTALL)


@lru_cache(maxsize=256)
def _single(pattern: str) -> re.Pattern[str]:
    return union((pattern,))


def _glob_regex(pattern: str) -> str:
    written = pattern.split("/")
    # `**/**` is `**`.
    names = [
        name for name, after in zip(written, [*written[1:], ""], strict=True) if not name == after == "**"
    ]
    regex = ""
    for position, name in enumerate(names):
        is_last = position == len(names) - 1
        if name != "**":
            regex += _name_regex(name) + ("" if is_last else "/")
        elif is_last:
            # `dir/**` covers the folder too, so that a walk need not enter it.
            regex = regex.removesuffix("/") + ("(?:/.*)?" if position else ".*")
        else:
            regex += "(?:[^/]+/)*"
    return regex


def _name_regex(name: str) -> str:
    """One name. Between two stars the first place that fits is as good as any, so that the text
    up to it is an atomic group: matching stays linear whatever the pattern."""
    pieces = [""]
    for part in _NAME_PART.findall(name):
        if part[0] == "*":
            pieces.append("")
        else:
            pieces[-1] += _part_regex(part)
    first, *rest = pieces
    if not rest:
        return first
    *middle, last = rest
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + f"[^/]*{last}"


def _part_regex(part: str) -> str:
    """A literal, `?` or `[…]`."""
    if part == "?":
        return "[^/]"
    if part[0] != "[":
        return re.escape(part)
    inner = part[1:-1]
    negated = inner.startswith("!")
    inner = inner.removeprefix("!").replace("\\", "\\\\").replace("^", "\\^")
    inner = inner.replace("[", "\\[").replace("]", "\\]")
    return f"[{'^/' if negated else ''}{inner}]"
