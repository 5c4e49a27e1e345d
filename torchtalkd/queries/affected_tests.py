"""The test files that a walk reached, each with its way and how sure that is, and single tests where known.

A single test is named only where nothing else of its file leads to the change: no fixture, no code at the
file's top, no helper that any test may call; and where all ids are known that pytest gives to what is made of
it. Where some are only on other machines (tests for each device) the file stands for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link.test_functions import as_test
from torchtalkd.link.test_ids import ids_of
from torchtalkd.queries.affected_walk import Goal, Reached, Step
from torchtalkd.queries.affected_ways import back, leading, way
from torchtalkd.queries.graph import name_of
from torchtalkd.queries.runs.packed import TABLE
from torchtalkd.queries.runs.table import Runs
from torchtalkd.store.rows import ID_BITS
from torchtalkd.store.view import View

MOST_TESTS: Final = 40
"""Single tests of a file that are named; with more the file is."""
MOST_FILES: Final = 60
"""Test files, above which no single tests are looked for."""
MOST_NODES: Final = 20_000
_SPLITS: Final = re.compile(r"[\s'\"\\]")
"""What xargs takes for more than a letter."""


@dataclass(frozen=True, slots=True)
class AffectedTest:
    """A test file that may fail."""

    file: str
    certainty: str
    """changed: it changed itself; certain: by names that mean one thing; possible: by names that may mean
    several, or what could not be followed; everything: nothing was narrowed."""
    tests: tuple[str, ...]
    """`TestFoo::test_bar_n_3`, as pytest prints it, where only these lead to the change; none: the whole
    file."""
    why: tuple[str, ...]
    """The way from the test to the change."""
    cpp: bool = False


def selected(view: View, table: Runs, reached: Reached, changed: Iterable[str]) -> list[AffectedTest]:
    """The test files of Python, by path."""
    found = {path: AffectedTest(path, "changed", (), ("it changed",)) for path in changed}
    numbers = {file.id: number for number, file in enumerate(table.tests)}
    found = {path: test for path, test in found.items() if _is_test(view, path, numbers)}
    walked = back(table, reached.goals, reached.bits)
    by_file = _single(view, table, reached, numbers)
    unseen = next((said for said in reached.unresolved), reached.all_because)
    for file in table.files(reached.bits):
        if file.path in found:
            continue
        first = walked.first.get(file.id)
        if first is None:
            imports = [name for name, bits in reached.imports.items() if bits >> numbers[file.id] & 1]
            why = (f"it imports {imports[0]}",) if imports else (unseen,)
            found[file.path] = AffectedTest(file.path, "possible", (), why)
            continue
        names, certain = _words(view, table, reached, way(walked, first, numbers[file.id]))
        tests = by_file.get(file.id, ()) if certain else ()
        found[file.path] = AffectedTest(file.path, "certain" if certain else "possible", tests, names)
    return [found[path] for path in sorted(found)]


def _is_test(view: View, path: str, numbers: dict[int, int]) -> bool:
    file = view.file(path)
    return file is not None and file.id in numbers


def cpp_tests(view: View, reached: Reached) -> list[AffectedTest]:
    """The test files of C++, by path."""
    return [
        AffectedTest(path, "possible", (), tuple(_above(view, reached, number)), cpp=True)
        for path, number in sorted(reached.cpp.items())
    ]


def _words(
    view: View, table: Runs, reached: Reached, walked: tuple[list[int], Goal]
) -> tuple[tuple[str, ...], bool]:
    """The way from a node of a test file, in words, and whether each step means one thing."""
    nodes, goal = walked
    certain = True
    words: list[str] = []
    for node in nodes:
        label = table.labels.get(node)
        if label.startswith(".") or TABLE in label:
            certain = False
        definition = view.definition(table.owners[node]) if table.owners[node] else None
        if definition is not None:
            label = definition.fact.name
        if label and (not words or words[-1] != label):
            words.append(label)
    above = list(_above(view, reached, goal.at))
    certain = certain and all(
        step.edge is None or step.edge.evidence != "candidate" for step in _steps(reached, goal.at)
    )
    return tuple(words + [word for word in above if not words or word != words[-1]]), certain


def _steps(reached: Reached, at: int) -> list[Step]:
    found = []
    while at:
        step = reached.steps[at]
        found.append(step)
        at = step.before
    return found


def _above(view: View, reached: Reached, at: int) -> Iterable[str]:
    """The way of the walk, from where tests come in to what changed."""
    while at:
        step = reached.steps[at]
        through = f" ({step.edge.hop})" if step.edge is not None else ""
        yield f"{name_of(view, step.node)}{through}"
        at = step.before


def _single(view: View, table: Runs, reached: Reached, numbers: dict[int, int]) -> dict[int, tuple[str, ...]]:
    """Of test files where nothing but tests leads to the change, these: file's id → `Foo::test_bar_n_3`."""
    if reached.bits.bit_count() > MOST_FILES or any(goal.node < 0 for goal in reached.goals):
        return {}
    tests: dict[int, FiledDefinition] = {}

    def is_test(node: int) -> bool:
        """Whether a node is a test, which nothing but a test runner calls."""
        owner = table.owners[node]
        if owner >> ID_BITS not in numbers:
            return False
        definition = view.definition(owner)
        if definition is None or definition.fact.kind != "function" or as_test(view, definition) is None:
            return False
        tests[node] = definition
        return True

    nodes = leading(table, reached.goals, reached.bits, MOST_NODES, is_test)
    if nodes is None:
        return {}
    whole: set[int] = set()
    by_file: dict[int, list[FiledDefinition]] = {}
    for node in nodes:
        owner = table.owners[node]
        file = owner >> ID_BITS
        if node in tests:
            by_file.setdefault(file, []).append(tests[node])
        elif file in numbers:
            definition = view.definition(owner)
            top = definition is None or definition.fact.kind in ("module", "class")
            if top or (definition is not None and _is_fixture(view, definition)):
                whole.add(file)
        elif node in table.holding:
            whole.add(table.holding[node])
    return _ids(view, table, (test for found in by_file.values() for test in found), whole)


