"""Answers as a tool gives them: text, under 10 KB and 256 lines, with what to ask next.

Line 1 is that of `frontends.text`; a second line says what is not in the answer yet. What does not fit
is on further pages (`paging`). Errors begin with phrases that existing instructions for models look for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from torchtalkd.frontends.mcp import paging
from torchtalkd.frontends.mcp.calls import Call, Way, served, to
from torchtalkd.frontends.mcp.tools import MOST_MATCHES, SETS
from torchtalkd.frontends.text import as_text, printable
from torchtalkd.queries.answers import Answer
from torchtalkd.queries.nearest import is_path

MOST_BYTES: Final = 9_990
MOST_LINES: Final = 254
LONGEST_NOTE: Final = 400
"""Characters."""
_NOTE_BYTES: Final = 800
"""Of all notes of an answer; with what to ask next they fill what a page leaves of 10 KB."""


_LONGEST_LINE: Final = 600
"""Characters."""


class Asked(NamedTuple):
    """What an answer is the answer to."""

    call: Call
    tools: Collection[str] = SETS["all"]
    """Those that the client has: no other is named as the next to call."""


class NoSuchPage(Exception):
    """A page behind the last one; `str()` says how many there are."""


def trace_text(answer: Answer, notes: Sequence[str], asked: Asked | None = None) -> str:
    """A trace, or that there is nothing of that name."""
    focus = {} if answer.focus == "full" else {"focus": answer.focus}
    asked = asked or Asked(Call("trace", {"func": answer.query, **focus}))
    if not answer.found or answer.error:
        return reply(as_text(answer), notes, asked, _instead(answer))
    extract, whole = as_text(answer, most_bytes=paging.MOST_BYTES), as_text(answer, whole=True)
    return reply(whole, notes, asked, _after_trace(answer), extract=extract)


def search_text(answer: Answer, notes: Sequence[str], limit: int, asked: Asked | None = None) -> str:
    """A list of matches, or that there is none."""
    mode = {} if answer.focus == "bindings" else {"mode": answer.focus}
    asked = asked or Asked(Call("search", {"query": answer.query, **mode, "limit": limit}))
    if answer.error:
        return reply(as_text(answer), notes, asked, ())
    if not answer.found:
        return reply(as_text(answer), notes, asked, _elsewhere(answer))
    ways = []
    if answer.shown < answer.total and limit < MOST_MATCHES:
        most = min(MOST_MATCHES, max(limit * 4, 40))
        arguments = {key: value for key, value in asked.call.arguments.items() if key != "page"}
        call = Call(asked.call.tool, {**arguments, "limit": most})
        ways.append(Way(f"{answer.total - answer.shown} more", call))
    first = next((item.operator or item.symbol for item in answer.items), "")
    ways.append(to("where one is implemented", "trace", func=first))
    return reply(as_text(answer, whole=True), notes, asked, ways)


def reply(
    whole: str,
    notes: Sequence[str],
    asked: Asked,
    ways: Iterable[Way],
    *,
    extract: str = "",
) -> str:
    """The page of an answer that is asked for, with notes behind line 1 and the ways on as the last line.

    `extract` is what the first page shows of the whole answer, where that is not its beginning. Raises
    NoSuchPage.
    """
    first, *lines = _lines(whole)
    if extract and extract != whole:
        first, *shown = _lines(extract)
        left = paging.rest(lines, shown)
        found = [shown, *(paging.pages(first, left) if left else ())]
    else:
        found = paging.pages(first, lines)
    number = int(asked.call.arguments.get("page", 1))
    if number > len(found):
        pages = "one page" if len(found) == 1 else f"{len(found)} pages"
        raise NoSuchPage(f"this answer has {pages}: {asked.call.with_page(len(found))}")
    if len(found) > 1:
        first = f"{first} · page {number} of {len(found)}"
    tail = []
    if number < len(found):
        tail.append(f"More: {asked.call.with_page(number + 1)}")
    spelled = [(way.what, served(way.call, asked.tools)) for way in ways]
    said = [f"{what}: {call}" for what, call in spelled if call is not None]
    while said and len("; ".join(said)) > LONGEST_NOTE - 6:
        # Half a call is none.
        said.pop()
    if said:
        tail.append("Next: " + "; ".join(said))
    return _fitted(
        [first, *_said(notes)], found[number - 1], [printable(line)[:LONGEST_NOTE] for line in tail]
    )


def one_page(text: str, notes: Sequence[str]) -> str:
    """A short answer with notes behind line 1, cut at the end where it is not short."""
    first, *lines = _lines(text)
    return _fitted([first, *_said(notes)], lines, [])


def _said(notes: Sequence[str]) -> list[str]:
    said = [f"NOTE: {printable(note)[:LONGEST_NOTE]}" for note in notes]
    while len(said) > 1 and sum(len(note.encode()) for note in said) > _NOTE_BYTES:
        said.pop()
    return said


def _lines(text: str) -> list[str]:
    """The lines of a text, none longer than anyone reads, without the last one where it is for a terminal: it
    names commands."""
    lines = [line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in text.split("\n")]
    last = lines[-1]
    if len(lines) > 1 and (last.startswith("More: ") or last.rpartition(": ")[2].startswith("--limit ")):
        lines.pop()
    return lines


def _fitted(head: list[str], lines: list[str], tail: list[str]) -> str:
    """All of it; lines are left out at the end only where notes are too long for a page beside them."""
    room = MOST_BYTES - sum(len(line.encode()) + 1 for line in (*head, *tail))
    size = sum(len(line.encode()) + 1 for line in lines)
    left_out = 0
    while lines and (size > room - 40 or len(head) + len(lines) + len(tail) + 1 > MOST_LINES):
        size -= len(lines[-1].encode()) + 1
        lines = lines[:-1]
        left_out += 1
    if left_out:
        tail = [f"… {left_out} more {'line' if left_out == 1 else 'lines'} left out", *tail]
    return "\n".join([*head, *lines, *tail])


def _elsewhere(answer: Answer) -> Iterator[Way]:
    """What to try where no name contains the text."""
    # A star stands for nothing here; what is between two may.
    pieces = [piece for piece in _WILD.split(answer.query) if piece]
    if pieces and pieces != [answer.query]:
        yield to("the text alone, without wildcards", "search", query=max(pieces, key=len)[:80])
    elif answer.focus == "bindings":
        yield to("kernels and functions behind operators", "search", query=answer.query[:80], mode="kernels")
    yield to("what is indexed", "get_status")


_WILD: Final = re.compile(r"[*?%^$\s]+")


def _instead(answer: Answer) -> list[Way]:
    """What to try where nothing has the name."""
    if answer.error:
        return []
    path = is_path(answer.query)
    likest = "the first thing in that file" if path else "trace the likest"
    ways = [to(likest, "trace", func=answer.nearest[0])] if answer.nearest else []
    if path:
        stem = answer.query.rpartition("/")[2].partition(".")[0]
        return [*ways, to("names that contain the file's", "search", query=stem[:80])]
    last = answer.query.replace("::", ".").rpartition(".")[2] or answer.query
    return [*ways, to("names that contain it", "search", query=last[:80])]


def _after_trace(answer: Answer) -> list[Way]:
    subject = next((s for s in answer.subjects if s.answered), None)
    if subject is None:
        return []
    if subject.kind == "Python class":
        return [to("its methods and what they call", "modules", name=subject.name)]
    if subject.kind != "operator":
        return [
            to("who calls it", "graph", func=subject.name, mode="callers"),
            to("what a change of it breaks", "graph", func=subject.name, mode="impact"),
        ]
    ways = {
        "dispatch": "the kernel of each dispatch key",
        "yaml": "schema and formulas",
        "full": "every layer",
    }
    found = [
        to(what, "trace", func=subject.name, focus=focus)
        for focus, what in ways.items()
        if focus != answer.focus
    ]
    return [
        *found[: 1 if answer.focus == "full" else 2],
        to("what it calls", "graph", func=subject.name, mode="calls"),
        to("its tests", "tests", query=subject.name),
    ]
