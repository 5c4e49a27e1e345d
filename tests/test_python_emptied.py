"""A Python text without the bodies that cannot bear on some lines."""

from __future__ import annotations

import ast

import pytest

from torchtalkd.conventions import load
from torchtalkd.facts import FileFacts
from torchtalkd.parse import parse, targets_python
from torchtalkd.parse.python_emptied import emptied

CONVENTIONS = load("torch-extension")

TEXT = b'''\
import torch
from pkg import skip

LIBRARY = "libmine.so"


def place():
    """Where libraries are."""
    folder = "build"
    path = folder + "/" + LIBRARY
    return path


def helper(a,
           b=place):
    c = a
    d = b

    return "libother.so", c, d


class Lonely(torch.nn.Module):
    text = """
def not_one():
    pass
"""

    def forward(self, x):
        y = x + 1
        z = y * 2
        return z


@skip("slow")
class TestIt:
    @skip(
        "no library",
    )
    async def test_other(self):
        a = 1
        b = a
        c = b
        return c

    def test_it(self):
        torch.ops.load_library(place())

    def shared(self):
        return 1


def last():
    a = 1
    b = 2
    c = 3
    return a + b + c
'''


def _facts(text: bytes) -> FileFacts:
    return parse("tests/test_it.py", text, CONVENTIONS)


def _line(text: bytes, part: bytes) -> int:
    return text[: text.index(part)].count(b"\n") + 1


def test_what_bears_on_a_line_stays_where_it_is() -> None:
    left = emptied(TEXT, _facts(TEXT), [_line(TEXT, b"torch.ops.load")])
    assert len(left.split(b"\n")) == len(TEXT.split(b"\n"))
    for part in (b"torch.ops.load_library", b"return path", b"def shared", b'@skip("slow")'):
        assert _line(left, part) == _line(TEXT, part)
    for part in (b"not_one", b"z = y * 2", b"c = b", b"b=place", b"c = 3"):
        assert part not in left
    names = [node.name for node in ast.walk(ast.parse(left)) if hasattr(node, "name")]
    assert [name for name in names if name in ("Lonely", "helper", "test_other", "last")]


def test_a_text_with_an_error_is_left_as_it_is() -> None:
    broken = TEXT.replace(b"z = y * 2", b"z = y * (")
    assert emptied(broken, _facts(broken), [3]) == broken
    old = TEXT.replace(b"\n", b"\r\n")
    assert emptied(old, _facts(old), [3]) == old


def test_targets_are_those_of_the_whole_text(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _facts(TEXT)
    assert [r.name for r in found.references if r.kind == "import" and r.name.endswith("mine")] == [
        "tests.mine"
    ]
    monkeypatch.setattr(targets_python, "emptied", lambda data, facts, lines: data)
    assert _facts(TEXT) == found


def test_what_a_function_within_another_returns_is_not_lost() -> None:
    inner = b"    def inner():\n        a = 1\n        b = 2\n        c = 3\n        return 'libinner.so'\n"
    text = TEXT.replace(b'    path = folder + "/" + LIBRARY\n    return path', inner + b"    return inner()")
    assert "tests.inner" in [r.name for r in _facts(text).references if r.kind == "import"]
