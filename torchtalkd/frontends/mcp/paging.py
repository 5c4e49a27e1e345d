"""Long answers in pages, each under what clients take. Pure.

Invariants: a page depends on the answer alone, not on what is said beside it, so that the second call
finds the first one's pages; and the pages together hold every line of the whole answer once, those
of the first page first. A line is the title of the deeper lines below it, and stands again on each
page that goes on with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

MOST_BYTES: Final = 8_600
"""Of the lines of a page; the rest of 10 KB is for notes and for what to ask next."""
MOST_LINES: Final = 240


def pages(head: str, lines: Sequence[str]) -> list[list[str]]:
    """The lines behind the first one, cut into pages; at least one, which may be empty."""
    room = MOST_BYTES - len(head.encode()) - 1
    found: list[list[str]] = [[]]
    size = 0
    titles: list[str] = []
    for number, line in enumerate(lines):
        depth = _depth(line)
        titles = [title for title in titles if _depth(title) < depth]
        cost = len(line.encode()) + 1
        below = lines[number + 1] if number + 1 < len(lines) else ""
        leads = _depth(below) > depth
        # A title stays with the first line below it.
        last = cost + (len(below.encode()) + 1 if leads else 0)
        page = found[-1]
        if page and (size + last > room or len(page) + 1 + leads >= MOST_LINES):
            again = [_again(title) for title in titles]
            found.append(again)
            size = sum(len(title.encode()) + 1 for title in again)
        found[-1].append(line)
        size += cost
        if leads:
            titles.append(line)
    return found


def rest(whole: Sequence[str], shown: Sequence[str]) -> list[str]:
    """The lines of the whole answer that an extract leaves out, under their titles. The extract has the
    first rows of each of its sections, and of some sections none."""
    have = {key: len(rows) for key, rows in _sections(shown).items()}
    found: list[str] = []
    for key, rows in _sections(whole).items():
        title = key[0]
        left = rows[have.get(key, 0) :]
        if title and left:
            found.append(_again(title) if key in have else title)
            found.extend(line for row in left for line in row)
    return found


def _sections(lines: Sequence[str]) -> dict[tuple[str, int], list[list[str]]]:
    """(title, how many of that title there were before) → its rows: each a line with the deeper ones
    behind it. What stands under no title is under '': it is of every page or of the first."""
    found: dict[tuple[str, int], list[list[str]]] = {("", 0): []}
    rows = found["", 0]
    for line, below in zip_longest(lines, lines[1:], fillvalue=""):
        if not _depth(line):
            title = line if _depth(below) else ""
            number = sum(key[0] == title for key in found)
            rows = found[title, number] = []
        elif line.startswith("  … "):
            continue
        elif _depth(line) <= 2 or not rows:
            rows.append([line])
        else:
            rows[-1].append(line)
    return found


def _again(title: str) -> str:
    text = title.removesuffix(":")
    return title if text.endswith(_CONTINUED) else f"{text}{_CONTINUED}{title[len(text) :]}"


_CONTINUED: Final = " (continued)"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
