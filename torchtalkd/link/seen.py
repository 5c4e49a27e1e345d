"""Does a file see what another one declares, through its `#include` lines?

A name can only mean what is in sight: a function or class that no header on the way declares is another
translation unit's. Both branches of each `#if` count, and headers themselves see all, as what includes them
may include anything before. The tests are in `tests/test_seen.py`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import includes
from torchtalkd.link.pieces import Work, derive, derived
from torchtalkd.link.source import Facts

_CODE: Final = frozenset({"cpp", "cuda", "objcpp"})
_CLASSES: Final = ("class", "autograd_function")
_PIECE: Final = 400
"""Lines or files that are looked at in one piece of the work."""
_MOST_ROUNDS: Final = 12
"""Files that include one another in a circle are gone through again; so long a circle has nobody."""


def is_seen(facts: Facts, definition: FiledDefinition, file: File) -> bool:
    """Whether a file sees a function or a class: it declares or defines it itself, or takes in a header
    that does. What is a header, or no C++, sees everything."""
    if definition.file.id == file.id:
        return True
    seen = _seen_by(facts, file)
    return seen == _ALL or bool(seen & _declaring(facts, definition))


def _seen_by(facts: Facts, file: File) -> int:
    """The files that a file takes in, as bits; _ALL for what is a header, or no C++."""
    kept: dict[int, int] = facts.kept.setdefault("seen_by", {})
    found = kept.get(file.id)
    if found is None:
        number = _order(facts).get(file.id)
        if number is None or file.language not in _CODE or includes.is_header(file.path):
            # The first: a text of an editor that was never saved.
            found = _ALL
        else:
            found = _taken_in(facts).get(file.id, 1 << number)
        kept[file.id] = found
    return found


_ALL: Final = -1
"""As bits: each file."""


def prepare(facts: Facts) -> Iterator[None]:
    """Derives what `is_seen` needs of all files, before somebody asks, in pieces."""
    return derive(facts, "taken_in", _closed)


def _declaring(facts: Facts, definition: FiledDefinition) -> int:
    """The files that declare or define a definition, or the class that it is a member of, as bits."""
    kept: dict[str, int] = facts.kept.setdefault("declaring", {})
    name = definition.fact.name
    found = kept.get(name)
    if found is None:
        order = _order(facts)
        around = name.rpartition("::")[0]
        same = facts.named(keys.cpp(around), around) if around else ()
        same = [d for d in same if d.fact.kind in _CLASSES] or facts.named(keys.cpp(name), name)
        found = 0
        for each in same:
            found |= 1 << order.get(each.file.id, len(order))
        kept[name] = found
    return found


def _order(facts: Facts) -> dict[int, int]:
    """The number of each file's bit."""
    kept: dict[int, int] | None = facts.kept.get("file_bits")
    if kept is None:
        kept = facts.kept["file_bits"] = {file.id: number for number, file in enumerate(facts.files())}
    return kept


def _taken_in(facts: Facts) -> Mapping[int, int]:
    """Of each file that includes something the files that it takes in, through any number of others, and
    itself, as bits. Made for all at once: 0.2 s for PyTorch."""
    return derived(facts, "taken_in", _closed)


def _closed(facts: Facts) -> Work[dict[int, int]]:
    order = _order(facts)
    yield
    included = yield from _included(facts)
    return (yield from _closures(included, order))


def _included(facts: Facts) -> Work[dict[int, list[int]]]:
    """Of each file the ids of those that its lines may mean."""
    files = {file.id: file for file in facts.files()}
    by_last: dict[str, list[File]] = {}
    for file in files.values():
        by_last.setdefault(file.path.rpartition("/")[2], []).append(file)
    paths = {file.path: file.id for file in files.values()}
    meant: dict[str, list[int]] = {}
    found: dict[int, list[int]] = {}
    yield
    for some in facts.include_lines_in_pieces():
        yield
        for count, (number, written) in enumerate(some):
            if count % _PIECE == _PIECE - 1:
                yield
            includer = files.get(number)
            if includer is None:
                continue
            if written not in meant:
                there = by_last.get(written.rpartition("/")[2], ())
                # What is generated from a template is included from a folder that is not in the tree.
                meant[written] = [
                    f.id for f in there if f.role == "template" or includes.may_mean(written, "", f.path)
                ]
            lines = found.setdefault(number, [])
            lines.extend(meant[written])
            beside = paths.get(_beside(includer.path, written))
            if beside is not None:
                lines.append(beside)
    return found


def _beside(includer: str, written: str) -> str:
    """The path that is meant from the includer's own folder."""
    folder = includer.rpartition("/")[0]
    path = f"{folder}/{written}" if folder else written
    return posixpath.normpath(path) if "./" in path else path


def _closures(included: Mapping[int, Iterable[int]], order: Mapping[int, int]) -> Work[dict[int, int]]:
    closed = {number: 1 << order[number] for number in included}
    ordered = _inner_first(included)
    for _ in range(_MOST_ROUNDS):
        grown = False
        for count, (number, others) in enumerate(ordered):
            if count % _PIECE == 0:
                yield
            seen = closed[number]
            for other in others:
                seen |= closed.get(other) or 1 << order[other]
            if seen != closed[number]:
                closed[number], grown = seen, True
        if not grown:
            break
    return closed


def _inner_first(included: Mapping[int, Iterable[int]]) -> list[tuple[int, Iterable[int]]]:
    """The files, what is included before what includes it, as far as there are no circles."""
    found: list[tuple[int, Iterable[int]]] = []
    begun: set[int] = set()
    for start in included:
        waiting = [(start, False)]
        while waiting:
            number, done = waiting.pop()
            if done:
                found.append((number, included[number]))
            elif number not in begun:
                begun.add(number)
                waiting.append((number, True))
                waiting.extend((o, False) for o in included[number] if o in included and o not in begun)
    return found
