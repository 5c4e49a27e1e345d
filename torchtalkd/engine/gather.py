"""Reads what a plan says and hands it on, file by file, as the store takes it.

*Where files are parsed*: a few by the spare worker, where there is one at hand; without one up to
`IN_PROCESS` files of moderate size in this process, because starting workers takes longer than one
save may; everything else in new workers. A file that once cost a worker is never parsed in this
process again.
The tests are in `tests/test_engine.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.engine.plan import REFUSED, Plan, Recipes, below
from torchtalkd.engine.reading import Outcome, Reading, Task, read, rows_of
from torchtalkd.engine.sweep import Entry, look, vanished
from torchtalkd.engine.worker import Limits
from torchtalkd.engine.workers import Spare, Worker, read_all
from torchtalkd.facts import FileFacts, Problem
from torchtalkd.store.rows import Rows, pack
from torchtalkd.store.writer import FileRecord

IN_PROCESS: Final = 8
"""Files."""
IN_PROCESS_BYTES: Final = 1 << 20
"""Of all of them together: about 0.2 s of parsing."""
IN_SPARE: Final = 40
IN_SPARE_BYTES: Final = 2 << 20
"""What one worker at hand reads by itself: more is shared out among new ones."""
_NOTES: Final = 20
"""Lines about single files; more are only counted."""


class TreeError(Exception):
    """The tree cannot be read at all: missing, no folder, not permitted, empty, or gone meanwhile."""


class Progress(NamedTuple):
    """How far a build is."""

    phase: str
    """sweep (looking for files), read (parsing), store (indexes, and onto the disk)."""
    done: int
    total: int
    """Files; 0 when not yet known."""


@dataclass(slots=True)
class Gathered:
    """What was met on the way; filled in by `gather`."""

    removed: list[str]
    """Paths that the store must forget."""
    parsed: int = 0
    problems: int = 0
    complete: str = "1"
    """As in the meta table: '1', or '0' when something that should have been read was not."""
    notes: list[str] = field(default_factory=list)
    _faults: int = 0

    def fault(self, note: str) -> None:
        """Something was not read: the build is not complete."""
        self.complete = "0"
        self.note(note)

    def note(self, note: str) -> None:
        """A line for the user. The lines are limited."""
        self._faults += 1
        if self._faults <= _NOTES:
            self.notes.append(note)
        elif self._faults == _NOTES + 1:
            self.notes.append("and more of the kind; `status` lists them")


def gather(
    planned: Plan,
    known: Mapping[str, FileRecord],
    reading: Reading,
    recipe_of: Recipes,
    say: Callable[[Progress], None],
    workers: int,
    limits: Limits,
    marked: Collection[str],
    next_id: int,
    gathered: Gathered,
    running: list[Worker] | None = None,
    spare: Spare | None = None,
) -> Generator[tuple[FileRecord, Rows], None, None]:
    """Yields the record and rows of each file that is to be replaced, in no promised order.

    `marked` are the files that once cost a worker; files that are new get ids from `next_id`;
    `running` are workers that have been started already, `spare` the one for a few files. Raises
    TreeError when the tree goes away meanwhile, and what `read_all` raises.
    """
    recipes: dict[int, str] = {}
    tasks = []
    for entry in (*planned.refuse, *planned.read):
        record = known.get(entry.path)
        file_id = record.id if record else next_id
        next_id += record is None
        recipes[file_id] = recipe_of(entry)
        if entry.refused:
            gathered.problems += 1
            yield _refused(entry, file_id, recipes[file_id])
        else:
            tasks.append(Task(file_id, entry.path, entry.language, entry.role, entry.size))

    missed: list[Task] = []
    done = 0
    say(Progress("read", 0, len(tasks)))
    for outcomes in _outcomes(tasks, reading, workers, limits, marked, running, spare):
        for outcome in outcomes:
            done += 1
            if outcome.status in ("gone", "unreadable"):
                missed.append(_task(outcome))
            else:
                yield _read(outcome, recipes, gathered)
        say(Progress("read", done, len(tasks)))
    if missed:
        for outcome in _second_try(missed, reading, limits, gathered):
            yield _read(outcome, recipes, gathered)
    elif tasks and not os.path.isdir(reading.root):
        raise TreeError(f"the source tree {reading.root} went away while it was read; the index is as before")
    say(Progress("store", len(tasks), len(tasks)))


def _outcomes(
    tasks: list[Task],
    reading: Reading,
    workers: int,
    limits: Limits,
    marked: Collection[str],
    running: list[Worker] | None,
    spare: Spare | None,
) -> Iterator[Iterable[Outcome]]:
    size = sum(task.size for task in tasks)
    if spare is not None and len(tasks) <= IN_SPARE and size <= IN_SPARE_BYTES:
        yield from read_all(tasks, reading, workers=1, limits=limits, spare=spare)
        return
    few = len(tasks) <= IN_PROCESS and size <= IN_PROCESS_BYTES
    if few and not any(task.path in marked for task in tasks):
        yield [read(task, reading) for task in tasks]
    else:
        yield from read_all(tasks, reading, workers=workers, limits=limits, running=running)


def _second_try(
    missed: list[Task], reading: Reading, limits: Limits, gathered: Gathered
) -> Iterator[Outcome]:
    """A file may be away for a moment only, while an editor or git puts another in its place. What
    a new look does not see is gone; what it sees is read again."""
    now = look(Path(reading.root), reading.conventions, [task.path for task in missed])
    if vanished(reading.root):
        raise TreeError(f"the source tree {reading.root} went away while it was read; the index is as before")
    there = {entry.path for entry in now.entries if not entry.refused}
    for task in missed:
        if below(task.path, now.blind):
            gathered.fault(f"{task.path}: could not be read; what is known of it is as it was before")
        elif task.path not in there:
            gathered.removed.append(task.path)
            gathered.note(f"{task.path}: gone before it was read")
    again = [task for task in missed if task.path in there]
    for outcomes in read_all(again, reading, workers=1, limits=limits):
        for outcome in outcomes:
            if outcome.status in ("gone", "unreadable"):
                gathered.fault(f"{outcome.path}: could not be read ({outcome.rows[3][0][3]})")
            yield outcome


def _read(outcome: Outcome, recipes: Mapping[int, str], gathered: Gathered) -> tuple[FileRecord, Rows]:
    rows = rows_of(outcome)
    gathered.parsed += 1
    gathered.problems += len(rows.problems)
    if outcome.status == "lost":
        gathered.note(f"{outcome.path}: {rows.problems[0][3]}")
    record = FileRecord(
        outcome.file_id,
        outcome.path,
        outcome.language,
        outcome.role,
        outcome.size,
        outcome.mtime_ns,
        outcome.read_ns,
        outcome.inode,
        outcome.ctime_ns,
        outcome.digest,
        recipes[outcome.file_id],
    )
    return record, rows


def _refused(entry: Entry, file_id: int, recipe: str) -> tuple[FileRecord, Rows]:
    facts = FileFacts(entry.path, entry.language, entry.role, problems=(Problem(0, "path", entry.refused),))
    record = FileRecord(file_id, *entry[:5], 0, entry.inode, entry.ctime_ns, REFUSED, recipe)
    return record, pack(file_id, facts)


def _task(outcome: Outcome) -> Task:
    return Task(outcome.file_id, outcome.path, outcome.language, outcome.role, outcome.size)
