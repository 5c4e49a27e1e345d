"""Where indexes live, and that deleting one deletes nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from torchtalkd.cache import cache_home, drop_index, index_folder, kept_indexes
from torchtalkd.store import database, lock
from torchtalkd.store.errors import Locked


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path)}


def made(root: Path, environ: dict[str, str]) -> Path:
    """An index of a root, without facts."""
    folder = index_folder(root, environ)
    with database.open_writer(folder, root) as writer:
        writer.replace([], [], {"harness": "pytorch"})
    return folder


def test_the_folder_says_format_and_root(environ: dict[str, str]) -> None:
    folder = index_folder(Path("/src/py torch"), environ)
    assert folder.parent == cache_home(environ)
    assert folder.name.startswith(f"v{database.FORMAT}-py-torch-")
    assert not folder.exists()
    assert index_folder(Path("/other/py torch"), environ) != folder
    assert index_folder(Path("/src/py torch"), environ) == folder
    assert index_folder(Path("/"), environ).name.startswith(f"v{database.FORMAT}-root-")


def test_kept_indexes_say_what_they_are_of(environ: dict[str, str], tmp_path: Path) -> None:
    assert kept_indexes(environ) == []
    folder = made(tmp_path / "tree", environ)
    (cache_home(environ) / "bindings_0f0f.json").write_text("{}", "utf-8")
    (cache_home(environ) / "call_graph").mkdir()
    (kept,) = kept_indexes(environ)
    assert kept[:3] == (folder, str(tmp_path / "tree"), "pytorch")
    assert kept.bytes > 0


def test_a_damaged_index_is_listed_all_the_same(environ: dict[str, str], tmp_path: Path) -> None:
    folder = made(tmp_path / "tree", environ)
    (folder / "index.db").write_bytes(b"no database at all" * 500)
    (kept,) = kept_indexes(environ)
    assert kept.folder == folder
    assert kept.root == ""


def test_dropping_leaves_foreign_files(environ: dict[str, str], tmp_path: Path) -> None:
    root, other = tmp_path / "tree", tmp_path / "other"
    folder, kept = made(root, environ), made(other, environ)
    old = folder.with_name(re.sub(r"^v\d+-", "v0-", folder.name))
    old.mkdir()
    (old / "index.db").write_bytes(b"of an older format")
    (folder / "notes.txt").write_text("mine", "utf-8")
    (cache_home(environ) / "theirs.json").write_text("{}", "utf-8")
    assert sorted(drop_index(root, environ)) == sorted([folder, old])
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
    assert not old.exists()
    assert (kept / "index.db").exists()
    assert (cache_home(environ) / "theirs.json").exists()
    assert drop_index(root, environ) == []


def test_an_index_that_is_being_written_stays(environ: dict[str, str], tmp_path: Path) -> None:
    folder = made(tmp_path / "tree", environ)
    held = lock.acquire(folder)
    try:
        with pytest.raises(Locked):
            drop_index(tmp_path / "tree", environ)
        assert (folder / "index.db").exists()
    finally:
        held.release()
