"""Substitution of function-like C macros, as far as finding what they define needs it.

`#` and `##` are honoured, nested uses are expanded by the caller's table. No conditionals, no
object-like macros: what a use makes is wanted, not what a compiler would see.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from torchtalkd.parse.cpp_text import Macro

MAX_DEPTH = 8
MAX_EXPANSION = 200_000
"""Bytes of one use's expansion; a macro that doubles itself stops here."""

_MARK = re.compile(
    r"""\(|\)|\[|\]|\{|\}|,|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|"""
    r"""'(?<![0-9a-zA-Z_]')[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'""",
    re.DOTALL,
)
"""Each alternative begins with a character and not with a set of them, so that the engine skips other text
quickly."""
_FLAT = re.compile(r"""\(([^()\[\]{}"']*+)\)""")
"""Arguments with nothing in them that could hide a comma, as most are."""
_TOKEN = re.compile(
    r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'
    r"'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|"
    r"""[A-Za-z_]\w*+|\s*##\s*|#|[^A-Za-z_"'#]+|.""",
    re.DOTALL,
)
_CALLED = re.compile(r"([A-Za-z_](?<!\w.)\w*+)\s*+\(")
"""(A \\b in front of the name would be tried at every character, what looks back at letters alone.)"""
_CALLED_OR_LAUNCHED = re.compile(r"\b(\w++)\s*+(?:<[^<>(){};]*+>\s*+)?(?:\(|<<<)")


def arguments(text: str, start: int) -> tuple[list[str], int] | None:
    """The arguments in the parentheses that open at `start`, and the offset behind them.

    None when they do not close within 20,000 characters.
    """
    flat = _FLAT.match(text, start, start + 20_000)
    if flat is not None:
        found = [argument.strip() for argument in flat.group(1).split(",")]
        if not found[-1] and len(found) == 1:
            found = []
        return found, flat.end()
    found = []
    depth, begin = 0, start + 1
    for match in _MARK.finditer(text, start, min(len(text), start + 20_000)):
        mark = match.group()
        if mark in "([{":
            depth += 1
        elif mark in ")]}":
            depth -= 1
            if depth == 0:
                last = text[begin : match.start()].strip()
                if last or found:
                    found.append(last)
                return found, match.end()
        elif mark == "," and depth == 1:
            found.append(text[begin : match.start()].strip())
            begin = match.end()
        if depth == 0:
            return None
    return None


def substitute(macro: Macro, values: list[str]) -> str:
    """The body with its parameters replaced; missing arguments are empty."""
    parameters = macro.parameters or ()
    table: dict[str, str] = {}
    for index, parameter in enumerate(parameters):
        if parameter.endswith("..."):
            name = parameter[:-3].strip() or "__VA_ARGS__"
            table[name] = ", ".join(values[index:])
        else:
            table[parameter] = values[index] if index < len(values) else ""
    out: list[str] = []
    for piece, name, mark in _pieces(macro.body, parameters):
        if not name:
            out.append(piece)
        elif mark == "#":
            out.append('"' + table[name].replace("\\", "\\\\").replace('"', '\\"') + '"')
        else:
            out.append(table[name].rstrip() if mark else table[name])
    return "".join(out)


@lru_cache(maxsize=64)
def _pieces(body: str, parameters: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """A macro's body as (text, "", "") and ("", parameter, mark), where the mark is `#` before it, `##`
    behind it, or none; kept, for a macro is used many times in a row. Not to be changed."""
    names = {p[:-3].strip() or "__VA_ARGS__" if p.endswith("...") else p for p in parameters}
    pieces: list[tuple[str, str, str]] = []
    text: list[str] = []
    tokens = _TOKEN.findall(body)
    index = 0
    while index < len(tokens):
        token = tokens[index]
        is_string = token == "#" and index + 1 < len(tokens) and tokens[index + 1] in names
        if token.strip() == "##":
            if text:
                text[-1] = text[-1].rstrip()
            elif pieces and pieces[-1][2] != "#":
                pieces[-1] = ("", pieces[-1][1], "##")
        elif is_string or token in names:
            if text:
                pieces.append(("".join(text), "", ""))
                text = []
            index += is_string
            pieces.append(("", tokens[index], "#" if is_string else ""))
        else:
            text.append(token)
        index += 1
    if text:
        pieces.append(("".join(text), "", ""))
    return pieces


def expand(
    text: str,
    table: Mapping[str, Macro],
    active: frozenset[str] = frozenset(),
) -> str:
    """The text with each use of a macro of the table replaced, uses within included.

    A macro in `active` is not expanded within itself. Text that grows past MAX_EXPANSION or nests
    deeper than MAX_DEPTH stays as it is.
    """
    if len(active) >= MAX_DEPTH or len(text) > MAX_EXPANSION:
        return text
    out: list[str] = []
    position = 0
    # One pattern for all tables: to compile one of a table's names takes longer than most texts need.
    for match in _CALLED.finditer(text):
        name = match.group(1)
        if name not in table or match.start() < position or name in active:
            continue
        found = arguments(text, match.end() - 1)
        if found is None:
            continue
        values, end = found
        out.append(text[position : match.start()])
        out.append(expand(substitute(table[name], values), table, active | {name}))
        position = end
    out.append(text[position:])
    return "".join(out)


def is_called(body: str, parameter: str) -> bool:
    """Whether a macro's body calls or launches what its parameter names."""
    return parameter in body and parameter in _called_in(body)


@lru_cache(maxsize=64)
def _called_in(body: str) -> frozenset[str]:
    """The names that a macro's body calls or launches; kept, for it is asked for each parameter."""
    return frozenset(_CALLED_OR_LAUNCHED.findall(body))
