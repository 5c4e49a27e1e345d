"""The answer to `tests` as text: what there is, where, why, and what its tests are called."""

from __future__ import annotations

from collections.abc import Iterator

from torchtalkd.frontends.standing_text import standing_words
from torchtalkd.frontends.text import printable
from torchtalkd.frontends.unknown_text import unknown_text
from torchtalkd.queries.tests_answer import TestItem, TestsAnswer


def tests_text(answer: TestsAnswer) -> str:
    """The answer, without a final newline; a sentence where there is none."""
    if answer.error:
        return printable(answer.error)
    if not answer.items:
        return _nothing(answer)
    lines = [_head(answer)]
    if answer.groups:
        lines.append("  " + "; ".join(answer.groups))
    for item in answer.items:
        lines.extend(_item(item))
    if len(answer.items) < answer.total:
        lines.append(f"{answer.total - len(answer.items)} more")
    return "\n".join(map(printable, lines))


def _nothing(answer: TestsAnswer) -> str:
    what = "test file" if answer.mode == "file_info" else "test" if answer.mode == "find" else "of these"
    said = f"no {what} has to do with {answer.query!r}" if answer.query else f"there is no {what}"
    return unknown_text(said, answer.nearest)


def _head(answer: TestsAnswer) -> str:
    what = {"find": "tests", "utils": "for tests", "file_info": "test file"}[answer.mode]
    asked = f" {answer.query}" if answer.query else ""
    focus = f" · {answer.focus}" if answer.focus != "all" else ""
    return " · ".join(
        (f"{what}{asked}{focus}", f"{len(answer.items)} of {answer.total}", *standing_words(answer.standing))
    )


def _item(item: TestItem) -> Iterator[str]:
    place = f"{item.file}:{item.line}" if item.file and item.line else item.file
    sure = "" if item.certain else " (not certain)"
    if item.kind == "file":
        yield f"  {place}{sure}" + (f"  {item.reason}" if item.reason else "")
    else:
        yield f"  {place or '-'}  {item.kind} {item.name}{sure}" + (f": {item.reason}" if item.reason else "")
    for detail in item.details:
        yield f"      {detail}"
    if item.ids:
        more = f" and {item.count - len(item.ids)} more" if item.count > len(item.ids) else ""
        yield f"      ids: {', '.join(item.ids)}{more}"
    if item.patterns:
        why = f": {'; '.join(item.doubts)}" if item.doubts else ""
        yield f"      not certain: {', '.join(item.patterns)}{why}"