def _ids(
    view: View, table: Runs, tests: Iterable[FiledDefinition], whole: set[int]
) -> dict[int, tuple[str, ...]]:
    """The ids of some tests that pytest prints, by the file that they are collected in, which may be one that
    imports or extends their class. No id of a file is given where one of its tests may have more, or
    others, or one that a shell would take apart: pytest refuses to run at all where one is not found."""
    found: dict[str, set[str]] = {}
    for definition in tests:
        test = as_test(view, definition)
        made = None if test is None else ids_of(view, test, most_patterns=1)
        plain = made is not None and not any(_SPLITS.search(name) for name in made.ids)
        if made is None or not plain or made.patterns or made.reasons or not made.ids:
            bits = table.imported.get(definition.file.id, 0)
            whole.add(definition.file.id)
            whole.update(file.id for number, file in enumerate(table.tests) if bits >> number & 1)
            continue
        for name in made.ids:
            path, _, rest = name.partition("::")
            found.setdefault(path, set()).add(rest)
    return {
        file.id: tuple(sorted(found[file.path]))
        for file in table.tests
        if file.path in found and file.id not in whole and len(found[file.path]) <= MOST_TESTS
    }


def _is_fixture(view: View, definition: FiledDefinition) -> bool:
    """Whether other tests run a function without naming it."""
    fixtures = view.rules.tests.fixtures
    decorators = [str(name) for name in (definition.fact.detail or {}).get("decorators") or ()]
    name = keys.last(definition.fact.key)
    return (
        name in fixtures or name.startswith("__") or any(d.endswith(f) for d in decorators for f in fixtures)
    )
