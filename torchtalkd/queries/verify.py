"""verify: does an index hold what its harness promises of a tree?

Three comparisons: minimums (how many facts of a kind), anchors (this name leads to this file), and
the places that look like registrations of which the index says nothing. The first two can fall
short; the third is a list to look at. The tests are in `tests/test_verify.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from torchtalkd.facts import BINDING_KINDS
from torchtalkd.harness.values import Anchor, Site
from torchtalkd.queries.answers import Answer, Item, Standing, standing
from torchtalkd.queries.trace import trace
from torchtalkd.store.view import View

_MATCHES: Final = (BINDING_KINDS - {"macro_use", "alias"}) | {"library", "stub"}
"""Kinds that say of a place that something is registered there. A macro's use says it only if the
macro makes something."""
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Minimum:
    """One expected minimum."""

    kind: str
    expected: int
    found: int

    @property
    def holds(self) -> bool:
        """Whether there are enough."""
        return self.found >= self.expected


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """One anchor, and where its name leads."""

    anchor: Anchor
    line: int
    """The line in the anchor's file that the name leads to; 0: it does not lead there."""
    why: str
    """What is wrong; '' where the anchor holds."""

    @property
    def holds(self) -> bool:
        """Whether the name leads there."""
        return not self.why


@dataclass(frozen=True, slots=True)
class Verification:
    """What was compared."""

    standing: Standing
    counts: Mapping[str, int]
    """How many facts of each kind there are, and how many files."""
    minimums: tuple[Minimum, ...]
    anchors: tuple[AnchorCheck, ...]
    unmatched: tuple[tuple[Site, ...], ...]
    """By form and name, the most frequent first."""

    @property
    def short(self) -> int:
        """How many minimums and anchors do not hold."""
        return sum(not one.holds for one in self.minimums) + sum(not one.holds for one in self.anchors)


def verify(
    view: View,
    minimums: Mapping[str, int],
    anchors: Iterable[Anchor],
    sites: Iterable[Site],
    line_at: Callable[[str, int], str],
) -> Verification:
    """Compares an index with what is expected of it. Read-only; one trace for each anchor.

    `line_at` gives the text of a line of the tree, '' where there is none.
    """
    counts = view.counts()
    return Verification(
        standing(view),
        counts,
        tuple(Minimum(kind, least, counts.get(kind, 0)) for kind, least in sorted(minimums.items())),
        tuple(_checked(view, anchor, line_at) for anchor in anchors),
        unmatched(view, sites),
    )


def unmatched(view: View, sites: Iterable[Site]) -> tuple[tuple[Site, ...], ...]:
    """The sites of which no binding fact comes, by form and name, the most frequent first. Read-only."""
    makes = {macro.fact.name for macro in view.making_macros()}
    groups: dict[tuple[str, str], list[Site]] = {}
    for site in sites:
        if site.name not in makes and not _is_matched(view, site):
            groups.setdefault((site.form, site.name), []).append(site)
    ordered = sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return tuple(tuple(group) for _, group in ordered)


def _is_matched(view: View, site: Site) -> bool:
    file = view.file(site.file)
    if file is None:
        return False
    kinds = _MATCHES | {"module"} if site.form == "library" else _MATCHES
    return any(
        site.line <= definition.fact.line <= site.end_line and definition.fact.kind in kinds
        for definition in view.definitions_in(file)
    )


def _checked(view: View, anchor: Anchor, line_at: Callable[[str, int], str]) -> AnchorCheck:
    answer = trace(view, anchor.name)
    items = list(answer.items)
    there = [item for item in items if item.file == anchor.file]
    if not there and answer.found:
        # A composite's kernels are those of the operators that it ends in.
        items += trace(view, anchor.name, "dispatch").items
        there = [item for item in items if item.file == anchor.file]
    wanted = [item for item in there if _fits(item, anchor)]
    said = [item for item in wanted if anchor.text in line_at(item.file, item.line)]
    if said:
        return AnchorCheck(anchor, said[0].line, "")
    return AnchorCheck(anchor, 0, _why(view, anchor, answer, items, there, wanted))


def _fits(item: Item, anchor: Anchor) -> bool:
    return anchor.role in ("", item.role) and anchor.dispatch_key in ("", item.dispatch_key)


def _why(
    view: View, anchor: Anchor, answer: Answer, items: list[Item], there: list[Item], wanted: list[Item]
) -> str:
    if wanted:
        return f"leads to line {wanted[0].line} there, which does not say {anchor.text!r}"
    if there:
        seen = {f"{item.role} {item.dispatch_key}".strip() for item in there}
        return f"leads there only as {', '.join(sorted(seen))}"
    if not answer.found:
        nearest = f"; nearest: {', '.join(answer.nearest[:_SHOWN])}" if answer.nearest else ""
        return f"nothing has this name{nearest}"
    if view.file(anchor.file) is None:
        return "the index has no such file"
    places = [f"{item.file}:{item.line}" for item in items[:_SHOWN]]
    return f"leads to {', '.join(places) or 'no place'}"
