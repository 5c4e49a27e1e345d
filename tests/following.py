"""An index that follows a living tree, and what it has to equal: a fresh build of the same tree."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, Final

from tests.daemons import PATIENCE
from tests.histories import World
from torchtalkd import parse, vcs
from torchtalkd.changes import NOTHING, ChangeBatch
from torchtalkd.conventions import Conventions, ManifestError, load
from torchtalkd.conventions.files import ignored
from torchtalkd.engine import BuildResult, build, update
from torchtalkd.engine.sweep import sweep
from torchtalkd.facts import FileFacts
from torchtalkd.store.database import open_view
from torchtalkd.store.dump import dump
from torchtalkd.store.errors import NoIndex
from torchtalkd.watch import watch

EVERYTHING: Final = ChangeBatch(sweep=frozenset({"asked"}))
_facts: dict[tuple[str, bytes, str], FileFacts] = {}
_conventions: dict[tuple[bytes, bytes], Conventions | None] = {}
_fresh: dict[object, list[str]] = {}
CALLS_OF_A_BUILD: Final = 12_000
"""Python's calls and returns in a build of the small tree, at most: where a kill can hit."""


def remembered(path: str, data: bytes, conventions: Conventions) -> FileFacts:
    """The parser. Facts are a function of these three, so each is asked for once in a test run."""
    asked = (path, data, conventions.fingerprint)
    if asked not in _facts:
        _facts[asked] = parse.parse(path, data, conventions)
    return _facts[asked]


class Following:
    """The index of a world."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        folder.mkdir()
        self.conventions = load("pytorch")
        self.refresh_conventions()

    def refresh_conventions(self) -> None:
        """Those of the tree's manifest as it is now; a broken one leaves the former in force."""
        asked = tuple(_bytes(self.world.root / name) for name in (".torchtalk.toml", "version.txt"))
        if asked not in _conventions:
            try:
                made = load("pytorch", tree=self.world.root)
                # With a manifest that reads nothing there is no tree.
                _conventions[asked] = made if made.files.languages else None
            except ManifestError:
                _conventions[asked] = None
        self.conventions = _conventions[asked] or self.conventions

    def tell(self, batch: ChangeBatch) -> BuildResult:
        """Brings the index up to date with what is told; with everything where a sweep is asked for."""
        self.refresh_conventions()
        if not sweep(self.world.root, self.conventions).entries:
            # A tree without any file is taken for one that is away: that is another proof.
            self.world.write("again.py", b"def again(): ...\n")
            batch |= ChangeBatch(frozenset({"again.py"}))
        paths = None if batch.sweep else batch.paths
        return bring_up_to_date(self.world.root, self.folder, self.conventions, paths)

    def killed(self, batch: ChangeBatch, calls: int, whole: bool) -> None:
        """As `tell`, in a process that is killed after so many calls of Python functions. The index is
        afterwards as before, or (where the batch is the `whole` of what happened) as a fresh one."""
        before = self.dump() if self.is_there() else None
        pid = os.fork()
        if not pid:
            try:
                _die_after(calls)
                self.tell(batch)
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        if self.is_there() and whole and not self.world.shut:
            after = self.dump()
            assert after in (before, self.fresh()), "a killed writer left half of a revision"

    def is_there(self) -> bool:
        """Whether there is an index."""
        try:
            open_view(self.folder).close()
        except NoIndex:
            return False
        return True

    def dump(self) -> list[str]:
        """The index, as text."""
        with open_view(self.folder) as view:
            return list(dump(view))

    def fresh(self) -> list[str]:
        """What a fresh build of the tree as it is would hold."""
        self.refresh_conventions()
        asked = (self.conventions.fingerprint, self.conventions.files, *_content(self.world))
        key = repr(asked)
        if key not in _fresh:
            folder = self.folder.with_name("fresh")
            _fresh[key] = fresh_dump(self.world.root, folder, self.conventions)
        return _fresh[key]

    def check(self) -> None:
        """The index equals a fresh build, knows each file's stat and git's commit, and a sweep finds
        nothing to do."""
        assert self.dump() == self.fresh()
        head = vcs.head(self.world.root)
        with open_view(self.folder) as view:
            assert (view.meta("commit"), view.meta("branch")) == (head.commit, head.branch)
            revision = view.revision
        again = bring_up_to_date(self.world.root, self.folder, self.conventions, None)
        assert (again.revision, again.parsed) == (revision, 0)


class Watched:
    """A tree that is really watched. What is heard is for who takes it; the rest is lost."""

    def __init__(self, root: Path, conventions: Conventions) -> None:
        self.root = root
        self.conventions = conventions
        self._heard: SimpleQueue[ChangeBatch] = SimpleQueue()
        self.watch = watch(
            root,
            ignored=lambda path: ignored(conventions.files, path),
            git_folders=[root / ".git"],
            heard=self._heard.put,
        )

    def take(self) -> ChangeBatch:
        """All that has been heard of what was changed until now."""
        promised = Event()
        whole = NOTHING
        if self.watch.settled(promised.set):
            assert promised.wait(PATIENCE), "the watch never says that all was heard"
        else:
            whole = EVERYTHING
        while not self._heard.empty():
            whole |= self._heard.get()
        return whole

    def close(self) -> None:
        self.watch.close()


def fresh_dump(root: Path, folder: Path, conventions: Conventions | None = None) -> list[str]:
    """What a first build of a tree holds, made in a folder that is deleted again."""
    shutil.rmtree(folder, ignore_errors=True)
    bring_up_to_date(root, folder, conventions or load("pytorch", tree=root), None)
    with open_view(folder) as view:
        found = list(dump(view))
    shutil.rmtree(folder)
    return found


def bring_up_to_date(
    root: Path, folder: Path, conventions: Conventions, paths: frozenset[str] | None
) -> BuildResult:
    """The engine: with some paths, or (None) with all."""
    settings: dict[str, Any] = {"parse": remembered, "version": parse.VERSION, "workers": 1}
    if paths is None:
        return build(root, folder, conventions, **settings)
    return update(root, folder, conventions, paths, **settings)


def _die_after(calls: int) -> None:
    left = calls

    def count(*_: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)


def _bytes(path: Path) -> bytes:
    try:
        # A pipe would be waited for.
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def _content(world: World) -> list[tuple[object, ...]]:
    """Everything that a build of the tree can depend on."""
    found: list[tuple[object, ...]] = []
    for prefix, folders, names in world.walk():
        for name in (*folders, *names):
            path = world.root / prefix / name
            mode = os.lstat(path).st_mode
            what = os.readlink(path) if stat.S_ISLNK(mode) else _bytes(path) if stat.S_ISREG(mode) else b""
            found.append((prefix + name, mode, what))
    return found
