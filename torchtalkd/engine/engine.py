"""Keeps a store equal to a tree: sweep, plan, read what changed, one revision.

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
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from torchtalkd import vcs
from torchtalkd.conventions import Conventions
from torchtalkd.engine.gather import Gathered, Progress, TreeError, gather
from torchtalkd.engine.plan import UNREAD, Plan, Recipes, below, plan, recipes
from torchtalkd.engine.reading import Parse, Reading, digest_of, read_bytes
from torchtalkd.engine.sweep import sweep
from torchtalkd.engine.worker import Limits
from torchtalkd.engine.workers import Worker, crew
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
) -> BuildResult:
    """Brings the store in `folder` equal to the tree at `root`: a first build, or only what changed.

    `parse` and its `version` are those of `torchtalkd.parse` unless given. `verify` looks for
    damage first (see `open_writer`). The garbage collector rests meanwhile. Raises TreeError,
    Locked (another process builds), StoreFull, NotPermitted, StoreError, WorkersFailed.
    """
    begun = time.monotonic()
    prepare = None
    if parse is None:
        # Here, as it loads the grammars, which a caller with its own parser does not want.
        from torchtalkd import parse as parsers

        parse, version, prepare = parsers.parse, parsers.VERSION, parsers.prepare
    reading = Reading(os.path.realpath(root), conventions, parse, prepare)
    recipe_of = recipes(conventions, version)
    say = progress or (lambda _: None)
    count = workers or os.cpu_count() or 1
    with open_writer(folder, root, verify=verify) as writer, _collector_off():
        try:
            return _run(writer, reading, recipe_of, say, count, limits or Limits(), begun)
        except Unusable as error:
            # Damage shows where a bad page is met.
            writer.set_aside(error)
            return _run(writer, reading, recipe_of, say, count, limits or Limits(), begun)


def _run(
    writer: Writer,
    reading: Reading,
    recipe_of: Recipes,
    say: Callable[[Progress], None],
    workers: int,
    limits: Limits,
    begun: float,
) -> BuildResult:
    known = writer.files()
    if known:
        return _equalise(writer, known, reading, recipe_of, say, workers, limits, begun, [])
    # All of the tree is to be read: the workers get ready while the sweep finds out what that is.
    with crew(reading, workers=workers, limits=limits) as running:
        return _equalise(writer, known, reading, recipe_of, say, workers, limits, begun, running)


def _equalise(
    writer: Writer,
    known: dict[str, FileRecord],
    reading: Reading,
    recipe_of: Recipes,
    say: Callable[[Progress], None],
    workers: int,
    limits: Limits,
    begun: float,
    running: list[Worker],
) -> BuildResult:
    root = Path(reading.root)
    say(Progress("sweep", 0, 0))
    swept = sweep(root, reading.conventions)
    if "" in swept.blind:
        raise TreeError(f"cannot read the source tree {root}: {swept.blind['']}")
    if not swept.entries and not swept.blind:
        # More likely a disk that is not mounted, or a wrong folder, than a framework without files.
        raise TreeError(
            f"the source tree {root} has no file that {reading.conventions.name or 'the harness'} reads"
        )
    planned = plan(known, swept, recipe_of)
    say(Progress("sweep", len(swept.entries), len(swept.entries)))
    gathered = Gathered(removed=list(planned.delete))
    _look_at_suspects(planned, reading, writer, gathered)
    for path, reason in swept.blind.items():
        gathered.fault(f"{path}: cannot be listed ({reason}); what is known of it is as it was before")
    before = writer.meta()
    meta = _meta(reading.conventions, root)
    if planned.read or planned.refuse or planned.delete or meta != {name: before.get(name) for name in meta}:
        changed = gather(
            planned, known, reading, recipe_of, say, workers, limits, writer.marked(), gathered, running
        )
        with closing(_then_complete(changed, meta, gathered)) as rows:
            revision = writer.replace(rows, gathered.removed, meta)
    elif before.get("complete") != gathered.complete:
        revision = writer.replace((), (), {"complete": gathered.complete})
    else:
        revision = int(before["revision"])
    there = {entry.path for entry in swept.entries}.union(path for path in known if below(path, swept.blind))
    return BuildResult(
        revision,
        len(there.difference(gathered.removed)),
        gathered.parsed,
        len(known.keys() & set(gathered.removed)),
        gathered.problems,
        time.monotonic() - begun,
        gathered.complete == "1",
        (*writer.notes, *gathered.notes),
    )


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
                size=found.st_size, mtime_ns=found.st_mtime_ns, read_ns=read_ns, inode=found.st_ino
            )
        )
    if same:
        writer.touch(same)


def _meta(conventions: Conventions, root: Path) -> dict[str, str]:
    """What the meta table says besides the writer's own rows and `complete`."""
    head = vcs.head(root)
    return {
        "harness": conventions.name,
        "fingerprint": conventions.fingerprint,
        "rules": json.dumps(asdict(conventions.rules), sort_keys=True),
        "commit": head.commit,
        "branch": head.branch,
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
