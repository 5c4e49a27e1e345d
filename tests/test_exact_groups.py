"""Which units share a precompiled header, what is in it, and what is included for certain."""

from __future__ import annotations

from torchtalkd.compilation.closure import ANY
from torchtalkd.compilation.reaching import members
from torchtalkd.engine.exact_certain import Certain, holds, read_text
from torchtalkd.engine.exact_closure import Closures, closures
from torchtalkd.engine.exact_groups import groups
from torchtalkd.engine.exact_precompiled import read_before
from torchtalkd.store.exact_rows import mask

NAMES = ["a.cpp", "b.cpp", "c.cpp", "all.h", "deep.h", "own.h", "bare.h"]
FILES = {name: number for number, name in enumerate(NAMES, 1)}


def known(**includes: list[str]) -> Closures:
    named = {FILES[name.replace("_", ".")]: names for name, names in includes.items()}
    return closures(FILES, named, {}, [""], "/made")


def seen(found: Closures, name: str) -> list[str]:
    return [NAMES[number - 1] for number in members(found.closed[FILES[name]])]


def test_a_closure_holds_all_that_may_be_seen_circles_too() -> None:
    found = known(a_cpp=["all.h"], all_h=["deep.h", "vector"], deep_h=["all.h"])
    assert seen(found, "a.cpp") == ["a.cpp", "all.h", "deep.h"]
    assert seen(found, "deep.h") == ["all.h", "deep.h"]
    assert seen(found, "b.cpp") == ["b.cpp"]


def test_a_name_means_each_file_that_it_may_mean() -> None:
    files = {"x/a.cpp": 1, "x/v.h": 2, "inc/v.h": 3, "v.h": 4}
    found = closures(files, {1: ["v.h"]}, {}, ["inc"], "/made")
    assert members(found.closed[1]) == [1, 2, 3]


def test_what_was_generated_leads_on_into_the_tree() -> None:
    files = {"a.cpp": 1, "all.h": 2}
    found = closures(files, {1: ["ops/add.h"]}, {"/made/src/ops/add.h": ["all.h"]}, ["", "src"], "/made")
    assert members(found.of_tree(found.closed[1])) == [1, 2]
    assert members(found.closed[1]) == [1, 2, 3]


def test_an_include_that_a_macro_names_may_mean_anything() -> None:
    found = known(a_cpp=["all.h"], all_h=[ANY])
    assert found.anything == {FILES["a.cpp"], FILES["all.h"]}


def test_a_group_has_what_all_its_units_include() -> None:
    many = {f"{n}.cpp": n for n in range(1, 21)} | {"all.h": 21, "own.h": 22, "bare.h": 23}
    includes = {n: ["all.h", "bare.h"] + (["own.h"] if n > 18 else []) for n in range(1, 21)}
    found = closures(many, includes, {}, [""], "/made")
    sizes = {21: 5_000_000, 22: 5_000_000, 23: 1000}
    (one,) = groups([f"{n}.cpp" for n in range(1, 21)], found, sizes, 1 << 23)
    assert one.headers == ("all.h",)
    assert members(one.common) == [21, 23]


def test_units_are_parted_where_that_saves_much() -> None:
    many = {f"{n}.cpp": n for n in range(1, 41)} | {"left.h": 41, "right.h": 42}
    includes = {n: ["left.h"] if n <= 20 else ["right.h"] for n in range(1, 41)}
    found = closures(many, includes, {}, [""], "/made")
    parted = groups([f"{n}.cpp" for n in range(1, 41)], found, {41: 5_000_000, 42: 5_000_000})
    assert sorted((len(one.units), one.headers) for one in parted) == [(20, ("left.h",)), (20, ("right.h",))]


def test_few_units_or_small_headers_share_nothing() -> None:
    found = known(a_cpp=["all.h"], b_cpp=["all.h"])
    (one,) = groups(["a.cpp", "b.cpp"], found, {FILES["all.h"]: 9_000_000})
    assert one.headers == ()
    (one,) = groups(["a.cpp", "b.cpp"], found, {FILES["all.h"]: 900})
    assert one.headers == ()


def test_before_headers_comes_what_others_name_too_and_what_sees_none_of_them() -> None:
    files = ["a.h", "b.h", "a_inl.h", "all.h", "back.h", "lacking.h", "deep.h", "u.cpp"]
    numbers = {name: number for number, name in enumerate(files, 1)}
    named = {
        "a.h": ["all.h", "back.h", "lacking.h", "a_inl.h"],
        "b.h": ["all.h"],
        "all.h": ["deep.h"],
        "back.h": ["b.h"],
        "u.cpp": ["back.h", "deep.h"],
    }
    found = closures(numbers, {numbers[name]: names for name, names in named.items()}, {}, [""], "/made")
    shared = mask(numbers[name] for name in ("all.h", "back.h", "lacking.h", "deep.h", "b.h"))
    sure = Certain(found, 0, shared, 1 << numbers["lacking.h"])
    assert read_before(found, sure, ["a.h", "b.h"]) == ["all.h"]
    # Alone, it sees the other as any header.
    assert read_before(found, sure, ["a.h"]) == ["back.h"]


def test_conditions_hold_only_where_they_certainly_do() -> None:
    def value(name: str) -> bool | None:
        return {"YES": True, "NO": False}.get(name)

    for condition, expected in {
        "": True,
        "defined(YES)": True,
        "!defined(NO)": True,
        "!defined(MAYBE)": None,
        "defined(MAYBE) && defined(NO)": False,
        "defined(MAYBE) || defined(YES)": True,
        "!(defined(NO) || !defined(YES))": True,
        "defined YES && VERSION >= 3": None,
        "VERSION >= F(3) || defined(YES)": True,
        "!defined(YES) && (VERSION > 3)": False,
        "defined(YES": None,
        ")(": None,
    }.items():
        assert holds(condition, value) is expected, condition


def test_a_text_says_its_includes_with_their_conditions_and_whether_it_is_guarded() -> None:
    text = read_text(b'#ifndef A_H\n#define A_H\n#include "x.h"\n#ifdef B\n#include <y.h>\n#endif\n#endif\n')
    assert text.includes == (("x.h", True, ""), ("y.h", False, "defined(B)"))
    assert text.once
    assert text.defines == {"A_H"}
    assert read_text(b"// x\n#pragma once\nint f();\n").once
    assert read_text(b"/* only\n others */\n#include <a.h>\n").once
    assert not read_text(b"int f();\n").once
    assert not read_text(b"#ifndef X\nint f();\n#endif\n").once
