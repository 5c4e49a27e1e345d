"""Which operators and Python names a tree's C++ registers, by a plain scan of the text.

The count that the product is held against: written apart from its parsers and sharing nothing with
them. Comments and `#define`s are blanked, then the blocks and chains are followed by brackets alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SUFFIXES = (".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".cuh", ".cu", ".mm", ".hip", ".inl")


class Site(NamedTuple):
    """One registration as written."""

    file: str
    line: int
    """Of the call's parenthesis."""
    form: str
    """def, impl, fallback (of a torch::Library), op (RegisterOperators), pybind, class."""
    name: str
    """The text of the first string, up to a parenthesis; '*' for a fallback."""


_SKIPPED = re.compile(
    r'R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)+'"
    r"|(?P<blank>//[^\n]*|/\*.*?\*/|(?<=\n)[ \t]*#[ \t]*define\b(?:[^\\\n]|\\.)*)",
    re.DOTALL,
)
_STRING = re.compile(
    r'\s*(?:R"(?P<mark>[^()\s\\]{0,16})\((?P<raw>.*?)\)(?P=mark)"|"(?P<plain>(?:[^"\\]|\\.)*)")', re.DOTALL
)
_LIBRARY = re.compile(r"\b(?:STABLE_)?TORCH_LIBRARY\w*\s*\(")
_FUNCTION = re.compile(r"\(\s*(?:torch|at|c10)::(?:stable::)?(?:Stable)?Library\s*&\s*(\w+)\s*\)\s*\{")
_MODULE = re.compile(r"\bPYBIND11_MODULE\s*\(")
_MODULE_FUNCTION = re.compile(r"\b(?:py|pybind11)::module_?\s*&\s*(\w+)\s*[,)]")
_OPERATORS = re.compile(r"\bRegisterOperators\b(?:\s+\w+\s*=\s*[\w:]+)?\s*(?:\w+\s*)?\(")
_CLASS = re.compile(r"\b(?:torch::|\w+\.)class_\s*<")


def registrations(root: Path, files: list[str]) -> list[Site]:
    """All sites in the C++ files among `files` (paths from the root)."""
    found: list[Site] = []
    for path in files:
        if path.endswith(SUFFIXES):
            data = (root / path).read_text("utf-8", "replace")
            if (
                "LIBRARY" in data
                or "pybind" in data.lower()
                or "py::" in data
                or "Library" in data
                or "torch::class_" in data
                or "RegisterOperators" in data
            ):
                found.extend(_in(path, blanked(data)))
    return found


def blanked(text: str) -> str:
    """The text without comments and macro definitions, all lines kept."""

    def kept(match: re.Match[str]) -> str:
        if match["blank"] is None:
            return match[0]
        return re.sub(r"[^\n]", " ", match[0])

    return _SKIPPED.sub(kept, "\n" + text)[1:]


def _in(path: str, text: str) -> Iterator[Site]:
    for head in _LIBRARY.finditer(text):
        inside = _closing(text, head.end() - 1)
        arguments = _split(text[head.end() : inside])
        body = _block(text, inside)
        if body is not None and len(arguments) > 1:
            yield from _calls(
                path,
                text,
                *body,
                arguments[-1].strip(),
                {"def": "def", "impl": "impl", "fallback": "fallback"},
            )
    for head in _FUNCTION.finditer(text):
        yield from _calls(
            path, text, head.end(), _closing(text, head.end() - 1), head[1], {"def": "def", "impl": "impl"}
        )
    blocks = []
    for head in _MODULE.finditer(text):
        inside = _closing(text, head.end() - 1)
        body = _block(text, inside)
        if body is not None:
            blocks.append(body)
    for head in _MODULE_FUNCTION.finditer(text):
        inside = text.find(")", head.end() - 1)
        body = _block(text, inside)
        if body is not None:
            blocks.append(body)
    for start, end in blocks:
        for call in re.finditer(r"\.\s*(def\w*|value)\s*\(", text[start:end]):
            if call[1] == "def_submodule":
                continue
            at = start + call.end()
            name = _string(text, at)
            if name is not None:
                yield Site(path, text.count("\n", 0, at) + 1, "pybind", name)
    for head in _OPERATORS.finditer(text):
        end = _statement_end(text, head.end() - 1)
        for call in re.finditer(r"\.\s*op\s*\(", text[head.start() : end]):
            at = head.start() + call.end()
            name = _string(text, at)
            if name is not None:
                yield Site(path, text.count("\n", 0, at) + 1, "op", name.partition("(")[0])
    for head in _CLASS.finditer(text):
        own = head[0].startswith("torch")
        end = _statement_end(text, head.end())
        opening = text.find("(", head.end())
        strings = re.findall(r'"([^"]*)"', text[opening : _closing(text, opening)])
        if strings and len(strings) == (2 if own else 1):
            yield Site(path, text.count("\n", 0, opening) + 1, "class", strings[-1])
        for call in re.finditer(r"\.\s*(def\w*)\s*\(", text[opening:end]):
            name = _string(text, opening + call.end())
            if name is not None:
                yield Site(path, text.count("\n", 0, opening + call.end()) + 1, "class", name)


def _calls(
    path: str, text: str, start: int, end: int, variable: str, forms: dict[str, str]
) -> Iterator[Site]:
    inside = text[start:end]
    classes = [
        (start + head.start(), _statement_end(text, start + head.end())) for head in _CLASS.finditer(inside)
    ]
    pattern = re.compile(rf"(?:\b{re.escape(variable)}|\))\s*\.\s*({'|'.join(forms)})\s*\(")
    for call in pattern.finditer(text, start, end):
        if any(first <= call.start() < last for first, last in classes):
            continue
        line = text.count("\n", 0, call.end()) + 1
        if call[1] == "fallback":
            yield Site(path, line, "fallback", "*")
            continue
        name = _string(text, call.end())
        if name is not None:
            yield Site(path, line, forms[call[1]], name.partition("(")[0].strip())


def _string(text: str, at: int) -> str | None:
    """The string, adjacent ones joined, that an argument begins with; a call around it is passed."""
    wrapper = re.compile(r"\s*[A-Za-z_][\w:]*\s*\(").match(text, at)
    if wrapper:
        at = wrapper.end()
    parts = []
    while match := _STRING.match(text, at):
        parts.append(match["raw"] if match["raw"] is not None else match["plain"])
        at = match.end()
    return "".join(parts) if parts else None


def _block(text: str, at: int) -> tuple[int, int] | None:
    """The braces behind a head that ends at an offset."""
    match = re.compile(r"\)\s*\{").match(text, at)
    if match is None:
        return None
    return match.end(), _closing(text, match.end() - 1)


def _closing(text: str, at: int) -> int:
    """Where the bracket at an offset is closed."""
    depth = 0
    for match in re.compile(
        r'R"([^()\s\\]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|[()\[\]{}]', re.DOTALL
    ).finditer(text, at):
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
            if depth == 0:
                return match.start()
    return len(text)


def _statement_end(text: str, at: int) -> int:
    """The semicolon of the statement that an offset stands in, outside of brackets."""
    depth = 0
    for match in re.compile(
        r'R"([^()\s\\]{0,16})\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|[()\[\]{};]', re.DOTALL
    ).finditer(text, at):
        if match[0] in "([{":
            depth += 1
        elif match[0] in ")]}":
            depth -= 1
        elif match[0] == ";" and depth <= 0:
            return match.start()
    return len(text)


def _split(text: str) -> list[str]:
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
