"""Closures of `#include` facts: never less than a compiler takes in, and quick for a whole tree."""

from __future__ import annotations

import random
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from torchtalkd.compilation.closure import closures
from torchtalkd.link.includes import closure

FILES = {
    "a.cpp": ["x/b.h", "vector"],
    "b.cpp": ["x/b.h", "vector"],
    "src/c.cpp": ["near.h", "../x/d.h", "./near.h"],
    "src/near.h": ["x/loop1.h"],
    "near.h": [],
    "x/b.h": ["c.h"],
    "x/c.h": [],
    "inc/c.h": ["x/d.h"],
    "x/d.h": [],
    "x/loop1.h": ["x/loop2.h"],
    "x/loop2.h": ["x/loop1.h", "x/d.h"],
    "open.cpp": ["*", "x/c.h"],
    "over.cpp": ["open.h"],
    "open.h": ["*"],
}


def test_a_name_means_all_that_it_may() -> None:
    found = closures(FILES, ["", "inc"])
    # `c.h` is the one beside the includer, or that of an include folder.
    assert found.of("a.cpp") == {"a.cpp", "x/b.h", "x/c.h", "inc/c.h", "x/d.h"}
    assert found.of("src/c.cpp") == {"src/c.cpp", "src/near.h", "near.h", "x/d.h", "x/loop1.h", "x/loop2.h"}
    assert found.of("x/loop2.h") == found.of("x/loop1.h") == {"x/loop1.h", "x/loop2.h", "x/d.h"}
    assert found.of("absent.cpp") == {"absent.cpp"}


def test_who_must_be_read_again() -> None:
    found = closures(FILES, ["", "inc"])
    units = [path for path in FILES if path.endswith(".cpp")]
    assert found.containing(["x/c.h"], units) == ["a.cpp", "b.cpp", "open.cpp", "over.cpp"]
    assert found.containing(["x/d.h"], units) == ["a.cpp", "b.cpp", "src/c.cpp", "open.cpp", "over.cpp"]
    # A file that a macro names may be any, also one that is not there yet.
    assert found.containing(["new.h"], units) == ["open.cpp", "over.cpp"]
    assert found.containing(["b.cpp"], units) == ["b.cpp", "open.cpp", "over.cpp"]
    assert found.is_open("over.cpp")
    assert not found.is_open("a.cpp")


def test_units_that_take_in_the_same_share_it() -> None:
    found = closures(FILES, ["", "inc"])
    groups = sorted(found.shared(["a.cpp", "b.cpp", "src/c.cpp"]).values())
    assert groups == [["a.cpp", "b.cpp"], ["src/c.cpp"]]


NAMES = [f"{folder}{n}.h" for folder in ("", "d/", "d/e/") for n in range(3)]


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(NAMES), st.lists(st.sampled_from([*NAMES, "0.h", "../1.h", "e/2.h"]), max_size=4)
    ),
    st.lists(st.sampled_from(["", "d", "d/e"]), unique=True),
)
def test_it_is_what_a_plain_walk_finds(files: dict[str, list[str]], folders: list[str]) -> None:
    def included(path: str) -> list[str]:
        import posixpath

        places = [posixpath.dirname(path), *folders]
        candidates = [
            posixpath.normpath(posixpath.join(place, name)) for name in files[path] for place in places
        ]
        return [one for one in candidates if one in files]

    found = closures(files, folders)
    for path in files:
        assert found.of(path) == closure(path, included)


def test_a_whole_tree_takes_seconds_at_most(tmp_path: Path) -> None:
    """PyTorch's size: 11,000 files, 1,300 units, and a chain that no recursion would survive."""
    source = random.Random(1)
    files = {f"h{n}.h": [f"h{source.randrange(max(1, n))}.h" for _ in range(8)] for n in range(10_000)}
    files |= {f"u{n}.cpp": [f"h{source.randrange(10_000)}.h" for _ in range(20)] for n in range(1_300)}
    files |= {f"chain{n}.h": [f"chain{n + 1}.h"] for n in range(5_000)}
    started = time.monotonic()
    found = closures(files, ["", "other"])
    units = [path for path in files if path.endswith(".cpp")]
    assert len(found.containing(["h0.h"], units)) == 1_300
    assert time.monotonic() - started < 20
    assert len(found.of("chain0.h")) == 5_000
