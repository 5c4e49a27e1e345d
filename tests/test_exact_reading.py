"""The exact reading of a tree follows its index, and is never of an older text."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.exact_tree import BASE, FILES, USES, ExactTree, called, callers, everything
from torchtalkd.engine import exact as exact_engine
from torchtalkd.engine.exact import ExactReading
from torchtalkd.engine.exact_pool import Pool
from torchtalkd.parse.exact import Missing
from torchtalkd.store.view import View

USES_AT = "aten/src/ATen/native/Uses.cpp"
HELPER = ["5:19 call c10::pick > c10/Base.cpp:6"]
USE = [
    "8:31 call at::native::helper > aten/src/ATen/native/Uses.cpp:4",
    "8:45 virtual c10::Base::run > c10/Base.cpp:4",
    "9:21 call c10::add > c10/Base.h:8",
    "9:40 call c10::Base::twice > c10/Base.h:6",
]


@pytest.fixture
def tree(tmp_path: Path) -> ExactTree:
    return ExactTree(tmp_path / "tree", tmp_path / "store")


def test_calls_lead_to_definitions_in_other_files(tree: ExactTree) -> None:
    result = tree.exactly()
    assert (result.off, result.failed) == ("", [])
    with tree.view() as view:
        assert view.exact_share() == (3, 3, 0)
        assert called(view, USES_AT, "at::native::helper") == HELPER
        assert called(view, USES_AT, "at::native::use") == USE
        assert callers(view, USES_AT, "at::native::helper") == ["at::native::use 8 call"]
        assert callers(view, "c10/Base.cpp", "c10::pick", "(double") == ["at::native::helper 5 call"]
        assert callers(view, "c10/Base.cpp", "c10::Base::run") == [
            "at::native::use 8 virtual",
            "c10::Base::twice 6 virtual",
            "c10::Base::twice 6 virtual",
        ]


def test_an_edit_elsewhere_moves_a_body_along(tree: ExactTree) -> None:
    tree.exactly()
    tree.edit(USES_AT, "#define", "// one\n// two\n#define")
    tree.by_name()
    with tree.view() as view:
        assert called(view, USES_AT, "at::native::helper") == ["7:19 call c10::pick > c10/Base.cpp:6"]
        assert (called(view, USES_AT, "at::native::use") or [""])[0] == (
            "10:31 call at::native::helper > aten/src/ATen/native/Uses.cpp:6"
        )


def test_an_edit_inside_drops_that_body_alone(tree: ExactTree) -> None:
    tree.exactly()
    tree.edit(USES_AT, "return CALL(c10::pick, 2.0) + x;", "return x;")
    tree.by_name()
    with tree.view() as view:
        assert called(view, USES_AT, "at::native::helper") is None
        # What calls it still does; it is where it is now.
        assert called(view, USES_AT, "at::native::use") == USE
        assert callers(view, USES_AT, "at::native::helper") == ["at::native::use 8 call"]
        assert callers(view, "c10/Base.cpp", "c10::pick", "(double") == []
    tree.exactly()
    with tree.view() as view:
        assert called(view, USES_AT, "at::native::helper") == []


def test_a_saved_header_drops_all_that_may_see_it(tree: ExactTree) -> None:
    tree.exactly()
    tree.edit("c10/Base.h", "int pick(double);", "int pick(double);\nint pick(float);")
    tree.by_name()
    with tree.view() as view:
        assert view.exact_share() == (1, 3, 2)
        assert called(view, USES_AT, "at::native::use") is None
        assert callers(view, "c10/Base.cpp", "c10::Base::run") == [
            "c10::Base::twice 6 virtual",
            "c10::Base::twice 6 virtual",
        ]
    tree.exactly()
    with tree.view() as view:
        assert view.exact_share() == (3, 3, 0)
        assert called(view, USES_AT, "at::native::use") == USE


def test_only_what_is_stale_is_read(tree: ExactTree) -> None:
    assert tree.exactly().read == 3
    assert tree.exactly().read == 0
    tree.edit("c10/Base.cpp", "return x;", "return x + 0;")
    assert tree.exactly().read == 1
    tree.edit("c10/Base.h", "struct Base", "struct  Base")
    assert tree.exactly().read == 3


def test_a_header_that_is_as_before_again_is_not_read(tree: ExactTree) -> None:
    tree.exactly()
    tree.edit("c10/Base.h", "struct Base", "struct  Base")
    tree.by_name()
    tree.write("c10/Base.h", BASE)
    assert tree.exactly().read == 0
    with tree.view() as view:
        assert view.exact_share() == (3, 3, 0)


def test_bodies_with_the_same_lines_stay_apart(tree: ExactTree) -> None:
    text = USES + (
        "namespace one {\nint f(int);\nint g() {\n  return f(1);\n}\n}\n"
        "namespace two {\nint f(int);\nint g() {\n  return f(1);\n}\n}\n"
    )
    tree.write(USES_AT, text)
    tree.exactly()
    with tree.view() as view:
        assert called(view, USES_AT, "one::g") == [f"15:9 call one::f > {USES_AT}:13"]
        assert called(view, USES_AT, "two::g") == [f"21:9 call two::f > {USES_AT}:19"]
    # With one of the two gone nobody knows which of them was meant, until it is read again.
    tree.edit(USES_AT, "namespace one {\nint f(int);\nint g() {\n  return f(1);\n}\n}\n", "")
    tree.by_name()
    with tree.view() as view:
        assert called(view, USES_AT, "two::g") is None


def test_a_deleted_unit_leaves_nothing(tree: ExactTree) -> None:
    tree.exactly()
    (tree.root / USES_AT).unlink()
    tree.exactly()
    with tree.view() as view:
        assert view.exact_share() == (2, 2, 0)
        assert callers(view, "c10/Base.cpp", "c10::pick", "(double") == []


def test_a_unit_that_libclang_cannot_read_is_not_tried_again(
    tree: ExactTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies = [sys.executable, "-c", "import sys; sys.stdin.readline(); sys.exit(9)"]
    monkeypatch.setattr("torchtalkd.engine.exact_pool.own_process", lambda _: dies)
    result = tree.exactly()
    assert {why for _, why in result.failed} == {"the process that read it ended (9)"}
    assert len(result.failed) == 3
    monkeypatch.undo()
    assert tree.exactly().read == 0
    tree.edit(USES_AT, "+ x", "+ x + 1")
    assert tree.exactly().read == 1


def test_without_libclang_everything_else_works(tree: ExactTree, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> str:
        raise Missing("libclang cannot be loaded (no such file)")

    monkeypatch.setattr(exact_engine, "reader_recipe", missing)
    result = tree.exactly()
    assert result.off == "libclang cannot be loaded (no such file)"
    with tree.view() as view:
        assert view.meta("exact_off") == result.off
        assert view.exact_share() == (0, 0, 0)
        assert called(view, USES_AT, "at::native::use") is None


LINES = ("// a line\n", "int extra(int x) { return x; }\n", "inline int more() { return 1; }\n", "\n")


def changed(tree: ExactTree, chance: random.Random) -> None:
    """One save, of any kind."""
    path = chance.choice(sorted(FILES))
    text = (tree.root / path).read_text("utf-8") if (tree.root / path).exists() else FILES[path]
    lines = text.splitlines(keepends=True)
    kind = chance.randrange(7)
    if kind == 0:
        tree.write(path, FILES[path])
    elif kind == 1:
        at = next(n for n, line in enumerate(lines) if line.startswith("namespace"))
        tree.write(path, "".join([*lines[:at], chance.choice(LINES), *lines[at:]]))
    elif kind == 2:
        tree.write(path, text.replace("2.0", "2", 1) if "2.0" in text else text.replace("(2)", "(2.0)", 1))
    elif kind == 3 and path != "c10/Base.h":
        (tree.root / path).unlink(missing_ok=True)
    elif kind == 4:
        tree.write(path, text.replace("int x", "long x", 1))
    elif kind == 5:
        tree.write(path, text.replace("virtual int run", "int run", 1))
    else:
        tree.write("c10/New.h", f"#pragma once\nint fresh{chance.randrange(3)}(int);\n")
        tree.write(path, '#include "c10/New.h"\n' + text)


@pytest.mark.parametrize("seed", range(4))
def test_any_history_equals_a_fresh_reading(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    tree = ExactTree(tmp_path / "tree", tmp_path / "store")
    tree.exactly()
    for step in range(6):
        for _ in range(chance.randrange(1, 3)):
            changed(tree, chance)
        if chance.random() < 0.5:
            tree.by_name()
            with tree.view() as view:
                _is_of_the_text(view, tree)
        tree.exactly()
        fresh = ExactTree(tree.root, tmp_path / f"fresh{step}", {})
        fresh.exactly()
        with tree.view() as view, fresh.view() as other:
            assert everything(view) == everything(other)
            _is_of_the_text(view, tree)


def _is_of_the_text(view: View, tree: ExactTree) -> None:
    """At each place that is answered stands the name that is said to stand there."""
    for file in view.files():
        lines = (tree.root / file.path).read_text("utf-8").splitlines()
        for definition in view.definitions_in(file):
            for reference in view.exact_in(definition) or ():
                name = reference.name.rpartition("::")[2]
                if reference.kind in ("call", "virtual", "address"):
                    assert lines[reference.line - 1][reference.column :].startswith(name)


def test_one_who_stays_has_what_the_next_save_needs(tmp_path: Path) -> None:
    declarations = "".join(f"int declared_{n}(int, int, int, int);\n" for n in range(10_000))
    files = {"c10/Big.h": f"#pragma once\n{declarations}"}
    files |= {f"c10/U{n}.cpp": f'#include "c10/Big.h"\nint used_{n}() {{ return 0; }}\n' for n in range(12)}
    tree = ExactTree(tmp_path / "tree", tmp_path / "store", files)
    assert tree.exactly().read == 12
    (shared,) = tree.folder.glob("compilation/precompiled/*.pch")
    # Whoever reads once leaves it there, also where a single file is read.
    tree.edit("c10/U1.cpp", "return 0", "return declared_1(0, 0, 0, 0)")
    assert tree.exactly().read == 1
    assert shared.exists()
    shared.unlink()
    reading = ExactReading(tree.root, tree.folder, tree.conventions)
    with Pool(1) as pool:

        def done() -> None:
            tree.by_name()
            while reading.refresh():
                while reading.turn(pool):
                    pass
            reading.finish()

        done()
        reading.prepare()
        assert not shared.exists()
        tree.edit("c10/U2.cpp", "return 0", "return declared_2(0, 0, 0, 0)")
        done()
    assert shared.exists()
    with tree.view() as view:
        assert called(view, "c10/U2.cpp", "used_2") == ["2:22 call declared_2 > c10/Big.h:4"]
