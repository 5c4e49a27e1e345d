"""How right the edges by name are, measured on those that a compiler read: precision and recall.

    python -m tests.bench.by_name INDEX [--bodies 5000] [--misses 20]

INDEX is the folder of an index with exact readings. Of every body that was read exactly each reference by
name is followed as if it had not been, and compared with what the compiler says at the same name:

- precision: of the edges by name, how many are what the compiler says (of those that are sure, and of all);
- recall: of the compiler's edges to functions of the tree, how many are found by name at all, and surely.

Names at which the compiler says nothing (dependent calls, inactive branches) are counted, and not judged.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from torchtalkd.facts import FiledDefinition
from torchtalkd.queries.callees import CALLS, ends_by_name
from torchtalkd.queries.exact_edges import exact_callees, exact_ends
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

_BODIES = ("function", "kernel", "structured_impl", "structured_meta")
_JUDGED = ("call", "construct", "method", "address", "launch", "dispatcher")
"""Hops that a compiler sees as they are."""


class Compared(NamedTuple):
    """One edge by name, or one that is missing."""

    what: str
    """right, wrong, unjudged, or missed."""
    sure: bool
    hop: str
    place: str
    name: str


def bodies(view: View) -> Iterator[FiledDefinition]:
    """The functions that were read exactly."""
    for file in view.files():
        if file.language in ("cpp", "cuda", "objcpp"):
            for definition in view.definitions_in(file):
                fact = definition.fact
                if fact.kind in _BODIES and not fact.declares and view.exact_in(definition) is not None:
                    yield definition


def compared(view: View, body: FiledDefinition) -> Iterator[Compared]:
    """The edges by name out of a body against the exact ones, and the exact ones that no name leads to."""
    by_name: dict[tuple[int, int], bool] = {}
    for reference in view.inside(body):
        if reference.fact.kind not in CALLS:
            continue
        exact = exact_ends(view, reference, body)
        meant = None if exact is None else {edge.other.id for edge in exact if edge.hop != "virtual"}
        for edge in ends_by_name(view, reference, body):
            sure = edge.evidence != "candidate"
            known = by_name.get((edge.other.id, edge.line), False)
            by_name[edge.other.id, edge.line] = known or sure
            if edge.hop in _JUDGED:
                what = "unjudged" if meant is None else "right" if edge.other.id in meant else "wrong"
                yield Compared(what, sure, edge.hop, f"{edge.file}:{edge.line}", edge.other.fact.name)
    for edge in exact_callees(view, body):
        if edge.evidence == "exact":
            found = by_name.get((edge.other.id, edge.line))
            what = "missed" if found is None else "found"
            yield Compared(what, bool(found), edge.hop, f"{edge.file}:{edge.line}", edge.other.fact.name)


def main() -> None:
    """Compares a sample, prints the shares and some of what is wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("index", type=Path)
    parser.add_argument("--bodies", type=int, default=5_000)
    parser.add_argument("--misses", type=int, default=20)
    arguments = parser.parse_args()
    view = open_view(arguments.index)
    print("exact:", view.exact_share())
    chosen = list(bodies(view))
    random.Random(1).shuffle(chosen)
    found = [one for body in chosen[: arguments.bodies] for one in compared(view, body)]
    counted = Counter((one.what, one.sure) for one in found)
    for what, sures in (("sure", (True,)), ("all", (True, False))):
        right = sum(counted["right", sure] for sure in sures)
        judged = right + sum(counted["wrong", sure] for sure in sures)
        print(f"precision of {what} edges by name: {_share(right, judged)}")
    exact = sum(counted[what, sure] for what in ("found", "missed") for sure in (True, False))
    print(f"recall, found at all: {_share(counted['found', True] + counted['found', False], exact)}")
    print(f"recall, found surely: {_share(counted['found', True], exact)}")
    print(f"not judged: {counted['unjudged', True] + counted['unjudged', False]} edges by name")
    for what in ("wrong", "missed"):
        of_kind = [one for one in found if one.what == what]
        print(f"{what}: {len(of_kind)} {dict(Counter(one.hop for one in of_kind))}")
        for one in random.Random(2).sample(of_kind, min(arguments.misses, len(of_kind))):
            print(f"  {one.place} {one.hop} {one.name}{'' if one.sure else ' (candidate)'}")


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}, {100 * part / max(whole, 1):.1f} %"


if __name__ == "__main__":
    main()
