"""What the walk over one C++ text has found so far, and where it stands.

The shapes (`torchtalkd.parse.shapes`) write to a Collector; the walk (`cpp_walk`) moves it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.facts import Definition, Kind, Reference, ReferenceKind
from torchtalkd.parse.cpp_text import Directives, Macro, Text, guard_at
from torchtalkd.parse.macros import expand
from torchtalkd.parse.spelling import Spelling

LIBRARY_HOLE = "{library}"
DISPATCH_KEY_HOLE = "{dispatch_key}"
"""Stand for the namespace and key of the block in which a registering macro will be used."""


@dataclass(slots=True)
class Library:
    """The TORCH_LIBRARY… block that a text stands in."""

    variable: str
    """Name of the torch::Library; '' in a macro's body, where any name may be meant."""
    namespace: str
    dispatch_key: str


@dataclass(slots=True)
class Scope:
    """A stretch of text that names are resolved against."""

    end: int
    """Offset behind it."""
    prefix: str
    """Namespaces and classes, with a trailing `::`; '' at the top."""
    ordinal: int = -1
    """Of the Definition that it is the body of; the enclosing one's where it is none."""
    body: bool = False
    """Inside a function: calls are calls, declarations are local variables."""
    inside_class: bool = False
    local: bool = False
    """In an anonymous namespace."""
    library: Library | None = None
    modules: dict[str, str] = field(default_factory=dict)
    """pybind variable → dotted Python module or class."""

    def stands_in(self) -> dict[str, Any]:
        """The detail that says in which namespace a binding stands: what it names is looked up from there."""
        return {"namespace": self.prefix.removesuffix("::")} if self.prefix else {}

    def is_constructor(self, name: str) -> bool:
        """Whether a member without a type that is called so is one: it has the name of the class, or of one
        around it where the grammar lost a brace."""
        return self.inside_class and f"::{name}::" in f"::{self.prefix}"


class MacroUse(NamedTuple):
    """A use, outside of functions, of a macro that this file defines: to be expanded."""

    text: str
    offset: int
    prefix: str
    ordinal: int
    local: bool
    library: Library | None
    name: str
    body_owner: int
    """Owner that references in the body behind the use carry until the definition is known; 0: no body."""
    end: int


