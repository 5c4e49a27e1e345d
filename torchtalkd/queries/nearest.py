"""nearest: names that exist and are spelled like one that does not.

Operators and Python bindings first, then every name of the tree. Suggestions only: no
answer is ever made of one.
"""

from __future__ import annotations

from typing import Final

from rapidfuzz import fuzz, process

from torchtalkd.store.view import View

MOST: Final = 5
LEAST_RATIO: Final = 70.0
"""Per cent of likeness (rapidfuzz's ratio) below which a name is not worth a suggestion."""


def nearest(view: View, text: str, limit: int = MOST) -> list[str]:
    """The likest names, best first; a name that differs in case alone comes before all."""
    last = text.replace("::", ".").rpartition(".")[2] or text
    if not last:
        return []
    found: dict[str, float] = {}
    for space, bonus in (("op", 3.0), ("py", 1.0), ("cpp", 0.0), ("macro", 0.0)):
        for name, score in _likest(_names(view, space), last, limit):
            better = score + bonus + (20.0 if name.casefold() == last.casefold() else 0.0)
            found[name] = max(found.get(name, 0.0), better)
    return sorted(found, key=lambda name: (-found[name], len(name), name))[:limit]


def _likest(names: dict[int, list[str]], wanted: str, limit: int) -> list[tuple[str, float]]:
    """Names of about the same length: one of another length cannot be like enough."""
    slack = max(2, len(wanted) * 3 // 10)
    found: list[tuple[str, float]] = []
    least = LEAST_RATIO
    for length in sorted(
        range(len(wanted) - slack, len(wanted) + slack + 1), key=lambda n: abs(n - len(wanted))
    ):
        choices = names.get(length)
        if choices:
            likest = process.extract(wanted, choices, scorer=fuzz.ratio, limit=limit, score_cutoff=least)
            found.extend((name, score) for name, score, _ in likest)
            if len(found) >= limit:
                found = sorted(found, key=lambda pair: -pair[1])[:limit]
                least = max(least, found[-1][1])
    return found


def _names(view: View, space: str) -> dict[int, list[str]]:
    """The last components of a space by length; read once a revision."""
    known: dict[str, dict[int, list[str]]] = view.kept.setdefault("names", {})
    found = known.get(space)
    if found is None:
        found = known[space] = {}
        for key in view.keys(space):
            name = key[len(space) + 1 :]
            found.setdefault(len(name), []).append(name)
    return found
