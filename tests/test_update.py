"""`engine.update`: a part of the tree is looked at, and the store equals a fresh build all the same."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE
from tests.test_engine import CONVENTIONS, Tree, many, parse
from torchtalkd.conventions import load
from torchtalkd.engine import BuildResult, Limits, Spare, TreeError, build, update
from torchtalkd.engine.plan import SUSPECT_NS
from torchtalkd.engine.reading import Reading
from torchtalkd.store.database import checkpoint, log_size, open_teller, open_view, open_writer
from torchtalkd.store.dump import dump


class Followed(Tree):
    """A tree whose store is brought up to date path by path."""

    def update(self, *paths: str, **settings: Any) -> BuildResult:
        conventions = settings.pop("conventions", CONVENTIONS)
        settings = {"parse": parse, "version": "1", "workers": 2} | settings
        return update(self.root, self.folder, conventions, paths, **settings)

    def fresh(self) -> list[str]:
        """The dump of a new index."""
        folder = self.folder.with_name("fresh")
        shutil.rmtree(folder, ignore_errors=True)
        other = Tree(self.root, folder)
        other.build()
        return other.dump()

    def revision(self) -> int:
        with open_view(self.folder) as view:
            return view.revision


@pytest.fixture
def tree(tmp_path: Path) -> Followed:
    made = Followed(tmp_path / "tree", tmp_path / "store")
    made.write(many(12) | {"deep/er/a.cpp": "def a", "deep/b.py": "def b", "test/t.py": "use f1"})
    made.build()
    return made


# -- each kind of change


def _edit(tree: Followed) -> list[str]:
    tree.write({"src/3.cpp": "def other\nuse f1"})
    return ["src/3.cpp"]


def _create(tree: Followed) -> list[str]:
    tree.write({"new/er/x.cpp": "def x"})
    return ["new/er/x.cpp"]


def _create_folder(tree: Followed) -> list[str]:
    tree.write({"new/er/x.cpp": "def x", "new/y.py": "def y", "new/readme.txt": "def no"})
    return ["new"]


def _delete(tree: Followed) -> list[str]:
    tree.write({"src/3.cpp": None})
    return ["src/3.cpp"]


def _delete_and_create(tree: Followed) -> list[str]:
    path = tree.root / "src/3.cpp"
    path.unlink()
    path.write_text("def again")
    return ["src/3.cpp"]


def _delete_folder(tree: Followed) -> list[str]:
    shutil.rmtree(tree.root / "deep")
    return ["deep"]


def _move_file(tree: Followed) -> list[str]:
    (tree.root / "src/3.cpp").rename(tree.root / "deep/moved.cpp")
    return ["src/3.cpp", "deep/moved.cpp"]


def _move_over(tree: Followed) -> list[str]:
    (tree.root / "src/3.cpp").rename(tree.root / "src/4.cpp")
    return ["src/3.cpp", "src/4.cpp"]


def _move_folder(tree: Followed) -> list[str]:
    (tree.root / "deep").rename(tree.root / "src/deeper")
    return ["deep", "src/deeper"]


def _move_folder_to_an_ignored_place(tree: Followed) -> list[str]:
    (tree.root / "build").mkdir()
    (tree.root / "deep").rename(tree.root / "build/deep")
    return ["deep", "build/deep"]


def _move_out(tree: Followed) -> list[str]:
    (tree.root / "deep").rename(tree.root.with_name("outside"))
    return ["deep"]


def _case_only(tree: Followed) -> list[str]:
    (tree.root / "src/3.cpp").rename(tree.root / "src/3.CPP")
    (tree.root / "deep/b.py").rename(tree.root / "deep/B.py")
    return ["src/3.cpp", "src/3.CPP", "deep/b.py", "deep/B.py"]


def _file_becomes_folder(tree: Followed) -> list[str]:
    (tree.root / "src/3.cpp").unlink()
    tree.write({"src/3.cpp/inner.cpp": "def inner"})
    return ["src/3.cpp"]


def _folder_becomes_file(tree: Followed) -> list[str]:
    shutil.rmtree(tree.root / "deep/er")
    tree.write({"deep/er": "def no", "src/x.cpp": "def yes"})
    return ["deep/er", "src/x.cpp"]


def _folder_becomes_link(tree: Followed) -> list[str]:
    (tree.root / "deep").rename(tree.root / "real")
    (tree.root / "deep").symlink_to("real")
    # Also what a watcher may have said of the file before.
    return ["deep", "real", "deep/er/a.cpp"]


def _loop(tree: Followed) -> list[str]:
    (tree.root / "deep/round").symlink_to("..")
    return ["deep/round", "deep/round/deep/b.py"]


def _link(tree: Followed) -> list[str]:
    (tree.root / "src/link.cpp").symlink_to("3.cpp")
    return ["src/link.cpp"]


def _link_out(tree: Followed) -> list[str]:
    tree.root.with_name("secret.cpp").write_text("def secret")
    (tree.root / "src/out.cpp").symlink_to("../../secret.cpp")
    return ["src/out.cpp"]


def _ignored(tree: Followed) -> list[str]:
    tree.write({"build/x.cpp": "def no", "readme.txt": "no", ".git/x.cpp": "def no"})
    return ["build/x.cpp", "build", "readme.txt", ".git/x.cpp", ".git"]


def _not_utf8(tree: Followed) -> list[str]:
    name = os.fsdecode(b"src/\xff.cpp")
    (tree.root / name).write_text("def bad")
    return [name]


def _whole_tree(tree: Followed) -> list[str]:
    tree.write({"src/3.cpp": "def other", "src/4.cpp": None, "z.cpp": "def z"})
    return [""]


def _too_large(tree: Followed) -> list[str]:
    tree.write({"src/3.cpp": "def f3\n" * 5000})
    return ["src/3.cpp"]


def _many(tree: Followed) -> list[str]:
    tree.write({f"src/{n}.cpp": f"def g{n}" for n in range(60)})
    return [f"src/{n}.cpp" for n in range(60)]


def _said_twice(tree: Followed) -> list[str]:
    tree.write({"deep/er/a.cpp": "def twice"})
    return ["deep", "deep/er", "deep/er/a.cpp", "deep/er/gone.cpp", "never/was.cpp"]


KINDS = [
    _edit,
    _create,
    _create_folder,
    _delete,
    _delete_and_create,
    _delete_folder,
    _move_file,
    _move_over,
    _move_folder,
    _move_folder_to_an_ignored_place,
    _move_out,
    _case_only,
    _file_becomes_folder,
    _folder_becomes_file,
    _folder_becomes_link,
    _loop,
    _link,
    _link_out,
    _ignored,
    _not_utf8,
    _whole_tree,
    _too_large,
    _many,
    _said_twice,
]


@pytest.mark.parametrize("change", KINDS, ids=lambda change: change.__name__.strip("_"))
def test_each_kind_of_change_equals_a_fresh_build(
    tree: Followed, change: Callable[[Followed], list[str]]
) -> None:
    result = tree.update(*change(tree))
    assert not result.whole
    assert tree.dump() == tree.fresh()
    with open_view(tree.folder) as view:
        assert result.files == len(view.files())
    # And there is nothing left for a sweep to find.
    assert tree.build().parsed == 0


def test_what_is_the_same_makes_no_revision(tree: Followed) -> None:
    before = tree.revision()
    path = tree.root / "src/3.cpp"
    path.write_bytes(path.read_bytes())
    result = tree.update("src/3.cpp", "src/4.cpp", "nothing.cpp")
    assert (result.parsed, result.removed, result.revision) == (0, 0, before)
    assert tree.revision() == before


def test_a_batch_is_one_revision(tree: Followed) -> None:
    before = tree.revision()
    tree.write({"src/1.cpp": "def one", "src/2.cpp": None, "src/new.cpp": "def new"})
    result = tree.update("src/1.cpp", "src/2.cpp", "src/new.cpp")
    assert (result.revision, result.parsed, result.removed) == (before + 1, 2, 1)


def test_only_what_is_named_is_looked_at(tree: Followed) -> None:
    tree.write({"src/1.cpp": "def one", "src/2.cpp": "def two"})
    tree.update("src/1.cpp")
    with open_view(tree.folder) as view:
        assert view.definitions("cpp:one")
        assert not view.definitions("cpp:two")


def test_a_link_changes_with_what_it_leads_to(tree: Followed) -> None:
    tree.write({"deep/target.cpp": "def before"})
    (tree.root / "src/link.cpp").symlink_to("../deep/target.cpp")
    (tree.root / "src/dangling.cpp").symlink_to("../deep/later.cpp")
    tree.update("src/link.cpp", "src/dangling.cpp", "deep/target.cpp")
    for text in ("def after", None, "def back"):
        tree.write({"deep/target.cpp": text, "deep/later.cpp": text})
        tree.update("deep")
        assert tree.dump() == tree.fresh()
    (tree.root / "src/link.cpp").unlink()
    tree.update("src/link.cpp")
    tree.write({"deep/target.cpp": "def alone"})
    tree.update("deep/target.cpp")
    assert tree.dump() == tree.fresh()


@pytest.mark.parametrize("first", ["deep/one", "deep/nowhere", "/", "deep/two"])
def test_a_link_changes_with_each_link_that_it_leads_through(tree: Followed, first: str) -> None:
    tree.write({"deep/one/a.cpp": "def one", "deep/two/a.cpp": "def two"})
    between = tree.root / "between"
    (tree.root / "src/link.cpp").symlink_to("../between/a.cpp")
    (tree.root / "src/link2.cpp").symlink_to("link.cpp")
    for target in (first, "deep/two", "/", "deep/one", "between"):
        between.unlink(missing_ok=True)
        between.symlink_to(target)
        tree.update("between", *(["src", "deep"] if target == first else []))
        assert tree.dump() == tree.fresh(), target


def test_another_recipe_sweeps_the_tree(tree: Followed) -> None:
    tree.write({"src/1.cpp": "def unheard"})
    assert tree.update("src/2.cpp", version="2").whole
    assert tree.update("src/2.cpp", version="2", conventions=replace(CONVENTIONS, fingerprint="2")).whole
    with open_view(tree.folder) as view:
        assert view.definitions("cpp:unheard")


def test_an_older_store_than_expected_is_swept(tree: Followed) -> None:
    tree.write({"src/1.cpp": "def unheard"})
    assert tree.update("src/2.cpp", since=99).whole
    assert tree.dump() == tree.fresh()


def test_without_a_store_the_tree_is_swept(tree: Followed) -> None:
    shutil.rmtree(tree.folder)
    result = tree.update("src/2.cpp")
    assert result.whole
    assert tree.dump() == tree.fresh()


def test_a_commit_without_changes_is_told(tree: Followed) -> None:
    git = tree.root / ".git"
    (git / "refs/heads").mkdir(parents=True)
    for branch, commit in (("main", "1" * 40), ("other", "2" * 40)):
        (git / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
        (git / f"refs/heads/{branch}").write_text(commit + "\n")
        tree.update("src/1.cpp")
        with open_view(tree.folder) as view:
            assert (view.meta("branch"), view.meta("commit")) == (branch, commit)


# -- what must not be believed


@pytest.mark.skipif(os.geteuid() == 0, reason="root may list everything")
def test_what_cannot_be_listed_stays(tree: Followed) -> None:
    (tree.root / "deep").chmod(0)
    try:
        result = tree.update("deep", "deep/b.py")
    finally:
        (tree.root / "deep").chmod(0o755)
    assert (result.removed, result.complete) == (0, False)
    # That nothing is in the way any more only a sweep can say.
    assert not tree.update("src/1.cpp").complete
    assert tree.build().complete


@pytest.mark.parametrize("emptied", [False, True])
def test_a_tree_that_is_away_loses_nothing(tree: Followed, emptied: bool) -> None:
    before = tree.dump()
    aside = tree.root.with_name("aside")
    tree.root.rename(aside)
    if emptied:
        tree.root.mkdir()
    with pytest.raises(TreeError):
        tree.update("src", "deep", "test")
    with pytest.raises(TreeError):
        tree.build()
    assert tree.dump() == before
    if emptied:
        tree.root.rmdir()
    aside.rename(tree.root)
    assert tree.update("src", "deep").parsed == 0


def test_a_write_behind_the_clock_is_seen_while_it_is_suspect(tree: Followed) -> None:
    path = tree.root / "src/1.cpp"
    tree.write({"src/1.cpp": "def abc"})
    tree.update("src/1.cpp")
    found = path.stat()
    path.write_text("def xyz")
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert tree.update("src/1.cpp").parsed == 1
    assert tree.dump() == tree.fresh()


def test_a_tool_that_puts_the_times_back_is_seen_by_the_ctime(tree: Followed) -> None:
    path = tree.root / "src/1.cpp"
    old = path.stat().st_mtime_ns - 100 * SUSPECT_NS
    path.write_text("def abc")
    os.utime(path, ns=(old, old))
    tree.build()
    with open_writer(tree.folder, tree.root) as writer:
        # As if it had been read long after it was written.
        record = writer.files()["src/1.cpp"]
        writer.touch([record._replace(read_ns=record.ctime_ns + 2 * SUSPECT_NS)])
    assert tree.build().parsed == 0
    inode = path.stat().st_ino
    path.write_text("def xyz")
    os.utime(path, ns=(old, old))
    assert path.stat().st_ino == inode
    assert tree.build().parsed == 1
    assert tree.dump() == tree.fresh()


@pytest.mark.parametrize("moment", [0, 4_000_000_000])
def test_times_far_off_are_times_like_others(tree: Followed, moment: int) -> None:
    for text in ("def past", "def more_of_it", "def once"):
        tree.write({"src/1.cpp": text})
        os.utime(tree.root / "src/1.cpp", (moment, moment))
        tree.update("src/1.cpp")
        assert tree.dump() == tree.fresh()


# -- one worker that stays


def reading(tree: Followed) -> Reading:
    return Reading(os.path.realpath(tree.root), CONVENTIONS, parse)


@pytest.mark.parametrize(("text", "kind"), [("abort", "crash"), ("hang", "time"), ("exit 0", "crash")])
def test_a_bad_file_costs_itself_alone(tree: Followed, text: str, kind: str) -> None:
    spare = Spare()
    limits = Limits(seconds=0.3 if kind == "time" else 60)
    try:
        tree.write({"src/1.cpp": text, "src/2.cpp": "def good"})
        result = tree.update("src/1.cpp", "src/2.cpp", spare=spare, limits=limits)
        assert result.parsed == 2
        assert tree.problems() == {"src/1.cpp": kind}
        # Marked as it is, it is not tried again; the next file is read by another worker.
        assert tree.update("src/1.cpp", spare=spare, limits=limits).parsed == 0
        tree.write({"src/1.cpp": "def mended"})
        assert tree.update("src/1.cpp", spare=spare, limits=limits).parsed == 1
        assert tree.problems() == {}
        assert tree.dump() == tree.fresh()
    finally:
        spare.close()


def test_the_spare_worker_stays(tree: Followed) -> None:
    spare = Spare()
    limits = Limits()
    try:
        spare.begin(reading(tree), limits)
        first = spare.take(reading(tree), limits)
        assert first is not None
        pid = first.process.pid
        spare.give(first, reading(tree), limits, 0)
        for n in range(3):
            tree.write({"src/1.cpp": f"def n{n}"})
            assert tree.update("src/1.cpp", spare=spare).parsed == 1
        kept = spare.take(reading(tree), limits)
        assert kept is not None
        assert kept.process.pid == pid
        spare.give(kept, reading(tree), limits, 0)
        # Of other conventions it knows nothing.
        other = replace(reading(tree), conventions=replace(CONVENTIONS, fingerprint="x"))
        assert spare.take(other, limits) is None
    finally:
        spare.close()


def test_a_spare_worker_that_was_killed_is_replaced(tree: Followed) -> None:
    spare = Spare()
    try:
        spare.begin(reading(tree), Limits())
        worker = spare.take(reading(tree), Limits())
        assert worker is not None
        spare.give(worker, reading(tree), Limits(), 0)
        worker.process.kill()
        worker.process.join()
        tree.write({"src/1.cpp": "def n"})
        assert tree.update("src/1.cpp", spare=spare).parsed == 1
        assert tree.problems() == {}
    finally:
        spare.close()


# -- the store beside it


def test_the_log_is_emptied_though_somebody_reads(tree: Followed) -> None:
    view = open_view(tree.folder)
    try:
        for n in range(6):
            tree.write({"src/1.cpp": "".join(f"def x{n}_{i}\n" for i in range(300))})
            tree.update("src/1.cpp")
            # The one who reads goes on to the newest revision, and stays there.
            view.close()
            view = open_view(tree.folder)
            checkpoint(tree.folder)
            assert log_size(tree.folder)
            assert view.repin()
            checkpoint(tree.folder)
            assert not log_size(tree.folder)
            assert len(view.definitions(f"cpp:x{n}_7")) == 1
    finally:
        view.close()


def test_a_teller_tells_of_each_revision(tree: Followed) -> None:
    teller = open_teller(tree.folder)
    try:
        before = teller.revision()
        tree.write({"src/1.cpp": "def n"})
        tree.update("src/1.cpp")
        assert teller.revision() == before + 1
    finally:
        teller.close()


# -- a real tree


def test_edits_of_a_real_tree_equal_a_fresh_build(tmp_path: Path) -> None:
    root = tmp_path / "mini"
    shutil.copytree(DEMO_TREE, root)
    conventions = load("pytorch", tree=root)
    build(root, tmp_path / "store", conventions, workers=1)
    native = "aten/src/ATen/native"
    yaml = root / native / "native_functions.yaml"
    yaml.write_text(yaml.read_text("utf-8") + "\n- func: brand_new(Tensor self) -> Tensor\n", "utf-8")
    (root / native / "new").mkdir()
    (root / native / "new/New.cpp").write_text("namespace at::native { int brand_new() { return 1; } }\n")
    (root / native / "cpu").rename(root / native / "cpus")
    (root / "torch/functional.py").write_text("def brand_new(x):\n    return x\n", "utf-8")
    paths = [f"{native}/native_functions.yaml", f"{native}/new", f"{native}/cpu", f"{native}/cpus"]
    spare = Spare()
    try:
        result = update(root, tmp_path / "store", conventions, [*paths, "torch/functional.py"], spare=spare)
    finally:
        spare.close()
    assert not result.whole
    build(root, tmp_path / "fresh", conventions, workers=1)
    with open_view(tmp_path / "store") as one, open_view(tmp_path / "fresh") as two:
        assert list(dump(one)) == list(dump(two))
