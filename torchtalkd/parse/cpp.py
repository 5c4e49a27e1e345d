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
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tree_sitter import Parser, Range, Tree

from torchtalkd import keys
from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import FileFacts, Problem, Reference
from torchtalkd.parse.collector import Collector
from torchtalkd.parse.cpp_macros import add_expansions, add_macros
from torchtalkd.parse.cpp_skeleton import bodies, gaps, touched_by
from torchtalkd.parse.cpp_text import Directives, Macro, Text, blanked, decoded, directives, without
from torchtalkd.parse.cpp_uses import lift, settle, statements
from torchtalkd.parse.cpp_values import add_values
from torchtalkd.parse.cpp_walk import CPP, CUDA, walk
from torchtalkd.parse.spelling import Spelling, spelling

_LANGUAGES: Final = {"cpp": CPP, "cuda": CUDA}
_PARSERS: Final = {name: Parser(language) for name, language in _LANGUAGES.items()}
_CUDA_WORDS = re.compile(rb"__global__|__device__|<<<")
_HEADER_SUFFIXES = (".h", ".hpp", ".inl", ".ipp", ".tpp", ".hip")
_FOREIGN_WORDS: Final = {
    "metal": re.compile(
        rb"\b(?:kernel(?=\s+void\b)|constant|device|threadgroup|thread)(?=\s)|\[\[[^\[\]]*\]\]"
    ),
    "objcpp": re.compile(rb"@autoreleasepool\b"),
}
"""Words of these languages that the C++ grammar has no place for."""
_METAL_KERNEL = re.compile(rb"\bkernel\s+(?=void\b)")
_BODIES: Final = frozenset({"function", "kernel", "structured_impl", "structured_meta"})
_FAR = 1 << 62
_MAX_ERRORS = 200
_NEAR = 40
"""Bytes between an #if and an error that it is taken to have caused: the directive's own line."""
_MAX_BRANCHES = 4
"""Of one #if whose branches are each read alone; the fifth and later are read with the last."""


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
    grammar = (
        "cuda"
        if language == "cuda" or (path.endswith(_HEADER_SUFFIXES) and _CUDA_WORDS.search(data))
        else "cpp"
    )
    prepared = blanked(data, known.blank, known.blank_arguments)
    foreign = _FOREIGN_WORDS.get(language)
    if foreign is not None:
        prepared = foreign.sub(_spaces, prepared)

    prepared = without(prepared, lines.spans)
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
    errors = _errors(tree)
    if errors and lines.branches:
        _add_branches(collector, prepared, lines, known, table, grammar, errors)
    if errors:
        _add_skeleton(collector, prepared, lines, known, table, grammar, errors)
    settle(collector, candidates, lifted)
    add_values(collector)
    add_macros(collector, lines, grammar)
    add_expansions(collector, grammar)
    for name, offset in lines.includes:
        collector.refer("include", keys.file(name), name, offset, -1)
    if errors:
        line = collector.text.place(errors[0][0])[0]
        problems.append(
            Problem(line, "syntax", "the grammar lost its way here; facts near it may be missing")
        )
    return FileFacts(
        path, language, role, tuple(collector.definitions), tuple(collector.references), tuple(problems)
    )


def _add_branches(
    collector: Collector,
    data: bytes,
    lines: Directives,
    known: Spelling,
    table: dict[str, Macro],
    grammar: str,
    errors: list[tuple[int, int]],
) -> None:
    """Where an error lies in or at an #if with several branches, read its surroundings once for each
    number of branch, with the other branches blanked, and add what is new."""
    spans: dict[int, tuple[int, int]] = {}
    last: dict[int, int] = {}
    for start, end, group, number in lines.branches:
        spans[group] = (min(start, spans.get(group, (start, 0))[0]), max(end, spans.get(group, (0, end))[1]))
        last[group] = max(number, last.get(group, 0))
    touched = {
        group: span
        for group, span in spans.items()
        if any(begin <= span[1] + _NEAR and span[0] - _NEAR <= stop for begin, stop in errors)
    }
    if not touched:
        return
    windows = _windows(data, touched.values())
    scopes = [(start, replace(collector.scope_at(start), end=_FAR), None, "") for start, _ in windows]
    parser = Parser(
        _LANGUAGES[grammar], included_ranges=[_range(collector.text, *window) for window in windows]
    )
    for number in range(min(max(last[group] for group in touched) + 1, _MAX_BRANCHES)):
        text = data
        for start, end, group, own in lines.branches:  # Nested ones overlap: one at a time.
            if group in touched and own != min(number, last[group]):
                text = without(text, [(start, end)])
        variant = Collector(collector.path, collector.language, Text(text), known, lines, table)
        walk(variant, parser.parse(text).root_node, grammar, scopes)
        _merge(collector, variant)


