"""The items of an answer as they are found: places that several overloads share become one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torchtalkd.facts import FiledDefinition
from torchtalkd.link.source import Evidence
from torchtalkd.queries.answers import ROLES, Item

_EVIDENCE: dict[str, int] = {"exact": 0, "declared": 1, "unique": 2, "candidate": 3}


class Collected:
    """Items by what they are: role, place and dispatch key. Mutable; lives for one question."""

    def __init__(self, backends: tuple[str, ...] = ()) -> None:
        self._items: dict[tuple[str, str, int, str, str, int], Item] = {}
        self._order = {backend: number for number, backend in enumerate(backends)}

    def add(self, item: Item) -> None:
        """Adds a place, or its operators to those of the same place. The surer evidence stays."""
        key = (item.role, item.file, item.line, item.symbol, item.dispatch_key, item.block_line)
        known = self._items.get(key)
        if known is None:
            self._items[key] = item
            return
        operators = tuple(dict.fromkeys((*known.operators, *item.operators)))
        surer = known if _EVIDENCE[known.evidence] <= _EVIDENCE[item.evidence] else item
        self._items[key] = with_operators(surer, operators)

    def extend(self, items: Iterable[Item]) -> None:
        """Adds several."""
        for item in items:
            self.add(item)

    def items(self) -> list[Item]:
        """All, by role and as found within one; kernels by their dispatch key, which entries of
        yaml come before."""
        rank = {role: number for number, role in enumerate(ROLES)}
        rank["structured_impl"] = rank["native"]
        last = len(self._order)

        def place(item: Item) -> tuple[int, int]:
            entry = item.role == "yaml" and not item.dispatch_key
            return rank.get(item.role, len(rank)), -1 if entry else self._order.get(item.dispatch_key, last)

        return sorted(self._items.values(), key=place)


def with_operators(item: Item, operators: tuple[str, ...]) -> Item:
    """The item as a part of these overloads; `operator` is the first."""
    return replace(item, operators=operators, operator=operators[0] if operators else "")


def with_through(item: Item, through: str, evidence: str = "") -> Item:
    """The item as that of an operator which a composite ends in."""
    return replace(item, through=through, evidence=evidence or item.evidence)


def place_of(
    role: str,
    definition: FiledDefinition,
    evidence: Evidence,
    *,
    operator: str = "",
    packet: bool = False,
    dispatch_key: str = "",
    declared: FiledDefinition | None = None,
    via: str = "",
    note: str = "",
    symbol: str = "",
) -> Item:
    """The item of a definition's place; `declared` is the binding that led to it. With `packet`
    it belongs to the operator as a whole, not to an overload."""
    fact = definition.fact
    return Item(
        role=role,
        symbol=symbol or fact.name,
        file=definition.file.path,
        line=fact.line,
        evidence=evidence,
        operator=operator,
        dispatch_key=dispatch_key,
        operators=(operator,) if operator and not packet else (),
        kind=fact.kind,
        signature=fact.signature,
        declared_file=declared.file.path if declared else "",
        declared_line=declared.fact.line if declared else 0,
        convention=declared.fact.convention if declared else fact.convention,
        via=via,
        guard=fact.guard,
        note=note,
        declares=fact.declares,
        column=fact.column,
    )
