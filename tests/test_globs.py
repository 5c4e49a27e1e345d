"""What a pattern covers, against plain definitions of the same."""

from __future__ import annotations

import fnmatch
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchtalkd.conventions.globs import glob_fault, matches


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a/**", ["a", "a/b", "a/b/c"], ["ab", "b/a", "ab/c"]),
        ("a", ["a", "a/b"], ["ab", "b/a"]),
        ("**/a", ["a", "b/a", "b/c/a/d"], ["ba", "a.b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b/c"], ["ab", "a/xb"]),
        ("*.py", ["x.py"], ["a/x.py"]),
        ("**/*.py", ["x.py", "a/b/x.py"], ["x.pyc", "a.py2"]),
        ("a/*/b", ["a/x/b"], ["a/b", "a/x/y/b"]),
        ("t?st[0-9]", ["test1"], ["tests", "t/st1", "test12"]),
        ("[!a]b", ["xb"], ["ab", "/b"]),
        ("**", ["a", "a/b"], []),
        ("a.b", ["a.b"], ["axb"]),
        ("*a*b*", ["ab", "xaxbx", "aab"], ["ba", "a", "a/b"]),
    ],
)
def test_globs(pattern: str, yes: list[str], no: list[str]) -> None:
    assert not glob_fault(pattern)
    assert [path for path in yes if not matches(pattern, path)] == []
    assert [path for path in no if matches(pattern, path)] == []


_NAMES = st.text("ab.*?", min_size=1, max_size=8).filter(
    lambda name: "**" not in name and name not in (".", "..")
)


@given(_NAMES, st.text("ab.", min_size=1, max_size=10))
def test_within_one_name_a_glob_means_what_fnmatch_means(pattern: str, name: str) -> None:
    assert matches(pattern, name) == fnmatch.fnmatchcase(name, pattern)


@given(
    st.lists(st.sampled_from(["a", "b", "*", "**"]), min_size=1, max_size=5),
    st.lists(st.sampled_from("abc"), max_size=5),
)
def test_across_names_a_glob_means_what_the_plain_definition_says(
    pattern: list[str], path: list[str]
) -> None:
    def covers(rest: list[str], names: list[str]) -> bool:
        if not rest:
            return True  # A folder covers all below it.
        if rest[0] == "**":
            return rest == ["**"] or any(covers(rest[1:], names[n:]) for n in range(len(names) + 1))
        return bool(names) and rest[0] in ("*", names[0]) and covers(rest[1:], names[1:])

    if path and not glob_fault("/".join(pattern)):
        assert matches("/".join(pattern), "/".join(path)) == covers(pattern, path)


def test_a_hostile_pattern_costs_no_time() -> None:
    started = time.perf_counter()
    assert not matches("*a" * 40 + "b", "a" * 250)
    assert time.perf_counter() - started < 1


@given(st.text(max_size=12))
def test_any_text_is_a_pattern_or_has_a_fault(pattern: str) -> None:
    if not glob_fault(pattern):
        matches(pattern, "a/b")
