"""A text that is being written → its overlay; after a keystroke only what it touched is read again.

The first reading of a text, and that of a short one at any time, is whole. Of a long one the lines
that differ from the last whole reading are read, with the definitions or entries around them, in
a context made of what the rest of the file gives them: its namespaces, imports and macros. What such
a reading cannot know (that a macro's new body makes other functions further down) comes with the
next whole one, which whoever holds the draft asks for when the writer pauses. Pure. The tests are
in `tests/test_draft.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import Definition, FileFacts, Reference
from torchtalkd.overlay import Overlay, Patch
from torchtalkd.parse import parse

QUICK_LINES: Final = 1_200
"""A text with no more lines is read whole each time: some 10 ms."""
MOST_LINES: Final = 1_000
"""Changed lines beyond which a whole reading costs little more."""

LARGE_CLASS: Final = 300
"""Lines of a class beyond which its members are read one by one."""

_C_LIKE: Final = ("cpp", "cuda", "objcpp", "metal")
_YAML: Final = ("native_functions", "derivatives", "tags")
_DEFINE = re.compile(rb"^[ \t]*#[ \t]*define\b(?:[^\n\\]|\\\r?\n|\\.)*", re.MULTILINE)
_IMPORT = re.compile(
    rb"^(?:import[ \t][^\n]*|from[ \t]+[\w.]+[ \t]+import[ \t]*(?:\([^)]*\)|[^\n(]*))", re.MULTILINE
)
_NAMED_AFTER: Final = ("function", "class", "stub", "structured_impl", "structured_meta", "kernel")


@dataclass(frozen=True, eq=False, slots=True)
class Draft:
    """One state of a text."""

    data: bytes
    overlay: Overlay
    read: bytes
    """The text that `overlay.whole` is a reading of."""

    @property
    def is_whole(self) -> bool:
        """Whether all of the text was read as it is now."""
        return self.overlay.patch is None


def draft(
    path: str, data: bytes, conventions: Conventions, former: Draft | None = None, *, whole: bool = False
) -> Draft:
    """The draft of a text; `former` is that of an earlier state, `whole` asks for a whole reading.

    Never raises for any bytes.
    """
    if former is not None and former.data == data and (former.is_whole or not whole):
        return former
    if former is not None and not whole and former.read == data:
        return Draft(data, Overlay(former.overlay.whole, None, former.overlay.kept), data)
    if former is not None and not whole and data.count(b"\n") > QUICK_LINES:
        patch = _patch(path, data, conventions, former)
        if patch is not None:
            return Draft(data, Overlay(former.overlay.whole, patch, former.overlay.kept), former.read)
    return Draft(data, Overlay(parse(path, data, conventions)), data)


class _Region(NamedTuple):
    """Lines, counted from 0: `first` up to `old_last` of the text that was read, up to `new_last` of
    the new one."""

    first: int
    old_last: int
    new_last: int


def _patch(path: str, data: bytes, conventions: Conventions, former: Draft) -> Patch | None:
    facts = former.overlay.whole
    changed = _changed(former.read, data)
    if facts.language in _YAML:
        region = _entries(former.read, data, changed)
    elif facts.language in _C_LIKE or facts.language == "python":
        region = _definitions(former.read, data, changed, facts)
    else:
        return None
    if max(region.old_last, region.new_last) - region.first > MOST_LINES:
        return None
    before, behind = _context(data, facts, region)
    lines = data.split(b"\n")[region.first : region.new_last]
    text = b"\n".join([*before, *lines, *behind])
    read = parse(path, text, conventions)
    shift = region.first - len(before)
    kept = _between(read, len(before) + 1, len(before) + len(lines), shift)
    return Patch(region.first + 1, region.old_last + 1, region.new_last - region.old_last, kept)


def _changed(old: bytes, new: bytes) -> tuple[int, int]:
    """How many bytes two texts have in common at the beginning, and behind that at the end."""
    most = min(len(old), len(new))
    same = _common(most, lambda n, m: old[n:m] == new[n:m])
    ends = len(old), len(new)
    return same, _common(
        most - same, lambda n, m: old[ends[0] - m : ends[0] - n] == new[ends[1] - m : ends[1] - n]
    )


def _common(most: int, equal: Callable[[int, int], bool]) -> int:
    """How far two texts agree, at most `most`; `equal` compares a piece of them."""
    low = 0
    while low < most and equal(low, min(low + _PIECE, most)):
        low = min(low + _PIECE, most)
    high = min(low + _PIECE, most)
    while low < high:
        middle = (low + high + 1) // 2
        if equal(low, middle):
            low = middle
        else:
            high = middle - 1
    return low


_PIECE: Final = 1 << 14


def _entries(old: bytes, new: bytes, changed: tuple[int, int]) -> _Region:
    """The entries of a yaml list that a change touches."""
    same, rest = changed
    start = new.rfind(b"\n- ", 0, same) + 1
    end = new.find(b"\n- ", len(new) - rest) + 1 or len(new)
    first = new.count(b"\n", 0, start)
    behind = new.count(b"\n", end)
    last = new.count(b"\n") + (end == len(new)) - behind
    return _Region(first, last + old.count(b"\n") - new.count(b"\n"), last)


def _definitions(old: bytes, new: bytes, changed: tuple[int, int], facts: FileFacts) -> _Region:
    """The outermost definitions that a change touches, with what belongs to their heads. A large
    class counts as its members."""
    same, rest = changed
    first = old.count(b"\n", 0, same)
    last = old.count(b"\n", 0, len(old) - rest) + 1
    opened = {*_top(facts), *_large_classes(facts)}
    spans = [
        (d.line - 1, d.end_line)
        for ordinal, d in enumerate(facts.definitions)
        if d.scope in opened and ordinal not in opened and d.kind not in ("module", "library")
    ]
    moved = True
    lines = old.split(b"\n")
    while moved:
        moved = False
        for start, end in spans:
            if start < last and end > first and (start < first or end > last):
                first, last, moved = min(first, start), max(last, end), True
        while first > 0 and not _ends(lines[first - 1]):
            first, moved = first - 1, True
        if last - first > MOST_LINES:
            break
    while last < len(lines) and not lines[last].strip():
        # Where a definition ends is seen by what comes behind it.
        last += 1
    return _Region(first, last, last + new.count(b"\n") - old.count(b"\n"))


def _top(facts: FileFacts) -> set[int]:
    """The scopes of what stands at the top level: none, or that of the module."""
    return {-1, *(ordinal for ordinal, d in enumerate(facts.definitions[:1]) if d.kind == "module")}


def _large_classes(facts: FileFacts) -> Iterator[int]:
    """Ordinals of the classes that are too long to be read for each keystroke in one of them."""
    for ordinal, d in enumerate(facts.definitions):
        if d.kind == "class" and d.end_line - d.line > LARGE_CLASS:
            yield ordinal


def _ends(line: bytes) -> bool:
    """Whether a definition's head cannot begin in a line: nothing goes on behind it."""
    text = line.partition(b"//")[0].strip()
    return not text or text.endswith((b"}", b";", b"{")) or text.startswith(b"#")


