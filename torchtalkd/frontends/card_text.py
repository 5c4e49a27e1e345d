"""A card as text: kind and name, signature, one kernel a line, formulas, Python names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from torchtalkd.frontends.standing_text import standing_words
from torchtalkd.frontends.text import LONGEST_LINE, printable, quoted
from torchtalkd.queries.answers import Item
from torchtalkd.queries.card import Card
from torchtalkd.queries.named_card import CardAnswer

_MOST_CARDS: Final = 3
_MOST_FORMULAS: Final = 8
_MOST_OTHERS: Final = 24


def card_text(answer: CardAnswer) -> str:
    """The cards, or that nothing has the name; no final newline."""
    said = " · ".join(standing_words(answer.standing))
    if not answer.cards:
        lines = [f"Function not found: nothing is called {answer.query[:LONGEST_LINE]!r} · {said}"]
        if answer.nearest:
            lines.append(f"Spelled alike: {', '.join(answer.nearest)}")
    else:
        lines = [f"{answer.cards[0].name}, {answer.cards[0].kind} · {said}"]
        for number, card in enumerate(answer.cards[:_MOST_CARDS]):
            lines.extend(_card(card, titled=bool(number)))
    return "\n".join(printable(line)[:LONGEST_LINE] for line in lines)


def _card(card: Card, *, titled: bool) -> Iterator[str]:
    if titled:
        yield f"{card.name}, {card.kind}"
    if card.place is not None:
        yield _place(card.place)
    if card.signature:
        yield f"signature: {' '.join(card.signature.split())}"
    if card.note:
        yield f"note: {quoted(' '.join(card.note.split()))}"
    if card.rows:
        yield "kernels:"
        yield from (f"  {_place(item)}" for item in card.rows)
        if card.more:
            yield f"  … {card.more} more"
    if card.formulas:
        yield "derivative:"
        yield from (f"  {of}: {quoted(formula)}" for of, formula in card.formulas[:_MOST_FORMULAS])
    if card.names:
        yield f"Python: {', '.join(card.names)}"
    if card.tests:
        yield f"tests: {card.tests} OpInfo {'entry' if card.tests == 1 else 'entries'}"
    if card.others:
        more = f", and {len(card.others) - _MOST_OTHERS} more" if len(card.others) > _MOST_OTHERS else ""
        yield f"other overloads: {', '.join(card.others[:_MOST_OTHERS])}{more}"


def _place(item: Item) -> str:
    key = f"  [{item.dispatch_key}]" if item.dispatch_key else ""
    unsure = "  (candidate)" if item.evidence == "candidate" else ""
    return f"{item.file}:{item.line}  {item.symbol}{key}{unsure}"
