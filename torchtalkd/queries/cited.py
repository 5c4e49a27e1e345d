"""The files that an answer cites, and an answer without some of them. Pure.

No answer leaves with a line of an older text: whoever gives it has these files looked at first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

from torchtalkd.queries.answers import Answer, Standalone, Standing, StatusAnswer

T = TypeVar("T")


def cited(value: object) -> dict[str, set[str]]:
    """The files that an answer cites, by root ('' for the asked one)."""
    found: dict[str, set[str]] = {}
    for root, path in _cited(value):
        # No sweep writes a row that leads out: whoever did must not choose what is looked at.
        if path and not (path.startswith("/") or ".." in path.split("/")):
            found.setdefault(root, set()).add(path)
    return found


def _cited(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Answer):
        for item in value.items:
            yield item.root, item.file
            yield item.declared_root, item.declared_file
        yield from (("", _file_of(said)) for said in value.standing.unread)
        for other in value.others:
            yield from ((other.root, _file_of(said)) for said in other.standing.unread)
    elif isinstance(value, StatusAnswer):
        yield from (("", sample[0]) for sample in value.problem_samples)
        yield from (("", _file_of(said)) for said in value.standing.unread)
    elif isinstance(value, Standalone):
        yield from (("", path) for path in value.cited)
        yield from (("", _file_of(said)) for said in value.standing.unread)
    elif isinstance(value, tuple):
        for part in value:
            yield from _cited(part)


def without(value: T, moved: Mapping[str, frozenset[str]]) -> T:
    """The answer (or a tuple with one) without the places in some files, by root ('' for the asked one):
    for those that change faster than they are read."""
    nothing: frozenset[str] = frozenset()
    own = moved.get("", nothing)
    if isinstance(value, Answer):
        items = tuple(
            replace(item, declared_file="", declared_line=0, declared_root="")
            if item.declared_file in moved.get(item.declared_root, nothing)
            else item
            for item in value.items
            if item.file not in moved.get(item.root, nothing)
        )
        return cast(
            T,
            replace(
                value,
                items=items,
                total=value.total - (len(value.items) - len(items)),
                standing=_known(value.standing, own),
                others=tuple(
                    replace(other, standing=_known(other.standing, moved.get(other.root, nothing)))
                    for other in value.others
                ),
            ),
        )
    if isinstance(value, StatusAnswer):
        samples = tuple(sample for sample in value.problem_samples if sample[0] not in own)
        return cast(T, replace(value, problem_samples=samples, standing=_known(value.standing, own)))
    if isinstance(value, Standalone):
        left = cast(Any, value.without(own))
        return cast(T, replace(left, standing=_known(left.standing, own)))
    if isinstance(value, tuple) and type(value) is tuple:
        return cast(T, tuple(without(part, moved) for part in value))
    return value


def _known(standing: Standing, moved: frozenset[str]) -> Standing:
    return replace(standing, unread=tuple(said for said in standing.unread if _file_of(said) not in moved))


def _file_of(said: str) -> str:
    """The file of `file:line: why`."""
    return said.partition(":")[0]
