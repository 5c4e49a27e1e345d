"""C++, CUDA, Objective-C++ and Metal → FileFacts.

The stages: the text is decoded and its attribute macros blanked (offsets kept), the
preprocessor's lines are read apart, tree-sitter parses, one query is walked. Then what the
grammar cannot see is added: code behind both branches of an `#if` that cuts through braces
(each branch is blanked in turn and the file read again), and the functions and registrations
that macros of this file make (their uses are expanded and read as text of their own). For
macros used by other files, what they would make is noted in templates (`detail.makes`).

Pure and error-tolerant: bad input gives fewer facts and a Problem. Cases: `tests/cases/cpp*`.
"""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Parser

from torchtalkd import keys
from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import FileFacts, Problem
from torchtalkd.parse.collector import Collector
from torchtalkd.parse.cpp_attributes import without_attributes
from torchtalkd.parse.cpp_bodies import with_bodies
from torchtalkd.parse.cpp_handed_on import add_handed_on
from torchtalkd.parse.cpp_hidden_uses import add_hidden_uses
from torchtalkd.parse.cpp_lifted_code import read_lifted_code
from torchtalkd.parse.cpp_macros import add_expansions, add_macros
from torchtalkd.parse.cpp_recovery import recover
from torchtalkd.parse.cpp_text import Text, blanked, decoded, directives, without, without_tables
from torchtalkd.parse.cpp_uses import lift, settle, statements
from torchtalkd.parse.cpp_values import add_values
from torchtalkd.parse.cpp_walk import LANGUAGES, walk
from torchtalkd.parse.shapes.gtest import add_suites
from torchtalkd.parse.spelling import spelling

_PARSERS: Final = {name: Parser(language) for name, language in LANGUAGES.items()}
_CUDA_WORDS: Final = (b"__global__", b"__device__", b"<<<")
_HEADER_SUFFIXES = (".h", ".hpp", ".inl", ".ipp", ".tpp", ".hip")
_FOREIGN_WORDS: Final = {
    "metal": re.compile(
        rb"\b(?:kernel(?=\s+void\b)|constant|device|threadgroup|thread)(?=\s)|\[\[[^\[\]]*\]\]"
    ),
    "objcpp": re.compile(rb"@autoreleasepool\b"),
}
"""Words of these languages that the C++ grammar has no place for."""
_METAL_KERNEL = re.compile(rb"\bkernel\s+(?=void\b)")


def parse_cpp(path: str, data: bytes, conventions: Conventions, language: str, role: str) -> FileFacts:
    """Read one file. Never raises for any bytes."""
    known = spelling(conventions)
    data, remark = decoded(data)
    if remark == "binary":
        return FileFacts(path, language, role, problems=(Problem(0, "binary", "not text: it has NUL bytes"),))
    problems = [Problem(0, "encoding", remark)] if remark else []
    lines = directives(data)
    table = dict(known.macros)
    table.update((macro.name, macro) for macro in lines.macros if macro.parameters is not None)
    is_cuda = language == "cuda" or (
        path.endswith(_HEADER_SUFFIXES) and any(word in data for word in _CUDA_WORDS)
    )
    grammar = "cuda" if is_cuda else "cpp"
    prepared = without_attributes(blanked(data, known.blank_in(data), known.blank_arguments), known)
    foreign = _FOREIGN_WORDS.get(language)
    if foreign is not None:
        prepared = foreign.sub(_spaces, prepared)

    prepared = without_tables(without(prepared, lines.spans))
    unlifted = prepared
    own = {macro.name for macro in lines.macros if macro.parameters is not None}
    candidates = statements(prepared, own, known)
    prepared, lifted = lift(prepared, candidates, own)
    collector = Collector(path, language, Text(prepared), known, lines, table)
    collector.source = unlifted
    if language == "metal":
        collector.metal_kernels = frozenset(match.end() for match in _METAL_KERNEL.finditer(data))
    tree = _PARSERS[grammar].parse(prepared)
    walk(collector, tree.root_node, grammar)
    error = recover(collector, tree, grammar)
    settle(collector, candidates, lifted)
    read_lifted_code(collector, grammar, lifted)
    add_values(collector)
    add_hidden_uses(collector)
    add_suites(collector)
    add_handed_on(collector)
    add_macros(collector, lines, grammar)
    add_expansions(collector, grammar)
    for name, offset in lines.includes:
        collector.refer("include", keys.file(name), name, offset, -1)
    if error >= 0:
        line = collector.text.place(error)[0]
        problems.append(
            Problem(line, "syntax", "the grammar lost its way here; facts near it may be missing")
        )
    return FileFacts(
        path,
        language,
        role,
        tuple(with_bodies(collector.definitions, collector.text.with_data(data))),
        tuple(collector.references),
        tuple(problems),
    )


def _spaces(match: re.Match[bytes]) -> bytes:
    return b" " * len(match.group())
