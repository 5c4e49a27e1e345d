"""A source of events that is macOS's: FSEvents, through watchdog's observer.

One stream sees the whole tree, so there is no limit of watches. But macOS drops events under load
and says so only by a flag that watchdog does not hand on: a cookie proves nothing here, and who must
know sweeps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from watchdog.events import DirModifiedEvent, FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from torchtalkd.watch.backend import Ear
from torchtalkd.watch.git_folders import GitFolder, git_places, is_locked, meaning


class FSEvents(FileSystemEventHandler):
    """A tree and its git folders under streams of events."""

    def __init__(
        self,
        root: str,
        ignored: Callable[[str], bool],
        git_folders: Sequence[str],
        ear: Ear,
        observer: Callable[[], BaseObserver] = Observer,
    ) -> None:
        """`root` is a real path. Raises OSError when it is not there."""
        os.stat(root)
        self._root = root
        self._ignored = ignored
        self._git = git_places(git_folders)
        self._ear = ear
        self._observer = observer()
        self._observer.schedule(self, root, recursive=True)
        for folder in self._git:
            if not folder.path.startswith(root + "/"):
                self._observer.schedule(self, folder.path, recursive=True)
        self._observer.start()
        ear.locked(is_locked(self._git))

    @property
    def folders(self) -> int:
        """Streams: one for the tree, and one for each git folder outside of it."""
        return len(self._observer.emitters)

    @property
    def missing(self) -> str:
        """A stream leaves no folder out."""
        return ""

    @property
    def takes_cookies(self) -> bool:
        """No: see above."""
        return False

    def write_cookie(self, name: str) -> None:
        """Nobody may ask for it."""
        raise OSError(f"{name}: a cookie proves nothing here")

    def close(self) -> None:
        """Ends the streams."""
        self._observer.stop()
        self._observer.join()

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Something happened below a folder; called in the observer's thread."""
        if isinstance(event, DirModifiedEvent):
            # Said of the folder above whenever a file comes or goes, which is told itself.
            return
        went = event.event_type in ("deleted", "moved")
        self._happened_at(os.fsdecode(event.src_path), there=not went)
        if event.dest_path:
            self._happened_at(os.fsdecode(event.dest_path), there=True)

    def _happened_at(self, full: str, there: bool) -> None:
        if full == self._root or any(full == folder.path for folder in self._git):
            self._ear.doubt()
            return
        for folder in self._git:
            if full.startswith(folder.path + "/"):
                self._happened_in_git(folder, full[len(folder.path) + 1 :], there)
                return
        if full.startswith(self._root + "/"):
            self._happened_in(full[len(self._root) + 1 :])

    def _happened_in_git(self, folder: GitFolder, inner: str, there: bool) -> None:
        above, _, name = inner.rpartition("/")
        if above:
            if not f"{above}/".startswith(("refs/heads/", "reftable/")):
                return
            folder = GitFolder(folder.path, "refs")
        match meaning(folder, name):
            case "lock":
                self._ear.locked(there)
            case "moved":
                self._ear.sweep("git")

    def _happened_in(self, path: str) -> None:
        names = path.split("/")
        if ".git" in names or self._ignored(path):
            return
        try:
            path.encode("utf-8")
        except UnicodeEncodeError:
            self._ear.sweep("folder")
        else:
            self._ear.changed(path)
