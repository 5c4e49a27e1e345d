"""A source of events that is Linux's: inotify, through the lower layer of watchdog.

That layer reads a descriptor and keeps its watches; which folders are watched, and what an event
means, is decided here. watchdog's own observer has one queue more, pairs moves by holding events
back, and does not say when the kernel's queue ran over.

One order: source folders and git folders share one descriptor, so a cookie's event comes after those
of all changes that were made before it.
Watch, then look: a folder is listed after its watch is there, so what appears in between is either
listed or told.
"""

from __future__ import annotations

import errno
import itertools
import os
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    Mask,
    WatchDescriptor,
)

from torchtalkd.watch.backend import Ear
from torchtalkd.watch.git_folders import GitFolder, git_places, is_locked, meaning, ref_folders
from torchtalkd.watch.limits import BUDGET, Budget, too_few_watches
from torchtalkd.watch.links import Links

_GONE: Final = Mask(InotifyConstants.IN_MOVED_FROM | InotifyConstants.IN_DELETE)
_CAME: Final = Mask(InotifyConstants.IN_MOVED_TO | InotifyConstants.IN_CREATE | InotifyConstants.IN_ATTRIB)
# IN_MODIFY, as a program may write and keep the file open, or truncate it without opening it;
# IN_CLOSE_WRITE, as writes through a memory map give no IN_MODIFY. No event of reading: each one that
# is not asked for keeps the kernel's queue from running over.
_MASK: Final = Mask(
    _GONE
    | _CAME
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_DONT_FOLLOW
    | InotifyConstants.IN_EXCL_UNLINK
)
_TOP_MASK: Final = Mask(_MASK | InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF)


class _Place(NamedTuple):
    """What a watch is on."""

    prefix: str
    """Of the paths in it, from the root: '' or ending in a slash. '' for git's folders, too."""
    git: GitFolder | None
    top: bool
    """Without it nothing works: the root, or a git folder."""
    callback: CallbackId


