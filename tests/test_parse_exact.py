"""What libclang's reading of one unit gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from torchtalkd.parse.exact import Failed, precompile, read
from torchtalkd.readings import ExactUnit

FLAGS = ("-x", "c++", "-std=c++17", "-w", "-ferror-limit=0", "-nostdinc")
Read = Callable[[str], ExactUnit]


@pytest.fixture
def unit(tmp_path: Path) -> Read:
    def of(text: str) -> ExactUnit:
        (tmp_path / "a.cpp").write_text(text, "utf-8")
        (found,) = read(str(tmp_path / "a.cpp"), FLAGS, str(tmp_path)).units
        return found

    return of


def sites(unit: ExactUnit, name: str) -> list[str]:
    (body,) = [body for body in unit.bodies if body.name == name]
    return [f"{s.line}:{s.column} {s.kind} {unit.targets[s.target].name}" for s in body.sites]


def lines(unit: ExactUnit, name: str) -> list[int]:
    """The lines of the targets of one body."""
    (body,) = [body for body in unit.bodies if body.name == name]
    return [unit.targets[site.target].line for site in body.sites]


def test_calls_of_overloads_lead_each_to_its_own(unit: Read) -> None:
    found = unit("int f(int);\nint f(double);\nint g() { return f(1) + f(1.0); }\n")
    assert sites(found, "g") == ["3:17 call f", "3:24 call f"]
    assert lines(found, "g") == [1, 2]


def test_a_virtual_call_says_so_and_a_qualified_one_does_not(unit: Read) -> None:
    found = unit("struct B { virtual void f(); };\nvoid g(B& b) { b.f(); b.B::f(); }\n")
    assert sites(found, "g") == ["2:17 virtual B::f", "2:27 call B::f"]


def test_constructors_operators_and_conversions(unit: Read) -> None:
    found = unit(
        "struct T { T(int); T operator+(const T&) const; operator bool() const; bool operator()(int); };\n"
        "bool g(T& t) { T a(1); T b = a + t; if (b) return t(2); return false; }\n"
    )
    kinds = sites(found, "g")
    assert "2:17 construct T::T" in kinds
    assert "2:31 operator T::operator+" in kinds
    assert any("operator T::operator bool" in kind for kind in kinds)
    assert any("operator T::operator()" in kind for kind in kinds)


def test_calls_in_lambdas_and_macros_belong_to_the_function_at_their_own_place(unit: Read) -> None:
    found = unit(
        "int f(int);\n#define TWICE(x) (f(x) + (x))\n#define BODY(...) [&] { return __VA_ARGS__(); }()\n"
        "int g() {\n  auto h = [](int y) { return f(y); };\n  return BODY([&] {\n    return h(1) +\n"
        "      f(3) + TWICE(f(4));\n  });\n}\n"
    )
    assert [s for s in sites(found, "g") if " f" in s] == [
        "5:30 call f", "8:6 call f", "8:13 call f", "8:19 call f",
    ]  # fmt: skip


def test_a_function_that_is_named_and_not_called_is_an_address(unit: Read) -> None:
    found = unit("int f(int);\nvoid take(int (*)(int));\nvoid g() { take(&f); take(f); f(1); }\n")
    assert [s for s in sites(found, "g") if s.endswith(" f")] == [
        "3:17 address f",
        "3:26 address f",
        "3:30 call f",
    ]


def test_a_registration_outside_of_functions_has_a_body(unit: Read) -> None:
    found = unit("void kernel();\nstruct Stub { Stub(void (*)()); };\nstatic Stub registered(&kernel);\n")
    assert "3:24 address kernel" in sites(found, "registered")


def test_templates_are_named_by_their_pattern_and_dependent_calls_are_counted(unit: Read) -> None:
    found = unit(
        "template <class T> T add(T a, T b) { return a + b; }\nint other(int);\n"
        "template <class T> int g(T t) { t.run(); return other(1) + add(t, t); }\n"
        "int h() { return add<int>(1, 2) + add(1.0, 2.0); }\n"
    )
    assert sites(found, "g") == ["3:48 call other"]
    assert sites(found, "h") == ["4:17 call add", "4:34 call add"]
    assert lines(found, "h") == [1, 1]
    assert found.dependent >= 2
    assert found.unresolved == 0


def test_a_missing_header_costs_its_own_names_only(unit: Read) -> None:
    found = unit('#include "nowhere.h"\nint f();\nint g() { return f() + unknown(); }\n')
    assert [error.missing for error in found.errors if error.missing] == ["nowhere.h"]
    assert sites(found, "g") == ["3:17 call f"]


def test_functions_of_one_file_alone_are_named_with_it(tmp_path: Path) -> None:
    usrs = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "Pool.cpp").write_text("static void f() {}\nvoid g() { f(); }\n", "utf-8")
        (found,) = read(str(tmp_path / folder / "Pool.cpp"), FLAGS, str(tmp_path)).units
        usrs.append({body.name: body.usr for body in found.bodies})
    assert usrs[0]["f"] != usrs[1]["f"]
    assert usrs[0]["g"] == usrs[1]["g"]


def test_a_generic_lambda_is_read_as_it_is_written(unit: Read) -> None:
    found = unit(
        "int f(int);\nint f(double);\ntemplate <class F> void run(F g) { g(1); g(1.0); }\n"
        "void h() { run([](auto x) { f(2); f(x); }); }\n"
    )
    assert [body.name for body in found.bodies] == ["run", "h"]
    assert sites(found, "h") == ["4:11 call run", "4:28 call f"]


def test_implicit_and_defaulted_functions_are_nobodys(unit: Read) -> None:
    found = unit("struct A { A() = default; };\nstruct B { A a; };\nvoid f() { A a; B b; B c(b); }\n")
    assert sites(found, "f") == []


def test_inline_namespaces_leave_no_trace_in_names(unit: Read) -> None:
    found = unit("namespace a { inline namespace CPU { void f(); } namespace { void g() { f(); } } }\n")
    assert sites(found, "a::g") == ["1:72 call a::f"]


def test_bodies_of_headers_are_read_from_a_unit_that_includes_them(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text(
        "#pragma once\ninline int f(int);\ninline int g() { return f(1); }\n", "utf-8"
    )
    (tmp_path / "none.cpp").write_text(f'#include "{tmp_path}/a.h"\n', "utf-8")
    found = read(
        str(tmp_path / "none.cpp"),
        FLAGS,
        str(tmp_path),
        headers=["a.h"],
        whole=True,
    )
    assert sites(found.units[0], "g") == ["3:24 call f"]


def test_a_precompiled_header_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.h").write_text(
        "#pragma once\ninline int f(int x) { return x; }\nint f(double);\n", "utf-8"
    )
    (tmp_path / "a.cpp").write_text('#include "a.h"\nint g() { return f(1) + f(1.0); }\n', "utf-8")
    header, target = tmp_path / "all.h", tmp_path / "all.pch"
    header.write_text(f'#include "{tmp_path}/a.h"\n', "utf-8")
    flags = [*FLAGS[2:], "-x", "c++-header"]
    assert precompile(str(header), flags, str(tmp_path), str(target)) == ()
    plain = read(str(tmp_path / "a.cpp"), FLAGS, str(tmp_path))
    shared = read(str(tmp_path / "a.cpp"), [*FLAGS, "-include-pch", str(target)], str(tmp_path))
    assert plain == shared
    assert sites(plain.units[0], "g") == ["2:17 call f", "2:24 call f"]


def test_what_libclang_gives_nothing_for_is_said(tmp_path: Path) -> None:
    with pytest.raises(Failed):
        read(str(tmp_path / "gone.cpp"), FLAGS, str(tmp_path))


def test_what_a_macro_makes_is_written_and_what_the_compiler_adds_is_not(unit: Read) -> None:
    found = unit(
        "#define MADE(name) struct name { name(int) {} void run() {} template <class T> void all(T) {} "
        "template <class T> void each(T) {} }; struct Plain##name {};\n"
        "MADE(A)\n"
        "void g() { A a(1); a.run(); a.all(1); a.each(1); PlainA plain; PlainA copied(plain); A copy(a); }\n"
    )
    assert [one.partition(" ")[2] for one in sites(found, "g")] == [
        "construct A::A",
        "call A::run",
        "call A::all",
        "call A::each",
    ]
    # All stand at the macro's use, and are different functions.
    assert len({body.usr for body in found.bodies if body.line == 2}) == 4
