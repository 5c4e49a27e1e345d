"""Cards as markdown or plain text, short enough to be read where the mouse is.

Names and formulas come from the tree, so nothing of them may act as markup: code stands in code
spans with fences longer than any run of backticks in it, all else is escaped. The tests are in
`tests/test_lsp_hover.py`.
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd.frontends.host import RootState
from torchtalkd.frontends.lsp.places import Places
from torchtalkd.frontends.text import printable
from torchtalkd.queries.answers import Item
from torchtalkd.queries.card import Card

MOST_LINES: Final = 25
_LONGEST: Final = 300
_MARKS: Final = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~&:])")
_LANGUAGE: Final = {"operator": "text", "Python function": "python", "Python class": "python"}


def markdown(cards: list[Card], places: Places, state: RootState) -> str:
    """The cards as markdown."""
    lines: list[str] = []
    for number, card in enumerate(cards[:3]):
        if number:
            lines.append("")
        lines.extend(_card(card, places))
    if note := _freshness(state):
        lines.extend(["", f"*{escaped(note)}*"])
    return "\n".join(lines[:MOST_LINES])


def plain_text(cards: list[Card], places: Places, state: RootState) -> str:
    """The cards as plain text."""
    lines: list[str] = []
    for card in cards[:3]:
        lines.append(f"{card.kind} {_clean(card.name)}")
        if card.signature:
            lines.append(_clean(card.signature))
        if card.note:
            lines.append(_clean(card.note))
        lines.extend(f"{i.dispatch_key or '-'}: {_clean(i.symbol)} {i.file}:{i.line}" for i in card.rows)
        lines.extend(f"{name}: {_clean(formula)}" for name, formula in card.formulas)
    if note := _freshness(state):
        lines.append(note)
    return "\n".join(lines[:MOST_LINES])


def _card(card: Card, places: Places) -> list[str]:
    shown = _clean(card.signature)
    name = _clean(card.name)
    body = f"{name}{shown}" if shown.startswith("(") else shown or name
    if card.kind == "operator" and "::" not in body.partition("(")[0]:
        body = f"{name.partition('::')[0]}::{body}"
    lines = [
        f"**{escaped(card.kind)}** {code(card.name)}",
        "",
        *_fenced(body, _LANGUAGE.get(card.kind, "cpp")),
    ]
    if card.note:
        lines.extend(["", f"*{escaped(_clean(card.note))}*"])
    if card.rows:
        lines.extend(["", "| key | kernel | |", "| --- | --- | --- |"])
        lines.extend(_row(item, places) for item in card.rows)
        if card.more:
            lines.append(f"| … | {card.more} more | |")
    for name, formula in card.formulas[:3]:
        lines.extend(["", f"{code(name)}: {code(formula)}"])
    said = []
    if card.names:
        said.append("Python: " + ", ".join(code(name) for name in card.names))
    if card.tests:
        said.append(f"{card.tests} OpInfo {'entry' if card.tests == 1 else 'entries'}")
    if card.others:
        said.append(f"{len(card.others)} other {'overload' if len(card.others) == 1 else 'overloads'}")
    if card.place is not None and not card.rows:
        said.append(_link(card.place, places))
    return [*lines, "", " · ".join(said)] if said else lines


def _row(item: Item, places: Places) -> str:
    name = item.symbol.rpartition("::")[2] or item.symbol
    return f"| {code(item.dispatch_key or '-')} | {code(name)} | {_link(item, places)} |"


def _link(item: Item, places: Places) -> str:
    name = f"{item.file.rpartition('/')[2]}:{item.line}"
    return f"[{escaped(name)}]({places.uri(item.file).replace('(', '%28').replace(')', '%29')}#L{item.line})"


def _fenced(text: str, language: str) -> list[str]:
    fence = "`" * max(3, _longest_run(text) + 1)
    return [f"{fence}{language}", text, fence]


def code(text: str) -> str:
    """A code span that shows a text as it stands, in one line, also within a table."""
    text = _clean(text)
    fence = "`" * (_longest_run(text) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text.replace('|', chr(92) + '|')}{pad}{fence}" if text else ""


def escaped(text: str) -> str:
    """A text that markdown shows as it stands."""
    return _MARKS.sub(r"\\\1", text)


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _clean(text: str) -> str:
    """One line without control characters, cut where it is too long."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _freshness(state: RootState) -> str:
    if state.error:
        return state.error
    if state.indexing and state.total:
        return f"indexing: {state.percent} %"
    return ""
