"""What a macro of another file makes in a class is read exactly, and belongs to the macro's use there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exact_tree import ExactTree, answered, everything, of_use, spelled
from torchtalkd.queries.trace import trace
from torchtalkd.store.view import View

FIELD = """#pragma once
namespace nn {
int checked(int x);
int told(int x);
}
#define FIELD(T, name) \\
 public: \\
  auto name(const T& to) -> decltype(*this) { this->name##_ = nn::checked(to); return *this; } \\
  const T& name() const noexcept { nn::told(1); return this->name##_; } \\
 private: \\
  T name##_
#define NOT_COPIED(type) \\
  type(const type&) = delete; \\
  type& operator=(const type&) = delete
#define GETTER(name) public: int get_##name() const { return nn::told(2); }
"""
OPTIONS = """#pragma once
#include "c10/macros.h"
namespace nn {
struct Options {
  explicit Options(int size) : size_(size) {}
  FIELD(int, size);

  FIELD(int, groups) = 1;
  /// Where a value is given in braces.
  FIELD(int,
        steps){2};
  GETTER(best)
  NOT_COPIED(Options);
};
}
"""
USES = """#include "c10/options.h"
namespace nn {
int checked(int x) { return x; }
int told(int x) { return x; }
int run(Options& options) {
  options.groups(3);
  return options.size() + options.get_best();
}
int walk(Options& options) { return options.steps(3).steps(); }
}
"""
AT = "c10/options.h"
SPELLINGS = [
    {},
    {"FIELD": "C10_field", "GETTER": "C10_getter", "NOT_COPIED": "C10_not_copied"},
    {"FIELD": "member_of"},
]
"""A macro's name may be anything."""


def tree_of(tmp_path: Path, spelling: dict[str, str]) -> ExactTree:
    texts = {"c10/macros.h": FIELD, AT: OPTIONS, "c10/uses.cpp": USES}
    texts = {path: spelled(text, spelling) for path, text in texts.items()}
    tree = ExactTree(tmp_path / "tree", tmp_path / "store", texts)
    assert tree.exactly().failed == []
    return tree


def read_at(view: View, line: int) -> list[str] | None:
    """What the use of a macro on a line refers to."""
    found = of_use(view, AT, line)
    if found is None:
        return None
    return [f"{one.line} {one.kind} {one.name}" for one in found]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_a_macro_makes_in_a_class_calls_and_is_called(tmp_path: Path, spelling: dict[str, str]) -> None:
    size, groups = spelled("FIELD(int, size)", spelling), spelled("FIELD(int, groups)", spelling)
    steps, best = spelled("FIELD(int, steps)", spelling), spelled("GETTER(best)", spelling)
    with tree_of(tmp_path, spelling).view() as view:
        for line in (6, 8, 10):
            assert read_at(view, line) == [f"{line} call nn::checked", f"{line} call nn::told"]
        assert read_at(view, 12) == ["12 call nn::told"]
        assert answered(view, "nn::run", "calls") == [
            f"6 call exact {groups}",
            f"7 call exact {size}",
            f"7 call exact {best}",
        ]
        assert answered(view, "nn::Options::groups", "callers") == ["6 call exact nn::run"]
        assert answered(view, "Options::get_best", "callers") == ["7 call exact nn::run"]
        assert answered(view, "Options::steps", "callers") == ["9 call exact nn::walk"] * 2
        assert answered(view, "nn::checked", "callers") == [
            f"6 call exact {size}",
            f"8 call exact {groups}",
            f"10 call exact {steps}",
        ]
        assert set(answered(view, "nn::checked", "impact")) >= {
            "7 call exact nn::run",
            "9 call exact nn::walk",
        }


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_member_that_a_macro_makes_is_traced_to_its_use(tmp_path: Path, spelling: dict[str, str]) -> None:
    with tree_of(tmp_path, spelling).view() as view:
        for name, line in (("nn::Options::size", 6), ("Options::groups", 8), ("steps", 10), ("get_best", 12)):
            (item,) = trace(view, name).items
            assert (item.file, item.line) == (AT, line)
            assert item.symbol.startswith("nn::Options::")
            assert item.note == f"made by {spelled('GETTER' if line == 12 else 'FIELD', spelling)}"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_it_follows_edits_as_a_method_does(tmp_path: Path, spelling: dict[str, str]) -> None:
    tree = tree_of(tmp_path, spelling)
    tree.edit(AT, "struct Options {", "struct Options {\n  // One more line.")
    tree.by_name()
    with tree.view() as view:
        assert read_at(view, 7) == ["7 call nn::checked", "7 call nn::told"]
        assert read_at(view, 13) == ["13 call nn::told"]
    tree.edit(AT, "        steps", "        paces")
    tree.by_name()
    with tree.view() as view:
        assert read_at(view, 11) is None
        assert read_at(view, 9) == ["9 call nn::checked", "9 call nn::told"]
        assert not [
            line for line in answered(view, "nn::walk", "calls") if "steps" in line or "paces" in line
        ]
    tree.edit("c10/uses.cpp", "options.steps(3).steps()", "options.paces(3).paces()")
    tree.exactly()
    with tree.view() as view:
        assert read_at(view, 11) == ["11 call nn::checked", "11 call nn::told"]
    fresh = ExactTree(tree.root, tmp_path / "fresh", {})
    fresh.exactly()
    with tree.view() as after, fresh.view() as anew:
        assert everything(after) == everything(anew)
