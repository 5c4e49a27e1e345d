"""Which tests are there for something, what can tests use, and what is in a test file?"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from rapidfuzz import fuzz, process

from torchtalkd.link.test_entries import entries
from torchtalkd.queries.answers import standing
from torchtalkd.queries.nearest import nearest
from torchtalkd.queries.tests_answer import CATEGORIES, FOCUSES, MODES, TestsAnswer, as_json
from torchtalkd.queries.tests_equipment import equipment
from torchtalkd.queries.tests_found import found
from torchtalkd.queries.tests_in_file import in_file
from torchtalkd.store.view import View

__all__ = ["TestsAnswer", "as_json", "tests"]

_LEAST: Final = 70
"""How alike a name must be to be named where nothing was found, in per cent."""
_MOST: Final = 8


def tests(
    view: View,
    query: str = "",
    mode: str = "find",
    limit: int = 10,
    focus: str = "all",
    category: str = "all",
) -> TestsAnswer:
    """Three questions about tests.

    `find`: the tests of an operator, a function, a class, a concept, by their names, by OpInfo and its kin,
    and by what their bodies refer to; `focus` is all, functions, classes or files. `utils`: the fixtures,
    assertions and decorators that tests use; `category` is all or one of these. `file_info`: what is in a
    test file, of which a part of the path is enough. `limit` is how many items are shown, 1 or more.
    """
    query = query.strip()
    empty = TestsAnswer(mode, query, focus, (), 0, standing(view))
    for said, allowed, what in (
        (mode, MODES, "mode"),
        (focus, FOCUSES, "focus"),
        (category, CATEGORIES, "category"),
    ):
        if said not in allowed:
            return replace(empty, error=f"unknown {what} {said!r}; allowed: {', '.join(allowed)}")
    limit = max(limit, 1)
    if mode == "utils":
        answer = equipment(view, query, category, limit)
    elif mode == "file_info":
        answer = in_file(view, query, limit)
    else:
        answer = found(view, query, focus, limit)
    if mode == "find" and not answer.items and not answer.error and query:
        names = {entry.name for entry in entries(view).all}
        alike = [name for name, _, _ in process.extract(query, names, scorer=fuzz.ratio, score_cutoff=_LEAST)]
        return replace(answer, nearest=tuple(dict.fromkeys((*alike, *nearest(view, query))))[:_MOST])
    return answer
