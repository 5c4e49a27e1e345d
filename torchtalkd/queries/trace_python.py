"""The Python layer of a trace: wrappers with a body, aliases, bindings, and their documentation."""

from __future__ import annotations

from collections.abc import Iterator

from torchtalkd import keys
from torchtalkd.link import wrappers
from torchtalkd.link.operators import Family
from torchtalkd.queries.answers import Item
from torchtalkd.queries.collect import place_of
from torchtalkd.store.view import View


def python_items(view: View, family: Family, overloads: frozenset[str]) -> Iterator[Item]:
    """The Python names of an operator, the way that users take first."""
    names = []
    for point in wrappers.entry_points(view, family):
        names.append(point.name)
        if point.kind != "binding":
            yield place_of(
                "python",
                point.definition,
                point.evidence,
                operator=family.name,
                packet=True,
                note=point.kind,
                symbol=point.name,
            )
    for binding in wrappers.bindings(view, family):
        bound = [t.fact.name for t in view.targets(binding) if t.fact.key == keys.op(family.base)]
        for name in bound:
            if name in overloads:
                yield place_of("python", binding, "declared", operator=name, note="binding")
    yield from _docs(view, family, names)


def _docs(view: View, family: Family, names: list[str]) -> Iterator[Item]:
    wanted = set(names)
    for last in dict.fromkeys(keys.py(name) for name in names):
        for definition in view.definitions(last):
            if definition.fact.kind == "docs" and definition.fact.name in wanted:
                yield place_of("docs", definition, "declared", operator=family.name, packet=True)
