"""Which functions and classes of the tree are tests, and which lists of entries they run over. Pure.

A Python function is a test by its name, as unittest and pytest have it, where it stands in a class or at the
top of a test file; a C++ test is a Definition that gtest's macros make. What names count is the manifest's
(`[link.tests]`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final, NamedTuple

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition, FiledReference, TestRules
from torchtalkd.link.expressions import parsed
from torchtalkd.link.pieces import Work, derive, derived
from torchtalkd.link.source import Facts
from torchtalkd.link.test_entries import entries
from torchtalkd.link.test_lists import Names, Selection, selection

LISTED: Final = ("ops", "modules", "optims")
"""Forms of decorators that make one test for each entry of a list."""
PARAMETERS: Final = ("parametrize", "pytest_parametrize")
"""Forms of decorators whose values may be such entries: `@parametrize("info", module_db)`."""
_MOST_SCOPES: Final = 30


class Case(NamedTuple):
    """A decorator that makes several tests of one, or a call that makes classes of one."""

    form: str
    """What it does: a value of `rules.tests.forms`."""
    text: str
    """As written."""


class Test(NamedTuple):
    """A function that is a test."""

    definition: FiledDefinition
    around: FiledDefinition | None
    """The class that it is a method of."""
    cases: tuple[Case, ...]
    """Its decorators that make several tests of it, from top to bottom."""

    @property
    def class_name(self) -> str:
        """The class as written, '' for a function of the module."""
        return last(self.around) if self.around is not None else ""

    @property
    def name(self) -> str:
        """The function as written; of a C++ test `Suite.Name`."""
        fact = self.definition.fact
        return fact.name if fact.kind == "test" else last(self.definition)


def last(definition: FiledDefinition) -> str:
    """A definition's own name, without module and class."""
    return definition.fact.name.rpartition(".")[2]


def form_of(rules: TestRules, name: str) -> str:
    """What a decorator or call does, '' if nothing is said of it; the longest end of its name decides."""
    parts = name.split(".")
    return next(
        (rules.forms[end] for n in range(len(parts)) if (end := ".".join(parts[n:])) in rules.forms), ""
    )


def is_test_name(rules: TestRules, name: str) -> bool:
    """Whether a function of this name is a test where it stands in the right place."""
    return any(fnmatchcase(name, pattern) for pattern in rules.function_names)


def as_test(facts: Facts, definition: FiledDefinition) -> Test | None:
    """The test that a definition is; None for any other."""
    fact = definition.fact
    if fact.kind == "test":
        return Test(definition, None, ()) if fact.convention == "gtest" else None
    if fact.kind not in ("function", "kernel") or definition.file.language != "python":
        return None
    if not is_test_name(facts.rules.tests, last(definition)):
        return None
    around = facts.scope(definition)
    if around is None or around.fact.kind == "module":
        return Test(definition, None, cases_of(facts, definition)) if definition.file.role == "test" else None
    return Test(definition, around, cases_of(facts, definition)) if around.fact.kind == "class" else None


def cases_of(facts: Facts, definition: FiledDefinition) -> tuple[Case, ...]:
    """The decorators that make several tests of a function or class."""
    rules = facts.rules.tests
    found = ((form_of(rules, name), text) for name, text in (definition.fact.detail or {}).get("cases", ()))
    return tuple(Case(form, text) for form, text in found if form)


def makers_of(facts: Facts, class_: FiledDefinition) -> tuple[Case, ...]:
    """The calls and decorators that make test classes of a class."""
    rules, detail = facts.rules.tests, class_.fact.detail or {}
    found = [Case(form_of(rules, text.partition("(")[0]), text) for text in detail.get("made", ())]
    found += [Case(form_of(rules, name), "") for name in detail.get("decorators", ())]
    return tuple(case for case in found if case.form in ("devices", "parametrized"))


def tests_in(facts: Facts, file: File) -> tuple[Test, ...]:
    """The tests of a file, in the order of the text; kept."""
    known: dict[int, tuple[Test, ...]] = facts.kept.setdefault("tests_in", {})
    found = known.get(file.id)
    if found is None:
        tests = (as_test(facts, definition) for definition in facts.definitions_in(file))
        found = known[file.id] = tuple(test for test in tests if test is not None)
    return found


def methods_of(facts: Facts, class_: FiledDefinition) -> tuple[Test, ...]:
    """The tests that are written in a class."""
    return tuple(test for test in tests_in(facts, class_.file) if test.around == class_)


def test_around(facts: Facts, reference: FiledReference) -> Test | None:
    """The test whose body a reference stands in; None where it stands in no test's."""
    definition = facts.definition(reference.owner) if reference.owner >= 0 else None
    for _ in range(_MOST_SCOPES):
        if definition is None:
            return None
        test = as_test(facts, definition)
        if test is not None:
            return test
        definition = facts.scope(definition)
    return None


class Over(NamedTuple):
    """A test that runs over a list of entries."""

    test: Test
    case: Case
    selection: Selection


def over_lists(facts: Facts, form: str) -> tuple[Over, ...]:
    """All tests that run over lists by decorators of a form (`ops`), with what these select; kept."""
    return derived(facts, f"tests_over_{form}", partial(_overs, form=form))


def prepare(facts: Facts) -> Iterator[None]:
    """Derives which tests run over which lists, before somebody asks, in pieces."""
    for form in (*LISTED, *PARAMETERS):
        yield
        yield from derive(facts, f"tests_over_{form}", partial(_overs, form=form))


def _overs(facts: Facts, form: str) -> Work[tuple[Over, ...]]:
    ends = [end.rpartition(".")[2] for end, does in facts.rules.tests.forms.items() if does == form]
    files = {r.file.id: r.file for end in ends for r in facts.references(keys.py(end))}
    found: list[Over] = []
    for file in sorted(files.values(), key=lambda file: file.path):
        yield
        found += yield from _over_in(facts, file, form)
    return tuple(found)


def _over_in(facts: Facts, file: File, form: str) -> Work[list[Over]]:
    found = []
    for definition in facts.definitions_in(file):
        if not (definition.fact.detail or {}).get("cases"):
            continue
        for case in cases_of(facts, definition):
            test = as_test(facts, definition) if case.form == form and _may_list(facts, case) else None
            if test is not None:
                yield
                selection = listed(facts, file, case)
                if form in LISTED or not selection.everything:
                    found.append(Over(test, case, selection))
    return found


def _may_list(facts: Facts, case: Case) -> bool:
    """Whether a decorator's values may be entries: those of most parameters are numbers and words."""
    return case.form in LISTED or any(name in case.text for name in list_names(facts))


def list_names(facts: Facts) -> frozenset[str]:
    """The names of the variables that entries are listed in."""
    return frozenset(name for _, name in entries(facts).of_list)


def listed(facts: Facts, file: File, case: Case) -> Selection:
    """The entries that a decorator of a file runs over; kept."""
    known: dict[tuple[int, str], Selection] = facts.kept.setdefault("test_selections", {})
    found = known.get((file.id, case.text))
    if found is None:
        names = Names(facts, file)
        value = names.argument(call_of(case.text), 1 if case.form in PARAMETERS else 0)
        found = known[file.id, case.text] = selection(facts, value, names.evaluation.certain)
    return found


def call_of(text: str) -> ast.Call | None:
    """The call that a text is."""
    node: Any = parsed(text)
    return node if isinstance(node, ast.Call) else None
