"""What the tests and measurements of the watcher share: an ear, and the ways in which programs save."""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from torchtalkd.changes import ChangeBatch
from torchtalkd.watch import Watch

PATIENCE = 20.0
"""Seconds until a test that waits for a state fails."""


class Heard:
    """All batches of a watch, with their times."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self.batches: list[tuple[float, ChangeBatch]] = []

    def __call__(self, batch: ChangeBatch) -> None:
        with self._condition:
            self.batches.append((time.monotonic(), batch))
            self._condition.notify_all()

    def whole(self) -> ChangeBatch:
        """Everything that was told, as one."""
        with self._condition:
            whole = ChangeBatch()
            for _, batch in self.batches:
                whole |= batch
            return whole

    def clear(self) -> None:
        """Forgets what was told so far."""
        with self._condition:
            self.batches.clear()

    def until(self, what: Callable[[ChangeBatch], bool]) -> ChangeBatch:
        """Waits until all that was told satisfies a question."""
        with self._condition:
            end = time.monotonic() + PATIENCE
            while True:
                whole = ChangeBatch()
                for _, batch in self.batches:
                    whole |= batch
                if what(whole):
                    return whole
                left = end - time.monotonic()
                assert left > 0 and self._condition.wait(left), f"only {whole} was told"

    def until_path(self, path: str) -> float:
        """Waits until a path was told; the time of it."""
        self.until(lambda whole: path in whole.paths)
        return next(when for when, batch in self.batches if path in batch.paths)


def settle(watch: Watch) -> None:
    """Waits until all that was changed so far has been told."""
    done = threading.Event()
    assert watch.settled(done.set)
    assert done.wait(PATIENCE)


def covers(batch: ChangeBatch, path: str) -> bool:
    """Whether who heard a batch looks at a path."""
    return bool(batch.sweep) or any(path == told or path.startswith(told + "/") for told in batch.paths)


# -- the ways in which programs save


def written(path: Path, text: str) -> None:
    """Truncated and written, as most programs do."""
    path.write_text(text)


def renamed_over(path: Path, text: str) -> None:
    """A temporary file renamed over it."""
    beside = path.with_name(f".{path.name}.tmp")
    beside.write_text(text)
    beside.replace(path)


def deleted_and_made(path: Path, text: str) -> None:
    """Deleted, then made again."""
    path.unlink()
    path.write_text(text)


def backed_up_first(path: Path, text: str) -> None:
    """As vim does: a probe, then the old file is moved aside, and in the end deleted."""
    probe = path.with_name("4913")
    probe.touch()
    probe.unlink()
    aside = path.with_name(path.name + "~")
    path.rename(aside)
    path.write_text(text)
    aside.unlink()


def kept_open(path: Path, text: str) -> None:
    """Written by a program that does not close it for now."""
    handle = os.open(path, os.O_WRONLY)
    os.pwrite(handle, text.encode(), 0)
    _KEPT.append(handle)


_KEPT: list[int] = []


def through_a_map(path: Path, text: str) -> None:
    """Written through memory."""
    data = text.encode()
    with path.open("r+b") as file:
        file.truncate(len(data))
        with mmap.mmap(file.fileno(), len(data)) as mapped:
            mapped[:] = data


def moved_in(path: Path, text: str) -> None:
    """Written elsewhere, and moved over it from outside of the tree."""
    top = next(folder for folder in path.parents if (folder / ".git").exists())
    outside = top.parent / f"{path.name}.outside"
    outside.write_text(text)
    outside.replace(path)


STYLES: Mapping[str, Callable[[Path, str], None]] = MappingProxyType(
    {
        style.__name__: style
        for style in (
            written,
            renamed_over,
            deleted_and_made,
            backed_up_first,
            kept_open,
            through_a_map,
            moved_in,
        )
    }
)
