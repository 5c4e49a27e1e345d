"""Whether a decorator that nobody lists may change which tests a function makes. Pure.

A decorator of the tree that calls one which makes several tests somewhere in its body may do so, too
(`def layouts(): return parametrize("layout", …)`), and so does a class that extends what all of these are
(`_TestParametrizer` in torch/testing/_internal/common_utils.py). One that has to be called first, and is
not, puts another function in the test's place: what the decorators below it have noted on that is lost.
"""

from __future__ import annotations

import re
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import FiledDefinition
from torchtalkd.link import python_classes, python_names
from torchtalkd.link.source import Facts
from torchtalkd.link.test_functions import Test, form_of

_DEEPEST: Final = 3
"""Functions that call one another, until one calls a decorator."""
_FIRST_SAID: Final = re.compile(r"\(\s*\w+\s*(?::[^=,]*)?=\s*(?!None\b)\S")
"""A list of parameters of which the first is something where nobody gives it."""
_MAKING: Final = frozenset(
    ("ops", "modules", "optims", "dtypes", "parametrize", "pytest_parametrize", "unknown")
)


def in_the_way(facts: Facts, test: Test) -> str:
    """Why a decorator of a test leaves open which tests there are; '' where none does."""
    detail = test.definition.fact.detail or {}
    followed = detail.get("followed", ())
    for name in detail.get("decorators", ()):
        form = form_of(facts.rules.tests, name)
        if form == "unknown" or (not form and name not in followed and _makes(facts, name)):
            return f"what @{_last(name)} makes is not worked out"
    for name in detail.get("bare", ()):
        if _wants_a_call(facts, name):
            return f"@{_last(name)} is not called, so that the decorators below it are lost"
    if _in_a_block(facts, test):
        return f"{test.name} stands in a block, and may not be there"
    return replaced(facts, test.around) if test.around is not None else ""


def _in_a_block(facts: Facts, test: Test) -> bool:
    """Whether a test is indented further than the other functions around it, an `if` before it."""
    known: dict[int, int] = facts.kept.setdefault("columns_of_tests", {})
    first = len("def ")
    if test.around is not None:
        if test.around.id not in known:
            around = [d for d in facts.definitions_in(test.around.file) if d.fact.kind == "function"]
            columns = [d.fact.column for d in around if facts.scope(d) == test.around]
            known[test.around.id] = min(columns, default=0)
        first = known[test.around.id]
    return test.definition.fact.column not in (first, first + len("async "))


def replaced(facts: Facts, class_: FiledDefinition) -> str:
    """Why a decorator of a class leaves open what is collected of it: it makes other classes, or puts one
    of its own in its place. '' where none does."""
    known: dict[str, bool] = facts.kept.setdefault("replacing_decorators", {})
    for name in (class_.fact.detail or {}).get("decorators", ()):
        if name not in known:
            form = form_of(facts.rules.tests, name)
            ends = () if form else python_names.resolve(facts, name).ends
            inside = any(_has_a_class(facts, end) for end in ends)
            known[name] = form == "unknown" or inside or _is_partial(facts, name)
        if known[name]:
            return f"what @{_last(name)} makes is not worked out"
    return ""


def _is_partial(facts: Facts, name: str) -> bool:
    """Whether a name is assigned a `functools.partial`, which may still wait for what it decorates:
    `skip = partial(unittest.skipIf, True)`."""
    found = facts.named(keys.py(_last(name)), name)
    return any(str((d.fact.detail or {}).get("wrapper", "")).endswith("partial") for d in found)


def _has_a_class(facts: Facts, function: FiledDefinition) -> bool:
    if function.fact.kind != "function":
        return False
    inner = (d for d in facts.definitions_in(function.file) if d.fact.kind == "class")
    return any(function.fact.line < d.fact.line <= function.fact.end_line for d in inner)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _makes(facts: Facts, name: str) -> bool:
    """Whether a decorator of the tree may make several tests; kept."""
    known: dict[str, bool] = facts.kept.setdefault("making_decorators", {})
    if name not in known:
        known[name] = any(_may_make(facts, end, 0) for end in python_names.resolve(facts, name).ends)
    return known[name]


def _may_make(facts: Facts, definition: FiledDefinition, depth: int) -> bool:
    rules = facts.rules.tests
    if definition.fact.kind == "class":
        above = python_classes.ancestry(facts, definition)
        return any(class_.fact.name in rules.makers for class_ in above)
    if definition.fact.kind != "function":
        return False
    for reference in facts.inside(definition):
        if reference.fact.kind != "call" or "." not in reference.fact.name:
            continue
        if form_of(rules, reference.fact.name) in _MAKING:
            return True
        ends = python_names.resolve(facts, reference.fact.name).ends if depth < _DEEPEST else ()
        own = [end for end in ends if end.file == definition.file and end != definition]
        if any(_may_make(facts, end, depth + 1) for end in own):
            return True
    return False


def _wants_a_call(facts: Facts, name: str) -> bool:
    """Whether a decorator is a function that makes one: what it takes first is something else (`msg="…"`),
    or the function in it has one in itself, and is not called by it. Kept."""
    known: dict[str, bool] = facts.kept.setdefault("making_of_decorators", {})
    if name not in known:
        ends = [e for e in python_names.resolve(facts, name).ends if e.fact.kind == "function"]
        known[name] = any(_FIRST_SAID.match(e.fact.signature) or _is_two_deep(facts, e) for e in ends)
    return known[name]


def _is_two_deep(facts: Facts, function: FiledDefinition) -> bool:
    below = [d for d in facts.definitions_in(function.file) if d.fact.kind == "function"]
    inner = [d for d in below if facts.scope(d) == function]
    deep = [d for d in below if facts.scope(d) in inner]
    wraps = any(
        _last(str(name)) == "wraps" for d in inner for name in (d.fact.detail or {}).get("decorators", ())
    )
    calls = {r.fact.key for r in facts.inside(function) if r.owner == function.id and r.fact.kind == "call"}
    return bool(deep) and not wraps and not calls.intersection(d.fact.key for d in inner)
