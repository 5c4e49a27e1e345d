"""The answer to `modules` as text: a class with its methods and what they run, or a list of classes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from torchtalkd.frontends.standing_text import standing_words
from torchtalkd.frontends.text import MOST_BYTES, MOST_LINES, printable
from torchtalkd.frontends.unknown_text import unknown_text
from torchtalkd.queries.module_card import Card, Kernel, Method, Runs
from torchtalkd.queries.modules import ModulesAnswer, Row

_MOST_SIGNATURE: Final = 160
_DOC_LINES: Final = 30
_IGNORED: Final = re.compile(r"# ?(?:type: ignore(?:\[[^\]]*\])?|noqa(?:: ?\w+)?) ?")


def modules_text(answer: ModulesAnswer, *, whole: bool = False) -> str:
    """The answer, without a final newline; what does not fit is counted. `whole` has all lines, and not the
    next call."""
    lines = [printable(line) for line in (*_head(answer), *_body(answer))]
    if whole:
        return "\n".join(lines)
    next_call = printable(_next(answer))
    kept: list[str] = []
    left = MOST_BYTES - len(next_call.encode()) - 80
    for line in lines:
        left -= len(line.encode()) + 1
        if left < 0 or len(kept) >= MOST_LINES - 2:
            kept.append(f"… {len(lines) - len(kept)} lines more; --json has all")
            break
        kept.append(line)
    return "\n".join([*kept, next_call] if next_call else kept)


def no_module(answer: ModulesAnswer) -> str:
    """Why there is no answer, and what to try."""
    if answer.error:
        return printable(answer.error)
    return unknown_text(f"no class or function of Python is called {answer.query!r}", answer.nearest)


def _head(answer: ModulesAnswer) -> Iterator[str]:
    words = list(standing_words(answer.standing))
    if answer.cards:
        first = answer.cards[0]
        said = [first.public, first.type, f"{first.file}:{first.line}"]
        if not answer.exact:
            said.insert(0, f"nothing is called {answer.query!r} exactly; the likest")
        yield " · ".join([*said, *words])
        return
    what = f"{answer.category or 'classes with ' + repr(answer.query)}"
    label = dict(answer.categories).get(answer.category, "")
    shown = f", the first {len(answer.rows)} below" if len(answer.rows) < answer.total else ""
    yield " · ".join([f"{what}{f' ({label})' if label else ''}: {answer.total}{shown}", *words])


def _body(answer: ModulesAnswer) -> Iterator[str]:
    for card in answer.cards:
        yield from _card(card)
    if answer.cards and answer.rows:
        more = f" ({answer.total - len(answer.rows)} more)" if answer.total > len(answer.rows) else ""
        yield f"other names like this{more}:"
    for row in answer.rows:
        yield _row(row, indented=bool(answer.cards))


def _row(row: Row, *, indented: bool) -> str:
    bases = f"({', '.join(row.bases)})" if row.bases else ""
    return f"{'  ' if indented else ''}{row.file}:{row.line}  {row.public}  {bases or row.kind}".rstrip()


def _card(card: Card) -> Iterator[str]:
    yield f"{card.kind} {card.name}{_short(card.signature)}"
    if card.decorators:
        yield f"decorators: {', '.join(card.decorators)}"
    if card.bases:
        places = (f"{b.name} {b.file}:{b.line}" if b.file else f"{b.name} ({b.note})" for b in card.bases)
        yield f"bases: {'; '.join(places)}"
    if len(card.above) > 1:
        yield f"inherits, in the order of look-up: {' > '.join(card.above)}"
    if card.docstring:
        doc = card.docstring.splitlines()
        yield "docstring, quoted:"
        yield from (f"  | {line}" for line in doc[:_DOC_LINES])
        if len(doc) > _DOC_LINES:
            yield "  | …"
    if card.kind == "class":
        yield "methods:"
    for method in card.methods:
        yield from _method(method, card)
    for origin, count in card.inherited:
        yield f"  and {count} inherited from {origin} (focus full lists them)"
    yield from _runs(card.runs, card.more, card.file, "  ")


def _method(method: Method, card: Card) -> Iterator[str]:
    place = f":{method.line}" if method.file == card.file else f"{method.file}:{method.line}"
    origin = f"  from {method.origin}" if method.origin else ""
    yield f"  {place}  {method.name}{_short(method.signature)}{origin}"
    yield from _runs(method.runs, method.more, card.file, "      ")


def _runs(runs: tuple[Runs, ...], more: tuple[str, ...], file: str, indent: str) -> Iterator[str]:
    for run in runs:
        place = f":{run.line}" if run.file == file else f"{run.file}:{run.line}"
        via = f" via {' > '.join(run.via)}" if run.via else ""
        if run.kind == "outside" or (run.kind == "module" and not run.kernels):
            held = f"self.{run.attribute} → " if run.attribute else ""
            yield f"{indent}{place} {held}{run.name} (not in this tree){via}"
        elif run.kind == "module":
            (end,) = run.kernels
            yield f"{indent}{place} self.{run.attribute} → {run.name}  {end.file}:{end.line}{via}"
        elif run.kind == "kernel":
            (end,) = run.kernels
            yield f"{indent}{place} launches {run.name}  {end.file}:{end.line}{via}"
        else:
            yield f"{indent}{place} {run.name}{via}"
            yield from (f"{indent}    {line}" for line in _kernels(run.kernels))
    if more:
        yield f"{indent}and {', '.join(more)}"


def _kernels(kernels: tuple[Kernel, ...]) -> Iterator[str]:
    """One line a place, with all its dispatch keys."""
    places: dict[tuple[str, str, int], list[Kernel]] = {}
    for kernel in kernels:
        places.setdefault((kernel.symbol, kernel.file, kernel.line), []).append(kernel)
    for (symbol, file, line), found in places.items():
        keys = ", ".join(dict.fromkeys(kernel.dispatch_key for kernel in found if kernel.dispatch_key))
        stub = f" behind {found[0].via}" if found[0].via else ""
        note = f" ({found[0].note})" if found[0].note else ""
        yield f"{f'{keys}: ' if keys else ''}{symbol}  {file}:{line}{stub}{note}"


def _short(signature: str) -> str:
    signature = _IGNORED.sub("", signature).replace("( ", "(")
    signature = re.sub(r",? \)$", ")", signature)
    return signature if len(signature) <= _MOST_SIGNATURE else signature[:_MOST_SIGNATURE] + "…)"


def _next(answer: ModulesAnswer) -> str:
    operators = [
        run.name
        for card in answer.cards
        for run in (*card.runs, *(run for method in card.methods for run in method.runs))
        if run.kind == "operator"
    ]
    if operators:
        return f"next: trace {operators[0]}"
    if answer.cards and answer.focus != "full" and answer.cards[0].kind == "class":
        return f"next: modules {answer.cards[0].public} with focus full: bases, docstring, inherited methods"
    if answer.rows and not answer.cards:
        return f"next: modules {answer.rows[0].public}"
    return ""
