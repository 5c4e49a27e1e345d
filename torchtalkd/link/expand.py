"""What a C macro's use expands to, with macros of several files. Pure text.

The parser expands a use by the macros of its own file. Here the table comes from the store, so
that lists of operators (`AT_FORALL_FP32(_KERNEL_CUDA_FP32)`) and macros that choose another by the
number of their arguments come out as the compiler sees them. The algorithm is the standard's:
arguments are expanded first, except beside `#` and `##`; the result is read again together with
what follows; a macro does not expand in its own expansion.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

MAX_TOKENS: Final = 200_000
"""Tokens that are looked at for one use; a macro that doubles itself stops here."""

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_]\w*|\d[\w.]*|\s+|##|.', re.DOTALL)


_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")


class Macro(NamedTuple):
    """A function-like macro. A last parameter `...` or `name...` takes the rest."""

    parameters: tuple[str, ...]
    body: str


class _Token(NamedTuple):
    text: str
    hidden: frozenset[str]
    """Macros that this token came from: they do not expand in it again."""


def expanded(text: str, find: Callable[[str], Macro | None]) -> str:
    """The text with all uses of macros expanded, as far as `MAX_TOKENS` go. `find` gives the macro
    of a name; names that only a paste makes are asked for too."""
    nothing: frozenset[str] = frozenset()
    waiting = [_Token(part, nothing) for part in reversed(_split(text))]
    out: list[str] = []
    budget = MAX_TOKENS
    while waiting and budget > 0:
        budget -= 1
        token = waiting.pop()
        macro = find(token.text) if token.text not in token.hidden else None
        if macro is None:
            out.append(token.text)
            continue
        arguments = _take_arguments(waiting)
        if arguments is None:
            out.append(token.text)
            continue
        hidden = token.hidden | {token.text}
        made = _substituted(macro, arguments, find)
        budget -= len(made)
        waiting.extend(_Token(part, hidden) for part in reversed(made))
    return "".join(out)


@lru_cache(maxsize=4096)
def _split(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _take_arguments(waiting: list[_Token]) -> list[str] | None:
    """The arguments in the parentheses that come next, taken from the input; None for none."""
    at = len(waiting) - 1
    while at >= 0 and waiting[at].text.isspace():
        at -= 1
    if at < 0 or waiting[at].text != "(":
        return None
    depth = 0
    found: list[str] = []
    parts: list[str] = []
    while at >= 0:
        text = waiting[at].text
        if text in _OPENING:
            depth += 1
            if depth > 1:
                parts.append(text)
        elif text in _CLOSING:
            depth -= 1
            if depth == 0:
                found.append("".join(parts).strip())
                del waiting[at:]
                return found
            parts.append(text)
        elif text == "," and depth == 1:
            found.append("".join(parts).strip())
            parts = []
        else:
            parts.append(text)
        at -= 1
    return None


def _substituted(macro: Macro, arguments: list[str], find: Callable[[str], Macro | None]) -> list[str]:
    """The body's tokens with the parameters replaced."""
    table = _table(macro.parameters, arguments)
    tokens = _split(macro.body)
    out: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == "#" and _after(tokens, at) in table:
            at = _index_after(tokens, at)
            out.append('"' + table[tokens[at]].replace("\\", "\\\\").replace('"', '\\"') + '"')
        elif token == "##":
            while out and out[-1].isspace():
                out.pop()
            at = _index_after(tokens, at)
            if at < len(tokens):
                # Neither side of a paste is expanded; the two become one token.
                right = table.get(tokens[at], tokens[at])
                out[-1:] = _split((out[-1] if out else "") + right)
        elif token in table:
            raw = table[token]
            pasted = _after(tokens, at) == "##"
            out.extend(_split(raw if pasted else expanded(raw, find)))
        else:
            out.append(token)
        at += 1
    return out


def _table(parameters: tuple[str, ...], arguments: list[str]) -> dict[str, str]:
    table: dict[str, str] = {}
    for number, parameter in enumerate(parameters):
        if parameter.endswith("..."):
            table[parameter[:-3].strip() or "__VA_ARGS__"] = ", ".join(arguments[number:])
        else:
            table[parameter] = arguments[number] if number < len(arguments) else ""
    return table


def _index_after(tokens: list[str], at: int) -> int:
    at += 1
    while at < len(tokens) and tokens[at].isspace():
        at += 1
    return at


def _after(tokens: list[str], at: int) -> str:
    after = _index_after(tokens, at)
    return tokens[after] if after < len(tokens) else ""
