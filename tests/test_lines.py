"""The line of a field of a TOML text, for every way to write one."""

from __future__ import annotations

import tomllib

import pytest

from tests.conftest import REPOSITORY
from torchtalkd.conventions.lines import line_of


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 1\n[b]\nc = 2\n", ("b", "c"), 3),
        ("[b]\n\n[b.c]\nd = 1\n", ("b", "c"), 3),
        ("b.c.d = 1\n", ("b", "c"), 1),
        ("[[x]]\ny = 1\n[[x]]\ny = 2\n[x.z]\nw = 3\n", ("x", 1, "z", "w"), 6),
        ("[[x]]\n[[x.y]]\na = 1\n[[x.y]]\na = 2\n[[x]]\n[[x.y]]\na = 3\n", ("x", 1, "y", 0, "a"), 8),
        ("a = [ # ]\n  1,\n\n  [2,\n   3]]\nb = 1\n", ("a", 1, 1), 5),
        ("a = [ # ]\n  1,\n\n  [2,\n   3]]\nb = 1\n", ("b",), 6),
        ('a = """\n[b]\nc = 1\n\\""" """\nd = 2\n', ("d",), 5),
        ("a = '''\n[b]\n\\'''\nd = 2\n", ("d",), 4),
        ('a = """x"""""\nd = 2\n', ("d",), 2),
        ('a = { b = "}", c = [1, 2] }\nd = 2\n', ("a", "c", 1), 1),
        ('"a.b" = 1\n"c\\u0041" = 2\n', ("cA",), 2),
        ("# [a]\n[ 'a' . b ] # x\nc = 1\n", ("a", "b", "c"), 3),
        ("a = 1\n[b]\nc = [\n 1,\n]\n", ("b", "c", 7, "missing"), 3),
        ("a = 1\n", ("nothing",), 1),
    ],
)
def test_the_line_of_a_field(text: str, path: tuple[str | int, ...], line: int) -> None:
    tomllib.loads(text)
    assert line_of(text, path) == line


def test_every_field_of_the_packaged_manifests_has_its_line() -> None:
    for path in sorted((REPOSITORY / "manifests").glob("*.toml")):
        text = path.read_text()
        lines = text.split("\n")
        shapes = tomllib.loads(text).get("cpp", {}).get("shapes", [])
        for index, shape in enumerate(shapes):
            assert shape["name"] in lines[line_of(text, ("cpp", "shapes", index)) - 1]
