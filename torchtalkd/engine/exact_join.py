"""Which definitions are the bodies that a compiler read? By their place in the same text.

Pure: a unit's reading and the definitions of the very text that it was read from → rows. A structured
kernel's `impl`, a library block's function and a registration's variable have names that only a compiler
sees: their line says whose they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from torchtalkd import keys
from torchtalkd.facts import Definition
from torchtalkd.readings import ExactBody, ExactSite, ExactTarget, ExactUnit
from torchtalkd.store.exact_rows import OUTSIDE, Body


def joined(unit: ExactUnit, definitions: Sequence[Definition]) -> list[tuple[Body, tuple[ExactSite, ...]]]:
    """The bodies that belong to a definition, each with what it refers to, in the order of the text."""
    with_code = [d for d in definitions if d.body]
    by_line: dict[int, list[Definition]] = {}
    same: dict[tuple[str, int], list[Definition]] = {}
    for definition in with_code:
        by_line.setdefault(definition.line, []).append(definition)
        same.setdefault((definition.key, definition.body), []).append(definition)
    found = []
    for body in unit.bodies:
        meant = _meant(body, by_line.get(body.line, ()), with_code)
        if meant is None:
            continue
        alike = same[meant.key, meant.body]
        nth = next(n for n, one in enumerate(alike) if one is meant)
        which = (meant.key, meant.name, meant.signature, meant.body, nth, len(alike), body.usr, meant.line)
        found.append((Body(0, *which), tuple(site for site in body.sites if site.line <= meant.end_line)))
    return found


def _meant(
    body: ExactBody, on_line: Sequence[Definition], with_code: Iterable[Definition]
) -> Definition | None:
    key = keys.cpp(body.name)
    named = [d for d in on_line if d.key == key]
    if named:
        # Of several on one line the one that is called so in full, or stands where it does.
        named.sort(key=lambda d: (d.name != body.name, d.column != body.column))
        return named[0]
    if on_line:
        return min(on_line, key=lambda d: (d.end_line - d.line, abs(d.column - body.column)))
    around = [d for d in with_code if d.line <= body.line <= d.end_line]
    return min(around, key=lambda d: d.end_line - d.line, default=None)


def filed(
    targets: Iterable[ExactTarget], number_of: Callable[[str], int | None]
) -> list[tuple[ExactTarget, str, int]]:
    """The targets, each with its key and the number of its file."""
    found = []
    for target in targets:
        number = number_of(target.path) if target.path else None
        found.append((target, keys.cpp(target.name), OUTSIDE if number is None else number))
    return found
