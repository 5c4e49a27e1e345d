"""The store: who may write, what a reader sees, what becomes of bad databases and full disks."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from torchtalkd.facts import Definition, FileFacts, Problem, Reference
from torchtalkd.store import connection, lock
from torchtalkd.store.database import FORMAT, open_view, open_writer
from torchtalkd.store.dump import dump
from torchtalkd.store.errors import Locked, NoIndex, NotPermitted, StoreError, StoreFull, Unusable
from torchtalkd.store.rows import Rows, pack
from torchtalkd.store.writer import FileRecord

ROOT = Path("/somewhere")
REPOSITORY = Path(__file__).resolve().parents[1]


def facts(path: str, name: str = "f", calls: Iterable[str] = ("g",)) -> FileFacts:
    return FileFacts(
        path,
        "cpp",
        "library",
        (
            Definition(f"cpp:{name}", f"at::{name}", "function", 1, 5, 3, detail={"method": True}),
            Definition("op:add", "aten::add", "registration", 4, 0, 4, dispatch_key="CPU"),
        ),
        (
            *(Reference(f"cpp:{called}", called, "call", 2, n, 0, 1) for n, called in enumerate(calls)),
            Reference(f"cpp:{name}", name, "target", 4, 9, 1),
        ),
        (Problem(2, "syntax", "odd"),),
    )


def filed(file_id: int, found: FileFacts) -> tuple[FileRecord, Rows]:
    record = FileRecord(file_id, found.path, found.language, found.role, 10, 1, 2, 3, 4, "d", "r")
    return record, pack(file_id, found)


def write(folder: Path, *found: FileFacts) -> int:
    with open_writer(folder, ROOT) as writer:
        return writer.replace([filed(n, f) for n, f in enumerate(found, 1)], (), {"complete": "1"})


def dumped(folder: Path) -> list[str]:
    with open_view(folder) as view:
        return list(dump(view))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    assert write(tmp_path, facts("a.cpp", "f", ("g", "g", "h"))) == 1
    with open_view(tmp_path) as view:
        assert view.revision == 1
        assert view.meta("root") == str(ROOT)
        assert view.meta("complete") == "1"
        assert view.meta("format") == str(FORMAT)
        (found,) = view.definitions("cpp:f")
        assert found.file.path == "a.cpp"
        assert found.fact == facts("a.cpp").definitions[0]
        assert [r.fact.column for r in view.references("cpp:g")] == [0, 1]
        (binding,) = view.definitions("op:add")
        assert [t.fact.name for t in view.targets(binding)] == ["f"]
        assert view.problems() == [("a.cpp", Problem(2, "syntax", "odd"))]


def test_a_count_does_not_depend_on_what_was_asked_before(tmp_path: Path) -> None:
    write(tmp_path, *(facts(f"{n}.cpp") for n in range(70)))
    wanted = {64: 64, 10: 10, 100: 70, 70: 70, 71: 70, 1: 1}
    for read_before in (False, True):
        with open_view(tmp_path) as view:
            if read_before:
                assert len(view.definitions("op:add")) == 70
            for enough in (*wanted, *reversed(wanted)):
                assert view.count("op:add", enough) == wanted[enough], enough
            assert view.count("op:none") == 0


def test_a_replacement_is_one_revision_and_leaves_no_old_row(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp", "f"), facts("b.cpp", "g"))
    with open_writer(tmp_path, ROOT) as writer:
        known = writer.files()
        assert sorted(known) == ["a.cpp", "b.cpp"]
        changed = [filed(known["a.cpp"].id, facts("a.cpp", "new"))]
        assert writer.replace(changed, ["b.cpp"], {"complete": "1"}) == 2
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    write(fresh, facts("a.cpp", "new"))
    assert dumped(tmp_path) == dumped(fresh)


def test_the_dump_shows_neither_ids_nor_order(tmp_path: Path) -> None:
    write(tmp_path / "one", facts("a.cpp"), facts("b.cpp", "g", ("x", "y")))
    write(tmp_path / "two", facts("b.cpp", "g", ("x", "y")), facts("a.cpp"))
    assert dumped(tmp_path / "one") == dumped(tmp_path / "two")
    write(tmp_path / "three", facts("a.cpp"), facts("b.cpp", "g", ("x", "z")))
    assert dumped(tmp_path / "one") != dumped(tmp_path / "three")


def test_most_files_at_once_keep_the_indexes(tmp_path: Path) -> None:
    many = [facts(f"{n}.cpp", f"f{n}") for n in range(150)]
    write(tmp_path, *many)
    with open_writer(tmp_path, ROOT) as writer:
        known = writer.files()
        changed = [filed(known[f.path].id, facts(f.path, "new")) for f in many]
        assert writer.replace(changed, (), {}) == 2
    assert _indexes(tmp_path) >= {"definition_key", "target_key", "reference_key", "definition_kind"}
    with open_view(tmp_path) as view:
        assert len(view.definitions("cpp:new")) == 150
        assert len(view.problems()) == 150
        assert not view.definitions("cpp:f1")


def test_a_view_keeps_its_revision_while_another_is_written(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp", "f"))
    with open_view(tmp_path) as view:
        with open_writer(tmp_path, ROOT) as writer:
            writer.replace([filed(1, facts("a.cpp", "new"))], (), {})
        assert view.revision == 1
        assert view.definitions("cpp:f")
        assert not view.definitions("cpp:new")
    with open_view(tmp_path) as view:
        assert view.revision == 2
        assert view.definitions("cpp:new")


def test_a_view_cannot_write(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp"))
    with open_view(tmp_path) as view, pytest.raises(sqlite3.OperationalError):
        view._db.execute("DELETE FROM file")


def test_new_stats_make_no_revision(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp"))
    with open_writer(tmp_path, ROOT) as writer:
        writer.touch([writer.files()["a.cpp"]._replace(mtime_ns=99)])
        assert writer.files()["a.cpp"].mtime_ns == 99
        assert writer.meta()["revision"] == "1"


def test_texts_that_no_encoding_has_are_kept_readable(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp", "f\udcff"), facts("b.cpp", "g"))
    with open_view(tmp_path) as view:
        assert view.definitions("cpp:f\\udcff")
        assert view.definitions("cpp:g")
        assert len(view.problems()) == 2


# -- a build that does not end


def test_without_a_build_there_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(NoIndex):
        open_view(tmp_path)


def _breaks_off(*found: tuple[FileRecord, Rows]) -> Iterator[tuple[FileRecord, Rows]]:
    yield from found
    raise KeyboardInterrupt


def test_a_first_build_cut_short_leaves_nothing(tmp_path: Path) -> None:
    with open_writer(tmp_path, ROOT) as writer, pytest.raises(KeyboardInterrupt):
        writer.replace(_breaks_off(filed(1, facts("a.cpp"))), (), {"complete": "1"})
    assert [p.name for p in tmp_path.iterdir()] == [lock.NAME]
    with pytest.raises(NoIndex):
        open_view(tmp_path)
    assert write(tmp_path, facts("a.cpp")) == 1


def test_a_later_build_cut_short_leaves_the_former_revision(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp", "f"))
    before = dumped(tmp_path)
    with open_writer(tmp_path, ROOT) as writer:
        with pytest.raises(KeyboardInterrupt):
            writer.replace(_breaks_off(filed(1, facts("a.cpp", "new"))), (), {})
        assert dumped(tmp_path) == before
        assert writer.replace([filed(1, facts("a.cpp", "new"))], (), {}) == 2


def test_what_a_killed_build_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / connection.NEW).write_bytes(b"half")
    write(tmp_path, facts("a.cpp"))
    assert not (tmp_path / connection.NEW).exists()


def test_a_journal_that_outlived_its_database_is_not_taken_for_the_new_one_s(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp", "old"))
    wal = tmp_path / (connection.NAME + "-wal")
    with open_writer(tmp_path, ROOT) as writer:
        writer.replace([filed(1, facts("a.cpp", "older"))], (), {})
        kept = wal.read_bytes()
    (tmp_path / connection.NAME).unlink()
    wal.write_bytes(kept)
    write(tmp_path, facts("b.cpp", "new"))
    with open_view(tmp_path) as view:
        assert [file.path for file in view.files()] == ["b.cpp"]
        assert view.definitions("cpp:new")


# -- the lock


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    with open_writer(tmp_path, ROOT), pytest.raises(Locked) as caught:
        open_writer(tmp_path, ROOT)
    assert (caught.value.host, caught.value.pid) == (socket.gethostname(), os.getpid())
    open_writer(tmp_path, ROOT).close()


def test_a_lock_of_another_process_ends_with_it(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from torchtalkd.store.database import open_writer\n"
        f"w = open_writer(Path({str(tmp_path)!r}), Path('/x')); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(Locked, match=f"process {other.pid} on"):
            open_writer(tmp_path, ROOT)
        other.kill()
        other.wait()
    open_writer(tmp_path, ROOT).close()


# -- bad databases


def _broken(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if ".broken-" in p.name)


@pytest.mark.parametrize("bad", [b"", b"this is no database at all" * 100])
def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path, bad: bytes) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / connection.NAME).write_bytes(bad)
    with pytest.raises(Unusable):
        open_view(tmp_path)
    with open_writer(tmp_path, ROOT) as writer:
        (note,) = writer.notes
        assert "set aside as index.db.broken-1" in note
        writer.replace([filed(1, facts("a.cpp"))], (), {})
    assert dumped(tmp_path)
    assert _broken(tmp_path) == ["index.db.broken-1"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_another_version_is_set_aside(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp"))
    db = sqlite3.connect(tmp_path / connection.NAME)
    db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    db.close()
    with pytest.raises(Unusable, match=f"format {FORMAT + 1}"):
        open_view(tmp_path)
    with open_writer(tmp_path, ROOT) as writer:
        assert f"format {FORMAT + 1}" in writer.notes[0]
        assert writer.files() == {}


def test_a_database_without_our_tables_is_set_aside(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / connection.NAME)
    db.execute(f"PRAGMA user_version = {FORMAT}")
    db.execute("CREATE TABLE meta (x)")
    db.close()
    with pytest.raises(Unusable):
        open_view(tmp_path)
    with open_writer(tmp_path, ROOT) as writer:
        assert "lacks the tables" in writer.notes[0]


def test_only_two_bad_ones_are_kept(tmp_path: Path) -> None:
    for n in range(4):
        (tmp_path / connection.NAME).write_text(f"bad {n}")
        open_writer(tmp_path, ROOT).close()
    assert _broken(tmp_path) == ["index.db.broken-3", "index.db.broken-4"]


def test_pages_that_are_bad_are_found_when_asked_for(tmp_path: Path) -> None:
    write(tmp_path, *[facts(f"{n}.cpp", f"name_{n}") for n in range(300)])
    path = tmp_path / connection.NAME
    with path.open("r+b") as file:
        size = path.stat().st_size
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xff" * (size // 4))
    with open_writer(tmp_path, ROOT, verify=True) as writer:
        assert "damaged" in writer.notes[0]


# -- file systems


def test_without_wal_another_journal_is_used_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "wal_works", lambda _: False)
    write(tmp_path, facts("a.cpp"))
    with open_view(tmp_path) as view:
        assert view.meta("journal") == "truncate"
    with open_writer(tmp_path, ROOT) as writer:
        assert writer.replace([filed(1, facts("a.cpp", "new"))], (), {}) == 2
    with open_view(tmp_path) as view:
        assert view.meta("journal") == "truncate"
        assert view.definitions("cpp:new")
    monkeypatch.undo()
    with open_writer(tmp_path, ROOT) as writer:
        writer.replace((), (), {})
        assert writer.meta()["journal"] == "wal"


def test_a_full_disk_in_a_first_build_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = connection.connect_new

    def small(path: Path) -> sqlite3.Connection:
        db = plain(path)
        db.execute("PRAGMA max_page_count = 20")
        return db

    monkeypatch.setattr(connection, "connect_new", small)
    with pytest.raises(StoreFull, match="full"):
        write(tmp_path, *[facts(f"{n}.cpp") for n in range(1000)])
    assert [p.name for p in tmp_path.iterdir()] == [lock.NAME]


def test_a_full_disk_later_leaves_the_former_revision(tmp_path: Path) -> None:
    write(tmp_path, facts("a.cpp"))
    before = dumped(tmp_path)
    with open_writer(tmp_path, ROOT) as writer:
        assert writer._db is not None
        writer._db.execute("PRAGMA max_page_count = 20")
        more = (filed(n + 1, facts(f"{n}.cpp", f"name_{n}", ("a", "b"))) for n in range(1, 3000))
        with pytest.raises(StoreFull):
            writer.replace(more, (), {})
        assert dumped(tmp_path) == before
        writer._db.execute("PRAGMA max_page_count = 100000")
        assert writer.replace([filed(1, facts("a.cpp", "new"))], (), {}) == 2


def test_a_full_disk_seen_by_the_system(tmp_path: Path) -> None:
    program = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from tests.test_store import write, facts; from torchtalkd.store.errors import StoreFull\n"
        "import shutil; shutil.disk_usage = lambda _: shutil._ntuple_diskusage(1, 1, 0)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: write(Path(sys.argv[1]), *[facts(f'{n}.cpp') for n in range(3000)])\n"
        "except StoreFull as error: print('full:', error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("full: the disk that holds"), done.stderr
    with pytest.raises(NoIndex):
        open_view(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may do everything")
def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(NotPermitted, match=str(tmp_path)):
            open_writer(tmp_path / "inner", ROOT)
    finally:
        tmp_path.chmod(0o700)


def test_a_refused_write_is_named_with_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied", str(tmp_path / lock.NAME))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(NotPermitted, match=r"writer\.lock") as caught:
        open_writer(tmp_path, ROOT)
    assert caught.value.path == tmp_path / lock.NAME


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="file"):
        open_writer(tmp_path / "file", ROOT)
    with pytest.raises(StoreError, match="inner"):
        open_writer(tmp_path / "file" / "inner", ROOT)


def _indexes(folder: Path) -> set[str]:
    db = sqlite3.connect(folder / connection.NAME)
    try:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'index'")}
    finally:
        db.close()
