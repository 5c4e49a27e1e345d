"""What the grammar lost, found again: code in the branches of an #if, functions behind a bad body.

Two readings more, of as little text as will do. Both only add to what the first one found, but
that the second knows better where a function ends and which namespace it is in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tree_sitter import Tree

from torchtalkd.parse.collector import Collector
from torchtalkd.parse.cpp_second_reading import FUNCTIONS, Again, Stretch, read_again
from torchtalkd.parse.cpp_skeleton import Body, Outermost, bodies, gaps, touched_by
from torchtalkd.parse.cpp_text import without
from torchtalkd.parse.cpp_walk import Chunk

_FAR: Final = 1 << 62
_MAX_ERRORS: Final = 200
_NEAR: Final = 40
"""Bytes between an #if and an error that it is taken to have caused: the directive's own line."""
_MAX_BRANCHES: Final = 4
"""Of one #if whose branches are each read alone; the fifth and later are read with the last."""


def recover(collector: Collector, tree: Tree, grammar: str) -> int:
    """Add what errors in the tree have hidden; the offset of the first error, -1 if there is none."""
    errors = _errors(tree)
    if not errors:
        return -1
    if collector.directives.branches:
        _add_branches(collector, grammar, errors)
    _add_skeleton(collector, grammar, errors)
    return errors[0][0]


def _add_branches(collector: Collector, grammar: str, errors: list[Stretch]) -> None:
    """Where an error lies in or at an #if with several branches, read its surroundings once for each
    number of branch, with the other branches blanked, and add what is new."""
    spans: dict[int, tuple[int, int]] = {}
    last: dict[int, int] = {}
    for start, end, group, number in collector.directives.branches:
        spans[group] = (min(start, spans.get(group, (start, 0))[0]), max(end, spans.get(group, (0, end))[1]))
        last[group] = max(number, last.get(group, 0))
    # In a function that binds, an error costs bindings.
    binds = collector.mentions_bindings or b"Library" in collector.data
    contained = [] if binds else _contained(collector)
    touched = {
        group: span
        for group, span in spans.items()
        if any(begin <= span[1] + _NEAR and span[0] - _NEAR <= stop for begin, stop in errors)
        and not _within(collector, contained, *span)
    }
    if not touched:
        return
    windows = _windows(collector, touched.values())
    # Without their directives the chosen branches are plain text to the grammar.
    marks = [(start, end) for start, end, group in collector.directives.marks if group in touched]
    whole = _well_read(collector, [*errors, *marks])
    again = Again(_without(windows, whole), [_piece(collector, start) for start, _ in windows], whole)
    for number in range(min(max(last[group] for group in touched) + 1, _MAX_BRANCHES)):
        left_out = marks + [
            (start, end)
            for start, end, group, own in collector.directives.branches
            if group in touched and own != min(number, last[group])
        ]
        read_again(collector, grammar, without(collector.data, _joined(left_out)), again)


def _add_skeleton(collector: Collector, grammar: str, errors: list[Stretch]) -> None:
    """Read the file again without the bodies that have errors; add the functions that were lost, and
    give them the references that were found within their lines.

    What was read well needs no second reading either: only its head does, which may stand in a namespace
    that the first reading has lost.
    """
    contained = _contained(collector)
    uncontained = [error for error in errors if not _within(collector, contained, *error)]
    if not uncontained:
        return
    well_read = set(_well_read(collector, errors))
    branches = collector.directives.branches
    marks = [(start, end) for start, end, _ in collector.directives.marks]
    # Where an #if cuts through braces, the first reading may end a body at a wrong one.
    sure = _well_read(collector, [*errors, *marks])
    seen = {b""}  # Nothing to be read needs no reading.
    # The branches of an #if need not add up to what the grammar can read; each choice of them may.
    for chosen in range(min(max((number for *_, number in branches), default=0) + 1, _MAX_BRANCHES)):
        data = collector.data
        if branches:
            last = {group: number for _, _, group, number in branches}
            left_out = marks + [
                (start, end) for start, end, group, number in branches if number != min(chosen, last[group])
            ]
            data = without(data, _joined(left_out))
        found = bodies(data, sure)
        if found is None:
            continue
        again = _unread(collector, found, uncontained, well_read)
        text = b"\0".join(data[start:end] for start, end in again.stretches)
        if text not in seen:
            seen.add(text)
            read_again(collector, grammar, data, again, repair=True)


