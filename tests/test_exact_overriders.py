"""What overrides a virtual function, as a compiler says: more, and less, than the names say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exact_tree import ExactTree, called
from torchtalkd.facts import FiledDefinition
from torchtalkd.queries.exact_edges import exact_callees, exact_callers
from torchtalkd.store.view import View

FILES = {
    "c10/Shape.h": """#pragma once
namespace c10 {
struct Shape {
  virtual ~Shape();
  virtual int area(int x) = 0;
  virtual int edges() { return 0; }
};
struct Round : Shape {
  int area(int x) override = 0;
};
template <class T> struct Boxed : Shape {
  int area(int x) override { return x; }
};
}
""",
    "c10/Shapes.cpp": """#include "c10/Shape.h"
namespace c10 {
Shape::~Shape() {}
struct Square : Shape {
  int area(int x) override;
  int area(double x) { return 2; }
  int edges() override { return Shape::edges() + 4; }
};
int Square::area(int x) { return x * x; }
struct Circle : Round {
  int area(int x) override { return 3 * x; }
};
struct Alone {
  int area(int x) { return x; }
};
}
""",
    "c10/Uses.cpp": """#include "c10/Shape.h"
namespace c10 {
int through(Shape* shape) { return shape->area(2); }
int nearer(Round* shape) { return shape->area(2); }
}
""",
}


@pytest.fixture
def tree(tmp_path: Path) -> ExactTree:
    return ExactTree(tmp_path / "tree", tmp_path / "store", FILES)


def at(view: View, path: str, line: int) -> FiledDefinition:
    """The method that begins at a line."""
    file = view.file(path)
    assert file is not None
    (found,) = [d for d in view.definitions_in(file) if d.fact.line == line and d.fact.kind == "function"]
    return found


def places(found: tuple[FiledDefinition, ...] | None) -> list[str] | None:
    return None if found is None else [f"{d.file.path}:{d.fact.line}" for d in found]


def test_overriders_are_those_of_the_compiler(tree: ExactTree) -> None:
    tree.exactly()
    with tree.view() as view:
        area = at(view, "c10/Shape.h", 5)
        # `Circle` overrides it through `Round`, which has no body; `area(double)` and `Alone` do not.
        assert places(view.exact_overriders(area)) == [
            "c10/Shape.h:12",
            "c10/Shapes.cpp:9",
            "c10/Shapes.cpp:11",
        ]
        assert places(view.exact_overriders(at(view, "c10/Shape.h", 9))) == ["c10/Shapes.cpp:11"]
        assert places(view.exact_overridden(at(view, "c10/Shapes.cpp", 11))) == [
            "c10/Shape.h:5",
            "c10/Shape.h:9",
        ]
        assert places(view.exact_overridden(at(view, "c10/Shapes.cpp", 6))) == []
        # What is overridden is no reference, and a call of it is one.
        assert called(view, "c10/Shapes.cpp", "c10::Circle::area") == []
        assert called(view, "c10/Shapes.cpp", "c10::Square::edges") == [
            "7:39 call c10::Shape::edges > c10/Shape.h:6"
        ]
        assert view.exact_edges() == 3


def test_a_call_through_the_base_reaches_them_and_back(tree: ExactTree) -> None:
    tree.exactly()
    with tree.view() as view:
        ends = [
            (edge.other.file.path, edge.other.fact.line, edge.hop, edge.evidence)
            for edge in exact_callees(view, at(view, "c10/Uses.cpp", 3))
        ]
        assert ends == [
            ("c10/Shape.h", 5, "call", "exact"),
            ("c10/Shape.h", 12, "virtual", "candidate"),
            ("c10/Shapes.cpp", 9, "virtual", "candidate"),
            ("c10/Shapes.cpp", 11, "virtual", "candidate"),
            # Of what has no body that was read, the name is all that is known.
            ("c10/Shape.h", 9, "virtual", "candidate"),
        ]

        def above(path: str, line: int) -> list[tuple[str, str, str]]:
            found = exact_callers(view, at(view, path, line))
            return [(edge.other.fact.name, edge.hop, edge.evidence) for edge in found]

        assert above("c10/Shapes.cpp", 9) == [("c10::through", "virtual", "candidate")]
        assert above("c10/Shapes.cpp", 11) == [
            ("c10::through", "virtual", "candidate"),
            ("c10::nearer", "virtual", "candidate"),
        ]
        assert above("c10/Shapes.cpp", 6) == []
        assert above("c10/Shapes.cpp", 14) == []


def test_an_overrider_that_was_edited_stays_by_name(tree: ExactTree) -> None:
    tree.exactly()
    tree.edit("c10/Shapes.cpp", "return x * x;", "return x;")
    tree.by_name()
    with tree.view() as view:
        square = at(view, "c10/Shapes.cpp", 9)
        assert view.exact_overridden(square) is None
        assert places(view.exact_overriders(at(view, "c10/Shape.h", 5))) == [
            "c10/Shape.h:12",
            "c10/Shapes.cpp:11",
        ]
        ends = [edge.other.id for edge in exact_callees(view, at(view, "c10/Uses.cpp", 3))]
        assert square.id in ends
