"""The answer to `affected` for a model: all test files first, folder by folder, then the way to each, the
nearest first. So the first page says what to run, and the others why."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap
from typing import Final

from torchtalkd.frontends.standing_text import standing_words
from torchtalkd.frontends.text import printable
from torchtalkd.queries.affected import AffectedAnswer
from torchtalkd.queries.affected_tests import AffectedTest

_MOST_HOPS: Final = 3
_MOST_NAMES: Final = 8
_SORTS: Final = {
    "changed": "changed themselves",
    "certain": "certain",
    "possible": "possible, by names that may mean several things",
}


def affected_page(answer: AffectedAnswer) -> str:
    """All lines, those of a sort under its title; no final newline. Of an answer that has tests."""
    python = [test for test in answer.tests if not test.cpp]
    cpp = [test for test in answer.tests if test.cpp]
    share = f"{len(python)} of {answer.total} test files" + (f" and {len(cpp)} of C++" if cpp else "")
    doubtful = sum(test.certainty == "possible" for test in answer.tests)
    sure = f"{doubtful} of them not certain" if doubtful else "certain"
    head = [f"affected by {_few(answer.query)}: {share}", *standing_words(answer.standing), sure]
    lines = [" · ".join(head)]
    if answer.everything:
        lines.append(f"everything, because {'; '.join(answer.everything)}")
    lines.extend(f"{thing.file}:{thing.line}  {thing.name}  {thing.kind}" for thing in answer.things)
    if not answer.everything:
        changed = frozenset(thing.name for thing in answer.things)
        sorts = {title: [t for t in python if t.certainty == sort] for sort, title in _SORTS.items()}
        sorts = {title: tests for title, tests in (sorts | {"of C++": cpp}).items() if tests}
        for title, tests in sorts.items():
            lines.append(f"{title} ({len(tests)}):")
            lines.extend(f"  {line}" for line in _folders(tests))
        for title, tests in sorts.items():
            lines.append(f"ways, {title.partition(',')[0]}:")
            near = sorted(tests, key=lambda test: (len(test.why), test.file))
            lines.extend(f"  {_line(test, changed)}" for test in near)
    lines.extend(f"note: {note}" for note in answer.notes)
    return "\n".join(printable(line) for line in lines)


def _folders(tests: list[AffectedTest]) -> Iterator[str]:
    """`test/jit/: test_a.py, test_b.py`, in lines that are not too long."""
    folders: dict[str, list[str]] = {}
    for test in tests:
        folder, _, name = test.file.rpartition("/")
        folders.setdefault(f"{folder}/" if folder else "", []).append(name)
    for folder, names in sorted(folders.items()):
        begin = f"{folder}: " if folder else ""
        yield from wrap(", ".join(sorted(names)), _LONGEST, initial_indent=begin, subsequent_indent=begin)


def _line(test: AffectedTest, changed: frozenset[str]) -> str:
    single = f" [{', '.join(test.tests[:_MOST_NAMES])}]" if test.tests else ""
    why = list(test.why)
    if why:
        # The file says already which module it is.
        own = test.file.removesuffix(".py").replace("/", ".")
        why[0] = why[0].removeprefix(own).removeprefix(".") or "its module"
    if len(why) > 1 and why[-1] in changed:
        # Where each way ends stands above.
        why.pop()
    if len(why) > _MOST_HOPS:
        why = [*why[:2], f"… {len(why) - _MOST_HOPS} more", why[-1]]
    return f"{test.file}{single}  {' > '.join(why)}"[:_LONGEST]


_LONGEST: Final = 220


def _few(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
