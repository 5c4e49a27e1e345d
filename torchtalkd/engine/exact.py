"""Keeps the exact reading of a tree equal to its index: what is stale is read by libclang, batch by batch.

It follows the index, never the disk: each refresh looks at the newest revision, finds what is not true of
it, and reads that; what comes meanwhile is found by the next one. The invariant "any history equals a fresh
reading" holds when nothing is stale. Whoever runs this gives it a process of its own. The tests are in
`tests/test_exact_reading.py`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from torchtalkd.compilation import Commands, commands, generate, made_folder
from torchtalkd.compilation.generated import Standing
from torchtalkd.compilation.made import is_unit
from torchtalkd.conventions.globs import union
from torchtalkd.conventions.values import Conventions
from torchtalkd.engine.exact_closure import Generated, generated_headers
from torchtalkd.engine.exact_known import Known, known, without_unmade
from torchtalkd.engine.exact_pool import Pool, Task
from torchtalkd.engine.exact_precompiled import prune, written
from torchtalkd.engine.exact_queue import Queue, Subject
from torchtalkd.engine.exact_stale import Item, stale
from torchtalkd.engine.exact_store import Reading, store, store_off, unit_of
from torchtalkd.parse.exact import Missing, version
from torchtalkd.parse.exact import recipe as reader_recipe
from torchtalkd.readings import Diagnostic, ExactUnit
from torchtalkd.store.database import open_view
from torchtalkd.store.errors import NoIndex
from torchtalkd.store.exact_rows import mask
from torchtalkd.store.exact_view import EXACT_TOTAL
from torchtalkd.store.view import View

BATCH_SECONDS: Final = 5.0
"""After which what was read is put into the index …"""
BATCH_FILES: Final = 60
"""… or when it is so many files."""
_WAIT_SECONDS: Final = 0.5
MOST_LATE: Final = 3
"""How often a file is read again because the index did not have the texts that it was read from."""


@dataclass(slots=True)
class ExactResult:
    """What an exact reading did."""

    off: str = ""
    """Why nothing is read exactly; '' where it is."""
    notes: tuple[str, ...] = ()
    read: int = 0
    """Files."""
    total: int = 0
    """Files that have bodies to be read."""
    failed: list[tuple[str, str]] = field(default_factory=list)
    """(path, why): what gave nothing."""
    plain: int = 0
    """Units that were read once more, without a precompiled header."""
    seconds: float = 0.0
    cpu: float = 0.0
    """CPU seconds of all processes that read."""
    precompiling: float = 0.0
    """Of these, for precompiled headers."""
    headers: float = 0.0
    """Of these, for the bodies of headers."""
    cuda: float = 0.0
    """Of these, for units of CUDA."""
    peaks: dict[str, int] = field(default_factory=dict)
    """Kilobytes of memory that a task took at most, by its kind: unit, headers, precompile; plain is what was
    read once more."""


class ExactReading:
    """The exact reading of one tree, from one refresh to the next."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        conventions: Conventions,
        *,
        trusted: str = "",
        database: Path | None = None,
        bases: Iterable[str] = (),
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """`trusted`: the digest of the tree's code that may run to generate headers, '' for none; `database`:
        a compile_commands.json that somebody named; `bases`: folders with headers of the frameworks that the
        tree depends on; `progress` hears (files that are true now, files in all).
        """
        self._trusted, self._database, self._bases = trusted, database, tuple(bases)
        self.result = ExactResult()
        self._root, self._folder, self._conventions = Path(os.path.realpath(root)), folder, conventions
        self._progress = progress or (lambda _done, _total: None)
        self._made = made_folder(folder)
        generators = conventions.compilation.generators
        self._unmade = union([pattern for generator in generators for pattern in generator.headers])
        self._commands: Commands | None = None
        self._paths: frozenset[str] = frozenset()
        self._generated: dict[str, Generated] = {}
        self._generated_as: object = None
        self._standing: Standing | None = None
        self._known: Known | None = None
        self._queue: Queue | None = None
        self._ready: list[Reading] = []
        self._valid: dict[int, int] = {}
        self._gone: list[int] = []
        self._stored = time.monotonic()
        self._late: dict[Item, int] = {}
        self._urgent = False
        """Whether something was read that should be seen at once."""

    @property
    def pending(self) -> int:
        """How many files wait to be read, those that are being read not counted."""
        return len(self._queue) if self._queue is not None else 0

    def refresh(self, opened: Collection[str] = ()) -> bool:
        """Looks at the newest revision; whether anything is to be done. `opened`: files that come first,
        those that are open in an editor."""
        try:
            reader = reader_recipe()
        except Missing as error:
            self.result.off = str(error)
            store_off(self._folder, self._root, self.result.off)
            return False
        try:
            view = open_view(self._folder)
        except NoIndex:
            return False
        self._generate(view)
        with view:
            before = self._known
            if before is not None and before.revision == view.revision and not self._is_generated_anew():
                if self._queue is not None:
                    self._queue.open(opened)
                return bool(self.pending)
            thorough = self._is_generated_anew()
            if thorough:
                self._generated = generated_headers(Path(os.path.realpath(self._made)), self._made)
                self._generated_as = self._generation()
            units = frozenset(file.path for file in view.files() if is_unit(self._conventions, file.path))
            if self._commands is None or units != self._paths or thorough:
                self._commands = commands(
                    self._root,
                    self._conventions,
                    self._made,
                    paths=units,
                    database=self._database,
                    bases=self._bases,
                )
                self._paths, before = units, None
            said = () if self._standing is None or not self._standing.sentence else (self._standing.sentence,)
            self.result.off, self.result.notes = self._commands.off, (*said, *self._commands.notes)
            if self.result.off:
                store_off(self._folder, self._root, self.result.off)
                return False
            changed = view.replaced_since(self._known.revision) if self._known is not None else 0
            root, made = str(self._root), str(self._made)
            now = known(view, self._commands, root, made, self._generated, reader, before)
            if self._lacks_generated(self._commands):
                now = without_unmade(now, self._unmade)
            found = stale(view, now, thorough=thorough)
            refused = [(item, why) for path, item in found.read.items() if (why := now.refused(path))]
            counted = view.meta(EXACT_TOTAL) == str(len(now.wanted))
        if changed:
            self._late.clear()
        self._known = now
        for item, why in refused:
            del found.read[item.wanted.path]
            self._failed(item, why)
        if self._queue is None:
            self._queue = Queue(self._folder, version())
        self._queue.opened = frozenset(opened)
        self._queue.renew(now, found, changed)
        self._valid, self._gone = found.valid, found.gone
        self.result.total = len(now.wanted)
        if found.valid or found.gone or self._ready or not counted:
            self.flush()
        self._tell()
        return bool(found.read)

    def _generate(self, view: View) -> None:
        """Has the tree's own generator make its headers, if the user trusts it and what it reads may have
        changed: something that is no C++."""
        if self._standing is not None and self._known is not None:
            changed = view.replaced_since(self._known.revision)
            others = mask(
                f.id for f in self._known.files.values() if f.language not in ("cpp", "cuda", "objcpp")
            )
            if not changed & others:
                return
        self._standing = generate(self._root, self._conventions, self._made, self._trusted)

    def _lacks_generated(self, there: Commands) -> bool:
        """Whether the tree's generator has not run yet. A build that a database is of has made its own."""
        standing = self._standing
        never = standing is not None and standing.state not in ("none", "current") and not standing.files
        return never and all(unit.source == "made" for unit in there.units)

    def _generation(self) -> object:
        """What is another when something was generated anew."""
        found: list[object] = [os.path.realpath(self._made)]
        for name in ("generated.json", "."):
            try:
                found.append(os.stat(self._made / name).st_mtime_ns)
            except OSError:
                found.append(None)
        return found

    def _is_generated_anew(self) -> bool:
        return self._generated_as is None or self._generated_as != self._generation()

    def turn(self, pool: Pool, wait: float = _WAIT_SECONDS) -> bool:
        """One turn of the work; False when there is nothing to do."""
        queue = self._queue
        if queue is None:
            return False
        pool.turn(queue.next_task, self._done, wait)
        idle = not pool.busy or self._urgent
        late = time.monotonic() - self._stored > BATCH_SECONDS
        if self._ready and (idle or late or len(self._ready) >= BATCH_FILES):
            self.flush()
        return bool(pool.busy or len(queue) or queue.prepares)

    def flush(self) -> None:
        """Puts what was read into the index."""
        assert self._queue is not None
        ready, self._ready, self._urgent = self._ready, [], False
        done = store(
            self._folder,
            self._root,
            ready,
            valid=self._valid,
            gone=self._gone,
            total=self.result.total,
            notes=self.result.notes,
        )
        self._valid, self._gone = {}, []
        self._stored = time.monotonic()
        self.result.read += len(ready) - len(done.late)
        self._read_again(done.late)
        self._tell()

    def _read_again(self, late: Collection[Item]) -> None:
        """What was read from other texts than the index has. Mostly the index is about to follow, and then
        all is looked at anyway; a file that only has another time is known to be the same in a moment."""
        assert self._queue is not None
        for item in late:
            tries = self._late[item] = self._late.get(item, 0) + 1
            if tries <= MOST_LATE:
                self._queue.put_back((item,))

    def finish(self) -> None:
        """What is done when nothing waits any more."""
        if self._queue is not None and self._queue.precompiled is not None:
            prune(self._folder, self._queue.precompiled)

    def prepare(self) -> None:
        """What makes the next save quick, for one who stays: takes some seconds the first time."""
        if self._queue is not None:
            self._queue.prepare()

    def _tell(self) -> None:
        self._progress(self.result.total - self.pending, self.result.total)

    # -- answers

    def _done(self, task: Task, answer: dict[str, Any]) -> None:
        subject: Subject = task.subject
        self.result.cpu += answer.get("seconds", 0.0)
        kind = "plain" if answer.get("plain") or subject.again else subject.kind
        self.result.peaks[kind] = max(self.result.peaks.get(kind, 0), answer.get("peak", 0))
        if subject.kind == "precompile":
            self._precompiled(subject, answer)
        elif subject.kind == "headers":
            self._headers(subject, answer)
        else:
            self._unit(subject, answer)

    def _precompiled(self, subject: Subject, answer: dict[str, Any]) -> None:
        one = subject.header
        assert one is not None
        assert self._queue is not None
        self.result.precompiling += answer.get("seconds", 0.0)
        errors = answer.get("errors", [])
        if "failed" in answer:
            one.state = "failed"
        elif any(not error[3] for error in errors) and self._queue.failed_header(one, errors):
            pass  # Another, without what made errors, is in its place.
        else:
            written(one, errors)

    def _unit(self, subject: Subject, answer: dict[str, Any]) -> None:
        assert self._queue is not None
        (item,) = subject.items
        self._queue.landed(subject.items)
        if "failed" in answer and subject.header is not None:
            # Perhaps a file in the precompiled header has just changed; perhaps it is the unit itself.
            self._queue.read_plainly(item, subject.header)
            return
        if "failed" in answer:
            self._failed(item, answer["failed"])
            return
        unit = unit_of(answer["units"][0])
        if subject.header is not None and not answer["plain"]:
            missing = [Diagnostic(*error) for error in subject.header.errors]
            unit = unit._replace(errors=tuple(dict.fromkeys((*unit.errors, *missing))))
        self.result.plain += answer["plain"]
        self.result.cuda += answer["seconds"] if "cuda" in item.wanted.arguments else 0.0
        self._ready.append(Reading(item, unit, answer["plain"], "", answer["seconds"]))
        self._urgent = self._urgent or item.wanted.path in self._queue.first

    def _headers(self, subject: Subject, answer: dict[str, Any]) -> None:
        assert self._queue is not None
        self.result.headers += answer.get("seconds", 0.0)
        self._queue.landed(subject.items)
        paths = {item.wanted.path for item in subject.items}
        if "failed" in answer:
            if len(subject.items) == 1:
                self._failed(subject.items[0], answer["failed"])
            else:
                # One of them is the cause: each half is tried, down to that one.
                half = len(subject.items) // 2
                for part in (subject.items[:half], subject.items[half:]):
                    self._queue.read_apart(part)
            return
        bad = {error[0] for error in answer["errors"] if not error[3]} & paths
        if 0 < len(bad) < len(subject.items) and not subject.again:
            # Another header before them may be the cause, as it declares the same.
            apart = tuple(item for item in subject.items if item.wanted.path in bad)
            self._queue.read_apart(apart)
            subject = subject._replace(items=tuple(item for item in subject.items if item not in apart))
        units = {unit.path: unit for unit in map(unit_of, answer["units"])}
        share = answer["seconds"] / len(subject.items)
        self._ready += [
            Reading(item, units.get(item.wanted.path, ExactUnit(item.wanted.path)), seconds=share)
            for item in subject.items
        ]

    def _failed(self, item: Item, why: str) -> None:
        self.result.failed.append((item.wanted.path, why))
        self._ready.append(Reading(item, ExactUnit(item.wanted.path), failed=why))


def read_exactly(
    root: Path,
    folder: Path,
    conventions: Conventions,
    *,
    workers: int | None = None,
    trusted: str = "",
    database: Path | None = None,
    bases: Iterable[str] = (),
    opened: Collection[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> ExactResult:
    """Reads all that is not read exactly yet of the index in a folder, and waits for that. Raises what
    `open_view` and `open_writer` raise, WorkersFailed."""
    begun = time.monotonic()
    reading = ExactReading(
        root, folder, conventions, trusted=trusted, database=database, bases=bases, progress=progress
    )
    with Pool(workers or os.cpu_count() or 1) as pool:
        # What was read from a text that the index does not know yet is found again by a later refresh.
        for _ in range(MOST_ROUNDS):
            if not reading.refresh(opened):
                break
            while reading.turn(pool):
                pass
    reading.finish()
    reading.result.seconds = time.monotonic() - begun
    return reading.result


MOST_ROUNDS: Final = 4
"""Looks at the index: a tree that changes all the time is not waited for."""
