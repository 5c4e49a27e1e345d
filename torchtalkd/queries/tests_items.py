"""Tests, entries and files as items of an answer."""

from __future__ import annotations

from typing import Final

from torchtalkd.facts import File
from torchtalkd.link.test_entries import Entry
from torchtalkd.link.test_functions import Test
from torchtalkd.link.test_ids import ids_of
from torchtalkd.queries.tests_answer import TestItem
from torchtalkd.store.view import View

MOST_IDS: Final = 3
"""Ids of one item that are shown."""
_LANGUAGES: Final = ("python", "cpp", "cuda", "objcpp")
_LONGEST: Final = 120


def test_files(view: View) -> tuple[File, ...]:
    """The files whose role is that of a test, by path; kept."""
    known: tuple[File, ...] | None = view.kept.get("test_files")
    if known is None:
        known = tuple(f for f in view.files() if f.role == "test" and f.language in _LANGUAGES)
        view.kept["test_files"] = known
    return known


def test_item(
    view: View, test: Test, reason: str, certain: bool, entries: tuple[Entry, ...] | None
) -> TestItem:
    """A test with the first of its ids; of a test over a list those for some entries alone."""
    made = ids_of(view, test, entries, most_patterns=MOST_IDS)
    fact = test.definition.fact
    name = f"{test.class_name}.{test.name}" if test.class_name else test.name
    return TestItem(
        "C++ test" if fact.kind == "test" else "function",
        name,
        test.definition.file.path,
        fact.line,
        reason,
        certain,
        made.ids[:MOST_IDS],
        len(made.ids),
        made.patterns[:MOST_IDS],
        made.reasons[:MOST_IDS],
        tuple(f"@{short(case.text)}" for case in test.cases),
    )


def entry_item(view: View, entry: Entry, reason: str) -> TestItem:
    """An entry with its names."""
    fact = entry.definition.fact
    said = [f"in the list {entry.list}"] if entry.list else []
    if entry.of == "operator":
        said.append(f"aten_name {entry.aten_name}")
        if entry.aten_backward_name:
            said.append(f"aten_backward_name {entry.aten_backward_name}")
        if entry.aliases:
            said.append(f"aliases {', '.join(entry.aliases)}")
    types = entry.dtypes()
    if types:
        said.append(f"types on the CPU: {', '.join(sorted(types))}")
    return TestItem(
        entry.info, entry.full_name, entry.definition.file.path, fact.line, reason, details=tuple(said)
    )


def file_item(path: str, reason: str, certain: bool) -> TestItem:
    """A file."""
    return TestItem("file", path, path, 0, reason, certain)


def short(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
