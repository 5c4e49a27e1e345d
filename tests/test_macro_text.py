"""Macros as text: their arguments, what a body becomes, and the names that are blanked for how they end."""

from __future__ import annotations

import pytest

from torchtalkd.conventions.load import load
from torchtalkd.parse.cpp_attributes import without_attributes
from torchtalkd.parse.cpp_text import Macro
from torchtalkd.parse.macros import arguments, expand, substitute
from torchtalkd.parse.spelling import spelling


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("()", []),
        ("(a)", ["a"]),
        ("( a , b )", ["a", "b"]),
        ("(a,)", ["a", ""]),
        ("(,)", ["", ""]),
        ("(f(a, b), {c, d}, e[1, 2])", ["f(a, b)", "{c, d}", "e[1, 2]"]),
        ('("a, \\", b", c)', ['"a, \\", b"', "c"]),
        ("(',', ')', 1'000, x)", ["','", "')'", "1'000", "x"]),
        ("(a, (b", None),
        ("(" + "a" * 20_000 + ")", None),
    ],
)
def test_arguments(text: str, wanted: list[str] | None) -> None:
    assert arguments(text, 0) == (None if wanted is None else (wanted, len(text)))


@pytest.mark.parametrize(
    ("parameters", "body", "values", "wanted"),
    [
        (("x",), "void f_##x(x y);", ["int"], "void f_int(int y);"),
        (("x",), "void x ## _f();", ["at "], "void at_f();"),
        (("x", "y"), "x##y", ["a", "b"], "ab"),
        (("x",), 'def(#x, "x")', ['s("a")'], 'def("s(\\"a\\")", "x")'),
        (("x", "..."), "f(x, __VA_ARGS__)", ["a", "b", "c"], "f(a, b, c)"),
        (("args...",), "f(args)", ["a", "b"], "f(a, b)"),
        (("x",), "f(x)", [], "f()"),
        (("x",), "a # b xx", ["1"], "a # b xx"),
    ],
)
def test_substitution(parameters: tuple[str, ...], body: str, values: list[str], wanted: str) -> None:
    macro = Macro("M", parameters, body, 0, 0)
    assert substitute(macro, values) == wanted
    assert substitute(macro, values) == wanted, "what is kept of a body is not used up"


def test_the_same_body_with_other_parameters() -> None:
    assert substitute(Macro("M", ("x",), "x y", 0, 0), ["1"]) == "1 y"
    assert substitute(Macro("N", ("y",), "x y", 0, 0), ["1"]) == "x 1"


def test_only_whole_names_are_expanded() -> None:
    table = {"F": Macro("F", ("x",), "<x>", 0, 0)}
    assert expand("F(1) AF(2) 1F(3) F (4) F", table) == "<1> AF(2) 1F(3) <4> F"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b"class MYLIB_API Foo {};", b"class           Foo {};"),
        (b"MYLIB_EXPORTS\nint f();", b"             \nint f();"),
        (b"int MYLIB_EXPORT(x);", b"int MYLIB_EXPORT(x);"),
        (b"int my_MYLIB_API x;", b"int my_MYLIB_API x;"),
        (b"_API x; a::B_API y;", b"_API x; a::      y;"),
        (b"#ifdef MYLIB_API x\nMYLIB_API_V2 int x;", b"#ifdef MYLIB_API x\nMYLIB_API_V2 int x;"),
        (b"MYLIB_HIDDEN int f(); B_API void g();", b"             int f();       void g();"),
    ],
)
def test_names_that_end_as_attributes_do_are_blanked(text: bytes, wanted: bytes) -> None:
    assert without_attributes(text, spelling(load("pytorch"))) == wanted
