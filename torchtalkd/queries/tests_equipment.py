"""What tests are written with: fixtures, assertions, decorators."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import python_names
from torchtalkd.queries.answers import standing
from torchtalkd.queries.tests_answer import TestItem, TestsAnswer
from torchtalkd.store.decorators import decorators
from torchtalkd.store.view import View

_OWN: Final = frozenset(
    ("property", "staticmethod", "classmethod", "functools.wraps", "contextlib.contextmanager")
)
"""Decorators of the language, which tests use as all code does."""


_ACCESSORS: Final = ("setter", "getter", "deleter")


def equipment(view: View, query: str, category: str, limit: int) -> TestsAnswer:
    """The fixtures, assertions or decorators whose name has a text, what is meant for all before what one
    file has for itself."""
    kept: dict[str, list[TestItem]] = view.kept.setdefault("test_equipment", {})
    parts = {"fixtures": _fixtures, "assertions": _assertions, "decorators": _decorators}
    wanted = [name for name in parts if category in ("all", name)]
    text = query.lower()
    chosen: list[list[TestItem]] = []
    groups = []
    for name in wanted:
        if name not in kept:
            kept[name] = parts[name](view)
        found = [item for item in kept[name] if text in item.name.lower()]
        groups.append(f"{len(found)} {name}")
        chosen.append(found)
    total = sum(map(len, chosen))
    # Of several sorts, each has its share.
    share = max(1, limit // max(1, len(chosen)))
    items = [item for found in chosen for item in found[:share]]
    rest = [item for found in chosen for item in found[share:]]
    shown = [_placed(view, item) for item in (items + rest)[:limit]]
    return TestsAnswer("utils", query, category, tuple(shown), total, standing(view), tuple(groups))


def _fixtures(view: View) -> list[TestItem]:
    """Functions that a fixture's decorator is put on, and methods of library classes that prepare tests."""
    rules = view.rules.tests
    found: list[tuple[int, TestItem]] = []
    places = _packages(view)
    for name in rules.fixtures:
        if "." in name:
            found += _decorated(view, name)
            continue
        for definition in view.definitions(keys.py(name)):
            if definition.fact.kind == "function" and definition.file.role == "library":
                scope = view.scope(definition)
                if scope is not None and scope.fact.kind in ("class", "module"):
                    said = f"runs around the tests of {scope.fact.name}"
                    found.append((_far(places, definition) + 2, _item("fixture", definition, said)))
    return _ordered(found)


def _packages(view: View) -> tuple[str, ...]:
    """The packages that test classes come from: of `torch.testing._internal.common_utils.TestCase` that is
    `torch.testing.`."""
    parts = (name.split(".") for name in view.rules.tests.case_classes)
    return tuple(".".join(part[:2]) + "." for part in parts if len(part) > 2)


def _far(packages: tuple[str, ...], definition: FiledDefinition) -> int:
    """How far a definition is from what all tests use: 0 in the packages of test classes, 1 elsewhere in
    the library, 2 in tests."""
    if packages and definition.fact.name.startswith(packages):
        return 0
    return 1 if definition.file.role == "library" else 2


def _decorated(view: View, decorator: str) -> list[tuple[int, TestItem]]:
    files = {r.file.id: r.file for r in view.references(keys.py(decorator)) if r.file.language == "python"}
    found = []
    for file in files.values():
        for definition in view.definitions_in(file):
            names = (definition.fact.detail or {}).get("decorators", ())
            if definition.fact.kind == "function" and decorator in names:
                own = file.role == "test" and not file.path.endswith("conftest.py")
                where = (
                    "for all tests below its folder" if file.path.endswith("conftest.py") else "of its file"
                )
                found.append((int(own), _item("fixture", definition, f"@{decorator}, {where}")))
    return found


def _assertions(view: View) -> list[TestItem]:
    """Functions and methods that are called like an assertion."""
    places = _packages(view)
    wanted: dict[str, None] = {}
    for pattern in view.rules.tests.assertions:
        begin = pattern.partition("*")[0]
        keys_ = view.keys("py", begin) if begin else view.keys("py")
        wanted.update((key, None) for key in keys_ if fnmatchcase(keys.last(key), pattern))
    return _ordered(
        [
            (_far(places, definition), _item("assertion", definition, definition.fact.signature))
            for key in wanted
            for definition in view.definitions(key)
            if definition.fact.kind == "function" and not _is_inside_function(view, definition)
        ]
    )


def _is_inside_function(view: View, definition: FiledDefinition) -> bool:
    scope = view.scope(definition)
    return scope is not None and scope.fact.kind == "function"


def _decorators(view: View) -> list[TestItem]:
    """What decorates definitions of test files, the most used first; where each is defined is looked up for
    those that are shown."""
    found = sorted(decorators(view, "test").items(), key=lambda pair: (-pair[1], pair[0]))
    return [
        TestItem("decorator", name, "", 0, f"used {count} times", count=count)
        for name, count in found
        if name not in _OWN and name.rpartition(".")[2] not in _ACCESSORS
    ]


def _placed(view: View, item: TestItem) -> TestItem:
    """A decorator with its place."""
    if item.kind != "decorator":
        return item
    ends = [d for d in python_names.resolve(view, item.name).ends if d.fact.kind in ("function", "class")]
    if not ends:
        return replace(item, reason=f"{item.reason}; not defined in this tree by that name")
    return replace(item, name=ends[0].fact.name, file=ends[0].file.path, line=ends[0].fact.line)


def _item(kind: str, definition: FiledDefinition, reason: str) -> TestItem:
    fact = definition.fact
    return TestItem(kind, fact.name, definition.file.path, fact.line, reason)


def _ordered(found: list[tuple[int, TestItem]]) -> list[TestItem]:
    ordered = sorted(found, key=lambda row: (row[0], row[1].file, row[1].line))
    return [item for _, item in ordered]
