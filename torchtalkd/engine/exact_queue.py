"""What is read next: open files, files that were edited, files near them, then the rest, by group.

A precompiled header is a task like others; what shares it waits until it is there, but for what is urgent,
which is read plainly rather than late. A header that was saved leaves the precompiled ones where that costs
less than making these anew, so that the next save of it is cheap. The tests are in
`tests/test_exact_reading.py`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

from torchtalkd.compilation.values import made_folder
from torchtalkd.engine.exact_certain import Certain, certain, texts
from torchtalkd.engine.exact_groups import BUILD, Group, entries, including
from torchtalkd.engine.exact_known import Known
from torchtalkd.engine.exact_pool import Task
from torchtalkd.engine.exact_precompiled import (
    Precompiled,
    building,
    made,
    precompiled,
    read_before,
    umbrella_file,
    umbrella_text,
    umbrellas,
    weight,
)
from torchtalkd.engine.exact_stale import Item, Stale

UMBRELLA: Final = 60
"""Headers read together."""
MOST_REFUSED: Final = 3
"""Units that libclang gives nothing for with a precompiled header, after which it serves nobody."""
MOST_TRIES: Final = 2
"""To make a precompiled header, each time without what made errors."""
_ALONE: Final = 8
"""Units for which no precompiled header is made."""


class Subject(NamedTuple):
    """What a task is about."""

    kind: str
    """unit, headers, precompile."""
    items: tuple[Item, ...] = ()
    header: Precompiled | None = None
    again: bool = False
    """Headers that are read apart because of errors."""


class Queue:
    """The files that wait."""

    def __init__(self, folder: Path, reader: str) -> None:
        """`reader`: libclang's release, on which precompiled headers depend."""
        self._folder, self._reader = folder, reader
        self._known: Known | None = None
        self._sure: Certain | None = None
        self._headers: list[Precompiled] | None = None
        self._waiting: dict[str, Item] = {}
        self._urgent: list[str] = []
        self._batches: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        self._apart: list[tuple[Item, ...]] = []
        self._plain: set[str] = set()
        self._flying: dict[str, Item] = {}
        self._edited: set[str] = set()
        self._stays = False
        self.first: frozenset[str] = frozenset()
        """Files that are read before all others: open, or edited."""
        self.opened: frozenset[str] = frozenset()
        """Files that an editor has open."""

    def __len__(self) -> int:
        return len(self._waiting) + sum(map(len, self._apart))

    @property
    def precompiled(self) -> list[Precompiled] | None:
        """The precompiled headers there are to be; None where that was not looked at yet."""
        return self._headers

    def prepare(self) -> None:
        """Looks which precompiled headers there are, and has those made, when nothing waits, that serve what
        is edited: for one who stays, so that the next save is quick."""
        self._stays = True
        self._look(self._known)

    def _look(self, known: Known | None) -> None:
        if self._headers is None and known is not None:
            self._headers = precompiled(known, self._certain(known), self._folder, self._reader)

    def renew(self, known: Known, found: Stale, changed: int) -> None:
        """Takes over what is to be read now. `changed`: the files that were replaced since the last time."""
        self._known = known
        self._waiting = {
            path: item for path, item in found.read.items() if not _same(self._flying.get(path), item)
        }
        self._apart = []
        self._edited |= found.edited
        first = [path for path in self._waiting if path in self.opened]
        first += [path for path in sorted(found.edited) if path in self._waiting]
        folders = {posixpath.dirname(path) for path in first}
        # A whole tree that is read for the first time has no file that is near another.
        near = [path for path in sorted(self._waiting) if posixpath.dirname(path) in folders]
        self.first = frozenset(first)
        self._urgent = list(dict.fromkeys(first + (near if len(near) < len(self._waiting) else [])))
        self._batches = umbrellas(
            known, (path for path, item in self._waiting.items() if item.wanted.header), UMBRELLA
        )
        if self._headers is None and len(self._waiting) > _ALONE:
            self._look(known)
        elif changed and self._headers:
            self._headers = [self._without(one, changed) for one in self._headers]

    def open(self, paths: Iterable[str]) -> None:
        """Has what an editor has open now read before all others."""
        opened = frozenset(paths)
        fresh = [path for path in sorted(opened - self.opened) if path in self._waiting]
        self.opened = opened
        self.first |= frozenset(fresh)
        self._urgent = list(dict.fromkeys(fresh + self._urgent))

    def _certain(self, known: Known) -> Certain:
        """What is included for certain. Reads all texts of C++: 3 s for PyTorch."""
        if self._sure is None:
            paths = [path for path, file in known.files.items() if file.language in ("cpp", "cuda")]
            found = texts(known, [*paths, *known.generated])
            self._sure = certain(known, found, str(made_folder(self._folder)))
        return self._sure

    def _without(self, one: Precompiled, changed: int) -> Precompiled:
        known, group = self._known, one.group
        assert known is not None
        assert self._sure is not None
        if one.state == "building" or not group.common & changed:
            return one
        kept = group.common & ~including(known.closures, changed)
        waiting = sum(path in self._waiting for path in group.units)
        whole = weight(known, group.common)
        rest = weight(known, kept)
        if BUILD * rest + waiting * (whole - rest) < BUILD * whole:
            there = [unit for unit in group.units if unit in known.closures.numbers]
            group = Group(
                group.units, tuple(entries(there, kept, self._sure.closures, self._sure.unguarded)), kept
            )
        return made(known, self._folder, self._reader, one.arguments, group)

    # -- tasks

    def next_task(self, urgent: bool) -> Task | None:
        """The next task for a process; `urgent` for the one that is kept for that."""
        while self._urgent:
            path = self._urgent.pop(0)
            item = self._waiting.get(path)
            if item is not None:
                return self._headers_task((item,)) if item.wanted.header else self.task_of(item)
        if urgent:
            return None
        return self.next_precompiled() or self._ready_task() or self._umbrella_task() or self._any_task()

    def next_precompiled(self) -> Task | None:
        """A precompiled header that is wanted."""
        for one in self._headers or ():
            if self._is_wanted(one):
                one.state = "building"
                one.path.parent.mkdir(parents=True, exist_ok=True)
                one.path.write_text(one.text, "utf-8")
                arguments = ["-x", "c++-header" if "cuda" not in one.arguments else "cuda"]
                request = {
                    "do": "precompile",
                    "file": str(one.path),
                    "arguments": [*_without_language(one.arguments), *arguments],
                    "root": self._root,
                    "target": str(building(one)),
                }
                return Task(request, Subject("precompile", header=one))
        return None

    @property
    def prepares(self) -> bool:
        """Whether nothing waits, and a precompiled header is to be made for the next save."""
        return self._stays and not self._waiting and any(map(self._is_wanted, self._headers or ()))

    def _is_wanted(self, one: Precompiled) -> bool:
        if one.state != "wanted" or not one.group.headers:
            return False
        if self._stays and not self._waiting:
            return any(path in self._edited or path in self.opened for path in one.group.units)
        return sum(path in self._waiting for path in one.group.units) > BUILD

    def _ready_task(self) -> Task | None:
        for one in self._headers or ():
            if one.state == "ready":
                for path in one.group.units:
                    item = self._waiting.get(path)
                    if item is not None and not item.wanted.header:
                        return self.task_of(item)
        return None

    def _umbrella_task(self) -> Task | None:
        if self._apart:
            return self._headers_task(self._apart.pop(0), again=True)
        while self._batches:
            _, paths = self._batches.pop(0)
            items = tuple(self._waiting[path] for path in paths if path in self._waiting)
            if items:
                return self._headers_task(items)
        return None

    def _any_task(self) -> Task | None:
        """A unit that waits for no precompiled header that will come."""
        coming = {path for one in self._headers or () if one.state == "building" for path in one.group.units}
        for path, item in self._waiting.items():
            if path not in coming:
                return self._headers_task((item,)) if item.wanted.header else self.task_of(item)
        return None

    def task_of(self, item: Item) -> Task:
        """The task that reads a unit, with the precompiled header that serves it."""
        path = item.wanted.path
        self._take((item,))
        shared = self._shared(item)
        request: dict[str, Any] = {
            "do": "read",
            "file": f"{self._root}/{path}",
            "arguments": item.wanted.arguments,
            "root": self._root,
        }
        if shared is not None:
            request["precompiled"] = str(shared.path.with_suffix(".pch"))
            request["missing"] = shared.missing
        return Task(request, Subject("unit", (item,), shared))

    def _headers_task(self, items: tuple[Item, ...], *, again: bool = False) -> Task:
        self._take(items)
        assert self._known is not None
        paths = [item.wanted.path for item in items]
        sure = self._sure
        # Headers that are read apart had errors: of these all is read, in the order of their text.
        before = read_before(self._known.closures, sure, paths) if sure is not None and not again else []
        text = umbrella_text(self._known, paths, sure.unguarded if sure else 0, before)
        # On the disk: libclang makes no preamble of a text that is in memory alone.
        file = umbrella_file(self._folder, text)
        request = {
            "do": "read",
            "file": str(file),
            "arguments": items[0].wanted.arguments,
            "root": self._root,
            "headers": paths,
            "whole": not before,
        }
        return Task(request, Subject("headers", items, again=again))

    def _take(self, items: Iterable[Item]) -> None:
        for item in items:
            self._waiting.pop(item.wanted.path, None)
            self._flying[item.wanted.path] = item

    @property
    def _root(self) -> str:
        assert self._known is not None
        return self._known.root

    def _shared(self, item: Item) -> Precompiled | None:
        """The precompiled header that serves a unit best: the largest that has nothing in it that the unit
        does not include by itself."""
        assert self._known is not None
        if self._sure is None or item.wanted.path in self._plain:
            return None
        number = item.wanted.number
        # What it included when that was looked at, and still does.
        closure = self._sure.closures.closed.get(number, 0) & self._known.closures.closed.get(number, 0)
        fitting = [
            one
            for one in self._headers or ()
            if one.state == "ready"
            and one.arguments == item.wanted.arguments
            and not one.group.common & ~closure
        ]
        return max(fitting, key=lambda one: one.group.common.bit_count(), default=None)

    # -- what became of them

    def landed(self, items: Iterable[Item]) -> None:
        """These are no longer being read."""
        for item in items:
            if self._flying.get(item.wanted.path) is item:
                del self._flying[item.wanted.path]

    def put_back(self, items: Iterable[Item]) -> None:
        """These must be read again."""
        for item in items:
            if self._known is None or not self._known.refused(item.wanted.path):
                self._waiting.setdefault(item.wanted.path, item)

    def read_plainly(self, item: Item, header: Precompiled) -> None:
        """Has a unit read without a precompiled header, which serves nobody any more after a few of these."""
        header.refused += 1
        if header.refused >= MOST_REFUSED and self._known is not None and self._headers:
            header.state = "failed"
            # One whose files have only got another time is made anew.
            other = made(self._known, self._folder, self._reader, header.arguments, header.group)
            if other.path != header.path and header in self._headers:
                self._headers[self._headers.index(header)] = other
        self._plain.add(item.wanted.path)
        self.put_back((item,))

    def read_apart(self, items: tuple[Item, ...]) -> None:
        """Has some headers of a batch read again, without the others."""
        self._flying.update({item.wanted.path: item for item in items})
        self._apart.append(items)

    def failed_header(self, one: Precompiled, errors: list[Any]) -> bool:
        """A precompiled header has errors: makes another without the files that have them; False where that
        was tried before, or there is no other."""
        known = self._known
        assert known is not None
        assert self._sure is not None
        one.tries += 1
        bad = 0
        for path, _, _, missing in errors:
            number = known.closures.numbers.get(path)
            if number is not None and not missing:
                bad |= 1 << number
        kept = one.group.common & ~including(known.closures, bad)
        if not bad or one.tries > MOST_TRIES or kept == one.group.common or not self._headers:
            return False
        there = [unit for unit in one.group.units if unit in known.closures.numbers]
        group = Group(
            one.group.units, tuple(entries(there, kept, self._sure.closures, self._sure.unguarded)), kept
        )
        other = made(known, self._folder, self._reader, one.arguments, group)
        other.tries = one.tries
        self._headers[self._headers.index(one)] = other
        return True


def _same(one: Item | None, other: Item) -> bool:
    return one is not None and (one.wanted, one.digest, one.closure) == (
        other.wanted,
        other.digest,
        other.closure,
    )


def _without_language(arguments: Iterable[str]) -> list[str]:
    """The arguments without `-x LANGUAGE`."""
    found: list[str] = []
    skip = False
    for argument in arguments:
        if skip or argument == "-x":
            skip = argument == "-x" and not skip
            continue
        found.append(argument)
    return found
