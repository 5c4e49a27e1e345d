"""Keeps a store equal to a tree: sweep, plan, read what changed, one revision.

`build` looks at the whole tree, `update` at a part of it; nothing else is different.

A build never leaves the store worse than before: facts are replaced in one transaction, and
any exception, Ctrl-C included, leaves the former revision. `complete` says whether all that the
conventions want read was read; what was in the way is in `BuildResult.notes`.
The tests are in `tests/test_engine.py`.
"""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

from torchtalkd import vcs
from torchtalkd.conventions import Conventions
from torchtalkd.engine.gather import Gathered, Progress, TreeError, gather
from torchtalkd.engine.plan import UNREAD, Plan, Recipes, below, plan, recipes
from torchtalkd.engine.reading import Parse, Reading, digest_of, read_bytes
from torchtalkd.engine.sweep import Sweep, look, stored, sweep, vanished
from torchtalkd.engine.worker import Limits
from torchtalkd.engine.workers import Spare, Worker, crew
from torchtalkd.store.database import open_writer
from torchtalkd.store.errors import Unusable
from torchtalkd.store.rows import Rows
from torchtalkd.store.writer import FileRecord, Writer


@dataclass(frozen=True, slots=True)
class BuildResult:
    """What a build did."""

    revision: int
    files: int
    """In the store now."""
    parsed: int
    removed: int
    problems: int
    """Problems in the files that were parsed now."""
    seconds: float
    complete: bool
    """Everything that the conventions want read was read."""
    notes: tuple[str, ...]
    """Lines for the user."""
    whole: bool = True
    """The whole tree was looked at."""


def build(
    root: Path,
    folder: Path,
    conventions: Conventions,
    *,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    parse: Parse | None = None,
    version: str = "",
    limits: Limits | None = None,
    verify: bool = False,
    again: Collection[str] = (),
) -> BuildResult:
    """Brings the store in `folder` equal to the tree at `root`: a first build, or only what changed.

    `parse` and its `version` are those of `torchtalkd.parse` unless given. `verify` looks for
    damage first (see `open_writer`), and the files of `again` are read also where they are as before: what
    they take in is not. The garbage collector rests meanwhile. Raises TreeError,
    Locked (another process builds), StoreFull, NotPermitted, StoreError, WorkersFailed.
    """
    job = _job(root, conventions, parse, version, workers, progress, limits)._replace(again=frozenset(again))
    with open_writer(folder, root, verify=verify) as writer, _collector_off():
        return _guarded(writer, job, None)


def update(
    root: Path,
    folder: Path,
    conventions: Conventions,
    paths: Collection[str],
    *,
    since: int = 0,
    workers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    parse: Parse | None = None,
    version: str = "",
    limits: Limits | None = None,
    spare: Spare | None = None,
) -> BuildResult:
    """As `build`, but looks only at some paths of the tree: files, and folders with all below them.

    Only what the store knows of these is compared. The whole tree is swept all the same where the
    store is not one of these conventions and parsers, is older than revision `since` (somebody put
    another in its place), or is not there yet: `BuildResult.whole` says so. `spare` parses what is little.
    Raises what `build` raises.
    """
    job = _job(root, conventions, parse, version, workers, progress, limits)._replace(spare=spare)
    with open_writer(folder, root) as writer, _collector_off():
        try:
            before = writer.meta()
        except Unusable as error:
            writer.set_aside(error)
            return _guarded(writer, job, None)
        ours = _kinds(conventions, job.version)
        known = ours == {name: before.get(name) for name in ours}
        if not known or int(before["revision"]) < since:
            return _guarded(writer, job, None)
        return _guarded(writer, job, paths)


def reading_of(root: Path, conventions: Conventions) -> Reading:
    """How `build` and `update` read a tree with our parsers: for a `Spare` that begins before they do."""
    # Here, as it loads the grammars, which a caller with its own parser does not want.
    from torchtalkd import parse as parsers

    return Reading(os.path.realpath(root), conventions, parsers.parse, parsers.prepare)


class _Job(NamedTuple):
    """What `build` and `update` were asked for."""

    reading: Reading
    version: str
    recipe_of: Recipes
    say: Callable[[Progress], None]
    workers: int
    limits: Limits
    begun: float
    spare: Spare | None = None
    again: frozenset[str] = frozenset()
    """Files that are read whether they changed or not."""


def _job(
    root: Path,
    conventions: Conventions,
    parse: Parse | None,
    version: str,
    workers: int | None,
    progress: Callable[[Progress], None] | None,
    limits: Limits | None,
) -> _Job:
    begun = time.monotonic()
    if parse is None:
        reading = reading_of(root, conventions)
        from torchtalkd import parse as parsers

        version = parsers.VERSION
    else:
        reading = Reading(os.path.realpath(root), conventions, parse)
    return _Job(
        reading,
        version,
        recipes(conventions, version),
        progress or (lambda _: None),
        workers or os.cpu_count() or 1,
        limits or Limits(),
        begun,
    )


def _guarded(writer: Writer, job: _Job, paths: Collection[str] | None) -> BuildResult:
    try:
        return _run(writer, job, paths)
    except Unusable as error:
        # Damage shows where a bad page is met.
        writer.set_aside(error)
        return _run(writer, job, None)


def _run(writer: Writer, job: _Job, paths: Collection[str] | None) -> BuildResult:
    if writer.count():
        return _equalise(writer, job, paths)
    # All of the tree is to be read: the workers get ready while the sweep finds out what that is.
    with crew(job.reading, workers=job.workers, limits=job.limits) as running:
        return _equalise(writer, job, None, running)


