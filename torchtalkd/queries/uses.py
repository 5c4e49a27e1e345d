"""uses: who of the other trees refers to what was asked for.

A reference of another tree counts if its name, followed in the asked tree by that tree's own rules, leads
to one of the subjects: torch.matmul, `at::matmul` and torch.ops.aten.matmul are all uses of
aten::matmul. A method on an unknown receiver (`x.matmul(y)`) is none: it may be anybody's. The tests are
in `tests/test_across.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import FiledReference
from torchtalkd.link import operators, wrappers
from torchtalkd.queries import locate
from torchtalkd.queries.answers import Item, Subject, Uses, packet_and_overload
from torchtalkd.queries.others import base_of
from torchtalkd.store.view import View

MOST_SHOWN: Final = 12
"""Places of one tree that are listed, unless all are wanted."""
_SORTS: Final = {"import": "import", "target": "import", "star": "import", "include": "include"}
"""By the reference's kind, as in `external`; all others are uses."""


class Used(NamedTuple):
    """The uses in one tree."""

    counted: Uses
    items: tuple[Item, ...]
    """The first of them."""


def uses(
    view: View,
    subjects: Iterable[Subject],
    names: Iterable[str],
    user: View,
    root: str,
    *,
    most: int = MOST_SHOWN,
) -> Used | None:
    """The references of `user`, a tree that depends on one of the frameworks `names`, to subjects of
    `view`, a tree of that framework. None where there is none. Read-only.

    `root` is the user's folder as the items say it.
    """
    bases = {name: user.rules.bases[name] for name in names if name in user.rules.bases}
    if not bases:
        return None
    wanted = {_named(subject) for subject in subjects if subject.answered}
    leads: dict[str, bool] = {}
    found: dict[tuple[str, int, int], FiledReference] = {}
    for reference in _references(user, _lasts(view, wanted)):
        name = reference.fact.name
        if reference.file.role == "template" or not base_of(bases, name):
            continue
        if name not in leads:
            leads[name] = any(_named(meant) in wanted for meant in locate.locate(view, name).subjects)
        if leads[name]:
            found[reference.file.path, reference.fact.line, reference.fact.column] = reference
    if not found:
        return None
    ordered = sorted(found.values(), key=lambda r: (r.file.role != "library", r.file.path, r.fact.line))
    items = tuple(_item(user, reference, root) for reference in ordered[:most])
    harness = user.rules.harness or user.meta("harness")
    counted = Uses(root, harness, len(ordered), len({r.file.id for r in ordered}), len(items))
    return Used(counted, items)


def _named(subject: Subject) -> tuple[str, str]:
    """What a subject is, whichever overload of it was meant."""
    if subject.kind == "operator":
        return subject.kind, packet_and_overload(subject.name)[0]
    return subject.kind, subject.name


def _lasts(view: View, wanted: Iterable[tuple[str, str]]) -> list[str]:
    """The last components under which the subjects are known, in Python and in C++."""
    found: dict[str, None] = {}
    for kind, name in wanted:
        if kind != "operator":
            found.setdefault(name.replace("::", ".").rpartition(".")[2])
            continue
        family = operators.family(view, name)
        if family is not None:
            found.setdefault(family.base)
            for point in wrappers.entry_points(view, family):
                found.setdefault(point.name.rpartition(".")[2])
    return list(found)


def _references(user: View, lasts: Iterable[str]) -> Iterator[FiledReference]:
    for last in lasts:
        for key in (keys.py(last), keys.cpp(last), keys.op(last)):
            yield from (r for r in user.references(key) if r.fact.kind != "holds")
        # `from torch import matmul` at the top of a module is an alias there, others may take it from it.
        for target in user.targeting(keys.py(last)):
            owner = user.definition(target.owner)
            if owner is not None and (owner.fact.detail or {}).get("import"):
                yield target


def _item(user: View, reference: FiledReference, root: str) -> Item:
    owner = user.definition(reference.owner) if reference.owner >= 0 else None
    inside = owner.fact.name if owner is not None and owner.fact.kind in ("function", "class") else ""
    return Item(
        role="external",
        symbol=reference.fact.name,
        file=reference.file.path,
        line=reference.fact.line,
        evidence="declared",
        kind=_SORTS.get(reference.fact.kind, "use"),
        note=f"{_SORTS.get(reference.fact.kind, 'use')}{f' in {inside}' if inside else ''}",
        root=root,
    )
