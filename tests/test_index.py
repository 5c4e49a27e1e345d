"""What every command does before it asks: the index is brought up to date, or read as it is."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from torchtalkd import index as opening
from torchtalkd.index import is_damaged, open_index
from torchtalkd.store import database, lock
from torchtalkd.store.errors import NotPermitted, StoreFull, Unusable


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


def silent(sentence: str) -> None:
    raise AssertionError(f"nothing to say was expected: {sentence}")


def test_the_first_time_builds_and_the_next_reads_what_changed(mini_tree: Path, folder: Path) -> None:
    first = open_index(mini_tree, "pytorch", folder, say=silent)
    with first.view as view:
        assert first.built is not None
        assert first.built.parsed == len(view.files())
    (mini_tree / "torch" / "functional.py").write_text("def new_name(): ...\n", "utf-8")
    second = open_index(mini_tree, "pytorch", folder, say=silent)
    with second.view as view:
        assert second.built is not None
        assert second.built.parsed == 1
        assert view.search("new_name", ["function"], 5)
        assert view.meta("harness") == "pytorch"


def test_another_writer_is_named_and_its_index_read(mini_tree: Path, folder: Path) -> None:
    open_index(mini_tree, "pytorch", folder, say=silent).view.close()
    held = lock.acquire(folder)
    said: list[str] = []
    try:
        found = open_index(mini_tree, "pytorch", folder, say=said.append)
    finally:
        held.release()
    with found.view as view:
        assert found.built is None
        assert view.revision == 1
    assert len(said) == 1
    assert "process" in said[0]
    assert "revision 1" in said[0]


def test_a_first_build_by_another_is_waited_for(
    mini_tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "POLL_SECONDS", 0.01)
    folder.mkdir()
    held = lock.acquire(folder)
    said: list[str] = []
    waiting = threading.Event()

    def say(sentence: str) -> None:
        said.append(sentence)
        waiting.set()

    found: list[opening.Index] = []
    thread = threading.Thread(
        target=lambda: found.append(open_index(mini_tree, "pytorch", folder, say=say, workers=1))
    )
    thread.start()
    assert waiting.wait(30)
    held.release()
    thread.join(60)
    with found[0].view as view:
        assert view.files()
    assert "waiting" in said[0]


def test_a_cache_that_cannot_be_written_is_read(
    mini_tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise NotPermitted(folder, f"cannot write {folder}: Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(opening, "build", refuse)
        with pytest.raises(NotPermitted):
            open_index(mini_tree, "pytorch", folder, say=silent)
    open_index(mini_tree, "pytorch", folder, say=silent).view.close()
    monkeypatch.setattr(opening, "build", refuse)
    said: list[str] = []
    found = open_index(mini_tree, "pytorch", folder, say=said.append)
    found.view.close()
    assert found.built is None
    assert "Read-only" in said[0]


def test_a_full_disk_is_no_answer(mini_tree: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise StoreFull(folder, "the disk is full")

    monkeypatch.setattr(opening, "build", full)
    with pytest.raises(StoreFull):
        open_index(mini_tree, "pytorch", folder, say=silent)


def test_damage_is_told_from_other_failures(mini_tree: Path, folder: Path) -> None:
    open_index(mini_tree, "pytorch", folder, say=silent).view.close()
    (folder / "index.db").write_bytes(b"not a database" * 1000)
    with pytest.raises(Unusable) as caught:
        database.open_view(folder)
    assert is_damaged(caught.value)
    assert not is_damaged(ValueError("x"))
    mended = open_index(mini_tree, "pytorch", folder, say=silent, verify=True)
    with mended.view as view:
        assert mended.built is not None
        assert any("set aside" in note for note in mended.built.notes)
        assert view.files()