def _add_skeleton(
    collector: Collector,
    data: bytes,
    lines: Directives,
    known: Spelling,
    table: dict[str, Macro],
    grammar: str,
    errors: list[tuple[int, int]],
) -> None:
    """Read the file again without the bodies that have errors; add the functions that were lost, and
    give them the references that were found within their lines."""
    errors = _uncontained(collector, data, errors)
    if not errors:
        return
    found = bodies(data)
    if found is None:
        others = [(start, end) for start, end, _, number in lines.branches if number]
        for branch in others:
            data = without(data, [branch])
        found = bodies(data) if others else None
    if found is None:
        return
    unreadable = touched_by(found.bodies, errors)
    if not unreadable:
        return
    windows, scopes = [(0, len(data))], []
    namespaces = {
        start: scope.end
        for start, scope in collector.scopes
        if not scope.inside_class and scope.library is None
    }
    if found.namespaces == {end - 1 for end in namespaces.values()}:
        # Every namespace was read, and to its end: what was lost is near the errors.
        heads = [data.find(b"{", start) + 1 for start in namespaces]
        windows = [
            (max([begin, *(head for head in heads if head <= end)]), end)
            for begin, end in _windows(data, errors)
        ]
        scopes = [(start, replace(collector.scope_at(start), end=_FAR), None, "") for start, _ in windows]
    ranges = [
        _range(collector.text, start, end)
        for first, last in windows
        for start, end in gaps(unreadable, first, last)
    ]
    parser = Parser(_LANGUAGES[grammar], included_ranges=ranges)
    variant = Collector(collector.path, collector.language, Text(data), known, lines, table)
    walk(variant, parser.parse(data).root_node, grammar, scopes)
    before = len(collector.definitions)
    _merge(collector, variant, repair=True)
    added = [
        (definition.line, definition.end_line, ordinal)
        for ordinal, definition in enumerate(collector.definitions[before:], before)
        if definition.kind in ("function", "kernel", "structured_impl", "structured_meta")
        and not definition.declares
    ]
    if added:
        collector.references[:] = [_adopted(reference, added) for reference in collector.references]


def _uncontained(collector: Collector, data: bytes, errors: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The errors that may have cost a function or a namespace: not those inside a function whose
    closing brace stands below its head, at the left margin."""
    starts = collector.text.line_starts
    contained = [
        (definition.line, definition.end_line)
        for definition in collector.definitions
        if (definition.kind in _BODIES or definition.kind == "macro_use")
        and not definition.declares
        and data.startswith(b"}", starts[definition.end_line - 1])
        and not data.startswith((b" ", b"\t"), starts[definition.line - 1])
        and data.find(b"\n}", starts[definition.line], starts[definition.end_line]) + 1
        == starts[definition.end_line - 1]
    ]
    left = []
    for start, end in errors:
        first, last = collector.text.place(start)[0], collector.text.place(end)[0]
        if not any(begin <= first and last <= stop for begin, stop in contained):
            left.append((start, end))
    return left


def _adopted(reference: Reference, added: list[tuple[int, int, int]]) -> Reference:
    if reference.owner != -1:
        return reference
    owner = next((ordinal for first, last, ordinal in added if first <= reference.line <= last), -1)
    return reference._replace(owner=owner) if owner >= 0 else reference


def _range(text: Text, start: int, end: int) -> Range:
    first, last = text.place(start), text.place(end)
    return Range((first[0] - 1, first[1]), (last[0] - 1, last[1]), start, end)


def _spaces(match: re.Match[bytes]) -> bytes:
    return b" " * len(match.group())


def _windows(data: bytes, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans widened to the closing braces at the left margin before and behind them, joined
    where they overlap."""
    windows: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        before = data.rfind(b"\n}", 0, start)
        behind = data.find(b"\n}", end)
        begin = data.find(b"\n", before + 1) if before >= 0 else 0
        stop = behind + 2 if behind >= 0 else len(data)
        begin = min(max(begin, 0), start)
        if windows and begin < windows[-1][1]:
            windows[-1] = (windows[-1][0], max(stop, windows[-1][1]))
        else:
            windows.append((begin, stop))
    return windows


def _merge(into: Collector, other: Collector, repair: bool = False) -> None:
    """Add the definitions of another reading of the same file that are new, with their references.

    The same key and line is the same definition; with `repair` the other reading knows it better.
    Uses of macros are taken over alike.
    """
    known = {(d.key, d.line, d.kind): number for number, d in enumerate(into.definitions)}
    ordinals = {-1: -1}
    new: set[int] = set()
    for ordinal, definition in enumerate(other.definitions):
        identity = (definition.key, definition.line, definition.kind)
        number = known.get(identity)
        if number is None:
            number = known[identity] = len(into.definitions)
            into.definitions.append(definition._replace(scope=ordinals.get(definition.scope, -1)))
            new.add(ordinal)
        elif repair:
            # What lost its way may have lost a namespace or gained one, and swallowed what follows.
            into.definitions[number] = definition._replace(scope=ordinals.get(definition.scope, -1))
        ordinals[ordinal] = number
    into.references.extend(
        reference._replace(owner=ordinals[reference.owner])
        for reference in other.references
        if reference.owner in new
    )
    places = {use.offset for use in into.uses}
    into.uses.extend(
        use._replace(ordinal=ordinals.get(use.ordinal, -1))
        for use in other.uses
        if use.offset not in places and use.body_owner == 0
    )


def _errors(tree: Tree) -> list[tuple[int, int]]:
    """The stretches that the grammar could not read, by offset. A missing semicolon, as behind many a
    macro, is none."""
    found: list[tuple[int, int]] = []
    if not tree.root_node.has_error:
        return found
    pending = [tree.root_node]
    while pending and len(found) < _MAX_ERRORS:
        node = pending.pop()
        if node.is_error:
            found.append((node.start_byte, node.end_byte))
        elif node.has_error:
            pending.extend(reversed(node.children))
    return found
