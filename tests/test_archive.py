"""An archive is data from strangers: whatever is not exactly ours is refused with the reason."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE
from torchtalkd import cli
from torchtalkd.snapshots import archive, keeping
from torchtalkd.snapshots.errors import SnapshotError, WrongArchive
from torchtalkd.store.errors import StoreFull

Members = list[tuple[tarfile.TarInfo, bytes]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the small tree's index."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(DEMO_TREE, folder / "tree", ignore=shutil.ignore_patterns("__pycache__"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert cli.main(["snapshot", "save", "main/a/1", "--source", str(folder / "tree")]) == 0
        assert cli.main(["snapshot", "export", "main/a/1", "-o", str(folder / "archive")]) == 0
    return folder / "archive"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def members_of(path: Path) -> Members:
    found = []
    with tarfile.open(path) as tar:
        for member in tar:
            data = tar.extractfile(member)
            found.append((member, data.read() if data else b""))
    return found


def packed(path: Path, members: Members) -> Path:
    with tarfile.open(path, "w:gz", format=tarfile.USTAR_FORMAT) as tar:
        for member, data in members:
            if member.isfile():
                member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def with_database(source: Path, target: Path, change: Callable[[sqlite3.Connection], object]) -> Path:
    """An archive whose database was changed, and whose description fits it."""
    (about, text), (member, data) = members_of(source)
    work = target.with_name("work.db")
    work.write_bytes(data)
    with sqlite3.connect(work) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        change(db)
    db.close()
    return with_bytes(target, about, json.loads(text), member, work.read_bytes())


def with_bytes(
    target: Path, about: tarfile.TarInfo, told: dict[str, Any], member: tarfile.TarInfo, data: bytes
) -> Path:
    told["database"] = {"bytes": len(data), "digest": hashlib.blake2b(data, digest_size=16).hexdigest()}
    return packed(target, [(about, json.dumps(told).encode()), (member, data)])


def refused(home: Path, path: Path, *words: str) -> None:
    before = [kept.about.name for kept in keeping.snapshots(home)]
    with pytest.raises(WrongArchive) as caught:
        archive.import_archive(home, path, None)
    for word in words:
        assert word in str(caught.value), str(caught.value)
    assert [kept.about.name for kept in keeping.snapshots(home)] == before
    assert [path.name for path in home.glob("work-*")] == []
    assert not (home.parent / "evil").exists()


def test_what_is_exported_comes_back(made: Path, home: Path) -> None:
    kept = archive.import_archive(home, made, None)
    assert (kept.about.name, kept.about.imported) == ("main/a/1", True)
    # The very same once more is no mistake; under another name it is another snapshot.
    assert archive.import_archive(home, made, None).about == kept.about
    assert archive.import_archive(home, made, "other").about.name == "other"
    assert len(keeping.snapshots(home)) == 2
    with keeping.viewed(home, "other") as view:
        assert view.file("version.txt") is not None or view.files()


def test_a_name_that_another_snapshot_has(made: Path, home: Path, tmp_path: Path) -> None:
    archive.import_archive(home, made, None)
    (about, text), (member, data) = members_of(made)
    other = with_bytes(tmp_path / "other", about, json.loads(text) | {"created": 1.0}, member, data)
    with pytest.raises(SnapshotError, match="--name"):
        archive.import_archive(home, other, None)
    assert archive.import_archive(home, other, "new/name").about.created == 1.0


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_cut_off(made: Path, home: Path, tmp_path: Path, share: float) -> None:
    data = made.read_bytes()
    (tmp_path / "cut").write_bytes(data[: int(len(data) * share)])
    refused(home, tmp_path / "cut", "cut off")


def test_a_byte_that_flipped_anywhere(made: Path, home: Path, tmp_path: Path) -> None:
    data = made.read_bytes()
    # The first ten bytes are gzip's header, of which some say nothing.
    for at in range(10, len(data), max(1, len(data) // 60)):
        bad = bytearray(data)
        bad[at] ^= 0x10
        (tmp_path / "bad").write_bytes(bad)
        refused(home, tmp_path / "bad")


@pytest.mark.parametrize(
    "data", [b"", b"PK\x03\x04", b"\0" * 5000, gzip.compress(b"hello"), gzip.compress(b"\0" * 2048)]
)
def test_foreign(home: Path, tmp_path: Path, data: bytes) -> None:
    (tmp_path / "foreign").write_bytes(data)
    refused(home, tmp_path / "foreign")


def link(kind: bytes) -> Callable[[tarfile.TarInfo], None]:
    def edit(member: tarfile.TarInfo) -> None:
        member.type, member.linkname, member.size = kind, "/etc/passwd", 0

    return edit


def renamed(name: str) -> Callable[[tarfile.TarInfo], None]:
    def edit(member: tarfile.TarInfo) -> None:
        member.name = name

    return edit


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize(
    "edit",
    [
        renamed("/tmp/evil"),
        renamed("../evil"),
        renamed("a/../../evil"),
        renamed("other.db"),
        link(tarfile.SYMTYPE),
        link(tarfile.LNKTYPE),
        link(tarfile.CHRTYPE),
        link(tarfile.FIFOTYPE),
        link(tarfile.DIRTYPE),
    ],
)
def test_members_that_are_not_ours(
    made: Path, home: Path, tmp_path: Path, which: int, edit: Callable[[tarfile.TarInfo], None]
) -> None:
    members = members_of(made)
    edit(members[which][0])
    refused(home, packed(tmp_path / "bad", members), "is refused")


def test_more_members_than_ours(made: Path, home: Path, tmp_path: Path) -> None:
    members = members_of(made)
    refused(home, packed(tmp_path / "bad", [*members, (tarfile.TarInfo("evil"), b"x")]), "more in it")
    refused(home, packed(tmp_path / "bad", [(tarfile.TarInfo("evil"), b"x"), *members]), "evil")


def test_a_size_is_known_before_anything_is_unpacked(made: Path, home: Path, tmp_path: Path) -> None:
    (about, text), (member, _) = members_of(made)

    def bomb(size: int, told: int) -> Path:
        described = json.loads(text) | {"database": {"bytes": told, "digest": ""}}
        data = json.dumps(described).encode()
        about.size, member.size = len(data), size
        raw = about.tobuf(tarfile.USTAR_FORMAT) + data + b"\0" * (-len(data) % 512)
        (tmp_path / "bomb").write_bytes(gzip.compress(raw + member.tobuf(tarfile.USTAR_FORMAT)))
        return tmp_path / "bomb"

    refused(home, bomb(archive.MOST_DATABASE + 1, archive.MOST_DATABASE + 1), "at most")
    refused(home, bomb(100_000, 200_000), "description says")


def test_an_about_of_a_newer_program(made: Path, home: Path, tmp_path: Path) -> None:
    (about, text), (member, data) = members_of(made)
    bad = with_bytes(tmp_path / "bad", about, json.loads(text) | {"format": 99}, member, data)
    refused(home, bad, "format 99")
    for change in ({"name": "../evil"}, {"name": "current"}, {"name": 5}, {"created": "x"}, {"files": None}):
        refused(home, with_bytes(tmp_path / "bad", about, json.loads(text) | change, member, data))


@pytest.mark.parametrize("created", ["NaN", "Infinity", "1e300", "1" + "0" * 400, "-1", "99999999999999999"])
def test_a_number_that_cannot_be(made: Path, home: Path, tmp_path: Path, created: str) -> None:
    """A list of snapshots shows it as a date, and an archive's header takes eleven digits."""
    (about, text), (member, data) = members_of(made)
    told = json.loads(text)
    for name in ("created", "files", "changed"):
        bad = json.dumps(told | {name: "HERE"}).replace('"HERE"', created).encode()
        refused(home, packed(tmp_path / "bad", [(about, bad), (member, data)]), name)
    bad = json.dumps(told | {"database": {"bytes": "HERE", "digest": ""}}).replace('"HERE"', created).encode()
    refused(home, packed(tmp_path / "bad", [(about, bad), (member, data)]), "description")


