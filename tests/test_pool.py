"""The pool of databases: what comes back is what was kept, and what is shared is there once."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import REPOSITORY
from torchtalkd.store import pool
from torchtalkd.store.errors import StoreFull, Unusable


def database(path: Path, seed: int, rows: int = 3000) -> Path:
    """A database of about half a megabyte of which little compresses."""
    chance = random.Random(seed)
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)")
        db.executemany("INSERT INTO t VALUES (?, ?)", [(n, chance.randbytes(150)) for n in range(rows)])
    db.close()
    return path


def edited(path: Path, *rows: int) -> Path:
    with sqlite3.connect(path) as db:
        db.executemany("UPDATE t SET data = ? WHERE id = ?", [(os.urandom(150), row) for row in rows])
    db.close()
    return path


def test_a_copy_comes_back_byte_for_byte(tmp_path: Path) -> None:
    source = database(tmp_path / "a.db", 1)
    kept = pool.keep(tmp_path / "pool", "a/b", '{"x": 1}', source, replace=False)
    assert pool.copies(tmp_path / "pool") == [kept]
    assert (kept.name, kept.about, kept.bytes) == ("a/b", '{"x": 1}', source.stat().st_size)
    pool.restore(tmp_path / "pool", "a/b", tmp_path / "back.db")
    assert (tmp_path / "back.db").read_bytes() == source.read_bytes()


def test_what_two_copies_share_is_there_once(tmp_path: Path) -> None:
    home = tmp_path / "pool"
    source = database(tmp_path / "a.db", 1)
    first = pool.keep(home, "one", "{}", source, replace=False)
    size = pool.size_of(home)
    second = pool.keep(home, "two", "{}", edited(source, 5, 2500), replace=False)
    assert first.added > 300_000
    assert second.added < first.added / 10
    assert pool.size_of(home) - size < size / 10
    pool.restore(home, "two", tmp_path / "back.db")
    assert (tmp_path / "back.db").read_bytes() == source.read_bytes()


def test_a_deleted_copy_gives_back_what_only_it_had(tmp_path: Path) -> None:
    home = tmp_path / "pool"
    pool.keep(home, "one", "{}", database(tmp_path / "a.db", 1), replace=False)
    size = pool.size_of(home)
    pool.keep(home, "two", "{}", database(tmp_path / "b.db", 2), replace=False)
    freed = pool.discard(home, ["two"])
    assert freed > 300_000
    assert pool.size_of(home) < size * 1.1
    pool.restore(home, "one", tmp_path / "back.db")
    assert (tmp_path / "back.db").read_bytes() == (tmp_path / "a.db").read_bytes()


def test_a_long_history_of_which_little_is_kept_does_not_grow(tmp_path: Path) -> None:
    home = tmp_path / "pool"
    source = database(tmp_path / "a.db", 1)
    chance = random.Random(3)
    for number in range(40):
        pool.keep(home, f"n{number}", "{}", edited(source, *chance.sample(range(3000), 100)), replace=False)
        if number:
            pool.discard(home, [f"n{number - 1}"])
    assert pool.size_of(home) < 3 * source.stat().st_size
    pool.restore(home, "n39", tmp_path / "back.db")
    assert (tmp_path / "back.db").read_bytes() == source.read_bytes()


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("kd"), st.integers(0, 3), st.integers(0, 299)), max_size=12))
def test_any_history_keeps_each_copy_whole(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("pool")
    source = database(folder / "a.db", 1, rows=300)
    there: dict[str, bytes] = {}
    for what, number, row in history:
        name = f"n{number}"
        if what == "k":
            pool.keep(folder / "pool", name, "{}", edited(source, row, (row * 7) % 300), replace=True)
            there[name] = source.read_bytes()
        elif name in there:
            pool.discard(folder / "pool", [name])
            del there[name]
    assert {copy.name for copy in pool.copies(folder / "pool")} == there.keys()
    for name, data in there.items():
        pool.restore(folder / "pool", name, folder / f"{name}.back")
        assert (folder / f"{name}.back").read_bytes() == data


def test_names_that_are_not_there_or_taken(tmp_path: Path) -> None:
    home = tmp_path / "pool"
    assert pool.copies(home) == []
    source = database(tmp_path / "a.db", 1, rows=10)
    pool.keep(home, "one", "{}", source, replace=False)
    with pytest.raises(pool.Taken):
        pool.keep(home, "one", "{}", source, replace=False)
    with pytest.raises(pool.NoCopy):
        pool.restore(home, "two", tmp_path / "back.db")
    with pytest.raises(pool.NoCopy):
        pool.discard(home, ["one", "two"])
    assert [copy.name for copy in pool.copies(home)] == ["one"]


def test_two_at_once_both_come_whole(tmp_path: Path) -> None:
    home = tmp_path / "pool"
    sources = [database(tmp_path / f"{number}.db", number) for number in range(4)]
    threads = [
        threading.Thread(target=pool.keep, args=(home, f"n{number}", "{}", path), kwargs={"replace": False})
        for number, path in enumerate(sources)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pool.copies(home)) == 4
    for number, path in enumerate(sources):
        pool.restore(home, f"n{number}", tmp_path / f"{number}.back")
        assert (tmp_path / f"{number}.back").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("when", [0, 1, 3])
def test_a_copy_cut_short_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: int) -> None:
    home = tmp_path / "pool"
    pool.keep(home, "one", "{}", database(tmp_path / "a.db", 1), replace=False)
    packed: Callable[[list[bytes]], bytes] = pool._packed
    count = iter(range(1000))

    def failing(pages: list[bytes]) -> bytes:
        if next(count) >= when:
            raise KeyboardInterrupt
        return packed(pages)

    monkeypatch.setattr(pool, "_packed", failing)
    for name in ("one", "two"):
        with pytest.raises(KeyboardInterrupt):
            pool.keep(home, name, "{}", database(tmp_path / "b.db", 2), replace=True)
    monkeypatch.undo()
    assert [copy.name for copy in pool.copies(home)] == ["one"]
    pool.restore(home, "one", tmp_path / "back.db")
    assert (tmp_path / "back.db").read_bytes() == (tmp_path / "a.db").read_bytes()


def test_a_full_disk_leaves_the_pool_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "pool"
    pool.keep(home, "one", "{}", database(tmp_path / "a.db", 1), replace=False)
    other = database(tmp_path / "b.db", 2)
    real = sqlite3.connect

    def small(*arguments: object, **more: object) -> sqlite3.Connection:
        opened: sqlite3.Connection = real(*arguments, **more)  # type: ignore[call-overload]
        (pages,) = opened.execute("PRAGMA page_count").fetchone()
        opened.execute(f"PRAGMA max_page_count = {pages + 20}")
        return opened

    monkeypatch.setattr(pool.sqlite3, "connect", small)
    with pytest.raises(StoreFull):
        pool.keep(home, "two", "{}", other, replace=False)
    monkeypatch.undo()
    assert [copy.name for copy in pool.copies(home)] == ["one"]
    pool.restore(home, "one", tmp_path / "back.db")


def test_damage_is_said(tmp_path: Path) -> None:
    home = tmp_path / "pool"
    pool.keep(home, "one", "{}", database(tmp_path / "a.db", 1), replace=False)
    with sqlite3.connect(home / pool.POOL) as db:
        db.execute("UPDATE block SET data = substr(data, 1, 100) WHERE id = 2")
    db.close()
    with pytest.raises(Unusable, match="damaged"):
        pool.restore(home, "one", tmp_path / "back.db")
    (home / pool.POOL).write_bytes(b"nothing of ours" * 100)
    with pytest.raises(Unusable):
        pool.copies(home)


def test_databases_with_pages_of_other_sizes(tmp_path: Path) -> None:
    home = tmp_path / "pool"
    kept: dict[str, bytes] = {}
    for number in range(12):
        path = database(tmp_path / "a.db", number, rows=40 + number)
        with sqlite3.connect(path) as db:
            db.execute(f"PRAGMA page_size = {(512, 4096, 65536)[number % 3]}")
        db.execute("VACUUM")
        db.close()
        pool.keep(home, f"n{number}", "{}", path, replace=False)
        kept[f"n{number}"] = path.read_bytes()
    # What is left of small blocks is put together.
    for number in (0, 4, 8, 9):
        pool.discard(home, [f"n{number}"])
        del kept[f"n{number}"]
    for name, data in kept.items():
        pool.restore(home, name, tmp_path / f"{name}.back")
        assert (tmp_path / f"{name}.back").read_bytes() == data


def test_a_process_that_is_killed_leaves_nothing_half_made(tmp_path: Path) -> None:
    home = tmp_path / "pool"
    pool.keep(home, "one", "{}", database(tmp_path / "a.db", 1), replace=False)
    before = (home / pool.POOL).read_bytes()
    script = f"""
import os, signal
from pathlib import Path
from torchtalkd.store import pool
real = pool._kept
def killed(db, database):
    db.execute("PRAGMA cache_size = 5")
    real(db, database)
    os.kill(os.getpid(), signal.SIGKILL)
pool._kept = killed
pool.keep(Path({str(home)!r}), "two", "{{}}", Path({str(database(tmp_path / "b.db", 2))!r}), replace=False)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, check=False)
    assert done.returncode == -signal.SIGKILL
    # It has written into the file, and left the journal that undoes it.
    assert (home / pool.POOL).read_bytes() != before
    assert [copy.name for copy in pool.copies(home)] == ["one"]
    pool.restore(home, "one", tmp_path / "back.db")
    assert (tmp_path / "back.db").read_bytes() == (tmp_path / "a.db").read_bytes()
