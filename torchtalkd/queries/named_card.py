"""named_card: what to know at a glance of what a name means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from torchtalkd.queries.answers import Item, Standalone, Standing, standing
from torchtalkd.queries.card import Card, card
from torchtalkd.queries.collect import place_of
from torchtalkd.queries.locate import locate
from torchtalkd.queries.meant import Meant
from torchtalkd.queries.overloads import overloads
from torchtalkd.store.view import View


@dataclass(frozen=True, slots=True)
class CardAnswer(Standalone):
    """The cards of a name's meanings."""

    query: str
    cards: tuple[Card, ...]
    """The best meaning first; empty where nothing has the name."""
    standing: Standing
    nearest: tuple[str, ...] = ()
    """Where there is none: names that are spelled alike."""

    @property
    def cited(self) -> Iterable[str]:
        """See `Standalone`."""
        for one in self.cards:
            for item in _places(one):
                yield item.file
                yield item.declared_file

    def without(self, moved: frozenset[str]) -> Self:
        """See `Standalone`."""
        return replace(self, cards=tuple(_without(one, moved) for one in self.cards))


def named_card(view: View, name: str) -> CardAnswer:
    """The cards of what a name means, in any spelling. Read-only."""
    located = locate(view, name)
    meant = Meant(0, 0, 0, located.subjects)
    cards = tuple(_placed(view, one, meant) for one in card(view, meant)) if located.subjects else ()
    return CardAnswer(name, cards, standing(view), located.nearest)


def _placed(view: View, one: Card, meant: Meant) -> Card:
    """The card with the place of the operator's entry, which an editor that stands in it need not be told."""
    subject = next((s for s in meant.subjects if s.answered and s.kind == "operator"), None)
    if one.place is not None or one.kind != "operator" or subject is None:
        return one
    entries = overloads(view, subject, meant)
    return replace(one, place=place_of("yaml", entries[0], "exact")) if entries else one


def _places(one: Card) -> Iterable[Item]:
    yield from one.rows
    if one.place is not None:
        yield one.place


def _without(one: Card, moved: frozenset[str]) -> Card:
    rows = tuple(item for item in one.rows if item.file not in moved)
    place = None if one.place is not None and one.place.file in moved else one.place
    return replace(one, rows=rows, place=place)