def _context(data: bytes, facts: FileFacts, region: _Region) -> tuple[list[bytes], list[bytes]]:
    """Lines to put before and behind a region, so that its names mean what they mean in the file."""
    if facts.language == "python":
        top = _top(facts)
        names = [
            b"def %s(): ..." % last if d.kind == "function" else b"class %s: ..." % last
            for d in facts.definitions
            if d.scope in top and d.kind in ("function", "class")
            if not region.first < d.line <= region.old_last
            for last in [d.name.rpartition(".")[2].encode()]
        ]
        before = [line for found in _IMPORT.findall(data) for line in found.split(b"\n")]
        # The line behind shows where the last definition ends.
        return [*before, *names], [b"None"]
    if facts.language not in _C_LIKE:
        return [], []
    before = [line for found in _DEFINE.findall(data) for line in found.split(b"\n")]
    inside = [
        facts.definitions[ordinal]
        for ordinal in _large_classes(facts)
        if facts.definitions[ordinal].line <= region.first < facts.definitions[ordinal].end_line
    ]
    around = inside[-1] if inside else _nearest(facts, region)
    if around is None:
        return before, []
    opened = [part for part in around.name.split("::")[:-1] if part.isidentifier()]
    heads = [b"namespace %s {" % name.encode() for name in opened]
    if around.local and around.kind in ("function", "class"):
        heads.append(b"namespace {")
    ends = b"}" * len(heads)
    if inside:
        heads.append(b"struct %s {" % keys.cpp_last(around.name).encode())
        ends = b"};" + ends
    return [*before, b" ".join(heads)], [ends]


def _nearest(facts: FileFacts, region: _Region) -> Definition | None:
    """The definition next to a region that says which namespaces are open there."""
    best: Definition | None = None
    for definition in facts.definitions:
        if definition.scope >= 0 or definition.kind not in _NAMED_AFTER:
            continue
        if (definition.detail or {}).get("method"):
            continue
        if best is None or _distance(definition, region) < _distance(best, region):
            best = definition
    return best


def _distance(definition: Definition, region: _Region) -> int:
    if definition.line > region.old_last:
        return definition.line - region.old_last
    return max(0, region.first + 1 - definition.line)


def _between(facts: FileFacts, first: int, last: int, shift: int) -> FileFacts:
    """The facts of some lines, `shift` lines further down."""
    places: dict[int, int] = {}
    kept: list[Definition] = []
    for ordinal, definition in enumerate(facts.definitions):
        if first <= definition.line <= last and definition.kind != "module":
            places[ordinal] = len(kept)
            end = min(definition.end_line, last)
            kept.append(definition._replace(line=definition.line + shift, end_line=end + shift))
    definitions = tuple(d._replace(scope=places.get(d.scope, -1)) for d in kept)
    references = tuple(
        Reference(r.key, r.name, r.kind, r.line + shift, r.column, places.get(r.owner, -1), r.arguments)
        for r in facts.references
        if first <= r.line <= last
    )
    problems = tuple(p._replace(line=p.line + shift) for p in facts.problems if first <= p.line <= last)
    return FileFacts(facts.path, facts.language, facts.role, definitions, references, problems)
