"""Names of the whole tree that fit what somebody types: exact ones, then beginnings, then the rest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.store.view import View

SPACES: Final = (keys.op(""), keys.py(""), keys.cpp(""), keys.macro(""))
_KINDS: Final = frozenset(
    (
        *("operator", "schema", "function", "class", "kernel", "macro", "stub", "structured_impl"),
        *("structured_meta", "stub_kernel", "registration", "python_binding", "module"),
    )
)
_RANK: Final = {
    "operator": 0,
    "schema": 0,
    "python_binding": 1,
    "class": 1,
    "structured_impl": 2,
    "stub": 2,
    "kernel": 2,
}
MOST_KEYS: Final = 200
"""Distinct names that are looked at for one answer."""


_MOST_OF_ONE: Final = 200


def symbols(view: View, query: str, limit: int = 128) -> list[FiledDefinition]:
    """The definitions, best first. A qualified query (`at::native::add`, `nn.Linear`) wants its last part
    as the name and the rest in front of it. Read-only; some milliseconds."""
    text = query.strip()
    last = text.replace("::", ".").rpartition(".")[2].casefold()
    before = text[: len(text) - len(last)].casefold()
    if not last and not before:
        return []
    found: list[tuple[tuple[int, bool, int, str], FiledDefinition]] = []
    seen: set[tuple[str, int]] = set()
    looked_at = 0
    for closeness, key in _close(view, last):
        looked_at += 1
        if looked_at > MOST_KEYS or (len(found) >= limit and closeness > 0):
            break
        for definition in view.definitions(key)[:_MOST_OF_ONE]:
            fact = definition.fact
            if fact.kind not in _KINDS or fact.declares or definition.file.role == "template":
                continue
            if (fact.detail or {}).get("implicit") or (before and before not in fact.name.casefold()):
                continue
            place = (definition.file.path, fact.line)
            if place in seen:
                continue
            seen.add(place)
            test = definition.file.role == "test"
            rank = (closeness, test, _RANK.get(fact.kind, 3), f"{len(fact.name):5}{fact.name}")
            found.append((rank, definition))
    found.sort(key=lambda pair: pair[0])
    return [definition for _, definition in found[:limit]]


def _close(view: View, text: str) -> Iterator[tuple[int, str]]:
    """(0 exact, 1 beginning, 2 inside, 3 letters in order; key)."""
    names = {space: _names(view, space) for space in map(keys.space, SPACES)}
    begin = sorted(_hits(names, f"\n{text}", len(text)))
    yield from ((closeness, key) for closeness, _, key in begin)
    inside = sorted(hit for hit in _hits(names, text, len(text)) if hit[0] == 2)
    yield from ((closeness, key) for closeness, _, key in inside)
    if not begin and not inside and len(text) > 3:
        for space, (_, _, known) in names.items():
            for name in known:
                if _in_order(text, name):
                    yield 3, f"{space}:{name}"


def _hits(
    names: dict[str, tuple[str, list[int], list[str]]], text: str, length: int
) -> Iterator[tuple[int, int, str]]:
    """(closeness, length of the name, key) where a text stands; a line feed in front of it wants a
    name's beginning."""
    ahead = text.startswith("\n")
    for space, (folded, starts, known) in names.items():
        at = folded.find(text)
        for _ in range(_MOST_HITS):
            if at < 0:
                break
            index = bisect_right(starts, at + ahead) - 1
            name = known[index]
            offset = at + ahead - starts[index]
            closeness = 2 if offset else (0 if len(name) == length else 1)
            yield closeness, len(name), f"{space}:{name}"
            at = folded.find(text, starts[index] + len(name))


_MOST_HITS: Final = 5_000
"""Names of a space that are looked at: `a` stands in nearly all."""


def _in_order(text: str, name: str) -> bool:
    if len(name) > 4 * len(text):
        return False
    letters = iter(name.casefold())
    return all(letter in letters for letter in text)


def prepare(view: View) -> Iterator[None]:
    """Reads the names that are looked through, before somebody does, in pieces."""
    for space in map(keys.space, SPACES):
        view.keys(space)
        yield
        _names(view, space)
        yield


def _names(view: View, space: str) -> tuple[str, list[int], list[str]]:
    """The names of a space as one text in lower case, where each begins, and the names."""
    known: tuple[str, list[int], list[str]] | None = view.kept_of_names.get((space, "symbols"))
    if known is None:
        names = [keys.last(key) for key in view.keys(space)]
        folded = [name.casefold() if len(name.casefold()) == len(name) else name for name in names]
        starts = list(accumulate((len(name) + 1 for name in folded), initial=1))[:-1]
        known = view.kept_of_names[space, "symbols"] = ("\n" + "\n".join(folded), starts, names)
    return known