class Inotify:
    """A tree and its git folders under watches of one inotify descriptor."""

    def __init__(
        self,
        root: str,
        ignored: Callable[[str], bool],
        git_folders: Sequence[str],
        ear: Ear,
        *,
        silent: Collection[str] = (),
        budget: Budget = BUDGET,
    ) -> None:
        """`root` is a real path; `silent` are folders (real paths) whose events never come. Raises
        OSError when there is no descriptor to be had, or the root is not there."""
        self._root = root
        self._ignored = ignored
        self._git = git_places(git_folders)
        self._ear = ear
        self._silent = frozenset(silent)
        self._budget = budget
        self._lock = threading.RLock()
        """Guards what follows. Never held when `InotifyFD` calls; its own lock is taken inside."""
        self._places: dict[WatchDescriptor, _Place] = {}
        self._numbers = itertools.count(1)
        self._full = False
        self._elsewhere: set[str] = set()
        self._links = Links(root)
        self._closed = False
        self._cookies_go_to = next((folder.path for folder in self._git if _writable(folder.path)), "")
        budget.renew()
        os.scandir(root).close()
        self._descriptor = InotifyFD()
        with self._lock:
            self._place_all()
        self._descriptor.start()

    # -- what the watch asks (see `backend.Backend`)

    @property
    def folders(self) -> int:
        """Folders under a watch of the system."""
        return len(self._places)

    @property
    def missing(self) -> str:
        """Why some folders are not watched; '' when all are."""
        if self._full:
            return too_few_watches()
        if self._elsewhere:
            return (
                f"{min(self._elsewhere)} is on a file system whose changes are not told, or is seen under "
                "two names; it is looked at now and then."
            )
        return ""

    @property
    def takes_cookies(self) -> bool:
        """Whether there is a folder for them, and all that is watched is watched by events."""
        return bool(self._cookies_go_to) and not self._full and not self._elsewhere

    def write_cookie(self, name: str) -> None:
        """Its events are queued as it is made, so it need not stay."""
        path = os.path.join(self._cookies_go_to, name)
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
        os.unlink(path)

    def close(self) -> None:
        """Gives all watches back."""
        with self._lock:
            self._closed = True
            for _ in self._places:
                self._budget.give()
            self._places.clear()
        self._descriptor.stop()
        self._descriptor.join()

    # -- called by `InotifyFD`, in its thread

    def on_event(self, event: InotifyEvent) -> None:
        """Something happened in a folder, or to it."""
        with self._lock:
            place = self._places.get(event.wd)
            if place is None or self._closed:
                return
            if not event.name:
                self._happened_to(place, event.mask)
            elif place.git is not None:
                self._happened_in_git(place.git, event)
            else:
                self._happened_in(place, event)

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """The folder of a watch is gone or unmounted."""
        with self._lock:
            place = self._places.pop(wd, None)
            if place is None:
                return
            self._budget.give()
            if place.top:
                self._ear.doubt()

    def on_queue_overflow(self) -> None:
        """Folders may have come and gone unheard: all watches are made anew."""
        with self._lock:
            if self._closed:
                return
            self._forget("")
            self._place_all()
            self._ear.lost()

    # -- what an event means. The lock is held

    def _happened_to(self, place: _Place, mask: int) -> None:
        gone = InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF | InotifyConstants.IN_UNMOUNT
        if place.top and mask & gone:
            self._ear.doubt()
        elif not place.prefix and place.git is None and mask & InotifyConstants.IN_ATTRIB:
            # Nobody watches the folder above the root, which would tell this of it.
            self._ear.sweep("folder")
        elif place.git is None and mask & InotifyConstants.IN_UNMOUNT:
            self._folder(place.prefix.rstrip("/"), mask)

    def _happened_in(self, place: _Place, event: InotifyEvent) -> None:
        try:
            name = event.name.decode("utf-8")
        except UnicodeDecodeError:
            # No path can say it; what is told is the folder that it is in.
            if place.prefix:
                self._ear.changed(place.prefix.rstrip("/"))
            else:
                self._ear.sweep("folder")
            return
        path = place.prefix + name
        if name == ".git" or self._ignored(path):
            return
        if event.mask & InotifyConstants.IN_ISDIR:
            self._folder(path, event.mask)
        else:
            if event.mask & (_GONE | _CAME):
                self._links.look(path)
            for each in (path, *self._links.to(path)):
                self._ear.changed(each)

    def _folder(self, path: str, mask: int) -> None:
        if mask & InotifyConstants.IN_MOVED_FROM:
            # Its watches went with it, to where nobody is interested in it, or to a place that is
            # told next. No waiting for the other half: what goes is a change.
            self._forget(path + "/")
        # Two folders may have changed places, so one that went may be there again.
        self._place(path)
        for each in (path, *self._links.below(path)):
            self._ear.changed(each)

    def _happened_in_git(self, folder: GitFolder, event: InotifyEvent) -> None:
        name = os.fsdecode(event.name)
        if event.mask & InotifyConstants.IN_ISDIR:
            if folder.kind == "refs" or name in ("refs", "reftable"):
                self._place_refs()
                self._ear.sweep("git")
            return
        match meaning(folder, name):
            case "cookie":
                if event.mask & InotifyConstants.IN_CREATE:
                    if not self.takes_cookies:
                        self._ear.sweep("folder")
                    self._ear.cookie(name)
            case "lock":
                self._ear.locked(not event.mask & _GONE)
            case "moved":
                self._ear.sweep("git")

    # -- which folders are watched. The lock is held

    def _place_all(self) -> None:
        for folder in self._git:
            self._add(folder.path, _Place("", folder, True, self._number()))
        self._place_refs()
        if not self._add(self._root, _Place("", None, True, self._number())) and not self._full:
            self._ear.doubt()
        self._place("")
        self._ear.locked(is_locked(self._git))

    def _place_refs(self) -> None:
        for folder in self._git:
            for refs in ref_folders(folder.path):
                self._add(refs.path, _Place("", refs, False, self._number()))

    def _place(self, top: str) -> None:
        """Watches a folder and all below it that are not ignored; links are not followed."""
        waiting = [top]
        while waiting and not self._full:
            folder = waiting.pop()
            prefix = folder + "/" if folder else ""
            full = os.path.join(self._root, folder)
            if folder and not self._add(full, _Place(prefix, None, False, self._number())):
                continue
            try:
                with os.scandir(full) as found:
                    listed = [item for item in found if item.is_symlink() or item.is_dir()]
            except OSError:
                # It went, or may not be read; the folder above tells when that changes.
                continue
            for item in listed:
                path = prefix + item.name
                if item.name == ".git" or not _sayable(item.name) or self._ignored(path):
                    continue
                if item.is_symlink():
                    self._links.look(path)
                else:
                    waiting.append(path)

    def _add(self, full: str, place: _Place) -> bool:
        """Watches one folder; False when it is not watched, or what is below it need not be."""
        if full in self._silent:
            self._elsewhere.add(full)
            return False
        if not self._budget.take():
            self._full = True
            return False
        wd = self._watched(full, _TOP_MASK if place.top else _MASK, place.callback)
        if wd is None:
            self._budget.give()
            return False
        before = self._places.get(wd)
        if before is not None:
            # The kernel knows the folder already.
            self._budget.give()
            one_more = before._replace(callback=place.callback) != place
            if one_more and before.git is None and _same(self._full_path(before), full):
                self._descriptor.remove_callbacks([(wd, place.callback)])
                self._elsewhere.add(full)
                return False
            self._descriptor.remove_callbacks([(wd, before.callback)])
        self._places[wd] = place
        return True

    def _watched(self, full: str, mask: Mask, callback: CallbackId) -> WatchDescriptor | None:
        try:
            wd = self._descriptor.add_callback(os.fsencode(full), mask, self, callback)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.ENOMEM):
                self._full = True
            # Else it went, or is a file or a link by now, which its own event tells.
            return None
        # So it says that the folder may not be read.
        return wd if wd >= 0 else None

    def _forget(self, prefix: str) -> None:
        """Gives the watches below a folder back; '' is all, those of git's folders, too."""
        for wd, place in list(self._places.items()):
            if not prefix or (place.git is None and place.prefix.startswith(prefix)):
                del self._places[wd]
                self._budget.give()
                self._descriptor.remove_callbacks([(wd, place.callback)])
        if not prefix:
            self._full = False
            self._elsewhere.clear()
            self._links = Links(self._root)

    def _full_path(self, place: _Place) -> str:
        return os.path.join(self._root, place.prefix.rstrip("/"))

    def _number(self) -> CallbackId:
        return CallbackId(next(self._numbers))


def _writable(folder: str) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _sayable(name: str) -> bool:
    """Whether a name can be part of a path that is told: it is UTF-8."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _same(one: str, other: str) -> bool:
    """Whether two paths are one folder: mounted twice."""
    try:
        return os.path.samestat(os.lstat(one), os.lstat(other))
    except OSError:
        return False