@pytest.mark.parametrize(
    ("statement", "word"),
    [
        ("CREATE TRIGGER t AFTER INSERT ON file BEGIN DELETE FROM file; END", "trigger"),
        ("CREATE VIEW v AS SELECT * FROM file", "view"),
        ("CREATE TABLE more (x)", "table"),
        ("CREATE INDEX more ON file(digest)", "index"),
        ("DROP INDEX reference_key", "reference_key"),
        ("ALTER TABLE file ADD COLUMN x TEXT", "'file'"),
        ("UPDATE file SET path = '/etc/passwd' WHERE id = 1", "/etc/passwd"),
        ("UPDATE file SET path = 'a/../../b' WHERE id = 1", "a/../../b"),
        ("UPDATE file SET path = '' WHERE id = 1", "inside"),
        ("DELETE FROM file WHERE id = (SELECT min(id) >> 20 FROM definition)", "no file"),
        ("UPDATE definition SET detail = '[' WHERE id = (SELECT min(id) FROM definition)", "detail"),
        ("UPDATE definition SET scope = 9999999 WHERE id = (SELECT min(id) FROM definition)", "range"),
        ("UPDATE reference SET sites = x'00' WHERE id = (SELECT min(id) FROM reference)", "packed"),
        ("UPDATE target SET owner = 1", "binding"),
        ("DELETE FROM meta WHERE name = 'rules'", "rules"),
        ("UPDATE meta SET value = '[1' WHERE name = 'rules'", "cannot be read"),
        ("UPDATE meta SET value = 'x' WHERE name = 'revision'", "revision"),
        ("INSERT OR REPLACE INTO meta VALUES ('links', '{\"a\": \"/etc\"}')", "links"),
        ("UPDATE definition SET guard = CAST(x'6dff' AS TEXT)", "UTF-8"),
        ("UPDATE definition SET key = CAST(x'c3' AS TEXT), name = CAST(x'a9' AS TEXT)", "UTF-8"),
        ("INSERT INTO problem SELECT max(id), 1, 'x', CAST(x'ff' AS TEXT) FROM file", "UTF-8"),
        ("UPDATE meta SET value = CAST(x'ff' AS TEXT) WHERE name = 'harness'", "UTF-8"),
        ("INSERT INTO file SELECT -1, 'a.py', '', '', 0, 0, 0, 0, 0, '', '', 0", "number cannot be"),
        ("INSERT INTO file SELECT 1 << 42, 'a.py', '', '', 0, 0, 0, 0, 0, '', '', 0", "number cannot be"),
        ("PRAGMA user_version = 99", "newer"),
        ("PRAGMA user_version = 1", "format 1"),
    ],
)
def test_a_database_that_is_not_as_ours(
    made: Path, home: Path, tmp_path: Path, statement: str, word: str
) -> None:
    refused(home, with_database(made, tmp_path / "bad", lambda db: db.execute(statement)), word)


def test_a_schema_that_was_written_by_hand(made: Path, home: Path, tmp_path: Path) -> None:
    def change(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, 'key', 'quay') WHERE name = 'target'")

    refused(home, with_database(made, tmp_path / "bad", change))


def test_damaged_pages(made: Path, home: Path, tmp_path: Path) -> None:
    (about, text), (member, data) = members_of(made)
    for page in (0, 1, 5, 20):
        bad = data[: page * 4096 + 8] + os.urandom(600) + data[page * 4096 + 608 :]
        refused(home, with_bytes(tmp_path / "bad", about, json.loads(text), member, bad), "database")


def test_a_full_disk(made: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(1, 1, 0))  # type: ignore[attr-defined]
    with pytest.raises(StoreFull):
        archive.import_archive(home, made, None)
    assert keeping.snapshots(home) == []


def test_an_export_that_fails_leaves_no_file(
    made: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive.import_archive(home, made, None)
    target = tmp_path / "out"
    target.mkdir()
    (target / "there").write_bytes(b"before")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        archive.export(home, "main/a/1", target / "there")
    assert [path.name for path in target.iterdir()] == ["there"]
    assert (target / "there").read_bytes() == b"before"
