"""Which units take in a header: never fewer than a compiler would."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.link.includes import closure, may_mean, reached
from torchtalkd.queries.units import units
from torchtalkd.store.database import open_view

FILES = {
    "c10/a.h": "#pragma once\n",
    "c10/b.h": '#include <c10/a.h>\n#ifdef X\n#include "c.cuh"\n#else\n#include <c10/d.h>\n#endif\n',
    "c10/c.cuh": "",
    "c10/d.h": '#include "b.h"\n',
    "c10/alone.h": "",
    "aten/one.cpp": "#include <c10/b.h>\n",
    "aten/two.cu": '#include "../c10/d.h"\n',
    "aten/three.cpp": "#include <vector>\n#include <other/a.h>\n",
    "aten/four.mm": "#import <c10/a.h>\n",
    "aten/five.cpp": "#include FIVE_HEADER\n",
    "aten/six.cpp": "#include_next <c10/a.h>\n",
    "aten/seven.cpp": '#include "three.cpp"\n',
}


def reached_by(tmp_path: Path, *changed: str) -> tuple[set[str], tuple[str, ...]]:
    root = tmp_path / "tree"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    build(root, tmp_path / "index", load("pytorch", tree=root), workers=1)
    with open_view(tmp_path / "index") as view:
        found = units(view, changed)
    return {path.removeprefix("aten/").partition(".")[0] for path in found.units}, found.unseen


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("c10/a.h", {"one", "two", "four", "five", "six"}),
        ("c10/b.h", {"one", "two", "five"}),
        ("c10/c.cuh", {"one", "two", "five"}),
        ("c10/d.h", {"one", "two", "five"}),
        # Not there yet: what names it is known all the same.
        ("third/other/a.h", {"three", "seven", "five"}),
        ("aten/three.cpp", {"seven"}),
        ("aten/one.cpp", set()),
    ],
)
def test_what_a_change_reaches(tmp_path: Path, changed: str, expected: set[str]) -> None:
    assert reached_by(tmp_path, changed)[0] == expected


def test_a_header_that_nothing_takes_in(tmp_path: Path) -> None:
    known = {path: text for path, text in FILES.items() if path != "aten/five.cpp"}
    including = {path: [other for other, text in known.items() if Path(path).name in text] for path in FILES}
    found = reached(["c10/alone.h", "c10/a.h", "aten/one.cpp"], including.__getitem__)
    assert found.unseen == ("c10/alone.h",)


def test_a_closure_ends_where_headers_take_in_each_other() -> None:
    graph = {"u.cpp": ["a.h"], "a.h": ["b.h"], "b.h": ["a.h", "c.h"], "c.h": []}
    assert closure("u.cpp", graph.__getitem__) == {"u.cpp", "a.h", "b.h", "c.h"}


@pytest.mark.parametrize(
    ("written", "includer", "path", "expected"),
    [
        ("a.h", "x/b.cpp", "x/a.h", True),
        ("a.h", "x/b.cpp", "y/a.h", True),
        ("a.h", "x/b.cpp", "y/aa.h", False),
        ("y/a.h", "x/b.cpp", "z/y/a.h", True),
        ("y/a.h", "x/b.cpp", "z/a.h", False),
        ("../y/a.h", "x/b.cpp", "y/a.h", True),
        ("./a.h", "x/b.cpp", "x/a.h", True),
        ("y//a.h", "x/b.cpp", "y/a.h", True),
        ("..", "x/b.cpp", "y/a.h", False),
    ],
)
def test_what_an_include_may_mean(written: str, includer: str, path: str, expected: bool) -> None:
    assert may_mean(written, includer, path) is expected
