"""A unit that takes in a pipe, a device or a socket is never given to libclang, and `status` says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.exact_tree import ExactTree, called
from torchtalkd.engine.exact import ExactReading
from torchtalkd.engine.exact_pool import Pool, Task
from torchtalkd.frontends.exact_text import exact_lines
from torchtalkd.queries.exact_standing import exact_standing

USES = "aten/src/ATen/native/Uses.cpp"


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that processes were told to read."""
    found: list[str] = []
    send = Pool._give

    def noted(self: Pool, worker: object, task: Task) -> None:
        found.extend(os.path.basename(item.wanted.path) for item in task.subject.items)
        send(self, worker, task)  # type: ignore[arg-type]

    monkeypatch.setattr(Pool, "_give", noted)
    return found


def test_a_pipe_behind_a_header_costs_its_units_alone(tmp_path: Path, given: list[str]) -> None:
    tree = ExactTree(tmp_path / "tree", tmp_path / "store")
    tree.write("c10/Deep.h", '#pragma once\n#include "c10/pipe.h"\n')
    tree.edit(USES, '#include "c10/Base.h"', '#include "c10/Base.h"\n#include "c10/Deep.h"')
    pipe = tree.root / "c10/pipe.h"
    os.mkfifo(pipe)
    result = tree.exactly()
    assert sorted(given) == ["Base.cpp", "Base.h"]
    ((path, why),) = result.failed
    assert path == USES
    assert why == f"c10/Deep.h includes {pipe}, which is no file but a device, a pipe or a socket"
    with tree.view() as view:
        assert called(view, USES, "at::native::use") is None
        assert called(view, "c10/Base.cpp", "c10::Base::run") is not None
        standing = exact_standing(view)
    assert standing is not None
    assert standing.failed == ((USES, why),)
    assert f"  {USES}: not read exactly: {why}" in list(exact_lines(standing))
    assert tree.exactly().read == 0
    # With a file in its place it is read.
    pipe.unlink()
    tree.write("c10/pipe.h", "#pragma once\n")
    assert tree.exactly().failed == []
    with tree.view() as view:
        assert called(view, USES, "at::native::use") is not None


def test_a_header_that_becomes_a_pipe_is_not_opened(tmp_path: Path, given: list[str]) -> None:
    tree = ExactTree(tmp_path / "tree", tmp_path / "store")
    tree.exactly()
    given.clear()
    (tree.root / "c10/Base.h").unlink()
    os.mkfifo(tree.root / "c10/Base.h")
    result = tree.exactly()
    assert given == []
    assert sorted(path for path, _ in result.failed) == [USES, "c10/Base.cpp"]


def test_an_include_of_a_device_is_refused(tmp_path: Path, given: list[str]) -> None:
    tree = ExactTree(tmp_path / "tree", tmp_path / "store")
    tree.exactly()
    given.clear()
    tree.edit(USES, '#include "c10/Base.h"', '#include "c10/Base.h"\n#include "/dev/zero"')
    assert [path for path, _ in tree.exactly().failed] == [USES]
    assert given == []
    tree.edit(USES, '#include "/dev/zero"\n', "")
    assert tree.exactly().failed == []
    assert given == ["Uses.cpp"]


def test_what_no_fact_tells_of_is_looked_at_again(tmp_path: Path, given: list[str]) -> None:
    tree = ExactTree(tmp_path / "tree", tmp_path / "store")
    outside = tmp_path / "outside.h"
    os.mkfifo(outside)
    tree.edit(USES, '#include "c10/Base.h"', f'#include "c10/Base.h"\n#include "{outside}"')
    tree.by_name()
    reading = ExactReading(tree.root, tree.folder, tree.conventions)
    with Pool(1) as pool:
        reading.refresh()
        while reading.turn(pool):
            pass
        assert "Uses.cpp" not in given
        outside.unlink()
        outside.write_text("#pragma once\n")
        tree.edit("c10/Base.cpp", "return x;", "return x + 0;")
        tree.by_name()
        assert reading.refresh()
        while reading.turn(pool):
            pass
    assert "Uses.cpp" in given
