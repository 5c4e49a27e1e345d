"""How far is the computed dispatcher from a running one? Registrations and table entries, misses by class.

`python -m tests.bench.dispatcher PATH` with a PyTorch 2.6.0 tree. The other side is `tests/truth`.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import dispatcher
from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.queries.dispatch import as_lines, dispatch
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

Place = tuple[str, str]
"""Dispatch key and where."""


@dataclass
class Compared:
    """The counts, and what is not equal by class."""

    registrations: Counter[str] = field(default_factory=Counter)
    """Of the reference file, by class: generated, by hand, python."""
    found: Counter[str] = field(default_factory=Counter)
    """Of these, found with equal operator, key and place."""
    reported: int = 0
    """Those that we report of its operators and keys."""
    entries: int = 0
    """Table entries of either side."""
    equal: int = 0
    flags: int = 0
    """Registrations found whose flags differ."""
    schemas: int = 0
    """Operators with the schema as it is printed."""
    missed: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    denied: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    unequal: dict[str, list[str]] = field(default_factory=dict)

    @property
    def denials(self) -> int:
        """How many we report that the reference denies."""
        return sum(map(len, self.denied.values()))


def compared(view: View) -> Compared:
    """The whole reference file against the default build."""
    counts = Compared()
    ours = {line["op"]: line for line in as_lines(dispatch(view, kernels=False))}
    known = {key for operator in dispatcher.reported() for key, *_ in operator["registrations"]}
    for operator in dispatcher.reported():
        name = operator["op"]
        mine = ours.get(name, {"schema": None, "registrations": [], "table": {}})
        theirs = {(key, where): set(flags) for key, where, *flags in operator["registrations"]}
        said = {(key, where): set(flags) for key, where, *flags in mine["registrations"] if key in known}
        counts.reported += len(said)
        counts.schemas += mine["schema"] == operator["schema"]
        for place, flags in theirs.items():
            counts.registrations[class_of(place)] += 1
            if place in said:
                counts.found[class_of(place)] += 1
                counts.flags += said[place] != flags
            else:
                counts.missed.setdefault((class_of(place), place[0]), []).append(name)
        for place in said.keys() - theirs.keys():
            counts.denied.setdefault((class_of(place), place[0]), []).append(name)
        for key in mine["table"].keys() | operator["table"].keys():
            counts.entries += 1
            if mine["table"].get(key) == operator["table"].get(key):
                counts.equal += 1
            else:
                difference = f"{operator['table'].get(key)} here {mine['table'].get(key)}"
                counts.unequal.setdefault(difference, []).append(f"{name} {key}")
    return counts


def class_of(place: Place) -> str:
    """Who makes a registration."""
    where = place[1]
    return "python" if where == "python" else "generated" if where.startswith("generated/") else "by hand"


def seconds(view: View) -> tuple[float, float]:
    """How long all operators take, and one of them at the 95th percentile, with its kernels."""
    begun = time.perf_counter()
    every = dispatch(view, kernels=False)
    whole = time.perf_counter() - begun
    taken = []
    for one in every.operators[::9]:
        begun = time.perf_counter()
        dispatch(view, [one.operator])
        taken.append(time.perf_counter() - begun)
    return whole, statistics.quantiles(taken, n=20)[-1]


def main(root: Path) -> None:
    """Prints the comparison."""
    conventions = load("pytorch", tree=root)
    with TemporaryDirectory() as folder:
        build(root, Path(folder), conventions)
        with open_view(Path(folder)) as view:
            whole, single = seconds(view)
            counts = compared(view)
    for name, total in counts.registrations.items():
        print(f"{name}: {counts.found[name]} of {total} registrations found")
    print(f"{counts.denials} of {counts.reported} reported ones denied; {counts.flags} with other flags")
    print(f"{counts.equal} of {counts.entries} table entries equal; {counts.schemas} schemas equal")
    print(f"all operators {whole:.2f} s, one at p95 {single * 1000:.1f} ms")
    for title, classes in (("missed", counts.missed), ("denied", counts.denied), ("entry", counts.unequal)):
        for kind, names in classes.items():
            print(f"{title} {kind}: {len(names)}, {', '.join(names[:5])}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
