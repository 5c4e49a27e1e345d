"""A snapshot as one file, for another machine: a gzip of a tar with `snapshot.json` and `index.db`.

*An archive is data from strangers.* It must be exactly what is written here: those two members, each a
plain file, no larger than they may be, which is known before a byte of them is unpacked. The database is
written to a folder of its own and looked at (see `store.foreign`) before the pool takes it. What the
archive says of a file is believed where that file's bytes are the same; so take archives from those whom
you would take a compiled program from. The tests are in `tests/test_archive.py`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path
from typing import IO, Any, Final

from torchtalkd.snapshots.about import from_text, to_text
from torchtalkd.snapshots.errors import SnapshotError, WrongArchive
from torchtalkd.snapshots.keeping import Kept, keep, snapshot, snapshots, working
from torchtalkd.snapshots.names import checked_name
from torchtalkd.store import pool
from torchtalkd.store.connection import NAME
from torchtalkd.store.errors import StoreFull, Unusable
from torchtalkd.store.foreign import require_ours

SUFFIX: Final = ".torchtalk.tar.gz"
ABOUT: Final = "snapshot.json"
MOST_ABOUT: Final = 1 << 16
MOST_DATABASE: Final = 4 << 30
"""Bytes: ten times the index of the largest tree of this kind."""
_LEAST_DATABASE: Final = 4096
_PIECE: Final = 1 << 20
_AFTER: Final = 1 << 16
"""Bytes of zeros that may follow the members; tar fills up its last record."""
_HEADERS: Final = 8
"""Extended headers that are passed over: another tar may write some, and nothing in them is of use here."""


def export(home: Path, name: str, target: Path) -> Kept:
    """Writes a snapshot into a file, which appears there whole or not at all. Raises SnapshotError,
    StoreError, OSError."""
    kept = snapshot(home, name)
    with working(home) as work:
        database = work / NAME
        pool.restore(home, name, database)
        about = json.loads(to_text(kept.about)) | {"database": _described(database)}
        descriptor, beside = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with open(descriptor, "wb") as file:
                with tarfile.open(
                    fileobj=file, mode="w:gz", format=tarfile.USTAR_FORMAT, compresslevel=6
                ) as tar:
                    _add(
                        tar, ABOUT, kept.about.created, io.BytesIO(json.dumps(about, sort_keys=True).encode())
                    )
                    with open(database, "rb") as data:
                        _add(tar, NAME, kept.about.created, data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(beside, 0o666 & ~_umask())
            os.replace(beside, target)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
    return kept


def import_archive(home: Path, source: Path, new_name: str | None) -> Kept:
    """Takes the snapshot of an archive in, under its own name or a new one. One that is there already, the
    very same, stays. Raises WrongArchive with the reason, WrongName, SnapshotError where the name is
    another snapshot's, StoreError, OSError; then everything is as it was."""
    if new_name is not None:
        checked_name(new_name)
    with working(home) as work, open(source, "rb") as file:
        try:
            text = _unpacked(file, work)
            about = from_text(text, imported=True)
            about = from_text(to_text(about), name=checked_name(new_name or about.name))
            require_ours(work / NAME)
        except (Unusable, SnapshotError) as error:
            raise WrongArchive(f"{source} is refused: {error}") from error
        except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.HeaderError) as error:
            raise WrongArchive(
                f"{source} is refused: it is cut off, damaged or no archive ({error})"
            ) from error
        for kept in snapshots(home):
            if kept.about.name == about.name:
                if (kept.about.created, kept.about.content_fingerprint) == (
                    about.created,
                    about.content_fingerprint,
                ):
                    return kept
                raise SnapshotError(
                    f"there is another snapshot called {about.name}; --name gives this one a new name"
                )
        return keep(home, about, work / NAME, replace=False)


def _unpacked(file: IO[bytes], work: Path) -> str:
    """Unpacks the database; returns the description. Raises WrongArchive, and what gzip and tar raise."""
    with gzip.GzipFile(fileobj=file, mode="rb") as stream:
        size = _member(stream, ABOUT, MOST_ABOUT)
        text = _exactly(stream, size).decode("utf-8", "replace")
        _exactly(stream, -size % tarfile.BLOCKSIZE)
        described = _database_of(text)
        size = _member(stream, NAME, MOST_DATABASE)
        if size < _LEAST_DATABASE or size != described["bytes"]:
            raise WrongArchive(
                f"its database has {size} bytes, and its description says {described['bytes']}"
            )
        if shutil.disk_usage(work).free < 2 * size:
            raise StoreFull(
                work, f"there is no room for the {size} bytes of the snapshot on the disk that holds {work}"
            )
        known = hashlib.blake2b(digest_size=16)
        with open(work / NAME, "xb") as database:
            while size:
                piece = _exactly(stream, min(size, _PIECE))
                known.update(piece)
                database.write(piece)
                size -= len(piece)
        _exactly(stream, -described["bytes"] % tarfile.BLOCKSIZE)
        # Only the end shows that nothing was cut off, and the checksum of all.
        rest = stream.read(_AFTER + 1)
        if len(rest) > _AFTER or rest.strip(b"\0"):
            raise WrongArchive("it has more in it than a snapshot")
    if known.hexdigest() != described["digest"]:
        raise WrongArchive("its database is not the one that its description is of")
    return text


def _member(stream: gzip.GzipFile, name: str, most: int) -> int:
    """The size of the next member, which must be a plain file of that name, and not too large."""
    for _ in range(_HEADERS):
        member = tarfile.TarInfo.frombuf(_exactly(stream, tarfile.BLOCKSIZE), "utf-8", "surrogateescape")
        if member.type not in (tarfile.XHDTYPE, tarfile.XGLTYPE):
            break
        if not 0 <= member.size <= MOST_ABOUT:
            raise WrongArchive("it has a header that is too large")
        _exactly(stream, member.size + -member.size % tarfile.BLOCKSIZE)
    if member.name != name:
        raise WrongArchive(f"it has {member.name[:200]!r} where {name!r} must be")
    if member.type not in (tarfile.REGTYPE, tarfile.AREGTYPE):
        raise WrongArchive(f"its member {name!r} is no plain file")
    if not 0 <= member.size <= most:
        raise WrongArchive(f"its member {name!r} has {member.size} bytes, {most} at most")
    return member.size


def _exactly(stream: gzip.GzipFile, size: int) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise EOFError("it ends too early")
    return data


def _database_of(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)["database"]
        return {"bytes": int(found["bytes"]), "digest": str(found["digest"])}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise WrongArchive("its description cannot be read") from error


def _described(database: Path) -> dict[str, Any]:
    with open(database, "rb") as file:
        digest = hashlib.file_digest(file, _blake2b).hexdigest()
    return {"bytes": database.stat().st_size, "digest": digest}


def _blake2b() -> Any:
    return hashlib.blake2b(digest_size=16)


def _add(tar: tarfile.TarFile, name: str, created: float, data: IO[bytes]) -> None:
    member = tarfile.TarInfo(name)
    member.size = data.seek(0, io.SEEK_END)
    data.seek(0)
    member.mtime = int(created)
    member.mode = 0o644
    tar.addfile(member, data)


def _umask() -> int:
    value = os.umask(0o077)
    os.umask(value)
    return value