def _equalise(
    writer: Writer, job: _Job, paths: Collection[str] | None, running: list[Worker] | None = None
) -> BuildResult:
    reading = job.reading
    root = Path(reading.root)
    job.say(Progress("sweep", 0, 0))
    before = writer.meta()
    links: dict[str, list[str]] = json.loads(before.get("links", "{}")) if paths is not None else {}
    if paths is None:
        swept = sweep(root, reading.conventions)
        known = writer.files()
    else:
        # What a link shows changes where it leads to.
        paths = {*paths, *(link for link, to in links.items() if any(below(at, paths) for at in to))}
        swept = look(root, reading.conventions, paths)
        places = {stored(path.strip("/")) for path in paths}
        known = writer.files() if "" in places else writer.files_at(places)
        links = {link: to for link, to in links.items() if not below(link, places)}
    if "" in swept.blind:
        raise TreeError(f"cannot read the source tree {root}: {swept.blind['']}")
    planned = plan(known, swept, job.recipe_of)
    if job.again:
        _read_again(planned, swept, job.again)
    if paths is None and not swept.entries and not swept.blind:
        # More likely a disk that is not mounted, or a wrong folder, than a framework without files.
        raise TreeError(
            f"the source tree {root} has no file that {reading.conventions.name or 'the harness'} reads"
        )
    if planned.delete and (why := vanished(reading.root)):
        raise TreeError(f"cannot read the source tree {root}: {why}")
    job.say(Progress("sweep", len(swept.entries), len(swept.entries)))
    gathered = Gathered(removed=list(planned.delete))
    if paths is not None and before.get("complete") != "1":
        # What was in the way may still be; only a sweep can say that nothing is any more.
        gathered.complete = "0"
    _look_at_suspects(planned, reading, writer, gathered)
    for path, reason in swept.blind.items():
        gathered.fault(f"{path}: cannot be listed ({reason}); what is known of it is as it was before")
    meta = _meta(reading.conventions, job.version, root, {**links, **swept.links})
    if planned.read or planned.refuse or planned.delete or meta != {name: before.get(name) for name in meta}:
        changed = gather(
            planned,
            known,
            reading,
            job.recipe_of,
            job.say,
            job.workers,
            job.limits,
            writer.marked() if job.spare is None else (),
            writer.next_id(),
            gathered,
            running,
            job.spare,
        )
        with closing(_then_complete(changed, meta, gathered)) as rows:
            revision = writer.replace(rows, gathered.removed, meta)
    elif before.get("complete") != gathered.complete:
        revision = writer.replace((), (), {"complete": gathered.complete})
    else:
        revision = int(before["revision"])
    return BuildResult(
        revision,
        writer.count(),
        gathered.parsed,
        len(known.keys() & set(gathered.removed)),
        gathered.problems,
        time.monotonic() - job.begun,
        gathered.complete == "1",
        (*writer.notes, *gathered.notes),
        paths is None,
    )


def _read_again(planned: Plan, swept: Sweep, again: Collection[str]) -> None:
    """Has files read that would only have been looked at, or not even that."""
    reading = {entry.path for entry in planned.read}
    planned.read.extend(
        entry
        for entry in swept.entries
        if entry.path in again and entry.path not in reading and not entry.refused
    )
    planned.check[:] = [(entry, record) for entry, record in planned.check if entry.path not in again]


def _look_at_suspects(planned: Plan, reading: Reading, writer: Writer, gathered: Gathered) -> None:
    """Those whose bytes are as before only get their new stat; the others are added to what is read."""
    same = []
    for entry, record in planned.check:
        read_ns = time.time_ns()
        try:
            data, found = read_bytes(reading.root, entry.path, reading.conventions.files.max_bytes)
        except OSError as error:
            if record.digest == UNREAD and not isinstance(error, FileNotFoundError):
                gathered.fault(f"{entry.path}: could not be read ({error.strerror})")
            else:
                # What is wrong with it will be said when it is read.
                planned.read.append(entry)
            continue
        if digest_of(data, found.st_size) != record.digest:
            planned.read.append(entry)
            continue
        same.append(
            record._replace(
                size=found.st_size,
                mtime_ns=found.st_mtime_ns,
                read_ns=read_ns,
                inode=found.st_ino,
                ctime_ns=found.st_ctime_ns,
            )
        )
    if same:
        writer.touch(same)


def _meta(
    conventions: Conventions, version: str, root: Path, links: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """What the meta table says besides the writer's own rows and `complete`."""
    head = vcs.head(root)
    return {
        **_kinds(conventions, version),
        "commit": head.commit,
        "branch": head.branch,
        "links": json.dumps(links, sort_keys=True),
    }


def _kinds(conventions: Conventions, version: str) -> dict[str, str]:
    """What all files of a store have in common: another of these, and none is as it should be."""
    return {
        "harness": conventions.name,
        "fingerprint": conventions.fingerprint,
        "parsers": version,
        "rules": json.dumps(asdict(conventions.rules), sort_keys=True),
    }


def _then_complete(
    changed: Iterator[tuple[FileRecord, Rows]], meta: dict[str, str], gathered: Gathered
) -> Generator[tuple[FileRecord, Rows], None, None]:
    # Closing this one also closes `changed`, and so ends the workers: `yield from` passes it on.
    yield from changed
    meta["complete"] = gathered.complete


@contextmanager
def _collector_off() -> Iterator[None]:
    """A build makes millions of small tuples that hold no cycles; looking for some in them costs a tenth."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
