"""`TEST(Suite, Name) {…}` and its kin: C++ tests (googletest, gtest/gtest.h).

Options: `form` = plain | fixture | parameters | types for what makes a test, suite for what gives a suite its
parameters: `INSTANTIATE_TEST_SUITE_P(Prefix, Suite, …)`. A test is a Definition `Suite.Name` with the
convention `gtest`; what gives parameters is one of the suite, with the convention `gtest_suite`.
"""

from __future__ import annotations

import re
from functools import cache

from tree_sitter import Node

from torchtalkd import keys
from torchtalkd.conventions.values import Shape
from torchtalkd.parse.collector import Collector, Scope
from torchtalkd.parse.cpp_names import Declarator


def read(collector: Collector, scope: Scope, shape: Shape, node: Node, found: Declarator) -> Scope | None:
    """Define the test that a macro with a body makes; the scope of the body. None where it is no test."""
    arguments = collector.arguments(found.head)
    if len(arguments) != 2 or found.macro_arguments is not None:
        return None
    suite, name = (collector.slice(argument) for argument in arguments)
    form = shape.options.get("form", "plain")
    collector.tests = True
    full = f"{suite}.{name}"
    ordinal = collector.define(
        "test",
        keys.test(full),
        full,
        arguments[1].start_byte,
        node.end_byte,
        scope=scope.ordinal,
        convention="gtest",
        detail={"form": form},
    )
    if form != "plain":
        collector.refer("argument", keys.cpp(suite), suite, arguments[0].start_byte, ordinal)
    return Scope(node.end_byte, scope.prefix, ordinal, True, local=scope.local)


def add_suites(collector: Collector) -> None:
    """Define what gives the suites of a file with tests their parameters, wherever in the text it stands."""
    if not collector.tests:
        return  # most files, and each look through a text takes its time
    shapes = collector.spelling.cpp.shapes
    names = [s.name for s in shapes if s.shape == "gtest" and s.options.get("form") == "suite"]
    for name in names:
        if name.encode() not in collector.source:
            continue
        for match in _use(name).finditer(collector.source):
            prefix, suite = match[1].decode(), match[2].decode()
            collector.define(
                "test",
                keys.test(suite),
                suite,
                match.start(2),
                match.end(2),
                convention="gtest_suite",
                detail={"form": "suite", "prefix": prefix},
            )


@cache
def _use(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"^[ \t]*" + name.encode() + rb"\s*\(\s*(\w*)\s*,\s*(\w+)\s*,", re.MULTILINE)