def _unread(collector: Collector, found: Outermost, errors: list[Stretch], well_read: set[Body]) -> Again:
    """What is to be read again: near the errors, or all of the file, without the bodies that the errors
    touch and those that were read well."""
    unreadable = set(touched_by(found.bodies, errors))
    left_out = [body for body in found.bodies if body in well_read or body in unreadable]
    namespaces = _namespaces(collector)
    across = any(start < edge <= end for start, end in errors for edge in namespaces.values())
    if across or found.namespaces != {end - 1 for end in namespaces.values()}:
        return Again(_without([(0, len(collector.data))], left_out), [], left_out)
    if not unreadable:
        return Again([], [], [])
    # Every namespace was read, and to its end: what was lost is near the errors.
    windows = _windows(collector, errors)
    return Again(_without(windows, left_out), [_piece(collector, start) for start, _ in windows], left_out)


def _without(windows: list[Stretch], left_out: list[Body]) -> list[Stretch]:
    """The windows without what is inside of these bodies."""
    return [stretch for window in windows for stretch in gaps(left_out, *window)]


def _well_read(collector: Collector, errors: list[Stretch]) -> list[Body]:
    """The bodies that end with their brace, have no errors and define nothing, in order."""
    scopes = {definition.scope for definition in collector.definitions}
    found = [
        Body(start, end - 1)
        for start, (end, ordinal) in sorted(collector.bodies.items())
        if ordinal not in scopes and collector.data.startswith(b"}", end - 1)
    ]
    with_errors = set(touched_by(found, errors))
    return [body for body in found if body not in with_errors]


def _contained(collector: Collector) -> list[tuple[int, int]]:
    """First and last line of each function whose closing brace stands below its head, at the left margin:
    an error inside costs no other function, and no namespace."""
    data, starts = collector.data, collector.text.line_starts
    return [
        (definition.line, definition.end_line)
        for definition in collector.definitions
        if (definition.kind in FUNCTIONS or definition.kind in ("macro_use", "test"))
        and not definition.declares
        and data.startswith(b"}", starts[definition.end_line - 1])
        and not data.startswith((b" ", b"\t"), starts[definition.line - 1])
        and data.find(b"\n}", starts[definition.line], starts[definition.end_line]) + 1
        == starts[definition.end_line - 1]
    ]


def _within(collector: Collector, contained: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a stretch of text lies in the lines of one of these functions."""
    first, last = collector.text.place(start)[0], collector.text.place(end)[0]
    return any(begin <= first and last <= stop for begin, stop in contained)


def _joined(spans: list[Stretch]) -> list[Stretch]:
    """Stretches in order and apart, where those given may lie within each other."""
    found: list[Stretch] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _namespaces(collector: Collector) -> dict[int, int]:
    """Start and end of each namespace that was read."""
    return {
        start: scope.end
        for start, scope in collector.scopes
        if not scope.inside_class and scope.library is None
    }


def _windows(collector: Collector, spans: Iterable[Stretch]) -> list[Stretch]:
    """The spans widened to the closing braces at the left margin before and behind them, but not over
    the head or the end of a namespace; joined where they overlap."""
    data = collector.data
    namespaces = _namespaces(collector)
    heads = [data.find(b"{", start) + 1 for start in namespaces]
    ends = list(namespaces.values())
    windows: list[Stretch] = []
    for start, end in sorted(spans):
        before = data.rfind(b"\n}", 0, start)
        behind = data.find(b"\n}", end)
        begin = data.find(b"\n", before + 1) if before >= 0 else 0
        stop = behind + 2 if behind >= 0 else len(data)
        begin = min(max([begin, 0, *(edge for edge in (*heads, *ends) if edge <= start)]), start)
        stop = min([stop, *(edge - 1 for edge in ends if edge > end)])
        if windows and begin < windows[-1][1]:
            windows[-1] = (windows[-1][0], max(stop, windows[-1][1]))
        else:
            windows.append((begin, stop))
    return windows


def _errors(tree: Tree) -> list[Stretch]:
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


def _piece(collector: Collector, offset: int) -> Chunk:
    """A piece of the file that is read on its own: it stands in the scope around its beginning."""
    return offset, replace(collector.scope_at(offset), end=_FAR), None, ""
