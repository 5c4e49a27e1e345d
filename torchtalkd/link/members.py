"""A method that a class has from one of its bases: `&Derived::read` where only `Base::read` has a body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link import functions
from torchtalkd.link.source import Facts

_DEEPEST: Final = 6
"""Classes above a class that are looked at."""


def inherited(
    facts: Facts, name: str, scopes: Sequence[str], file: File | None, depth: int = 0
) -> list[FiledDefinition]:
    """The bodies of a qualified member's name in the bases of its class, the nearest base first."""
    qualifier, _, last = functions.plain(name).rpartition("::")
    if not qualifier or depth > _DEEPEST:
        return []
    for cls in functions.functions(facts, qualifier, scopes, file=file, kinds=("class",)):
        outer = functions.enclosing(cls.fact.name)
        for reference in facts.references_of_kind(cls.file, "base"):
            if reference.owner != cls.id:
                continue
            member = f"{reference.fact.name}::{last}"
            found = functions.functions(facts, member, outer, file=cls.file, kinds=("function",))
            found = found or inherited(facts, member, outer, cls.file, depth + 1)
            if found:
                return found
    return []


def nearest(found: Sequence[FiledDefinition], place: File) -> list[FiledDefinition]:
    """Of several bodies of one name those whose folder shares most with a file's: a tree may hold the
    same sources twice."""
    shared = [_shared(definition.file.path, place.path) for definition in found]
    most = max(shared, default=0)
    return [definition for definition, depth in zip(found, shared, strict=True) if depth == most]


def _shared(one: str, other: str) -> int:
    depth = 0
    for left, right in zip(one.split("/")[:-1], other.split("/")[:-1], strict=False):
        if left != right:
            break
        depth += 1
    return depth
