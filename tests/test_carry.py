"""What a view takes over from the one before is what a fresh view would read."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from torchtalkd.conventions import load
from torchtalkd.engine import build
from torchtalkd.link import macros, made_functions, seen, targets, test_functions
from torchtalkd.link.test_functions import LISTED, PARAMETERS
from torchtalkd.queries.search import search
from torchtalkd.queries.trace import trace
from torchtalkd.store import carry as carrying
from torchtalkd.store.carry import carry
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

DERIVED: dict[tuple[str, str], Callable[[View], object]] = {
    ("macro", "function_templates"): made_functions._templates,
    ("macro", "library_uses"): macros._library,
    ("target", "targets"): targets.targets,
    ("target", "by_package"): targets._by_package,
}
"""What queries keep of the definitions of one space, and what makes it."""

ROOT = Path(__file__).parent.parent
BY_NAME_ALONE = {
    *("bindings of files", "sites of keys", "files of Python objects", "macro_uses", "structure_calls"),
    *("bodies_of", "macro_sites", "rare"),
}
"""What is kept beside exact edges, and holds none: definitions and references by their names."""


def over(view: View, form: str) -> object:
    return [
        (o.test, o.case, o.selection.certain, [e.definition for e in o.selection.entries])
        for o in test_functions.over_lists(view, form)
    ]


LANGUAGES: dict[str, Callable[[View], object]] = {
    "taken_in": seen._taken_in,
    "file_bits": seen._order,
    **{f"tests_over_{form}": partial(over, form=form) for form in (*LISTED, *PARAMETERS)},
}
"""What queries keep of files of some languages, and what makes it."""

SPACES = ("op", "py", "cpp", "macro", "test", "tag")


def warmed(view: View) -> View:
    """A view that has read about all there is."""
    for space in SPACES:
        for key in view.keys(space):
            view.count(key)
            for definition in view.definitions(key):
                view.named(key, definition.fact.name)
                view.of_kind(key, definition.fact.kind)
                view.targets(definition)
                view.inside(definition)
                view.definitions_in(definition.file)
            view.targeting(key)
    for name in ("mul", "matmul", "torch.linalg.det", "gelu", "brand_new", "softmax"):
        trace(view, name)
        trace(view, name, "dispatch")
        search(view, name)
    for derive in LANGUAGES.values():
        derive(view)
    return view


def same(carried: View, fresh: View, *, unchanged: bool = False) -> None:
    """That all that was carried is what the fresh view reads. `unchanged`: no file is another."""
    for key, found in carried._definitions.items():
        assert found == fresh.definitions(key), key
    for (key, name), found in carried._named.items():
        assert found == fresh.named(key, name)
    for (key, kind), found in carried._of_kind.items():
        assert found == fresh.of_kind(key, kind)
    for key, (count, _) in carried._counted.items():
        assert count == fresh.count(key)
    for number, found in carried._by_id.items():
        assert found == fresh.definition(number)
    for (where, value), listed in carried._targets_kept.items():
        assert listed == fresh._targets(where, value)
    for number, file in carried._files.items():
        assert file == fresh.file_of(number << 20)
        assert carried._packed.get(number, fresh._rows_of(file)) == fresh._rows_of(file)
        assert carried._scopes.get(number, fresh._scopes_of(file)) == fresh._scopes_of(file)
        assert carried._in_file.get(number, fresh.definitions_in(file)) == fresh.definitions_in(file)
    for space, keys in carried._keys.items():
        assert keys == fresh.keys(space)
    # What queries derive stays only where no file is another, but for what comes of some languages.
    if not unchanged:
        assert carried.kept.keys() <= LANGUAGES.keys()
        for name in carried.kept.keys() & LANGUAGES.keys():
            assert LANGUAGES[name](carried) == LANGUAGES[name](fresh), name


def edits(tree: Path, random_: random.Random) -> None:
    """A few changes of files: appended, cut, moved, deleted, new, touched."""
    files = sorted(
        path for path in tree.rglob("*") if path.suffix in (".py", ".cpp", ".cu", ".mm", ".yaml", ".h")
    )
    for path in random_.sample(files, 3):
        text = path.read_text("utf-8")
        lines = text.splitlines(keepends=True)
        how = random_.randrange(6)
        if how == 0 and path.suffix == ".py":
            path.write_text(
                text + f"\ndef brand_new_{random_.randrange(9)}(): return torch.mul(1, 2)\n", "utf-8"
            )
        elif how == 1 and path.suffix in (".cpp", ".cu"):
            path.write_text(
                f"namespace at::native {{ int brand_new() {{ return mul_kernel(); }} }}\n{text}", "utf-8"
            )
        elif how == 2:
            path.write_text("".join(lines[: len(lines) // 2]), "utf-8")
        elif how == 3:
            path.rename(path.with_name("moved_" + path.name))
        elif how == 4:
            path.unlink()
        else:
            path.touch()


@pytest.mark.parametrize("seed", range(6))
def test_what_is_carried_is_what_is_there(mini_tree: Path, tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    conventions = load("pytorch", tree=mini_tree)
    folder = tmp_path / "index"
    build(mini_tree, folder, conventions, workers=1)
    view = warmed(open_view(folder))
    for _ in range(4):
        edits(mini_tree, random_)
        build(mini_tree, folder, conventions, workers=1)
        with view:
            after = open_view(folder)
            assert carry(view, after)
            unchanged = view.files() == after.files()
        with open_view(folder) as fresh:
            same(after, fresh, unchanged=unchanged)
            for name in ("mul", "matmul", "brand_new", "brand_new_3", "gelu", "det"):
                assert trace(after, name) == trace(fresh, name)
                assert search(after, name) == search(fresh, name)
            for asked, value in after.kept_of_definitions.items():
                # As text: a target is equal to itself alone.
                assert repr(value) == repr(DERIVED[asked](fresh)), asked
        view = warmed(after)
    view.close()


def test_other_conventions_or_much_that_changed_carry_nothing(
    mini_tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "index"
    conventions = load("pytorch", tree=mini_tree)
    build(mini_tree, folder, conventions, workers=1)
    with warmed(open_view(folder)) as view:
        shutil.copytree(mini_tree / "torch", mini_tree / "torch" / "copied")
        build(mini_tree, folder, conventions, workers=1)
        with open_view(folder) as after:
            monkeypatch.setattr(carrying, "MOST_FILES", 2)
            assert not carry(view, after)
            assert after._definitions == {}
            monkeypatch.setattr(carrying, "MOST_FILES", 99)
            assert carry(view, after)
        build(mini_tree, folder, load("torch-extension", tree=mini_tree), workers=1)
        with open_view(folder) as after:
            assert not carry(view, after)


def test_carrying_reads_little(mini_tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    for path in mini_tree.rglob("*"):
        # Files that are as young as their reading are looked at again, and count as changed.
        os.utime(path, (1e9, 1e9))
    conventions = load("pytorch", tree=mini_tree)
    build(mini_tree, folder, conventions, workers=1)
    with warmed(open_view(folder)) as view:
        (mini_tree / "torch" / "new.py").write_text("def brand_new(): ...\n", "utf-8")
        build(mini_tree, folder, conventions, workers=1)
        with open_view(folder) as after:
            assert carry(view, after)
            asked: list[Any] = []
            after._db.set_trace_callback(asked.append)
            after.definitions("op:mul")
            assert "py:brand_new" in after.keys("py")
            assert asked == []
            assert ("macro", "function_templates") in after.kept_of_definitions


def test_what_comes_of_definitions_goes_with_one_of_them(mini_tree: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    conventions = load("pytorch", tree=mini_tree)
    file = mini_tree / "aten" / "src" / "ATen" / "native" / "BinaryOps.cpp"
    text = file.read_text("utf-8")
    build(mini_tree, folder, conventions, workers=1)
    with warmed(open_view(folder)) as view:
        file.write_text(text + "#define MAKE_ONE(x) void x##_made_here() {}\nMAKE_ONE(first)\n", "utf-8")
        build(mini_tree, folder, conventions, workers=1)
        with open_view(folder) as after:
            assert carry(view, after)
            assert ("macro", "function_templates") not in after.kept_of_definitions
            assert trace(after, "first_made_here").items


def test_a_view_of_another_database_or_an_older_one_takes_nothing(mini_tree: Path, tmp_path: Path) -> None:
    conventions = load("pytorch", tree=mini_tree)
    for name in ("one", "two"):
        build(mini_tree, tmp_path / name, conventions, workers=1)
    with open_view(tmp_path / "one") as one, open_view(tmp_path / "two") as two:
        assert not carry(warmed(one), two)
        (mini_tree / "torch" / "new.py").write_text("def brand_new(): ...\n", "utf-8")
        build(mini_tree, tmp_path / "one", conventions, workers=1)
        with open_view(tmp_path / "one") as later:
            assert later.revision > one.revision
            assert not carry(later, one)
            assert carry(one, later)


def test_what_is_kept_of_exact_edges_says_so() -> None:
    """Tables beside the use of a compiler's facts are forgotten with them, or are known to hold none."""
    named = re.compile(r"\bkept(?:\.setdefault\(|\.get\(|\[)\s*\"([^\"]+)\"")
    uses = re.compile(r"\bexact_(?:in|to|overridden)\(|import .*\b(?:callers|callees)\b|exact_edges import")
    found: set[str] = set()
    for path in sorted((ROOT / "torchtalkd" / "queries").rglob("*.py")):
        text = path.read_text("utf-8")
        if uses.search(text):
            found |= {name for name in named.findall(text) if not name.startswith("exact")}
    assert found <= BY_NAME_ALONE, found - BY_NAME_ALONE
    assert any(name in found for name in BY_NAME_ALONE), "the pattern still finds tables"


@pytest.mark.parametrize(
    ("path", "more", "kept"),
    [
        ("torch/functional.py", "\ndef brand_new(): ...\n", {"taken_in", "file_bits"}),
        ("aten/src/ATen/native/LinearAlgebra.cpp", "\nint brand_new() { return 1; }\n", {"tests_over_ops"}),
    ],
)
def test_what_comes_of_other_languages_stays(
    mini_tree: Path, tmp_path: Path, path: str, more: str, kept: set[str]
) -> None:
    conventions = load("pytorch", tree=mini_tree)
    folder = tmp_path / "index"
    build(mini_tree, folder, conventions, workers=1)
    with warmed(open_view(folder)) as view:
        assert LANGUAGES.keys() <= view.kept.keys()
        (mini_tree / path).write_text((mini_tree / path).read_text("utf-8") + more, "utf-8")
        build(mini_tree, folder, conventions, workers=1)
        with open_view(folder) as after, open_view(folder) as fresh:
            assert carry(view, after)
            assert after.kept.keys() >= kept
            assert ("taken_in" in after.kept) != ("tests_over_ops" in after.kept)
            same(after, fresh)