class Collector:
    """Definitions and references of one text, in the order found."""

    def __init__(
        self,
        path: str,
        language: str,
        text: Text,
        spelling: Spelling,
        directives: Directives,
        macros: Mapping[str, Macro],
    ) -> None:
        self.path = path
        self.language = language
        self.text = text
        self.data = text.data
        self.source = text.data
        """The text before uses of macros were lifted out of it."""
        self.spelling = spelling
        self.directives = directives
        self.macros = macros
        self.definitions: list[Definition] = []
        self.references: list[Reference] = []
        self.uses: list[MacroUse] = []
        self.scopes: list[tuple[int, Scope]] = []
        """(start, scope) of each namespace, class and library block, outer ones first."""
        self.bodies: dict[int, tuple[int, int]] = {}
        """Start of a function's body → (offset behind it, ordinal of its scope)."""
        self.macro_offsets: set[int] = set()
        """Where the walk met a macro outside of functions."""
        self.fixed: tuple[int, int] | None = None
        """The one place that everything has: that of the macro use being read, if any."""
        self.macro = ""
        """The macro being read, if any: noted in what it makes."""
        self.classes: dict[str, bool] = {}
        """What `is_class` has found out."""
        self.tests = False
        """Whether a macro made a test."""
        self.guard = ""
        self.metal_kernels: frozenset[int] = frozenset()
        """Offsets behind the word `kernel` of a Metal function."""

    @cached_property
    def mentions_pybind11(self) -> bool:
        """Whether the text can bind anything by pybind11 at all."""
        return b"pybind" in self.data or b"py::" in self.data or b"PYBIND11" in self.data

    @cached_property
    def mentions_classes(self) -> bool:
        """Whether the text can bind a class to TorchScript (torch/custom_class.h)."""
        return b"class_" in self.data and b"torch" in self.data

    @cached_property
    def mentions_register_operators(self) -> bool:
        """Whether the text can use the older registry at all."""
        return b"RegisterOperators" in self.data

    @property
    def mentions_bindings(self) -> bool:
        """Whether a method in the text can bind a name outside of a library block."""
        return self.mentions_pybind11 or self.mentions_classes or self.mentions_register_operators

    # -- text

    def slice(self, node: Node) -> str:
        """The node's text."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def place(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset, or the macro use's place."""
        return self.fixed or self.text.place(offset)

    def arguments(self, node: Node) -> list[Node]:
        """The arguments of an argument or parameter list, comments left out."""
        return [child for child in node.named_children if child.type != "comment"]

    def assigned(self, offset: int) -> str:
        """The variable that the expression at an offset initialises or is assigned to; '' if none."""
        match = _ASSIGNED.search(self.data[max(0, offset - 160) : offset])
        return match.group(1).decode() if match else ""

    def macro_name(self, written: str, offset: int) -> str:
        """The name that an argument stands for where macros are expanded before it is read. What this
        file defines above decides; a macro of another file stays a hole: `{TORCH_EXTENSION_NAME}`,
        `{CONCAT(TORCH_EXTENSION_NAME, _ops)}`."""
        text = " ".join(written.split())
        plain = {m.name: m.body for m in self.directives.macros if m.parameters is None and m.start < offset}
        for _ in range(_MOST_NESTED):
            text, before = _WORD.sub(lambda word: plain.get(word[0], word[0]), text), text
            unknown = any(_MACRO.match(word) and word not in self.macros for word in _WORD.findall(text))
            if "(" in text and self.macros and not unknown:
                text = expand(text, self.macros)
            if text == before:
                break
        text = text.strip().strip('"')
        return f"{{{text}}}" if "(" in text or _MACRO.match(text) else text

    def scope_at(self, offset: int) -> Scope:
        """The innermost namespace, class or library block around an offset, or the file as a whole."""
        found = Scope(1 << 62, "")
        for start, scope in self.scopes:
            if start > offset:
                break
            if offset < scope.end:
                found = scope
        return found

    def is_class(self, name: str) -> bool:
        """Whether the text has a class or a union of a name, which its members' scope may not say: a union is
        no definition, and a head may be hard to read."""
        known = self.classes.get(name)
        if known is None:
            head = rb"\b(?:class|struct|union)\b[^;{}()]{0,200}?\b%s\s*(?:final\b|[<:{])" % name.encode()
            known = self.classes[name] = re.search(head, self.data) is not None
        return known

    # -- facts

    def define(
        self,
        kind: Kind,
        key: str,
        name: str,
        offset: int,
        end: int,
        *,
        scope: int = -1,
        declares: bool = False,
        local: bool = False,
        signature: str = "",
        dispatch_key: str = "",
        convention: str = "",
        detail: dict[str, Any] | None = None,
    ) -> int:
        """Add a Definition; its ordinal."""
        if self.fixed:
            line, column = self.fixed
            end_line, guard = line, self.guard
            if self.macro:
                detail = {**(detail or {}), "macro": self.macro}
        else:
            starts = self.text.line_starts
            line = bisect_right(starts, offset)
            column = offset - starts[line - 1]
            end_line = bisect_right(starts, end - 1, line) if end > offset else line
            guard = guard_at(self.directives, offset) if len(self.directives.guards) > 1 else ""
        self.definitions.append(
            _define((
                key, name, kind, line, column, end_line, scope, declares, local,
                signature, dispatch_key, convention, guard, detail, 0,
            ))
        )  # fmt: skip
        return len(self.definitions) - 1

    def refer(
        self,
        kind: ReferenceKind,
        key: str,
        name: str,
        offset: int,
        owner: int,
        arguments: int = -1,
    ) -> None:
        """Add a Reference."""
        if self.fixed:
            line, column = self.fixed
        else:
            starts = self.text.line_starts
            line = bisect_right(starts, offset)
            column = offset - starts[line - 1]
        self.references.append(_refer((key, name, kind, line, column, owner, arguments)))

    def target(self, owner: int, name: str, offset: int) -> None:
        """Add what a binding refers to: a C++ name as written."""
        self.refer("target", keys.cpp(name), name, offset, owner)


_define = partial(tuple.__new__, Definition)
_refer = partial(tuple.__new__, Reference)
"""A fact of all its fields; by its own name it would cost twice the time."""
_MOST_NESTED = 8
"""Macros within macros that are followed."""
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_MACRO = re.compile(r"[A-Z][A-Z0-9_]*$")
_ASSIGNED = re.compile(rb"([A-Za-z_]\w*)\s*(?:=|\{|\()\s*$")


def string_value(text: str) -> str | None:
    """The value of C++ string literals, adjacent ones joined, raw ones too; None if it is none."""
    found: list[str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _STRING.match(text, position)
        if match is None:
            return None
        raw, plain = match.group("raw"), match.group("plain")
        found.append(raw if raw is not None else _ESCAPE.sub(_unescape, plain))
        position = match.end()
    return "".join(found) if found else None


_BETWEEN = r"(?:\s|//[^\n]*\n|/\*.*?\*/)*"
"""White space and comments around a literal."""
_STRING = re.compile(
    _BETWEEN
    + r'(?:(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\((?P<raw>.*?)\)(?P=mark)"'
    + r'|(?:u8|[uUL])?"(?P<plain>(?:[^"\\]|\\.)*)")'
    + _BETWEEN,
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


def _unescape(match: re.Match[str]) -> str:
    character = match.group(1)
    return "" if character.endswith("\n") else _ESCAPES.get(character, character)
