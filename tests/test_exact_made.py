"""What a macro makes outside of functions is read exactly, and belongs to the macro's use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exact_tree import ExactTree, answered, everything, of_use, spelled
from torchtalkd.store.view import View

FLAGS = """#pragma once
namespace c10 {
int parsed(int x);
struct Flag { int value; virtual ~Flag(); virtual int run(int); };
}
#define DEFINE_typed(type, name, value_) \\
  type FLAGS_##name = value_; \\
  namespace c10 { \\
  struct Flag_##name : Flag { \\
    explicit Flag_##name(int x) { value = parsed(x); } \\
    int run(int x) override { return parsed(x) + 1; } \\
  }; \\
  }
#define DEFINE_flag(name, value_) DEFINE_typed(int, name, value_)
#define make_getter(name) int name() { return c10::parsed(3); }
"""
USES = """#include "c10/Flags.h"

DEFINE_flag(loud, 1)

DEFINE_flag(
    quiet,
    2)
make_getter(getting)
namespace c10 {
int use() { Flag_quiet flag(3); return flag.run(1) + getting(); }
int parsed(int x) { return x; }
}
"""
AT = "c10/Uses.cpp"
SPELLINGS = [{}, {"DEFINE_flag": "DEFINE_FLAG", "DEFINE_typed": "DEFINE_TYPED", "make_getter": "GETTER"}]
"""A macro's name may be anything."""


def tree_of(tmp_path: Path, spelling: dict[str, str]) -> ExactTree:
    texts = {"c10/Flags.h": spelled(FLAGS, spelling), AT: spelled(USES, spelling)}
    tree = ExactTree(tmp_path / "tree", tmp_path / "store", texts)
    assert tree.exactly().failed == []
    return tree


def read_at(view: View, line: int) -> list[str] | None:
    """What the use of a macro on a line refers to."""
    found = of_use(view, AT, line)
    if found is None:
        return None
    return [f"{one.line} {one.kind} {one.name} > {one.target_line}" for one in found]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_a_macro_makes_calls_and_is_called(tmp_path: Path, spelling: dict[str, str]) -> None:
    flag, getter = spelled("DEFINE_flag(quiet, 2)", spelling), spelled("make_getter(getting)", spelling)
    loud = spelled("DEFINE_flag(loud, 1)", spelling)
    with tree_of(tmp_path, spelling).view() as view:
        assert read_at(view, 5) == ["5 call c10::parsed > 11"]
        assert answered(view, "c10::use", "calls") == [
            f"10 construct exact {flag}",
            f"10 call exact {flag}",
            f"10 call exact {getter}",
        ]
        assert answered(view, "Flag_quiet", "callers") == [
            "10 construct exact c10::use",
            "10 call exact c10::use",
        ]
        assert answered(view, "c10::parsed", "callers") == [
            f"3 call exact {loud}",
            f"5 call exact {flag}",
            f"8 call exact {getter}",
        ]
        assert "10 call exact c10::use" in answered(view, "c10::parsed", "impact")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_it_follows_edits_as_a_function_does(tmp_path: Path, spelling: dict[str, str]) -> None:
    tree = tree_of(tmp_path, spelling)
    tree.edit(AT, "\n\n", "\n\n// one\n// two\n")
    tree.by_name()
    with tree.view() as view:
        assert read_at(view, 7) == ["7 call c10::parsed > 13"]
    tree.edit(AT, "    quiet,\n", "    still,\n")
    tree.by_name()
    with tree.view() as view:
        assert read_at(view, 7) is None
        assert read_at(view, 5) == ["5 call c10::parsed > 13"]
        # `Flag_quiet` is made nowhere any more, and `use` was not read again: no place of it is told.
        assert not [
            line for line in answered(view, "c10::use", "calls") if "quiet" in line or "still" in line
        ]
    tree.edit(AT, "Flag_quiet", "Flag_still")
    tree.exactly()
    with tree.view() as view:
        assert read_at(view, 7) == ["7 call c10::parsed > 13"]
    tree.edit("c10/Flags.h", "parsed(x) + 1", "parsed(x) + 2")
    tree.by_name()
    with tree.view() as view:
        assert read_at(view, 7) is None
    tree.exactly()
    fresh = ExactTree(tree.root, tmp_path / "fresh", {})
    fresh.exactly()
    with tree.view() as after, fresh.view() as anew:
        assert everything(after) == everything(anew)
